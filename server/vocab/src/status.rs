//! What an agent is doing, and where news of it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of an agent's current run. The first final state of a run is its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum AgentStatus {
    /// Admitted, waiting for a permit.
    Queued,
    Running,
    /// Asked to stop; something of it can still act. Ends within 3 s.
    Stopping,
    /// Ended by itself, with an answer.
    Completed,
    /// Ended with an answer after it was told to wrap up at its turn limit.
    Steered,
    /// Ended by a limit.
    Aborted,
    /// Ended by a person, a program or its parent.
    Stopped,
    /// Ended by a fault.
    Error,
    /// The server ended before the run did.
    Interrupted,
}

impl AgentStatus {
    /// Whether the run is over.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Stopping)
    }

    /// The word on the wire, also shown to people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Steered => "steered",
            Self::Aborted => "aborted",
            Self::Stopped => "stopped",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What a running agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum WaitingOn {
    Setup,
    Model,
    Tool,
    Approval,
    Child,
    Retry,
    Compaction,
}

/// Where the news of a settled background run stands on its way to the parent's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum DeliveryState {
    /// Waits for the parent's next turn boundary or wake.
    Pending,
    /// Held back for the hold window or for its group.
    Held,
    /// In the parent's history.
    Delivered,
    /// The parent read the result itself; nothing is delivered.
    Consumed,
}
