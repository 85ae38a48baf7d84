//! The completion of one run: a snapshot made when it settles, from which everything said about it later is rendered.

use serde::{Deserialize, Serialize};
use vocab::{AgentId, AgentStatus, Outcome, SessionId, Timestamp, ToolCallId};

use crate::input::Steer;

/// Bytes of a result that are kept in memory for good, and in the journal. A longer one is read from the agent's transcript.
pub const KEPT_TEXT_BYTES: usize = 4 << 10;

/// What one run came to. Never changed after it was made, so that a resume in between cannot alter what is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    pub agent: AgentId,
    pub run: u32,
    pub session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    pub handle: String,
    pub agent_type: String,
    pub description: String,
    pub background: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallId>,
    pub outcome: Outcome,
    /// Whether `outcome.text` is only the beginning: the whole is in the agent's transcript on disk.
    #[serde(default)]
    pub text_cut: bool,
    pub turns: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    pub tool_uses: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<f64>,
    pub compactions: u32,
    /// Absent where the run never started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    pub completed_at: Timestamp,
    /// Steers that were accepted and never reached the model, so that their senders can be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered_steers: Vec<Steer>,
    /// Whether it was read from disk after the server had ended.
    #[serde(default)]
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

    /// Leaves of a long text its beginning.
    pub(crate) fn cut_text(&mut self) {
        let text = &mut self.outcome.text;
        if text.len() > KEPT_TEXT_BYTES {
            text.truncate(text.floor_char_boundary(KEPT_TEXT_BYTES));
            text.shrink_to_fit();
            self.text_cut = true;
        }
    }
}
