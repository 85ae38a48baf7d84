//! Messages of a conversation, in the form that histories hold and session files store.

use serde::{Deserialize, Serialize};
use vocab::{ToolCallId, Usage};

/// Characters that an image is counted as, whatever its size.
const IMAGE_CHARS: usize = 4_800;

/// A piece of what a person, a host or a tool says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Image {
        mime_type: String,
        /// Base64 without a data-URL prefix.
        data: String,
    },
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A piece of what a model says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AssistantBlock {
    Text {
        text: String,
    },
    Thinking {
        text: String,
        /// Opaque proof that the provider wants back with the text; meaningless to anybody else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// `provider/model` that wrote it: the only one it is sent back to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
        /// The provider hid the text; `signature` is all there is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolCall {
        /// Unique in its history: a provider's id that was used before is replaced.
        id: ToolCallId,
        name: String,
        /// JSON text exactly as received; it may be empty or broken, and is never repaired.
        arguments: String,
    },
}

/// How a model ended its message; only ends that are known to be definite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FinishReason {
    Stop,
    ToolUse,
    /// The output limit cut it; its tool calls may be incomplete and must not run.
    Length,
    /// The model or a filter of the provider declined.
    Refusal,
}

/// What a model answered to one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<AssistantBlock>,
    /// Absent while it streams, and for ever where it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    #[serde(default)]
    pub usage: Usage,
    /// `provider/model` as requested, not the alias that the provider may answer with.
    #[serde(default)]
    pub model: String,
    /// Why it was cut off, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AssistantMessage {
    /// All its text blocks joined, thinking left out.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Its tool calls, in order: id, tool name and raw argument text.
    pub fn tool_calls(&self) -> impl Iterator<Item = (&ToolCallId, &str, &str)> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall { id, name, arguments } => Some((id, name.as_str(), arguments.as_str())),
            _ => None,
        })
    }
}

/// What a tool call came to. Each call of a history has exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    pub tool_call_id: ToolCallId,
    pub tool_name: String,
    pub content: Vec<ContentBlock>,
    pub is_error: bool,
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    User { content: Vec<ContentBlock> },
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
}

impl Message {
    /// A user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![ContentBlock::text(text)] }
    }

    /// Tokens that it costs as input, estimated as a quarter of its characters, rounded up; an image counts 1,200.
    pub fn estimated_tokens(&self) -> u64 {
        let chars = match self {
            Self::User { content } => content_chars(content),
            Self::ToolResult(result) => content_chars(&result.content),
            Self::Assistant(message) => message.content.iter().map(block_chars).sum(),
        };
        chars.div_ceil(4) as u64
    }
}

/// The arguments of a tool call, parsed once and as they are: nothing is repaired, and no text at all means no arguments.
/// The error is a sentence for the model.
pub fn parse_arguments(raw: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    if raw.trim().is_empty() {
        return Ok(serde_json::Map::new());
    }
    match serde_json::from_str(raw) {
        Ok(serde_json::Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("The arguments are not a JSON object.".to_owned()),
        Err(error) => Err(format!("The arguments are not valid JSON: {error}.")),
    }
}

/// Whether `text` is exactly one JSON object.
pub(crate) fn is_json_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

// Lengths are those of UTF-8: counting characters would read every text again, and it is an estimate.
fn content_chars(content: &[ContentBlock]) -> usize {
    content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => text.len(),
            ContentBlock::Image { .. } => IMAGE_CHARS,
        })
        .sum()
}

fn block_chars(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text, .. } => text.len(),
        AssistantBlock::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
    }
}
