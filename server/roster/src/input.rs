//! Facts and requests that can change the fleet: the closed list of what [`crate::Roster::apply`] takes.

use serde::{Deserialize, Serialize};
use vocab::{
    AgentId, Budget, DeliveryState, EndReason, EndedBy, Outcome, PermissionMode, SessionId, SteerId,
    ThinkingLevel, Timestamp, ToolCallId, ToolKind, Usage, WaitingOn,
};

use crate::completion::Completion;

/// Names one waiting caller; the shell makes it and knows whom it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// One batch of completions that a parent has been given and has not acknowledged yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// Who owns an agent, and so who gets its completions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Session(SessionId),
    Agent(AgentId),
}

/// Everything that can happen to the fleet.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A root session is here. A second time only replaces its limits; where it is closing, it stays after all.
    OpenSession { session: SessionId, limits: SessionLimits },
    /// The session's settings changed; a raised `max_concurrent` starts queued agents at once.
    SetLimits { session: SessionId, limits: SessionLimits },
    /// The session goes: its agents are stopped, its names are free once they have settled.
    CloseSession { session: SessionId },
    /// Answered with [`crate::Reply::Spawned`] or [`crate::Reply::Refused`].
    Spawn { call: CallId, request: SpawnRequest },
    /// Answered as a spawn is.
    Resume { call: CallId, request: ResumeRequest },
    /// Setting up is done: the child's session exists and its first model request may go out.
    Started { agent: AgentId, run: u32 },
    /// A sample of a live run. Late samples of an earlier run are ignored.
    Progress { agent: AgentId, run: u32, progress: Progress },
    /// The run's task was joined: return, error, panic or cancel. The only way for a started run to become final.
    Settled { agent: AgentId, run: u32, outcome: Outcome, progress: Progress },
    /// Steers that the run accepted but could not deliver before it ended. Sent before [`Input::Settled`], whose
    /// completion carries them.
    SteersExpired { agent: AgentId, run: u32, steers: Vec<Steer> },
    /// Answered with [`crate::Reply::Steered`]; legal while the agent is queued or running. A stopping run has no
    /// further turn that could read it.
    Steer { call: CallId, agent: AgentId, steer: Steer },
    /// Takes a steer back. Answered here while the agent is queued, by its session otherwise.
    Unsteer { call: CallId, agent: AgentId, steer: SteerId },
    /// Answered at once with [`crate::Reply::Stopped`]. Idempotent.
    Stop { call: CallId, agent: AgentId, scope: StopScope, by: EndedBy },
    /// Stops the agents of one session, or of all. Answered at once with [`crate::Reply::Stopped`].
    StopAll { call: CallId, session: Option<SessionId>, by: EndedBy },
    /// Waits until the run (the latest where none is named) has settled; answered with [`crate::Reply::Settled`].
    /// With `consume`, that answer is the parent's reading of the result. A foreground run that a model started lives by
    /// the first call that awaits it.
    Await { call: CallId, agent: AgentId, run: Option<u32>, consume: bool },
    /// Reads a result now, whatever its state; answered with [`crate::Reply::Result`].
    Read { call: CallId, agent: AgentId, run: Option<u32>, consume: bool },
    /// A caller went away. A foreground run ends with its caller; everything else lives on.
    CallerGone { call: CallId },
    /// A person has seen this run's result.
    Seen { agent: AgentId, run: u32 },
    /// The owner is at a turn boundary and takes what waits for it; answered with [`crate::Reply::Batch`].
    /// `idle`: it would stop now, or has been woken; then only something that may wake it is a reason to answer with
    /// more than nothing. No tool call of the owner runs meanwhile, so its open groups are complete.
    Drain { call: CallId, owner: Owner, idle: bool },
    /// The batch is in the owner's history.
    Delivered { batch: BatchId },
    /// The batch never got there; its rows wait again.
    Returned { batch: BatchId },
    /// The owner's tool calls of this turn are over: nobody joins this turn's group any more.
    TurnOver { owner: Owner, turn: u64 },
    /// An agent of an earlier server, read from disk. Owners come before their children. A known id changes nothing.
    Restore { agent: Box<RestoredAgent> },
    /// Nothing happened but time.
    Tick,
    /// The server ends: everything live becomes interrupted, nothing is announced or delivered any more.
    Shutdown,
}

/// A new agent, with everything resolved: the core looks nothing up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnRequest {
    /// Made by the shell, never used before.
    pub agent: AgentId,
    pub session: SessionId,
    /// The agent that asks, for a nested child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// Canonical name of the agent type.
    pub agent_type: String,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// For people, ≤ 120 characters; the type's name where the caller gave none.
    pub description: String,
    /// A name of the caller's choice; turned into an alias, never refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub cwd: String,
    pub model: String,
    /// What was asked for, where it is not what runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    pub permission_mode: PermissionMode,
    /// Turn limit of each run; none means unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What each run may use.
    pub budget: Budget,
    pub tags: Vec<String>,
    /// Whether its transcript is on disk: then a long result need not stay in memory.
    #[serde(default)]
    pub on_disk: bool,
    /// What the shell needs to run it again after a restart; the core passes it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    pub launch: Launch,
}

/// Another run of a settled agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeRequest {
    pub agent: AgentId,
    pub launch: Launch,
}

/// An agent read from disk: settled, whatever it was when its server ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RestoredAgent {
    /// Who it is; `launch` is that of its latest run.
    pub request: SpawnRequest,
    pub handle: String,
    pub alias: Option<String>,
    pub depth: u32,
    pub created_at: Timestamp,
    /// Oldest first. An agent without runs is not restored.
    pub runs: Vec<RestoredRun>,
}

/// One run of a restored agent.
#[derive(Debug, Clone, PartialEq)]
pub struct RestoredRun {
    pub completion: Completion,
    /// What the latest sample said of files; counts and usage come from the completion.
    pub files: Vec<TouchedPath>,
    pub seen: bool,
    /// Whether the editor has had the news. Foreground and interrupted runs have none to give.
    pub announced: bool,
    /// Where the news stood on its way to the model: `Pending` and `Held` enter the owner's next turn, and wake nothing.
    /// An interrupted run has news too, whatever it was: its owner has to learn that nothing more will come of it.
    pub delivery: Option<DeliveryState>,
}

/// How a run is launched, the same for a first run and for a resumed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    pub prompt: String,
    /// A foreground run takes no permit and ends with its caller.
    pub background: bool,
    /// Whether its end wakes the owner's model: runs that the model started do, a person's only on request.
    pub wake_model: bool,
    /// Who asked.
    pub origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallId>,
    /// The owner's turn in which it was launched; background runs of one turn are reported together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}

/// Who launched a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// The owner's model, by a tool call.
    Model,
    /// A person, by the editor.
    Person,
    /// Another program, by the event bus.
    Program,
}

/// A message put into a live run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Steer {
    pub id: SteerId,
    pub text: String,
    pub author: EndedBy,
}

/// How far a stop reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopScope {
    /// The agent alone. What it owns is stopped by its parent when it has settled.
    One,
    /// The agent and, at once and by the same stopper, everything under it.
    Subtree,
}

/// Limits of one root session, from its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Top-level background runs at one time.
    pub max_concurrent: u32,
    /// Deepest agent; 1 forbids nesting.
    pub max_depth: u32,
    /// Agents queued, running or stopping at one time under the session; 0 is no limit.
    pub descendants: u32,
    /// A run's wall clock in milliseconds, not counting waits for a person; 0 is no limit.
    pub wall_clock_ms: u64,
    /// How long a completion is held back so that a reader can win.
    pub hold_ms: u64,
    /// How long a group waits for its members, from its first completion.
    pub join_ms: u64,
    /// The same for what is left of a group after that.
    pub straggler_ms: u64,
    /// Whether runs launched in one turn are reported together.
    pub join: bool,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_concurrent: 10,
            max_depth: 2,
            descendants: 256,
            wall_clock_ms: 0,
            hold_ms: 200,
            join_ms: 30_000,
            straggler_ms: 15_000,
            join: true,
        }
    }
}

/// What a live run has done so far; the latest sample replaces the one before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub turns: u32,
    pub tool_uses: u32,
    /// Of this run alone.
    pub usage: Usage,
    pub waiting_on: Option<WaitingOn>,
    /// One line, ≤ 120 characters.
    pub activity: Option<String>,
    pub tool: Option<CurrentTool>,
    pub context_percent: Option<f64>,
    pub compactions: u32,
    /// The last files touched, oldest first, ≤ 20.
    pub files: Vec<TouchedPath>,
    pub files_total: u32,
}

/// The tool call that runs now.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentTool {
    pub kind: ToolKind,
    pub title: String,
    pub path: Option<String>,
    pub started_at: Timestamp,
}

/// A file that an agent read or changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TouchedPath {
    pub path: String,
    pub edited: bool,
    pub at: Timestamp,
}

/// Why and by whom a run is ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub by: EndedBy,
    pub reason: Option<EndReason>,
}
