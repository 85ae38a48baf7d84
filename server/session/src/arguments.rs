//! What a model wrote as a call's arguments, made into what a tool accepts: the one place that decides coercion.
//!
//! Broken JSON is never repaired and then run: a guess about a path or a command is worse than a second try.

use std::fmt::Write;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Number, Value};

use crate::title::clip;
use crate::toolbox::Tool;

/// Problems that a model is told of at once.
const PROBLEMS_SHOWN: usize = 8;
/// Characters of the received arguments that are shown back.
const RECEIVED_CHARS: usize = 2_000;
/// Whole numbers beyond this are not exact in JSON.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Reads the arguments of one call. The error is for the model.
pub(crate) fn prepare(tool: &Tool, raw: &str) -> Result<Value, String> {
    let mut arguments = parse(raw).map_err(|problem| {
        format!("The arguments of {} {problem}. Send one JSON object.", tool.definition.name)
    })?;
    coerce(&tool.definition.parameters, &mut arguments);
    let validator = tool.validator().map_err(|error| {
        format!("{} cannot be called: its schema is faulty ({error})", tool.definition.name)
    })?;
    if validator.is_valid(&arguments) {
        return Ok(arguments);
    }
    let mut text = format!("The arguments of {} do not fit:\n", tool.definition.name);
    for error in validator.iter_errors(&arguments).take(PROBLEMS_SHOWN) {
        let mut path = error.instance_path().to_string().trim_start_matches('/').to_owned();
        let problem = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let missing = property.as_str().unwrap_or_default();
                let separator = if path.is_empty() { "" } else { "/" };
                let _ = write!(path, "{separator}{missing}");
                "is required".to_owned()
            }
            _ => error.masked_with("the value").to_string(),
        };
        let path = if path.is_empty() { "root" } else { &path };
        let _ = writeln!(text, "- {path}: {problem}");
    }
    let received = serde_json::to_string_pretty(&arguments).unwrap_or_default();
    let _ = write!(text, "Received:\n{}", clip(&received, RECEIVED_CHARS));
    Err(text)
}

/// The arguments for showing a call before, or whether or not, they are valid.
pub(crate) fn peek(raw: &str) -> Value {
    parse(raw).unwrap_or_else(|_| Value::Object(Map::new()))
}

fn parse(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(raw) {
        Ok(Value::Object(object)) => Ok(Value::Object(object)),
        Ok(other) => Err(format!("are {}, not an object", kind_of(&other))),
        Err(error) => Err(format!("are not valid JSON ({error})")),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn coerce(schema: &Value, value: &mut Value) {
    for part in branches(schema, "allOf") {
        coerce(part, value);
    }
    let alternatives = || branches(schema, "anyOf").chain(branches(schema, "oneOf"));
    if let Some(fitting) = alternatives().find(|branch| fits(branch, value)) {
        coerce(fitting, value);
    } else {
        for branch in alternatives() {
            let mut changed = value.clone();
            coerce(branch, &mut changed);
            if fits(branch, &changed) {
                *value = changed;
                break;
            }
        }
    }
    let types = types(schema);
    if !types.is_empty()
        && !types.iter().any(|name| is_of(name, value))
        && let Some(changed) = types.iter().find_map(|name| convert(name, value))
    {
        *value = changed;
    }
    if types.contains(&"integer") {
        make_integer(value);
    }
    match value {
        Value::Object(object) => coerce_object(schema, object),
        Value::Array(items) => {
            let item_schema = schema.get("items");
            let prefix = schema.get("prefixItems").and_then(Value::as_array);
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = prefix.and_then(|prefix| prefix.get(index)).or(item_schema) {
                    coerce(schema, item);
                }
            }
        }
        _ => {}
    }
}

fn coerce_object(schema: &Value, object: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|listed| listed == name));
    // Models fill optional fields with null or an empty text where they mean "not given".
    object.retain(|name, value| {
        let Some(schema) = properties.get(name) else { return true };
        let blank = match value {
            Value::Null => !accepts_null(schema),
            Value::String(text) => text.is_empty() && !lists(schema, value),
            _ => false,
        };
        !blank || is_required(name)
    });
    for (name, value) in object.iter_mut() {
        if let Some(schema) = properties.get(name) {
            coerce(schema, value);
        }
    }
}

fn branches<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether the value has a type that the schema names; a schema that names none fits everything.
fn fits(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    let listed = schema.get("enum").is_none_or(|_| lists(schema, value));
    listed && (types.is_empty() || types.iter().any(|name| is_of(name, value)))
}

fn lists(schema: &Value, value: &Value) -> bool {
    branches(schema, "enum").any(|listed| listed == value) || schema.get("const") == Some(value)
}

fn accepts_null(schema: &Value) -> bool {
    let nothing_said = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];
    types(schema).contains(&"null")
        || lists(schema, &Value::Null)
        || branches(schema, "anyOf").chain(branches(schema, "oneOf")).any(accepts_null)
        || nothing_said.iter().all(|key| schema.get(key).is_none())
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// `null` stands for nothing here: where a field is required, "unknown" must not become 0, false or an empty text.
fn convert(name: &str, value: &Value) -> Option<Value> {
    match (name, value) {
        ("number" | "integer", Value::String(text)) => {
            let number: Value = serde_json::from_str(text.trim()).ok()?;
            is_of(name, &number).then_some(number)
        }
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("boolean", Value::Number(number)) => match number.as_u64() {
            Some(0) => Some(Value::Bool(false)),
            Some(1) => Some(Value::Bool(true)),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        // Some models send nested values as text that holds JSON. Only a whole, valid value is taken.
        ("array" | "object", Value::String(text)) => {
            let inner: Value = serde_json::from_str(text).ok()?;
            is_of(name, &inner).then_some(inner)
        }
        _ => None,
    }
}

/// 5.0 is a valid integer to a schema, but not to a typed reader.
fn make_integer(value: &mut Value) {
    if let Value::Number(number) = value
        && number.is_f64()
        && let Some(float) = number.as_f64()
        && float.fract() == 0.0
        && float.abs() < EXACT_FLOAT
    {
        *value = Value::Number(Number::from(float as i64));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::prepare;
    use crate::tool::{ToolCallTitle, ToolDefinition, ToolExecute};
    use crate::toolbox::{Tool, Toolbox};

    struct Never;

    impl ToolExecute for Never {
        fn execute(
            &self,
            _: crate::tool::ToolCall,
        ) -> futures::future::BoxFuture<'static, Result<crate::tool::ToolOutput, crate::tool::ToolError>>
        {
            Box::pin(async { Err(crate::tool::ToolError::new("not run")) })
        }
    }

    fn tool(parameters: Value) -> Arc<Tool> {
        let definition = ToolDefinition {
            name: "t".into(),
            label: "T".into(),
            kind: vocab::ToolKind::Other,
            description: "".into(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters,
            sequential: false,
            execute: Arc::new(Never),
            describe: |_| ToolCallTitle::default(),
        };
        Arc::clone(Toolbox::new(vec![definition]).find("t").unwrap())
    }

    fn sample() -> Arc<Tool> {
        tool(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "limit": { "type": "integer" },
                "deep": { "type": "boolean" },
                "mode": { "enum": ["", "fast"], "type": "string" },
                "note": { "type": ["string", "null"] },
                "either": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
                "edits": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "old": { "type": "string" }, "line": { "type": "number" } },
                    "required": ["old"]
                } }
            },
            "required": ["path"]
        }))
    }

    #[test]
    fn what_models_write_becomes_what_tools_accept() {
        let tool = sample();
        for (raw, expected) in [
            (r#"{"path":"a"}"#, json!({ "path": "a" })),
            (r#"{"path":""}"#, json!({ "path": "" })),
            (r#"{"path":7}"#, json!({ "path": "7" })),
            (r#"{"path":"a","limit":"5"}"#, json!({ "path": "a", "limit": 5 })),
            (r#"{"path":"a","limit":5.0}"#, json!({ "path": "a", "limit": 5 })),
            (r#"{"path":"a","limit":null,"deep":""}"#, json!({ "path": "a" })),
            (r#"{"path":"a","deep":"True"}"#, json!({ "path": "a", "deep": true })),
            (r#"{"path":"a","deep":0}"#, json!({ "path": "a", "deep": false })),
            (r#"{"path":"a","mode":""}"#, json!({ "path": "a", "mode": "" })),
            (r#"{"path":"a","note":null}"#, json!({ "path": "a", "note": null })),
            (r#"{"path":"a","either":"true"}"#, json!({ "path": "a", "either": true })),
            (r#"{"path":"a","extra":null}"#, json!({ "path": "a", "extra": null })),
            (
                r#"{"path":"a","edits":"[{\"old\":1,\"line\":\"2.5\"}]"}"#,
                json!({ "path": "a", "edits": [{ "old": "1", "line": 2.5 }] }),
            ),
        ] {
            let prepared = prepare(&tool, raw).unwrap_or_else(|error| panic!("{raw}: {error}"));
            assert_eq!(prepared, expected, "{raw}");
            assert_eq!(prepared.to_string(), expected.to_string(), "{raw}");
        }
    }

    #[test]
    fn nothing_is_repaired_or_invented() {
        let tool = sample();
        for (raw, part) in [
            (r#"{"path":"a""#, "not valid JSON"),
            (r#"{"path":"a"} {"path":"b"}"#, "not valid JSON"),
            (r#"["a"]"#, "are a list, not an object"),
            (r#""a""#, "are a text, not an object"),
            ("null", "are null, not an object"),
            ("", "- path: is required"),
            ("{}", "- path: is required"),
            (r#"{"path":null}"#, "- path: "),
            (r#"{"path":"a","limit":"many"}"#, "- limit: "),
            (r#"{"path":"a","limit":2.5}"#, "- limit: "),
            (r#"{"path":"a","edits":[{}]}"#, "- edits/0/old: is required"),
            (r#"{"path":"a","edits":"x"}"#, "- edits: "),
        ] {
            let error = prepare(&tool, raw).expect_err(raw);
            assert!(error.contains(part), "{raw}: {error}");
        }
        assert!(prepare(&tool, r#"{"limit":1}"#).expect_err("no path").contains("\"limit\": 1"));
    }

    #[test]
    fn empty_arguments_are_an_empty_object() {
        let tool = tool(json!({ "type": "object", "properties": {} }));
        for raw in ["", "  \n", "{}"] {
            assert_eq!(prepare(&tool, raw), Ok(json!({})));
        }
    }

    #[test]
    fn a_faulty_schema_is_an_error_of_the_call() {
        let error = prepare(&tool(json!({ "type": 5 })), "{}").expect_err("faulty");
        assert!(error.contains("its schema is faulty"), "{error}");
    }
}
