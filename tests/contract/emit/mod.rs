//! From the schema documents to the types of the clients: one walk, two printers.
//!
//! The walk knows every keyword that it may meet. Another one is an error, so nobody can give the contract a shape
//! that a client cannot have a type for.

pub(crate) mod lua;
mod tests;
pub(crate) mod typescript;

use protocol::{METHODS, MethodRow};
use serde_json::{Map, Value};

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Any,
    Boolean,
    Integer,
    Number,
    Text,
    /// One of these strings.
    Words(Vec<String>),
    List(Box<Shape>),
    /// An object used as a map from any string.
    Map(Box<Shape>),
    /// Another definition.
    Named(String),
    Object(Vec<Field>),
    OneOf(Vec<Variant>),
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) doc: String,
    pub(crate) shape: Shape,
}

/// One of the things that a value may be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variant {
    pub(crate) doc: String,
    pub(crate) shape: Shape,
}

impl Variant {
    /// The word that tells this variant from the others: the value of its tag.
    pub(crate) fn tag(&self) -> Option<&str> {
        let Shape::Object(fields) = &self.shape else { return None };
        fields.iter().find_map(|field| match &field.shape {
            Shape::Words(words) if words.len() == 1 && !field.optional => words.first().map(String::as_str),
            _ => None,
        })
    }
}

/// A named type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) shape: Shape,
}

/// Every definition of a schema document, by name.
pub(crate) fn definitions(document: &Value) -> Result<Vec<Definition>, String> {
    let defs = document.get("$defs").and_then(Value::as_object).ok_or("the document has no `$defs`")?;
    let mut found: Vec<Definition> = defs
        .iter()
        .map(|(name, schema)| {
            Ok(Definition { name: name.clone(), doc: doc(schema), shape: shape(schema, name)? })
        })
        .collect::<Result<_, String>>()?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn doc(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shape(schema: &Value, path: &str) -> Result<Shape, String> {
    let object = match schema {
        Value::Bool(true) => return Ok(Shape::Any),
        Value::Object(object) => object,
        _ => return Err(format!("{path}: not a schema that can be printed: {schema}")),
    };
    // Said of the value, not of its type.
    let said: Vec<&str> =
        object.keys().map(String::as_str).filter(|key| !matches!(*key, "description" | "default")).collect();
    let only = |known: &[&str]| match said.iter().find(|key| !known.contains(key)) {
        Some(unknown) => Err(format!("{path}: the printers do not know the keyword `{unknown}` here")),
        None => Ok(()),
    };
    if let Some(target) = object.get("$ref") {
        only(&["$ref"])?;
        let name = target.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
        return name.map(|name| Shape::Named(name.to_owned())).ok_or(format!("{path}: foreign {target}"));
    }
    if let Some(options) = object.get("oneOf").or_else(|| object.get("anyOf")) {
        only(&["oneOf", "anyOf"])?;
        return union(options, path);
    }
    match object.get("type") {
        None if said.is_empty() => Ok(Shape::Any),
        None => Err(format!("{path}: no type")),
        Some(Value::Array(names)) => {
            only(&["type"])?;
            let variants = names.iter().map(|name| {
                let shape = shape(&serde_json::json!({ "type": name }), path)?;
                Ok(Variant { doc: String::new(), shape })
            });
            Ok(Shape::OneOf(variants.collect::<Result<_, String>>()?))
        }
        Some(name) => match name.as_str().unwrap_or_default() {
            "boolean" => only(&["type"]).map(|()| Shape::Boolean),
            "integer" => only(&["type", "format", "minimum", "maximum"]).map(|()| Shape::Integer),
            "number" => only(&["type", "format"]).map(|()| Shape::Number),
            "string" => only(&["type", "enum", "const"]).and_then(|()| words(object, path)),
            "array" => {
                only(&["type", "items"])?;
                let items = object.get("items").ok_or(format!("{path}: items of what?"))?;
                Ok(Shape::List(Box::new(shape(items, &format!("{path}[]"))?)))
            }
            "object" => {
                only(&["type", "properties", "required", "additionalProperties"])?;
                fields(object, path)
            }
            other => Err(format!("{path}: the printers do not know the type `{other}`")),
        },
    }
}

/// A union: of words, whose own comments are left to the schema, or of anything.
fn union(options: &Value, path: &str) -> Result<Shape, String> {
    let options = options.as_array().ok_or(format!("{path}: a union of what?"))?;
    let variants: Vec<Variant> = options
        .iter()
        .enumerate()
        .map(|(index, option)| {
            Ok(Variant { doc: doc(option), shape: shape(option, &format!("{path}|{index}"))? })
        })
        .collect::<Result<_, String>>()?;
    let words: Option<Vec<Vec<String>>> = variants
        .iter()
        .map(|variant| match &variant.shape {
            Shape::Words(words) => Some(words.clone()),
            _ => None,
        })
        .collect();
    Ok(words.map_or(Shape::OneOf(variants), |words| Shape::Words(words.concat())))
}

fn words(object: &Map<String, Value>, path: &str) -> Result<Shape, String> {
    let text =
        |value: &Value| value.as_str().map(str::to_owned).ok_or(format!("{path}: a word is no string"));
    match (object.get("const"), object.get("enum")) {
        (Some(word), None) => Ok(Shape::Words(vec![text(word)?])),
        (None, Some(Value::Array(words))) => {
            Ok(Shape::Words(words.iter().map(text).collect::<Result<_, _>>()?))
        }
        (None, None) => Ok(Shape::Text),
        _ => Err(format!("{path}: both `const` and `enum`")),
    }
}

/// Fields that are always there come first, in the order of the Rust type; then the others, by name.
fn fields(object: &Map<String, Value>, path: &str) -> Result<Shape, String> {
    let required: Vec<&str> = object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(properties) = object.get("properties").and_then(Value::as_object) else {
        return match object.get("additionalProperties") {
            Some(values) => Ok(Shape::Map(Box::new(shape(values, &format!("{path}{{}}"))?))),
            None => Ok(Shape::Object(Vec::new())),
        };
    };
    if object.contains_key("additionalProperties") {
        return Err(format!("{path}: an object with fields is not a map too"));
    }
    let mut fields: Vec<Field> = properties
        .iter()
        .map(|(name, schema)| {
            Ok(Field {
                name: name.clone(),
                optional: !required.contains(&name.as_str()),
                doc: doc(schema),
                shape: shape(schema, &format!("{path}.{name}"))?,
            })
        })
        .collect::<Result<_, String>>()?;
    let place = |field: &Field| required.iter().position(|name| *name == field.name).unwrap_or(usize::MAX);
    fields.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name.cmp(&b.name)));
    Ok(Shape::Object(fields))
}

/// The words of a method's name after the product's: `agent/stopAll` is `["agent", "stop", "all"]`.
fn name_words(name: &str) -> Vec<String> {
    let name =
        name.strip_prefix("adjutant/").or_else(|| name.strip_prefix("adjutant.server.")).unwrap_or(name);
    let mut words = vec![String::new()];
    for letter in name.chars() {
        let last = words.last_mut();
        match (letter, last) {
            ('/', _) => words.push(String::new()),
            (letter, _) if letter.is_uppercase() => words.push(letter.to_lowercase().collect()),
            (letter, Some(word)) => word.push(letter),
            (_, None) => {}
        }
    }
    words
}

/// The rows of one direction.
fn rows(direction: protocol::Direction) -> impl Iterator<Item = &'static MethodRow> {
    METHODS.iter().filter(move |row| row.direction == direction)
}
