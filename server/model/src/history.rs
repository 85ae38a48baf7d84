//! What is sent to a model: an append-only list of messages.

use std::sync::Arc;

use crate::Message;

/// The messages of one conversation, in order.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Arc<Vec<Arc<Message>>>,
}

/// A history as it was at one moment; cheap to make, clone and send elsewhere.
#[derive(Debug, Clone, Default)]
pub struct HistorySnapshot {
    messages: Arc<Vec<Arc<Message>>>,
}

impl History {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a message. Cheap as long as no snapshot is alive; a living one costs a copy of the list's pointers.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        Arc::make_mut(&mut self.messages).push(message.into());
    }

    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Drops all messages after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        Arc::make_mut(&mut self.messages).truncate(len);
    }

    /// Puts other messages in place of all, as compaction does.
    pub fn replace(&mut self, messages: Vec<Arc<Message>>) {
        self.messages = Arc::new(messages);
    }

    pub fn snapshot(&self) -> HistorySnapshot {
        HistorySnapshot { messages: Arc::clone(&self.messages) }
    }
}

impl HistorySnapshot {
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }
}
