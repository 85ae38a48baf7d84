//! What happens in a session or an agent, as it happens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{
    AgentId, EntryId, PromptId, RunId, RunStop, SteerId, ThinkingLevel, ToolCallId, ToolKind, Usage,
};

use crate::{Author, Range};

/// One thing that happened in a transcript. A client ignores a type that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A run begins: a prompt, a wake or a resume.
    RunStart {
        /// Counts the runs of this transcript from 1.
        run: u32,
        /// In a parent session.
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<RunId>,
        /// The prompt that it answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_id: Option<PromptId>,
        author: Author,
    },
    /// A run is over.
    RunEnd {
        run: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<RunId>,
        stop_reason: RunStop,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Of this run.
        usage: Usage,
    },
    /// A model request begins.
    TurnStart {
        /// Counts the turns of this run from 1.
        turn: u32,
    },
    /// A model request and the calls it asked for are over.
    TurnEnd {
        turn: u32,
        /// Of this turn.
        usage: Usage,
    },
    /// A message begins. A prompt or a steer follows whole, in `messageEnd`.
    MessageStart { entry_id: EntryId, role: Role },
    /// More text of the message.
    TextDelta {
        entry_id: EntryId,
        /// Where it goes: the length, in UTF-8 bytes, of the text before it. At less than what the client has, it is
        /// known already; at more, something is missing: open again.
        offset: u64,
        text: String,
    },
    /// More thinking of the message; `offset` counts in the thinking alone.
    ThinkingDelta { entry_id: EntryId, offset: u64, text: String },
    /// More of the arguments of a call that the model is writing.
    ToolCallDelta {
        entry_id: EntryId,
        tool_call_id: ToolCallId,
        name: String,
        /// As `offset` of a text, in the arguments' JSON text.
        offset: u64,
        text: String,
    },
    /// The message is whole. It replaces what the deltas built.
    MessageEnd {
        entry_id: EntryId,
        role: Role,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// In place of `text` where that is over 32 KiB.
        #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
        text_ref: Option<TextRef>,
        /// Of an assistant's message.
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<String>,
        /// Who wrote a message of role `user`.
        #[serde(skip_serializing_if = "Option::is_none")]
        author: Option<Author>,
    },
    /// A tool call begins.
    ToolStart {
        tool_call_id: ToolCallId,
        /// The tool's name, as its model calls it.
        name: String,
        kind: ToolKind,
        title: String,
        locations: Vec<Location>,
        /// The agent that this call started or speaks to.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<AgentId>,
    },
    /// A tool call has something to show; each update replaces the one before.
    ToolUpdate {
        tool_call_id: ToolCallId,
        #[serde(skip_serializing_if = "Option::is_none")]
        card: Option<Card>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A tool call is over.
    ToolEnd {
        tool_call_id: ToolCallId,
        outcome: ToolOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        card: Option<Card>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// In place of `text` where that is over 32 KiB.
        #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
        text_ref: Option<TextRef>,
    },
    /// An extension put a message into the transcript.
    CustomMessage { entry_id: EntryId, custom_type: String, card: Card },
    /// A prompt waits for the active run to end.
    PromptQueued { prompt_id: PromptId },
    /// A prompt's run begins.
    PromptStarted { prompt_id: PromptId },
    /// A queued prompt was taken back.
    PromptWithdrawn { prompt_id: PromptId },
    /// A steering message waits for a turn boundary.
    SteerQueued { steer_id: SteerId, text: String, author: Author },
    /// The model has a steering message.
    SteerDelivered { steer_id: SteerId, text: String, author: Author },
    /// A steering message was taken back.
    SteerWithdrawn { steer_id: SteerId, text: String, author: Author },
    /// The run ended before a steering message could be delivered.
    SteerExpired { steer_id: SteerId, text: String, author: Author },
    /// A model request failed and is made again.
    Retry {
        /// The attempt that comes, from 2.
        attempt: u32,
        max_attempts: u32,
        /// How long the server waits before it.
        delay_ms: u64,
        error: String,
    },
    /// The history is being shortened.
    CompactionStart {},
    /// The history was shortened, or could not be.
    CompactionEnd {
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens_after: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Another model, or another thinking level, from here on.
    ModelChanged {
        model: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<ThinkingLevel>,
    },
    /// What the transcript's owner has used so far.
    Usage {
        usage: Usage,
        /// How full the context window is, 0 to 100.
        #[serde(skip_serializing_if = "Option::is_none")]
        context_percent: Option<f64>,
    },
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Role {
    /// A prompt or a steer.
    User,
    Assistant,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum ToolOutcome {
    Ok,
    Error,
    /// A person or a rule did not permit it.
    Denied,
    /// Its run was ended.
    Cancelled,
}

/// A text that is too large to send unasked. The whole of it is answered to `adjutant/document` with `uri`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextRef {
    /// Its length in UTF-8 bytes.
    pub bytes: u64,
    /// The entry whose text it is.
    pub entry_id: EntryId,
    pub uri: String,
}

/// A place that a tool call is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// What a renderer makes of a tool's or an extension's details. Plain text: a client interprets no markup in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// A word that a client maps to a picture of its own; one that it does not know gets a default.
    pub icon: String,
    pub title: String,
    pub lines: Vec<String>,
    pub actions: Vec<CardAction>,
}

/// Something that a person can do from a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardAction {
    pub title: String,
    /// A command of the server.
    pub command: String,
    /// The command's one argument object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<serde_json::Value>,
}
