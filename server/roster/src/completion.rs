//! The completion of one run: a snapshot made when it settles, from which everything said about it later is rendered.

use vocab::{AgentId, AgentStatus, Outcome, SessionId, Timestamp, ToolCallId};

use crate::input::Steer;

/// What one run came to. Never changed after it was made, so that a resume in between cannot alter what is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    pub agent: AgentId,
    pub run: u32,
    pub session: SessionId,
    pub parent: Option<AgentId>,
    pub handle: String,
    pub agent_type: String,
    pub description: String,
    pub background: bool,
    pub tool_call: Option<ToolCallId>,
    pub outcome: Outcome,
    pub turns: u32,
    pub max_turns: Option<u32>,
    pub tool_uses: u32,
    pub context_percent: Option<f64>,
    pub compactions: u32,
    /// Absent where the run never started.
    pub started_at: Option<Timestamp>,
    pub completed_at: Timestamp,
    /// Steers that were accepted and never reached the model, so that their senders can be told.
    pub undelivered_steers: Vec<Steer>,
    /// Whether it was read from disk after the server had ended.
    pub restored: bool,
}

impl Completion {
    /// The final state of the run.
    pub fn status(&self) -> AgentStatus {
        self.outcome.status
    }

    /// Running time in milliseconds, without the time in the queue; 0 where it never started.
    pub fn duration_ms(&self) -> u64 {
        self.started_at.map_or(0, |started| self.completed_at.ms_since(started))
    }
}
