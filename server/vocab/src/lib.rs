//! Words that every layer of Adjutant speaks: ids, times, usage, states and how things end.
//!
//! Nothing here does anything; a type is here when two crates that do not know each other must mean the same by it.

mod ids;
mod modes;
mod outcome;
mod status;
mod time;
mod usage;

pub use ids::{AgentId, EntryId, ItemId, PromptId, RunId, SessionId, SteerId, ToolCallId};
pub use modes::{PermissionMode, ThinkingLevel, ToolKind};
pub use outcome::{EndReason, EndedBy, Outcome, RunStop};
pub use status::{AgentStatus, DeliveryState, WaitingOn};
pub use time::Timestamp;
pub use usage::{Budget, Usage};
