//! The history that is sent, made again from what was stored; and the calls in it that still lack a result.

use std::sync::Arc;

use model::{AssistantBlock, AssistantMessage, ContentBlock, History, Message, ToolResultMessage};
use vocab::{ToolCallId, Usage};

use crate::entry::{Entry, EntryBody};

/// The result of a call whose run was ended.
pub(crate) const ABORTED: &str = "Operation aborted";
/// The result of a call whose server ended.
pub(crate) const INTERRUPTED: &str =
    "The server ended before this call did; whether it took effect is unknown.";

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) id: ToolCallId,
    pub(crate) name: String,
}

impl OpenCall {
    pub(crate) fn result(&self, text: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: self.id.clone(),
            tool_name: self.name.clone(),
            content: vec![ContentBlock::text(text)],
            is_error: true,
        })
    }
}

/// What stored entries come to.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    pub(crate) history: History,
    /// Calls of the last message; the history must not be sent before each has a result.
    pub(crate) open: Vec<OpenCall>,
    pub(crate) usage: Usage,
    /// Of its own requests, without what tools have reported.
    pub(crate) spent: Usage,
    /// Of the last answer: how much of the model's window it took.
    pub(crate) context_tokens: u64,
    pub(crate) run: u32,
    /// Whether the last run has no end.
    pub(crate) unfinished: bool,
}

pub(crate) fn rebuild(entries: &[Arc<Entry>]) -> Rebuilt {
    let mut rebuilt = Rebuilt::default();
    for entry in entries {
        rebuilt.run = rebuilt.run.max(entry.run);
        match &entry.body {
            EntryBody::Prompt { message, .. } | EntryBody::Steer { message, .. } => {
                rebuilt.push(message.clone());
            }
            EntryBody::CustomMessage { message } => rebuilt.push(Arc::new(message.message())),
            EntryBody::Assistant { message, discarded } => rebuilt.answer(message, *discarded),
            EntryBody::ToolResult(result) => {
                if let Some(usage) = result.usage {
                    rebuilt.usage += usage;
                }
                if let Some(index) = rebuilt.open.iter().position(|call| call.id == result.tool_call_id) {
                    rebuilt.open.remove(index);
                    rebuilt.history.push(result.message.clone());
                }
            }
            EntryBody::RunStart { .. } => rebuilt.unfinished = true,
            EntryBody::RunEnd(_) => rebuilt.unfinished = false,
            EntryBody::Header(_)
            | EntryBody::CustomEntry { .. }
            | EntryBody::ModelChange { .. }
            | EntryBody::Notice { .. }
            | EntryBody::Unknown { .. } => {}
        }
    }
    rebuilt
}

impl Rebuilt {
    fn push(&mut self, message: Arc<Message>) {
        // A line with the result may have been lost; the provider would refuse the whole conversation for it.
        for call in std::mem::take(&mut self.open) {
            self.history.push(call.result(INTERRUPTED));
        }
        self.history.push(message);
    }

    fn answer(&mut self, message: &Arc<Message>, discarded: bool) {
        let Message::Assistant(answer) = &**message else { return };
        self.usage += answer.usage;
        self.spent += answer.usage;
        if discarded || !is_sendable(answer) {
            return;
        }
        self.push(Arc::clone(message));
        self.context_tokens = context_tokens(&answer.usage);
        self.open = calls_of(answer);
    }
}

/// Whether a provider would take the message: one that says nothing is not sent.
pub(crate) fn is_sendable(message: &AssistantMessage) -> bool {
    message.content.iter().any(|block| match block {
        AssistantBlock::Text { text } => !text.trim().is_empty(),
        AssistantBlock::ToolCall { .. } => true,
        AssistantBlock::Thinking { .. } => false,
    })
}

/// Tokens that a request and its answer took of the model's window.
pub(crate) fn context_tokens(usage: &Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write + usage.output
}

/// The calls at the end of a history that have no result.
pub(crate) fn open_calls(history: &History) -> Vec<OpenCall> {
    let mut answered: Vec<&ToolCallId> = Vec::new();
    for message in history.messages().iter().rev() {
        match &**message {
            Message::ToolResult(result) => answered.push(&result.tool_call_id),
            Message::Assistant(answer) => {
                return calls_of(answer).into_iter().filter(|call| !answered.contains(&&call.id)).collect();
            }
            Message::User { .. } => return Vec::new(),
        }
    }
    Vec::new()
}

fn calls_of(answer: &AssistantMessage) -> Vec<OpenCall> {
    answer.tool_calls().map(|(id, name, _)| OpenCall { id: id.clone(), name: name.to_owned() }).collect()
}
