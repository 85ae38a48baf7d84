//! Transcript entries: what a session file holds, one line each, append-only.

use std::sync::Arc;

use model::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocab::{
    EndReason, EntryId, PromptId, RunStop, SessionId, SteerId, ThinkingLevel, Timestamp, ToolCallId,
    ToolKind, Usage,
};

use crate::message::{CustomMessage, PromptOrigin, SteerAuthor};
use crate::tool::Location;

/// The version that headers carry.
pub const FORMAT_VERSION: u32 = 1;

/// One entry. Entries of a session are in the order of `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: EntryId,
    /// The sequence number of the event that announced it.
    pub seq: u64,
    pub at: Timestamp,
    /// The run that it belongs to, from 1; 0 before the first.
    pub run: u32,
    #[serde(flatten)]
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EntryBody {
    /// The first line of a file.
    Header(Header),
    RunStart {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_id: Option<PromptId>,
        /// Who caused it. Files of earlier versions say it only by their prompts.
        #[serde(default)]
        origin: PromptOrigin,
    },
    Prompt {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_id: Option<PromptId>,
        origin: PromptOrigin,
        message: Arc<Message>,
    },
    Steer {
        steer_id: SteerId,
        author: SteerAuthor,
        message: Arc<Message>,
    },
    Assistant {
        message: Arc<Message>,
        /// A failed attempt: shown to people, not part of the history.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        discarded: bool,
    },
    ToolResult(ToolResultEntry),
    CustomMessage {
        message: Arc<CustomMessage>,
    },
    /// State of an extension; never sent to a model.
    CustomEntry {
        custom_type: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    ModelChange {
        model: String,
        thinking: ThinkingLevel,
    },
    RunEnd(RunEndEntry),
    /// Something that people should know of the session.
    Notice {
        text: Arc<str>,
    },
    /// A kind that this version does not know; its line stays in the file as it is.
    #[serde(skip)]
    Unknown {
        kind: String,
    },
}

impl EntryBody {
    /// Whether people see it in a transcript. A page can be asked to hold and count only these.
    pub fn is_shown(&self) -> bool {
        match self {
            Self::Prompt { .. }
            | Self::Steer { .. }
            | Self::Assistant { .. }
            | Self::ToolResult(_)
            | Self::ModelChange { .. }
            | Self::RunEnd(_)
            | Self::Notice { .. } => true,
            Self::CustomMessage { message } => message.display,
            Self::Header(_) | Self::RunStart { .. } | Self::CustomEntry { .. } | Self::Unknown { .. } => {
                false
            }
        }
    }
}

/// What a session is, at the head of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    pub version: u32,
    pub session_id: SessionId,
    pub cwd: Arc<str>,
    pub model: String,
    pub thinking: ThinkingLevel,
    /// The session that started this one, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// What to call it where its first prompt does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Arc<str>>,
}

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultEntry {
    /// Always a tool result.
    pub message: Arc<Message>,
    pub tool_call_id: ToolCallId,
    pub tool_kind: ToolKind,
    pub title: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    pub outcome: ToolOutcome,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    pub duration_ms: u64,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolOutcome {
    Ok,
    /// The tool failed, or its arguments did not fit.
    Error,
    /// A hook did not let it run.
    Blocked,
    /// The run ended first.
    Aborted,
    /// The server ended first.
    Interrupted,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEndEntry {
    pub stop: RunStop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
    pub usage: Usage,
    pub turns: u32,
    pub tool_uses: u32,
}
