//! The fleet as a roster shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{
    AgentId, AgentStatus, Budget, DeliveryState, EndReason, EndedBy, PermissionMode, SessionId,
    ThinkingLevel, Timestamp, ToolCallId, ToolKind, Usage, WaitingOn,
};

use crate::{Limits, Range};

/// One agent as a roster shows it: its current run, or its last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    pub agent_id: AgentId,
    /// 1 for the spawn, one more for each resume.
    pub run: u32,
    /// The parent session at the root.
    pub session_id: SessionId,
    /// The call that started it, where a model did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// Its short name, unique in its session.
    pub handle: String,
    /// The name that a person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The agent type's name.
    #[serde(rename = "type")]
    pub agent_type: String,
    /// The agent type as people read it.
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// What it was asked to do; at most 120 characters.
    pub description: String,
    /// A client shows a status that it does not know as ended.
    pub status: AgentStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<WaitingOn>,
    /// Its place in the queue, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u32>,
    pub is_background: bool,
    /// The agent that started it; absent where the parent session did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<AgentId>,
    /// 1 under the parent session.
    pub depth: u32,
    pub cwd: String,
    pub created_at: Timestamp,
    /// Of the current or last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// Model requests of this run.
    pub turns: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Tool calls of this run.
    pub tool_uses: u32,
    /// Of all its runs, its children's not counted in.
    pub usage: Usage,
    pub subtree: SubtreeTotals,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How full its context window is, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<f64>,
    pub compactions: u32,
    /// The model that it runs on, `provider/name`.
    pub model: String,
    /// The model that was asked for, where another had to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    pub permission_mode: PermissionMode,
    /// What it does now, in words; at most 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<CurrentTool>,
    /// Short marks for people, such as `isolated`.
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeInfo>,
    /// How many of its decisions wait for a person.
    pub attention: u32,
    /// The start of its result; at most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// What went wrong; at most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub resumable: bool,
    /// Another server has its journal: every verb on it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// No person has seen the result of its last run.
    pub unread: bool,
    /// Where the news of a background run stands on its way to the parent's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryState>,
    /// The last 20, newest last.
    pub files: Vec<TouchedFile>,
    pub files_total: u32,
}

/// An agent and everything under it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubtreeTotals {
    /// Agents under it, itself not counted.
    pub agents: u32,
    /// Those of them that have not ended.
    pub running: u32,
    /// Its own usage and theirs.
    pub usage: Usage,
}

/// The tool call that runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTool {
    pub kind: ToolKind,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    pub started_at: Timestamp,
}

/// The working tree that an agent has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeInfo {
    pub state: WorktreeState,
    /// The commit it began from.
    pub base: String,
    /// The verified branch that holds its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub repository: String,
    /// Why it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a working tree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum WorktreeState {
    /// Its agent runs in it.
    Active,
    /// It held nothing and is gone.
    Clean,
    /// A branch holds its work; the tree is gone.
    Saved,
    /// The tree is still there, and `note` says why.
    Kept,
}

/// A file that an agent read or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TouchedFile {
    pub uri: String,
    pub kind: TouchKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<Range>>,
    pub at: Timestamp,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum TouchKind {
    Read,
    Edit,
}

/// Asks for the whole fleet, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetListParams {
    /// `nextCursor` of the page before. All pages are of one revision; if it passed, the answer is "content modified":
    /// begin again without a cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default = "FleetListParams::default_limit")]
    pub limit: u32,
}

impl FleetListParams {
    fn default_limit() -> u32 {
        500
    }
}

impl Default for FleetListParams {
    fn default() -> Self {
        Self { cursor: None, limit: Self::default_limit() }
    }
}

/// One page of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetListResult {
    /// Names this life of the server; another one means that nothing known before holds.
    pub epoch: String,
    pub revision: u64,
    /// The server's clock, from which a client works out elapsed times.
    pub server_now: Timestamp,
    pub agents: Vec<AgentSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    pub limits: Limits,
}

/// What changed in the fleet. Another `epoch`, or a `baseRevision` that is not the client's revision: list again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetChangedParams {
    pub epoch: String,
    /// The revision that this change leads to.
    pub revision: u64,
    /// The revision that it starts from.
    pub base_revision: u64,
    pub server_now: Timestamp,
    /// New or changed agents, each whole.
    pub upserted: Vec<AgentSummary>,
    pub removed: Vec<AgentId>,
}

/// A `$/progress` value on a prompt's `updatesToken`: how one of its agents is getting on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUpdate {
    /// The call in the parent's transcript.
    pub tool_call_id: ToolCallId,
    pub agent_id: AgentId,
    pub run: u32,
    pub summary: AgentSummary,
    /// The end of what it wrote last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_tail: Option<String>,
}
