//! The JSON Schema documents of the contract.
//!
//! Parameters that a client sends are described as they are read (a field with a default may be left out); what the
//! server sends is described as it is written.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{
    AgentUpdate, COMMANDS, ClientCapability, ErrorData, InitOptions, METHODS, PROTOCOL_VERSION,
    ServerCapability,
};

/// A file of `schemas/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its path in that folder.
    pub file: String,
    pub content: Value,
}

impl Document {
    /// The file's text: keys sorted, two spaces a level, a newline at the end.
    pub fn text(&self) -> String {
        let mut content = self.content.clone();
        // Another crate in the build may have switched serde_json to the order of insertion.
        content.sort_all_objects();
        format!("{content:#}\n")
    }
}

/// The documents that this crate makes.
pub fn documents() -> Vec<Document> {
    vec![
        Document { file: "methods.json".to_owned(), content: method_index() },
        Document { file: "protocol.schema.json".to_owned(), content: protocol_schema() },
    ]
}

/// The document of one type that is read from a file or from a model, under the same rules as the contract's.
pub fn schema_document<T: JsonSchema>(file: &str) -> Document {
    let mut content = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    omit_null(&mut content);
    Document { file: file.to_owned(), content }
}

/// Every type of the contract, under `$defs`.
///
/// Each name has one shape: a type that is read otherwise than it is written would need two, and the contract test
/// refuses it.
pub fn protocol_schema() -> Value {
    let (read, written) = generate();
    let mut defs: BTreeMap<String, Value> = BTreeMap::new();
    for (name, schema) in read.into_iter().chain(written) {
        defs.entry(name).or_insert(schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AdjutantProtocol",
        "description": format!("The types of the Adjutant editor contract, version {PROTOCOL_VERSION}."),
        "$defs": defs,
    })
}

/// The definitions as they are read, and as they are written.
pub(crate) fn generate() -> (Map<String, Value>, Map<String, Value>) {
    let mut read = SchemaSettings::draft2020_12().into_generator();
    let mut written = SchemaSettings::draft2020_12().for_serialize().into_generator();
    read.subschema_for::<ClientCapability>();
    read.subschema_for::<InitOptions>();
    written.subschema_for::<ServerCapability>();
    written.subschema_for::<AgentUpdate>();
    written.subschema_for::<ErrorData>();
    for row in METHODS {
        let (params, result) = if row.direction.is_from_client() {
            (&mut read, &mut written)
        } else {
            (&mut written, &mut read)
        };
        (row.params)(params);
        if let Some(schema) = row.result {
            schema(result);
        }
    }
    for row in COMMANDS {
        (row.args)(&mut read);
    }
    (definitions(&mut read), definitions(&mut written))
}

fn definitions(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut defs = generator.take_definitions(true);
    defs.values_mut().for_each(omit_null);
    defs
}

/// The tables of methods and commands as data, each type by its name in `protocol.schema.json`.
pub fn method_index() -> Value {
    let mut names = SchemaSettings::draft2020_12().into_generator();
    let methods: Vec<Value> = METHODS
        .iter()
        .map(|row| {
            let mut entry = json!({
                "method": row.name,
                "direction": row.direction.as_str(),
                "doc": row.doc,
                "params": type_name(&(row.params)(&mut names)),
            });
            if let Some(gate) = row.gate {
                entry["gate"] = gate.as_str().into();
            }
            if let Some(result) = row.result {
                entry["result"] = type_name(&result(&mut names));
            }
            entry
        })
        .collect();
    let commands: Vec<Value> = COMMANDS
        .iter()
        .map(|row| json!({ "command": row.name, "doc": row.doc, "args": type_name(&(row.args)(&mut names)) }))
        .collect();
    json!({ "protocolVersion": PROTOCOL_VERSION, "methods": methods, "commands": commands })
}

/// The last part of a reference.
fn type_name(schema: &Schema) -> Value {
    let reference = schema.get("$ref").and_then(Value::as_str).unwrap_or_default();
    reference.rsplit('/').next().unwrap_or_default().into()
}

/// Takes `null` out of what an optional field may be: such a field is left out, and a client need not expect more.
fn omit_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(omit_null),
        Value::Object(object) => {
            omit_null_here(object);
            object.values_mut().for_each(omit_null);
        }
        _ => {}
    }
}

fn omit_null_here(object: &mut Map<String, Value>) {
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1 {
            let only = types.remove(0);
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option != &json!({ "type": "null" }));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}
