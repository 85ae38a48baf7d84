//! Parameter schemas in the plain subset that every provider takes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The schema of a parameter struct: inlined, without formats, titles and null: an optional field is left out instead.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    // The doc comment of the struct itself is for us.
    if let Value::Object(root) = &mut schema {
        root.remove("description");
    }
    simplify(&mut schema);
    schema
}

fn simplify(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for word in ["title", "format", "default", "minimum", "maximum"] {
        schema.remove(word);
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        simplify(items);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let properties: &mut Map<String, Value> = properties;
        properties.values_mut().for_each(simplify);
    }
}

/// An optional text in which empty means absent: models fill what they could leave out.
pub(super) fn absent_if_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Example {
        /// What it is.
        name: String,
        count: Option<u32>,
        parts: Vec<Part>,
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        ratio: Option<f64>,
    }

    #[test]
    fn a_schema_is_plain() {
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "What it is." },
                "count": { "type": "integer" },
                "parts": {
                    "type": "array",
                    "items": { "type": "object", "properties": { "ratio": { "type": "number" } } },
                },
            },
            "required": ["name", "parts"],
        });
        assert_eq!(super::of::<Example>(), expected);
    }
}
