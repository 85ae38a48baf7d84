//! Prints the contract's types as TypeScript.

use std::fmt::Write;

use protocol::{COMMANDS, Direction, METHODS, PROTOCOL_VERSION};
use serde_json::Value;

use super::{Definition, Field, Shape, Variant, definitions, name_words, rows};

/// The text of `protocol.gen.ts`, from `protocol.schema.json` and `methods.json`.
pub(crate) fn print(schema: &Value, index: &Value) -> Result<String, String> {
    let mut out = String::from(
        "// Generated from schemas/ by the contract test. Do not edit.\n/* eslint-disable */\n\n\
         /** The version of the contract that these types are of. */\n",
    );
    let _ = writeln!(out, "export const PROTOCOL_VERSION = {PROTOCOL_VERSION};\n");
    for definition in definitions(schema)? {
        definition_text(&mut out, &definition);
    }
    constants(&mut out);
    let types = |name: &str, part: &str| type_of(index, name, part);
    for (map, direction) in [
        ("ClientRequests", Direction::ClientRequest),
        ("ClientNotifications", Direction::ClientNotification),
        ("ServerRequests", Direction::ServerRequest),
        ("ServerNotifications", Direction::ServerNotification),
    ] {
        if rows(direction).next().is_none() {
            continue;
        }
        let _ = writeln!(out, "\nexport interface {map} {{");
        for row in rows(direction) {
            let params = types(row.name, "params")?;
            let value = match direction {
                Direction::ClientRequest | Direction::ServerRequest => {
                    format!("{{ params: {params}; result: {} }}", types(row.name, "result")?)
                }
                Direction::ClientNotification | Direction::ServerNotification => params,
            };
            let _ = writeln!(out, "  {:?}: {value};", row.name);
        }
        out.push_str("}\n");
    }
    Ok(out)
}

/// The type of a method's params or result, by name.
fn type_of(index: &Value, method: &str, part: &str) -> Result<String, String> {
    let rows = index.get("methods").and_then(Value::as_array).ok_or("no methods")?;
    let row = rows.iter().find(|row| row.get("method").is_some_and(|name| name == method));
    let name = row.and_then(|row| row.get(part)).and_then(Value::as_str);
    name.map(str::to_owned).ok_or(format!("{method} has no {part}"))
}

fn constants(out: &mut String) {
    out.push_str("/** Method names. */\nexport const Methods = {\n");
    for row in METHODS {
        let _ = writeln!(out, "  /** {} */\n  {}: {:?},", row.doc, camel(row.name), row.name);
    }
    out.push_str("} as const;\n\n/** Names of the server's commands. */\nexport const Commands = {\n");
    for row in COMMANDS {
        let _ = writeln!(out, "  /** {} */\n  {}: {:?},", row.doc, camel(row.name), row.name);
    }
    out.push_str("} as const;\n");
}

fn camel(name: &str) -> String {
    let mut words = name_words(name).into_iter();
    let first = words.next().unwrap_or_default();
    words.fold(first, |mut text, word| {
        let mut letters = word.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.extend(letters);
        text
    })
}

fn comment(out: &mut String, indent: &str, doc: &str) {
    if !doc.is_empty() {
        let _ = writeln!(out, "{indent}/** {} */", doc.replace("*/", "*\\/"));
    }
}

fn definition_text(out: &mut String, definition: &Definition) {
    comment(out, "", &definition.doc);
    let name = &definition.name;
    match &definition.shape {
        Shape::Object(fields) if fields.is_empty() => {
            let _ = writeln!(out, "export type {name} = Record<string, never>;\n");
        }
        Shape::Object(fields) => {
            let _ = writeln!(out, "export interface {name} {{");
            for field in fields {
                field_text(out, "  ", field);
            }
            out.push_str("}\n\n");
        }
        Shape::OneOf(variants) if variants.iter().all(|variant| variant.tag().is_some()) => {
            let _ = writeln!(out, "export type {name} =");
            for variant in variants {
                variant_text(out, variant);
            }
            let end = out.trim_end().len();
            out.truncate(end);
            out.push_str(";\n\n");
        }
        shape => {
            let _ = writeln!(out, "export type {name} = {};\n", inline(shape));
        }
    }
}

fn variant_text(out: &mut String, variant: &Variant) {
    comment(out, "  ", &variant.doc);
    if let Shape::Object(fields) = &variant.shape {
        out.push_str("  | {\n");
        for field in fields {
            field_text(out, "      ", field);
        }
        out.push_str("    }\n");
    }
}

fn field_text(out: &mut String, indent: &str, field: &Field) {
    comment(out, indent, &field.doc);
    let mark = if field.optional { "?" } else { "" };
    let _ = writeln!(out, "{indent}{}{mark}: {};", field.name, inline(&field.shape));
}

fn inline(shape: &Shape) -> String {
    match shape {
        Shape::Any => "unknown".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer | Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Words(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | "),
        Shape::List(item) => match item.as_ref() {
            Shape::Words(_) | Shape::OneOf(_) => format!("({})[]", inline(item)),
            _ => format!("{}[]", inline(item)),
        },
        Shape::Map(value) => format!("Record<string, {}>", inline(value)),
        Shape::Named(name) => name.clone(),
        Shape::Object(fields) => {
            let fields = fields.iter().map(|field| {
                format!("{}{}: {}", field.name, if field.optional { "?" } else { "" }, inline(&field.shape))
            });
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
        Shape::OneOf(variants) => {
            variants.iter().map(|variant| inline(&variant.shape)).collect::<Vec<_>>().join(" | ")
        }
    }
}
