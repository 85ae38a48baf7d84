//! What a session tells those who watch it. Payloads are shared, so that an event costs its watcher no copy.

use std::sync::Arc;

use model::AssistantMessage;
use vocab::{EntryId, PromptId, SteerId, ThinkingLevel, ToolCallId, ToolKind, Usage};

use crate::entry::{Entry, ToolOutcome};
use crate::message::SteerAuthor;
use crate::tool::{ToolCallTitle, ToolOutput};

/// One event. Each has its own sequence number; those that carry an entry carry the entry's number.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// The entry is a `runStart`.
    RunStart {
        entry: Arc<Entry>,
    },
    /// The entry is a `runEnd`.
    RunEnd {
        entry: Arc<Entry>,
    },
    TurnStart {
        turn: u32,
    },
    TurnEnd {
        turn: u32,
    },
    /// A model's message begins; `entry_id` is that of the entry that it will become, or that is discarded.
    MessageStart {
        entry_id: EntryId,
    },
    TextDelta(Delta),
    ThinkingDelta(Delta),
    ToolCallDelta {
        tool_call_id: ToolCallId,
        name: Arc<str>,
        delta: Delta,
    },
    /// A message is complete: a model's (`assistant`), a person's (`prompt`, `steer`).
    MessageEnd {
        entry: Arc<Entry>,
    },
    ToolStart {
        tool_call_id: ToolCallId,
        name: Arc<str>,
        kind: ToolKind,
        title: Arc<ToolCallTitle>,
    },
    /// What the call shows for now, in place of what it showed before.
    ToolUpdate {
        tool_call_id: ToolCallId,
        name: Arc<str>,
        partial: Arc<ToolOutput>,
    },
    /// Ends come in the order of completion; the entries with the results follow in the order of the calls.
    ToolEnd {
        tool_call_id: ToolCallId,
        name: Arc<str>,
        outcome: ToolOutcome,
        output: Arc<ToolOutput>,
    },
    /// The entry is a `toolResult`: it is in the history now.
    ToolResult {
        entry: Arc<Entry>,
    },
    /// The entry is a `customMessage`.
    CustomMessage {
        entry: Arc<Entry>,
    },
    /// The entry is a `customEntry` or a `notice`.
    EntryAppended {
        entry: Arc<Entry>,
    },
    PromptQueued {
        prompt_id: PromptId,
    },
    PromptStarted {
        prompt_id: PromptId,
    },
    PromptWithdrawn {
        prompt_id: PromptId,
    },
    SteerQueued(SteerEvent),
    SteerDelivered(SteerEvent),
    SteerWithdrawn(SteerEvent),
    /// It came too late, or the run ended before it could be delivered.
    SteerExpired(SteerEvent),
    /// An attempt failed and is made again; what it had brought is discarded.
    Retry(RetryEvent),
    CompactionStart,
    CompactionEnd {
        error: Option<Arc<str>>,
    },
    /// The entry is a `modelChange`.
    ModelChanged {
        entry: Arc<Entry>,
        model: Arc<str>,
        thinking: ThinkingLevel,
    },
    /// After each answer: of the run, and of the session since it was opened.
    Usage {
        run: Usage,
        session: Usage,
        context_percent: Option<f32>,
    },
}

impl SessionEvent {
    /// Whether an observer gets it even while nobody watches.
    pub fn always(&self) -> bool {
        matches!(
            self,
            Self::RunStart { .. }
                | Self::RunEnd { .. }
                | Self::PromptQueued { .. }
                | Self::PromptStarted { .. }
                | Self::PromptWithdrawn { .. }
                | Self::SteerQueued(_)
                | Self::SteerDelivered(_)
                | Self::SteerWithdrawn(_)
                | Self::SteerExpired(_)
                | Self::ModelChanged { .. }
        )
    }
}

/// A piece of a message. `offset` counts bytes of UTF-8 from the start of the message's text, of its thinking, or of
/// the call's arguments: a piece whose offset is not the length so far is not the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    pub entry_id: EntryId,
    pub offset: usize,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteerEvent {
    pub steer_id: SteerId,
    pub text: Arc<str>,
    pub author: SteerAuthor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryEvent {
    /// The retry that follows, from 1.
    pub attempt: u32,
    pub max_attempts: u32,
    pub delay_ms: u64,
    pub error: Arc<str>,
    /// The message that is discarded, where it had begun.
    pub discarded: Option<EntryId>,
}

/// Which entries to give.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Entries with a lower number only.
    pub before: Option<u64>,
    /// Entries with this number or a higher one only.
    pub from_seq: Option<u64>,
    /// Entries at most; the newest that fit. 0: [`DEFAULT_PAGE`].
    pub limit: usize,
    /// Only entries that people see; else also those that only the machine needs.
    pub shown_only: bool,
}

/// Entries of a page where no limit is given.
pub const DEFAULT_PAGE: usize = 100;

/// A stretch of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    /// The message that is being written.
    pub partial: Option<PartialMessage>,
    /// The last event that the page contains; the next one has this number and 1.
    pub as_of_seq: u64,
    /// Whether older entries exist.
    pub has_more: bool,
    /// Entries of the transcript.
    pub total: usize,
}

/// A message that is being written.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialMessage {
    pub entry_id: EntryId,
    pub run: u32,
    pub message: AssistantMessage,
}

/// What is told of events.
pub trait Observer: Send {
    /// Called in the session's own task, in order; it must not block. While `watch` is on it gets every event and its
    /// numbers have no gap; else only those that are [`always`](SessionEvent::always) told.
    fn event(&mut self, seq: u64, event: SessionEvent);
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&mut self, _seq: u64, _event: SessionEvent) {}
}

impl<F: FnMut(u64, SessionEvent) + Send> Observer for F {
    fn event(&mut self, seq: u64, event: SessionEvent) {
        self(seq, event);
    }
}
