//! The strictness of a history: each tool call has exactly one result, at once after the message that made it.

use std::collections::HashSet;
use std::sync::Arc;

use vocab::ToolCallId;

use crate::{HistoryError, Message};

/// How far a history has been found good. Each message is looked at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    upto: usize,
    /// Calls of the last model message that have no result yet.
    open: Vec<ToolCallId>,
    /// All calls so far.
    calls: HashSet<ToolCallId>,
}

impl Check {
    pub(crate) fn upto(&self) -> usize {
        self.upto
    }

    pub(crate) fn knows(&self, call: &str) -> bool {
        self.calls.contains(call)
    }

    /// Looks at the messages that are new, and at whether the whole can be sent.
    pub(crate) fn run(&mut self, messages: &[Arc<Message>]) -> Result<(), HistoryError> {
        for message in &messages[self.upto.min(messages.len())..] {
            self.step(message)?;
            self.upto += 1;
        }
        if let Some(call) = self.open.first() {
            return Err(HistoryError::MissingResult(call.clone()));
        }
        match messages.last().map(AsRef::as_ref) {
            None => Err(HistoryError::Empty),
            Some(Message::Assistant(_)) => Err(HistoryError::EndsWithAssistant),
            Some(_) => Ok(()),
        }
    }

    fn step(&mut self, message: &Message) -> Result<(), HistoryError> {
        if let Message::ToolResult(result) = message {
            let open = self.open.iter().position(|call| *call == result.tool_call_id);
            let open = open.ok_or_else(|| HistoryError::OrphanResult(result.tool_call_id.clone()))?;
            self.open.remove(open);
            return Ok(());
        }
        if let Some(call) = self.open.first() {
            return Err(HistoryError::MissingResult(call.clone()));
        }
        let Message::Assistant(message) = message else { return Ok(()) };
        let calls: Vec<_> = message.tool_calls().map(|(call, ..)| call).collect();
        // All are looked at before any is taken in: a refused message must leave no trace.
        let twin = calls
            .iter()
            .enumerate()
            .find(|(at, call)| self.calls.contains(**call) || calls[..*at].contains(call));
        if let Some((_, call)) = twin {
            return Err(HistoryError::DuplicateCall((*call).clone()));
        }
        self.calls.extend(calls.iter().copied().cloned());
        self.open.extend(calls.into_iter().cloned());
        Ok(())
    }
}
