//! What can be done with one agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{AgentId, AgentStatus, Budget, EndReason, EndedBy, SessionId, SteerId, ThinkingLevel, Usage};

use crate::{AgentSummary, Attachment, BadParams, SessionEvent, TranscriptPage, WorktreeInfo};

fn yes() -> bool {
    true
}

/// Starts an agent. Answered at once; its result comes as a completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpawnParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The agent type's name.
    #[serde(rename = "type")]
    pub agent_type: String,
    pub prompt: String,
    /// A few words for the roster; absent: the start of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A name to call it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Where it works. Its type's own choice beats this one. A worktree that cannot be had refuses the spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Only the built-in tools, and no agents of its own. Its type's own choice beats this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// Not available in this version: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherit_context: Option<serde_json::Value>,
    /// What each of its runs may use. Where its type has a budget too, the smaller of each part binds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// False: it takes no place in the queue.
    #[serde(default = "yes")]
    pub background: bool,
    /// Whether its completion starts a turn of the parent's model, not only joins the next one.
    #[serde(default)]
    pub wake_model: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl AgentSpawnParams {
    /// The first field present that this version does not have. Dropping it silently would do something else than asked.
    pub fn unavailable(&self) -> Option<&'static str> {
        self.inherit_context.is_some().then_some("inheritContext")
    }
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Isolation {
    /// In its session's folder.
    Off,
    /// In a git worktree of its own.
    Worktree,
}

/// An agent was taken on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpawnResult {
    pub agent_id: AgentId,
    pub run: u32,
    pub handle: String,
    pub status: AgentStatus,
}

/// Which agent is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentRef<'a> {
    Id(&'a AgentId),
    /// A handle, in the session named or in the default one.
    Handle {
        handle: &'a str,
        session_id: Option<&'a SessionId>,
    },
}

impl<'a> AgentRef<'a> {
    fn of(
        agent_id: Option<&'a AgentId>,
        handle: Option<&'a str>,
        session_id: Option<&'a SessionId>,
    ) -> Result<Self, BadParams> {
        match (agent_id, handle) {
            (Some(id), _) => Ok(Self::Id(id)),
            (None, Some(handle)) => Ok(Self::Handle { handle, session_id }),
            (None, None) => Err(BadParams::new("agentId", "give `agentId`, or `handle`")),
        }
    }
}

/// Sends a message to an agent that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSteerParams {
    /// This, or `handle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Where `handle` is looked up; absent: the default session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub message: String,
}

impl AgentSteerParams {
    /// The agent that is meant; an error where neither `agentId` nor `handle` is given.
    pub fn target(&self) -> Result<AgentRef<'_>, BadParams> {
        AgentRef::of(self.agent_id.as_ref(), self.handle.as_deref(), self.session_id.as_ref())
    }
}

/// Takes a steering message back, if it was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUnsteerParams {
    pub agent_id: AgentId,
    pub steer_id: SteerId,
}

/// How far a stop reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum StopScope {
    /// This agent alone; its children go on.
    One,
    /// This agent and everything under it.
    #[default]
    Subtree,
}

/// Stops an agent. Answered at once; the agent is `stopping` until nothing of it can act any more, at most 3 s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStopParams {
    /// This, or `handle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Where `handle` is looked up; absent: the default session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    pub scope: StopScope,
}

impl AgentStopParams {
    /// The agent that is meant; an error where neither `agentId` nor `handle` is given.
    pub fn target(&self) -> Result<AgentRef<'_>, BadParams> {
        AgentRef::of(self.agent_id.as_ref(), self.handle.as_deref(), self.session_id.as_ref())
    }
}

/// What a stop reached. Stopping an agent that has ended changes nothing and is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStopResult {
    pub stopped: Vec<StoppedAgent>,
}

/// An agent and the status that a stop left it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedAgent {
    pub agent_id: AgentId,
    pub status: AgentStatus,
}

/// Stops all agents of a session; without one, of all sessions of this server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStopAllParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// The agents that were asked to stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStopAllResult {
    pub stopped: Vec<AgentId>,
}

/// Continues a settled agent with a new prompt, as its next run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResumeParams {
    /// This, or `handle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Where `handle` is looked up; absent: the default session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub prompt: String,
    /// False: it takes no place in the queue.
    #[serde(default = "yes")]
    pub background: bool,
    /// Whether its completion starts a turn of the parent's model, not only joins the next one.
    #[serde(default)]
    pub wake_model: bool,
}

impl AgentResumeParams {
    /// The agent that is meant; an error where neither `agentId` nor `handle` is given.
    pub fn target(&self) -> Result<AgentRef<'_>, BadParams> {
        AgentRef::of(self.agent_id.as_ref(), self.handle.as_deref(), self.session_id.as_ref())
    }
}

/// A new run was taken on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResumeResult {
    pub agent_id: AgentId,
    pub run: u32,
    pub status: AgentStatus,
}

/// Reads a result as a person does: the parent's model is still told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResultParams {
    pub agent_id: AgentId,
    /// Absent: the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// Whether `transcript` is wanted too.
    #[serde(default)]
    pub verbose: bool,
}

/// What an agent has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResultResult {
    pub run: u32,
    pub status: AgentStatus,
    pub text: String,
    /// Of this run.
    pub usage: Usage,
    /// The run has not ended, or did not end by itself.
    pub partial: bool,
    /// The run's conversation as text, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// A person has seen this run's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSeenParams {
    pub agent_id: AgentId,
    pub run: u32,
}

/// Follows an agent: one page of its transcript now, then each event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOpenParams {
    pub agent_id: AgentId,
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
pub struct AgentOpenResult {
    pub summary: AgentSummary,
    pub page: TranscriptPage,
    /// The `seq` of the first event that follows. An event below it is in the page already.
    pub next_seq: u64,
}

/// Ends the events of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCloseParams {
    pub agent_id: AgentId,
}

/// One event of an agent that the client follows. A gap in `seq` means: open again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEventParams {
    pub agent_id: AgentId,
    /// Counts this transcript's events from 1, for ever.
    pub seq: u64,
    pub event: SessionEvent,
}

/// Asks for an older page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTranscriptParams {
    pub agent_id: AgentId,
    /// Only entries before this seq; absent: any. The page is the newest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Entries in the page, at most.
    pub limit: u32,
}

/// Background runs have settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCompletedParams {
    /// Counts these notifications from 1, for one life of the server.
    pub seq: u64,
    pub completions: Vec<Completion>,
    /// Others of the group still run.
    pub partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
}

/// News of one settled run. A client drops a key (`agentId`, `run`) that it has had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    pub agent_id: AgentId,
    pub run: u32,
    pub session_id: SessionId,
    pub handle: String,
    /// The agent type's name.
    #[serde(rename = "type")]
    pub agent_type: String,
    pub description: String,
    /// Always a final one.
    pub status: AgentStatus,
    pub ended_by: EndedBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// The start of its result; at most 500 characters.
    pub result_preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of this run.
    pub usage: Usage,
    pub duration_ms: u64,
    pub tool_uses: u32,
    pub turns: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeInfo>,
    /// The path of its transcript file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// It settled in an earlier life of the server and is announced only now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<bool>,
}
