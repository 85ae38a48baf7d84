//! Fixtures: one example at least of each method, command, variant, word and optional field of the contract, valid by
//! the schema and unchanged by a round trip through the Rust types.
//!
//! `fixtures/<method with . for />/<case>.json` is `{ "params", "result" }`; `commands/<command>/` holds `{ "args" }`,
//! `types/<Type>/` holds `{ "value" }` for what travels inside the standard's messages, and `roster/` what `rows.rs`
//! draws.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use protocol::{
    AgentUpdate, BadParams, COMMANDS, ClientCapability, ErrorData, InitOptions, METHODS, ServerCapability,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::emit::{Definition, Shape, definitions};
use crate::{files_under, root};

type Reread = fn(Value) -> Result<Value, BadParams>;

/// One value of one fixture.
struct Example {
    /// Where it is, for messages.
    place: String,
    /// Its type in the schema.
    definition: String,
    value: Value,
    reread: Reread,
}

/// What travels in messages of the standard, and so has no row.
const CARRIED: &[(&str, Reread)] = &[
    ("AgentUpdate", reread::<AgentUpdate>),
    ("ClientCapability", reread::<ClientCapability>),
    ("ErrorData", reread::<ErrorData>),
    ("InitOptions", reread::<InitOptions>),
    ("ServerCapability", reread::<ServerCapability>),
];

fn reread<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value, BadParams> {
    protocol::parse::<T>(value).map(|read| json!(read))
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a fixture can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every example, and a failure for each folder that has none or should not be there.
fn examples() -> Vec<Example> {
    let fixtures = root().join("tests/contract/fixtures");
    let index = protocol::method_index();
    let mut found = Vec::new();
    let mut expected = BTreeSet::from(["roster".to_owned()]);
    let mut take = |folder: &str, parts: &[(&str, &Value, Reread)]| {
        expected.insert(folder.to_owned());
        let folder = fixtures.join(folder);
        let files = if folder.is_dir() { files_under(&folder) } else { Vec::new() };
        assert!(!files.is_empty(), "a fixture is missing in {}", folder.display());
        for file in files {
            let mut fixture = read(&file);
            let fields = fixture.as_object_mut().expect("a fixture is an object");
            for (part, definition, reread) in parts {
                let place = format!("{} {part}", file.display());
                let value = fields.remove(*part).unwrap_or_else(|| panic!("{place} is missing"));
                let definition = definition.as_str().expect("a type has a name").to_owned();
                found.push(Example { place, definition, value, reread: *reread });
            }
            assert!(fields.is_empty(), "{} has more: {fields:?}", file.display());
        }
    };
    for (row, entry) in METHODS.iter().zip(index["methods"].as_array().expect("methods")) {
        let mut parts = vec![("params", &entry["params"], row.reread_params)];
        if let Some(reread_result) = row.reread_result {
            parts.push(("result", &entry["result"], reread_result));
        }
        take(&row.name.replace('/', "."), &parts);
    }
    for (row, entry) in COMMANDS.iter().zip(index["commands"].as_array().expect("commands")) {
        take(&format!("commands/{}", row.name), &[("args", &entry["args"], row.reread_args)]);
    }
    for (name, reread) in CARRIED {
        take(&format!("types/{name}"), &[("value", &json!(name), *reread)]);
    }
    let folders = files_under(&fixtures);
    let strays: Vec<_> = folders
        .iter()
        .filter_map(|file| file.parent()?.strip_prefix(&fixtures).ok()?.to_str())
        .filter(|folder| !expected.contains(*folder))
        .collect();
    assert!(strays.is_empty(), "fixtures of nothing: {strays:?}");
    found
}

/// The fleets of the roster fixtures, those of a later version apart.
fn rosters() -> Vec<Example> {
    let files = files_under(&root().join("tests/contract/fixtures/roster"));
    let fixtures = files.iter().map(|file| (file, read(file)));
    let of_now = fixtures.filter(|(_, fixture)| fixture["future"] != true);
    of_now
        .map(|(file, mut fixture)| Example {
            place: file.display().to_string(),
            definition: "FleetListResult".to_owned(),
            value: fixture["list"].take(),
            reread: reread::<protocol::FleetListResult>,
        })
        .collect()
}

#[test]
fn every_fixture_is_valid_by_the_schema() {
    let schema = protocol::protocol_schema();
    for example in examples().into_iter().chain(rosters()) {
        let mut root = schema.clone();
        root["$ref"] = json!(format!("#/$defs/{}", example.definition));
        let validator = jsonschema::validator_for(&root).expect("the schema is one");
        let faults: Vec<String> = validator
            .iter_errors(&example.value)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(faults.is_empty(), "{}: {faults:#?}", example.place);
    }
}

#[test]
fn every_fixture_survives_a_round_trip() {
    for example in examples().into_iter().chain(rosters()) {
        let again = (example.reread)(example.value.clone()).unwrap_or_else(|error| {
            panic!("{} is refused: {error}", example.place);
        });
        assert_eq!(again, example.value, "{}", example.place);
    }
}

#[test]
fn fields_of_a_later_version_are_ignored() {
    fn extend(value: &mut Value, known: &Value) {
        match (value, known) {
            (Value::Object(object), Value::Object(known)) => {
                for (key, inner) in object.iter_mut() {
                    // What the contract leaves open keeps all its fields.
                    if !matches!(key.as_str(), "settings" | "arguments" | "diagnostic" | "budget") {
                        extend(inner, &known[key]);
                    }
                }
                object.insert("ofALaterVersion".to_owned(), json!({ "deep": [null] }));
            }
            (Value::Array(items), Value::Array(known)) => {
                items.iter_mut().zip(known).for_each(|(item, known)| extend(item, known));
            }
            _ => {}
        }
    }
    for example in examples() {
        let mut later = example.value.clone();
        extend(&mut later, &example.value);
        let again = (example.reread)(later).unwrap_or_else(|error| panic!("{}: {error}", example.place));
        assert_eq!(again, example.value, "{}", example.place);
    }
}

/// What the examples have shown of the contract.
struct Seen<'a> {
    definitions: BTreeMap<&'a str, &'a Definition>,
    shown: BTreeSet<String>,
}

impl Seen<'_> {
    fn visit(&mut self, shape: &Shape, value: &Value, path: &str) {
        match (shape, value) {
            (Shape::Named(name), _) => {
                if let Some(definition) = self.definitions.get(name.as_str()).copied() {
                    self.visit(&definition.shape, value, name);
                }
            }
            (Shape::List(item), Value::Array(values)) => {
                for value in values {
                    self.visit(item, value, path);
                }
            }
            (Shape::Object(fields), Value::Object(object)) => {
                for field in fields {
                    if let Some(value) = object.get(&field.name) {
                        let path = format!("{path}.{}", field.name);
                        self.visit(&field.shape, value, &path);
                        self.shown.insert(path);
                    }
                }
            }
            (Shape::OneOf(variants), _) => {
                let tag = ["type", "kind"].iter().find_map(|key| value[key].as_str());
                for variant in
                    variants.iter().filter(|variant| variant.tag().is_some() && variant.tag() == tag)
                {
                    self.visit(
                        &variant.shape,
                        value,
                        &format!("{path}:{}", variant.tag().unwrap_or_default()),
                    );
                }
            }
            (Shape::Words(words), Value::String(word)) => {
                self.shown.insert(format!("{word} of {words:?}"));
            }
            _ => {}
        }
    }
}

/// Everything that a shape has to show: its fields, and the words that they may be.
fn wanted(shape: &Shape, path: &str, all: &mut BTreeSet<String>) {
    match shape {
        Shape::List(item) => wanted(item, path, all),
        Shape::Object(fields) => {
            for field in fields {
                let path = format!("{path}.{}", field.name);
                wanted(&field.shape, &path, all);
                all.insert(path);
            }
        }
        Shape::OneOf(variants) => {
            for variant in variants.iter().filter(|variant| variant.tag().is_some()) {
                wanted(&variant.shape, &format!("{path}:{}", variant.tag().unwrap_or_default()), all);
            }
        }
        Shape::Words(words) => all.extend(words.iter().map(|word| format!("{word} of {words:?}"))),
        _ => {}
    }
}

#[test]
fn every_field_variant_and_word_has_an_example() {
    let definitions = definitions(&protocol::protocol_schema()).expect("the schema can be read");
    let mut seen = Seen {
        definitions: definitions.iter().map(|definition| (definition.name.as_str(), definition)).collect(),
        shown: BTreeSet::new(),
    };
    for example in examples().iter().chain(&rosters()) {
        seen.visit(&Shape::Named(example.definition.clone()), &example.value, "");
    }
    let mut all = BTreeSet::new();
    for definition in &definitions {
        wanted(&definition.shape, &definition.name, &mut all);
    }
    let missing: Vec<_> = all.difference(&seen.shown).collect();
    assert!(missing.is_empty(), "no fixture shows: {missing:#?}");
}

#[test]
fn the_client_contract_names_every_method() {
    let page = fs::read_to_string(root().join("editor-clients/README.md")).expect("the page can be read");
    for row in METHODS {
        let arrow = if row.direction.is_from_client() { '→' } else { '←' };
        let gate = row.gate.map_or(String::new(), |gate| format!("{} ", gate.as_str()));
        let line = format!("| {arrow} | `{}` | {gate}| {} |", row.name, row.doc);
        assert!(page.contains(&line), "editor-clients/README.md lacks the line\n{line}");
    }
    let rows = page.lines().filter(|line| line.contains("| `adjutant/")).count();
    assert_eq!(rows, METHODS.len(), "the page has methods that this version does not have");
}
