//! Prints the contract's types as Lua: LuaCATS annotations and the method names.

use std::fmt::Write;

use protocol::{COMMANDS, METHODS, PROTOCOL_VERSION};
use serde_json::Value;

use super::{Definition, Field, Shape, definitions, name_words};

/// The text of `protocol_gen.lua`, from `protocol.schema.json`.
pub(crate) fn print(schema: &Value) -> Result<String, String> {
    let mut out = String::from(
        "-- Generated from schemas/ by the contract test. Do not edit.\n\
         -- luacheck: no max line length\n-- stylua: ignore start\n\nlocal M = {}\n\n\
         --- The version of the contract that these types are of.\n",
    );
    let _ = writeln!(out, "M.PROTOCOL_VERSION = {PROTOCOL_VERSION}\n");
    for definition in definitions(schema)? {
        definition_text(&mut out, &definition);
    }
    out.push_str("--- Method names.\nM.methods = {\n");
    for row in METHODS {
        let _ = writeln!(out, "  --- {}\n  {} = {:?},", row.doc, snake(row.name), row.name);
    }
    out.push_str("}\n\n--- Names of the server's commands.\nM.commands = {\n");
    for row in COMMANDS {
        let _ = writeln!(out, "  --- {}\n  {} = {:?},", row.doc, snake(row.name), row.name);
    }
    out.push_str("}\n\nreturn M\n");
    Ok(out)
}

fn snake(name: &str) -> String {
    name_words(name).join("_")
}

fn definition_text(out: &mut String, definition: &Definition) {
    let name = &definition.name;
    match &definition.shape {
        Shape::Object(fields) => class(out, name, &definition.doc, fields),
        Shape::OneOf(variants) if variants.iter().all(|variant| variant.tag().is_some()) => {
            let mut names = Vec::new();
            for variant in variants {
                if let (Some(tag), Shape::Object(fields)) = (variant.tag(), &variant.shape) {
                    let name = format!("{name}.{tag}");
                    class(out, &name, &variant.doc, fields);
                    names.push(format!("adjutant.{name}"));
                }
            }
            alias(out, name, &definition.doc, &names.join("|"));
        }
        shape => alias(out, name, &definition.doc, &inline(shape)),
    }
}

fn class(out: &mut String, name: &str, doc: &str, fields: &[Field]) {
    comment(out, doc);
    let _ = writeln!(out, "---@class adjutant.{name}");
    for field in fields {
        let mark = if field.optional { "?" } else { "" };
        let line = format!("---@field {}{mark} {} {}", field.name, inline(&field.shape), field.doc);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
}

fn alias(out: &mut String, name: &str, doc: &str, value: &str) {
    comment(out, doc);
    let _ = writeln!(out, "---@alias adjutant.{name} {value}\n");
}

fn comment(out: &mut String, doc: &str) {
    if !doc.is_empty() {
        let _ = writeln!(out, "--- {doc}");
    }
}

fn inline(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer => "integer".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Words(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join("|"),
        Shape::List(item) => match item.as_ref() {
            Shape::Words(_) | Shape::OneOf(_) => format!("({})[]", inline(item)),
            _ => format!("{}[]", inline(item)),
        },
        Shape::Map(value) => format!("table<string, {}>", inline(value)),
        Shape::Named(name) => format!("adjutant.{name}"),
        Shape::Object(fields) => {
            let fields = fields.iter().map(|field| {
                format!("{}{}: {}", field.name, if field.optional { "?" } else { "" }, inline(&field.shape))
            });
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Shape::OneOf(variants) => {
            variants.iter().map(|variant| inline(&variant.shape)).collect::<Vec<_>>().join("|")
        }
    }
}
