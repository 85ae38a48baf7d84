//! The parent session: open, prompt, steer, abort, follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{AgentId, PermissionMode, PromptId, RunId, RunStop, SessionId, SteerId, ThinkingLevel, Usage};

use crate::{Attachment, ProgressToken, SessionEvent, TranscriptPage};

/// Opens a session, or makes one. With nothing given it is the folder's default session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpenParams {
    /// The id for a new session, or of one that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// `latest`, or the id of a session on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Not available in this version: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<serde_json::Value>,
    /// The folder it works in; absent: the first workspace folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Nothing of it is written to disk.
    #[serde(default)]
    pub ephemeral: bool,
}

impl SessionOpenParams {
    /// The first field present that this version does not have. Dropping it silently would do something else than asked.
    pub fn unavailable(&self) -> Option<&'static str> {
        self.fork.is_some().then_some("fork")
    }
}

/// A session as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub session_id: SessionId,
    pub title: String,
    pub cwd: String,
    /// `provider/name`; empty where none is chosen or can be had.
    pub model: String,
    pub thinking: ThinkingLevel,
    pub permission_mode: PermissionMode,
    /// Whether it is on disk. False for an ephemeral one, and before its first prompt.
    pub persisted: bool,
    /// The path of its session file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub usage: Usage,
    pub entry_count: u64,
    /// Whether a run is active.
    pub running: bool,
}

/// Closes a session: its run is aborted, its agents are stopped; what is on disk stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseParams {
    pub session_id: SessionId,
}

/// Starts a run, or waits for the active one to end and starts one then. Answered when that run has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The client's own name for this prompt; absent: the server makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<PromptId>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    #[serde(default)]
    pub origin: PromptOrigin,
    /// Gets the run's work-done progress; a cancel on it aborts the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
    /// Gets an `AgentUpdate` whenever one of the run's foreground agents gets on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates_token: Option<ProgressToken>,
}

/// Where a prompt comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum PromptOrigin {
    /// A person typed it.
    #[default]
    User,
    /// A command of the editor made it.
    Command,
}

/// What a prompt came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptResult {
    pub run_id: RunId,
    pub stop_reason: RunStop,
    pub disposition: PromptDisposition,
    /// Where it went, if `disposition` is `routed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routed: Option<RoutedPrompt>,
    /// The last text of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of this run.
    pub usage: Usage,
}

/// Who took a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum PromptDisposition {
    /// The parent session's model.
    Forwarded,
    /// An agent that the text names.
    Routed,
}

/// The agent that a prompt went to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutedPrompt {
    pub agent_id: AgentId,
    pub action: RouteAction,
}

/// What a routed prompt did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum RouteAction {
    /// Steered a running agent.
    Message,
    /// Resumed a settled one.
    Resume,
    /// Resumed one from disk.
    Reopen,
    /// Started a new one.
    Start,
}

/// Sends a message into the active run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSteerParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub text: String,
}

/// Takes a steering message back, if it was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUnsteerParams {
    pub steer_id: SteerId,
}

/// Ends the active run and its foreground agents; queued prompts and steers are not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAbortParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// What an abort did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAbortResult {
    /// False: no run was active.
    pub aborted: bool,
    /// Background agents of the session, which go on.
    pub background_running: u32,
    /// What was not sent, so that a client can offer the texts again.
    pub withdrawn: Vec<WithdrawnText>,
}

/// A prompt or a steering message that was not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WithdrawnText {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<PromptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steer_id: Option<SteerId>,
    pub text: String,
}

/// Follows a session: one page of its transcript now, then each event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeParams {
    pub session_id: SessionId,
    /// Only entries from this seq on; absent: any. The page is the newest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_seq: Option<u64>,
    /// Entries in the page; absent: the server chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Where a follower starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeResult {
    pub page: TranscriptPage,
    /// The `seq` of the first event that follows. An event below it is in the page already.
    pub next_seq: u64,
}

/// Ends the events of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUnsubscribeParams {
    pub session_id: SessionId,
}

/// One event of a session that the client follows. A gap in `seq` means: subscribe again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEventParams {
    pub session_id: SessionId,
    /// Counts this transcript's events from 1, for ever.
    pub seq: u64,
    pub event: SessionEvent,
}
