//! How a run ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentStatus, Usage};

/// Who ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum EndedBy {
    /// The agent itself: it answered, or it failed.
    #[serde(rename = "self")]
    Itself,
    /// A person, or a program that acts for one.
    User,
    /// The session or agent that owns it.
    Parent,
    /// A limit of the settings or of its definition.
    Limit,
    /// The server, by ending.
    Host,
}

/// Why a run ended, where its status alone does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum EndReason {
    MaxTurns,
    WallClock,
    Idle,
    NoProgress,
    Tokens,
    Cost,
    RepeatedCall,
    /// Stopped, but it never unwound; its permit was taken back.
    Detached,
    Provider,
    Setup,
    Panic,
    Lost,
}

/// Why a session's run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum RunStop {
    EndTurn,
    Aborted,
    Error,
    /// The model's output limit cut its last message, with some text.
    Length,
    Refusal,
    /// A limit of ours ended it.
    Limit,
}

/// What a run came to: made once, when it settles, and never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Always a final status.
    pub status: AgentStatus,
    pub ended_by: EndedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// The last text of this run, whole; empty where it wrote none.
    pub text: String,
    /// What went wrong, for a person and for a model; only where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of this run alone.
    pub usage: Usage,
}

impl Outcome {
    /// Of a run that wrote nothing, as far as is known.
    pub fn without_text(status: AgentStatus, ended_by: EndedBy) -> Self {
        Self { status, ended_by, reason: None, text: String::new(), error: None, usage: Usage::default() }
    }
}
