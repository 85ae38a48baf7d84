//! Reading parameters so that a refusal names the field.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A serde message quotes what it was given; more than this of it helps nobody.
const MESSAGE_CHARS: usize = 300;

/// Parameters that do not have the shape their method asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadParams {
    /// The path of the field, such as `attachments[0].range`; empty for the parameters as a whole.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl BadParams {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for BadParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}

impl std::error::Error for BadParams {}

/// Reads the parameters of a method. Absent parameters (`null`) read as an object without fields; unknown fields are
/// ignored.
pub fn parse<P: DeserializeOwned>(params: Value) -> Result<P, BadParams> {
    let params = match params {
        Value::Null => Value::Object(serde_json::Map::new()),
        // Lua writes an empty table so.
        Value::Array(items) if items.is_empty() => Value::Object(serde_json::Map::new()),
        Value::Object(_) => params,
        _ => return Err(BadParams::new("", "the parameters must be one JSON object")),
    };
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = match error.path().to_string() {
            root if root == "." => String::new(),
            path => path,
        };
        let message: String = error.inner().to_string().chars().take(MESSAGE_CHARS).collect();
        // A missing field has no path of its own: the path ends at the object that lacks it.
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let field = match (missing, path.as_str()) {
            (Some(name), "") => name.to_owned(),
            (Some(name), parent) => format!("{parent}.{name}"),
            (None, _) => path,
        };
        BadParams { field, message }
    })
}

/// A value as `T` understands it: read, and written back.
pub(crate) fn reread<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value, BadParams> {
    let read: T = parse(value)?;
    serde_json::to_value(read).map_err(|error| BadParams::new("", error.to_string()))
}
