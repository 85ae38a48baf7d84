//! The known keys and what each allows, read off the schema of [`Settings`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::Settings;

/// One key that takes a value.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingKey {
    /// With dots for nesting, as `permissions.mode`.
    pub path: String,
    /// What it means, for a person.
    pub description: String,
    pub(super) rule: Rule,
}

/// What a value must be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    Bool,
    Integer { min: u64, max: Option<u64> },
    Number { min: f64 },
    Choice(Vec<String>),
    Text,
    TextList,
}

/// Longest text and longest list of a setting: far above any sensible use, far below harm.
const TEXT_LIMIT: usize = 4096;
const LIST_LIMIT: usize = 10_000;

impl SettingKey {
    /// What the key allows, for a person: the end of "must be ...".
    pub fn allowed(&self) -> String {
        match &self.rule {
            Rule::Bool => "true or false".into(),
            Rule::Integer { min, max: Some(max) } => format!("a whole number from {min} to {max}"),
            Rule::Integer { min, max: None } => format!("a whole number of at least {min}"),
            Rule::Number { min } => format!("a number of at least {min}"),
            Rule::Choice(words) => format!("one of {}", words.join(", ")),
            Rule::Text if self.path == FALLBACK => "the name of an agent type, \"none\" or false".into(),
            Rule::Text => "a text that is not empty".into(),
            Rule::TextList => "a list of texts".into(),
        }
    }

    /// The value in the form that [`Settings`] reads, or nothing where it is not allowed.
    pub(super) fn accept(&self, value: &Value) -> Option<Value> {
        if self.path == FALLBACK && *value == Value::Bool(false) {
            // Refused, it would leave the permissive default in force.
            return Some("none".into());
        }
        let accepted = match &self.rule {
            Rule::Bool => value.is_boolean(),
            Rule::Integer { min, max } => return whole(value, *min, *max).map(Value::from),
            Rule::Number { min } => value.as_f64().is_some_and(|number| number.is_finite() && number >= *min),
            Rule::Choice(words) => value.as_str().is_some_and(|word| words.iter().any(|known| known == word)),
            Rule::Text => return text(value).map(|text| text.trim().into()),
            Rule::TextList => value
                .as_array()
                .is_some_and(|list| list.len() <= LIST_LIMIT && list.iter().all(|v| text(v).is_some())),
        };
        accepted.then(|| value.clone())
    }
}

const FALLBACK: &str = "fallbackSubagent";

/// `10.0` is a whole number too: some editors know only floating point.
fn whole(value: &Value, min: u64, max: Option<u64>) -> Option<u64> {
    let number = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
    })?;
    (number >= min && max.is_none_or(|max| number <= max)).then_some(number)
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty() && text.len() <= TEXT_LIMIT)
}

/// All keys that this version knows, by path.
pub fn known_keys() -> &'static BTreeMap<String, SettingKey> {
    static KEYS: LazyLock<BTreeMap<String, SettingKey>> = LazyLock::new(|| {
        let mut keys = BTreeMap::new();
        collect(schemars::schema_for!(Settings).as_value(), "", &mut keys);
        keys
    });
    &KEYS
}

/// Whether a path leads to keys without being one, as `permissions` does.
pub(super) fn is_group(path: &str) -> bool {
    let mut after = known_keys().range(format!("{path}.")..);
    after.next().is_some_and(|(key, _)| key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

fn collect(schema: &Value, prefix: &str, keys: &mut BTreeMap<String, SettingKey>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if schema["properties"].is_object() {
            collect(schema, &path, keys);
        } else if let Some(rule) = rule(schema) {
            let description = schema["description"].as_str().unwrap_or_default().to_owned();
            keys.insert(path.clone(), SettingKey { path, description, rule });
        }
    }
}

fn rule(schema: &Value) -> Option<Rule> {
    if let Some(words) = words(schema) {
        return Some(Rule::Choice(words));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")?,
        kind => kind.as_str()?,
    };
    Some(match kind {
        "boolean" => Rule::Bool,
        "integer" => {
            Rule::Integer { min: schema["minimum"].as_u64().unwrap_or(0), max: schema["maximum"].as_u64() }
        }
        "number" => Rule::Number { min: schema["minimum"].as_f64().unwrap_or(0.0) },
        "string" => Rule::Text,
        "array" => Rule::TextList,
        _ => return None,
    })
}

/// The words of a closed choice, in whichever of its forms the schema has it; `None` for anything else.
fn words(schema: &Value) -> Option<Vec<String>> {
    let of = |list: &Value| list.as_array().map(|list| list.iter().filter_map(as_text).collect::<Vec<_>>());
    if let Some(words) = of(&schema["enum"]) {
        return Some(words);
    }
    let variants = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    let mut all = Vec::new();
    for variant in variants {
        match (as_text(&variant["const"]), &variant["type"]) {
            (Some(word), _) => all.push(word),
            (None, Value::String(kind)) if kind == "null" => {}
            _ => all.extend(words(variant)?),
        }
    }
    Some(all)
}

fn as_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Puts a value where its path says, making the objects on the way.
pub(super) fn put(root: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            root.insert(path.into(), value);
        }
        Some((group, rest)) => {
            let inner = root.entry(group).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}
