//! Small types that several methods share.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vocab::SteerId;

/// The answer of a method that has nothing to say but that it was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// A place in a document, counted from 0. `character` counts in the position encoding agreed at `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// A part of a document; `end` is not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// The name under which `$/progress` values arrive; made by whoever asked for them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgressToken {
    Number(i64),
    Text(String),
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = ProgressToken;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a progress token: an integer or a string")
            }

            fn visit_i64<E>(self, number: i64) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Number(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<ProgressToken, E> {
                i64::try_from(number)
                    .map(ProgressToken::Number)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E>(self, text: &str) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Text(text))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for ProgressToken {
    fn schema_name() -> Cow<'static, str> {
        "ProgressToken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name under which `$/progress` values arrive; made by whoever asked for them.",
            "type": ["integer", "string"],
        })
    }
}

/// What a person sends along with a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Attachment {
    /// A whole file, as the editor shows it where it is open.
    File { uri: String },
    /// A part of a file.
    Selection {
        uri: String,
        range: Range,
        /// The selected text; absent: the server reads it from the document.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A picture.
    Image {
        mime_type: String,
        /// Base64.
        data: String,
    },
    /// A problem that the editor shows.
    Diagnostic {
        uri: String,
        /// A `Diagnostic` of the Language Server Protocol, as it is.
        diagnostic: serde_json::Value,
    },
}

/// Who wrote a message to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Author {
    /// A person, or a program that acts for one.
    User,
    /// The model of the session or agent that owns this one.
    Parent,
    /// The server itself: a wake, a schedule, a note about what happened.
    Host,
}

/// When a steering message reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Delivered {
    /// At the next turn boundary of the current run.
    Now,
    /// Kept until the agent's run starts.
    Queued,
}

/// A steering message was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerResult {
    pub steer_id: SteerId,
    pub delivered: Delivered,
}

/// Whether a steering message was still there to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsteerResult {
    /// False: it was delivered, or withdrawn, before.
    pub withdrawn: bool,
}

/// Asks for the text of an `adjutant:` document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentParams {
    /// `adjutant://session/<id>`, `adjutant://agent/<id>`, `adjutant://fleet`, or the `uri` of a `TextRef`.
    pub uri: String,
}

/// A document as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentResult {
    pub text: String,
    /// The editor's word for its syntax, such as `markdown`.
    pub language_id: String,
    /// Grows whenever the text changes.
    pub revision: u64,
}
