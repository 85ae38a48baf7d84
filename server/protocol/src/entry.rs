//! What a transcript keeps, and how it is read a page at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{AgentId, EntryId, PromptId, RunId, RunStop, SteerId, Timestamp, ToolCallId, ToolKind, Usage};

use crate::{Author, Card, Location, TextRef, ToolOutcome};

/// Writes the fields that every entry has into each variant: a flattened struct would say the same in Rust, but the
/// types of the clients could not be printed from it.
macro_rules! entries {
    ($(#[$enum_doc:meta])* enum $name:ident { $(
        $(#[$doc:meta])* $variant:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
    )* }) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
        pub enum $name { $(
            $(#[$doc])*
            $variant {
                entry_id: EntryId,
                /// The last event that went into it; an entry that goes on, such as a running call, moves with it.
                seq: u64,
                at: Timestamp,
                /// The run it belongs to, counted from 1 in its transcript; 0 before the first.
                run: u32,
                $($(#[$field_doc])* $field: $type,)*
            },
        )* }

        impl $name {
            pub fn entry_id(&self) -> &EntryId {
                match self { $(Self::$variant { entry_id, .. })|* => entry_id }
            }

            /// The last event that went into it; pages are in this order.
            pub fn seq(&self) -> u64 {
                match self { $(Self::$variant { seq, .. })|* => *seq }
            }

            pub fn run(&self) -> u32 {
                match self { $(Self::$variant { run, .. })|* => *run }
            }
        }
    };
}

entries! {
    /// One entry of a transcript. A client shows a kind that it does not know by its name, or not at all.
    enum Entry {
        /// The text that a run answers.
        Prompt {
            #[serde(skip_serializing_if = "Option::is_none")]
            text: Option<String>,
            /// In place of `text` where that is over 32 KiB.
            #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
            text_ref: Option<TextRef>,
            author: Author,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompt_id: Option<PromptId>,
        }
        /// A message that reached the model during a run.
        Steer {
            text: String,
            author: Author,
            steer_id: SteerId,
        }
        /// What the model wrote in one turn; its calls are entries of their own.
        Assistant {
            #[serde(skip_serializing_if = "Option::is_none")]
            text: Option<String>,
            /// In place of `text` where that is over 32 KiB.
            #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
            text_ref: Option<TextRef>,
            #[serde(skip_serializing_if = "Option::is_none")]
            thinking: Option<String>,
            /// Why the model stopped, in its provider's sense: `stop`, `toolUse`, `length`, `refusal`, `error`, `aborted`.
            stop_reason: String,
            /// `provider/name`.
            model: String,
            /// Of this turn.
            usage: Usage,
        }
        /// A tool call.
        Tool {
            tool_call_id: ToolCallId,
            name: String,
            tool_kind: ToolKind,
            title: String,
            locations: Vec<Location>,
            /// Absent while it runs.
            #[serde(skip_serializing_if = "Option::is_none")]
            outcome: Option<ToolOutcome>,
            #[serde(skip_serializing_if = "Option::is_none")]
            text: Option<String>,
            /// In place of `text` where that is over 32 KiB.
            #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
            text_ref: Option<TextRef>,
            #[serde(skip_serializing_if = "Option::is_none")]
            card: Option<Card>,
            /// The agent that this call started or speaks to.
            #[serde(skip_serializing_if = "Option::is_none")]
            agent_id: Option<AgentId>,
        }
        /// A message that an extension put here, such as the news of a settled agent.
        CustomMessage {
            custom_type: String,
            card: Card,
        }
        /// Something that a person should know and no model is told: a retry, a compaction, another model.
        Notice {
            level: NoticeLevel,
            text: String,
        }
        /// A run ended here.
        Run {
            /// In a parent session.
            #[serde(skip_serializing_if = "Option::is_none")]
            run_id: Option<RunId>,
            started_at: Timestamp,
            stop_reason: RunStop,
            turns: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            /// Of this run.
            usage: Usage,
        }
    }
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// A part of a transcript, oldest first; under 256 KiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptPage {
    pub entries: Vec<Entry>,
    /// The message that is being streamed; only in the newest page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialMessage>,
    /// The last event that this page knows of.
    pub as_of_seq: u64,
    /// Whether there are older entries: ask again with `before` = the `seq` of the first one here.
    pub has_more: bool,
    /// Entries in the whole transcript.
    pub total: u64,
}

/// A message that is not whole yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartialMessage {
    pub entry_id: EntryId,
    pub text: String,
    /// Where `text` begins, in UTF-8 bytes; over 0 where the head of a long message is left out. The next delta's
    /// `offset` is this and the length of `text`.
    pub text_offset: u64,
    /// As `text`.
    pub thinking: String,
    pub thinking_offset: u64,
}
