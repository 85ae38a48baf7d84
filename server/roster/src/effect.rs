//! Acts that the core asks of its shell: the closed list of what [`crate::Roster::apply`] answers. The shell carries
//! them out in order and never waits for one.

use serde::{Deserialize, Serialize};
use vocab::{AgentId, AgentStatus, EndedBy, SessionId, SteerId, Timestamp};

use crate::completion::Completion;
use crate::input::{BatchId, CallId, Ending, Launch, Owner, SpawnRequest, Steer, TouchedPath};

/// One act.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Answers a caller, once.
    Reply { call: CallId, reply: Reply },
    /// Starts a run: build or reopen the child's session, hand it the steers, prompt it, join its task.
    Start { agent: AgentId, run: u32, prompt: String, steers: Vec<Steer> },
    /// Hands a steer to a run whose session is there or being built.
    Steer { agent: AgentId, run: u32, steer: Steer },
    /// Asks the run's session to take a steer back and to answer the caller.
    Unsteer { call: CallId, agent: AgentId, run: u32, steer: SteerId },
    /// Cancels the run's token. Its task is still to be joined.
    Cancel { agent: AgentId, run: u32, ending: Ending },
    /// The grace is over: drop the run's task and kill what it started. The core has settled it already.
    Detach { agent: AgentId, run: u32 },
    /// Something waits for this owner, which may be idle: it is to ask for [`crate::Input::Drain`].
    Wake { owner: Owner },
    /// Tells the editor of completions, together.
    Announce { completions: Vec<Completion>, partial: bool, group: Option<String> },
    /// The agent's row is out of date; where the agent is not there any more, its row goes. `status`: its state changed,
    /// not only its progress. The places of the others in a queue move without one.
    Changed { agent: AgentId, status: bool },
    /// A fact for the journal of a session.
    Record { session: SessionId, fact: Fact },
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Spawned {
        agent: AgentId,
        run: u32,
        handle: String,
        status: AgentStatus,
        queue_position: Option<u32>,
    },
    Refused(Refusal),
    Steered {
        steer: SteerId,
        now: bool,
    },
    Unsteered {
        withdrawn: bool,
    },
    Stopped {
        agents: Vec<(AgentId, AgentStatus)>,
    },
    /// The awaited run is over.
    Settled(Box<Completion>),
    /// The state of a run now; `completion` once it is final.
    Result {
        agent: AgentId,
        run: u32,
        status: AgentStatus,
        queue_position: Option<u32>,
        completion: Option<Box<Completion>>,
    },
    /// What waited for the owner; nothing where `completions` is empty.
    Batch {
        batch: BatchId,
        completions: Vec<Completion>,
        partial: bool,
    },
}

/// Why a request was refused. A refusal changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    UnknownAgent(AgentId),
    UnknownSession(SessionId),
    /// The agent has no such run.
    UnknownRun {
        agent: AgentId,
        run: u32,
    },
    /// Steering needs a run that goes on, nesting an owner that does.
    NotRunning {
        agent: AgentId,
        status: AgentStatus,
    },
    /// Resuming needs a settled one.
    StillRunning {
        agent: AgentId,
        status: AgentStatus,
    },
    /// Too many agents at one time under this session.
    TooMany {
        limit: u32,
    },
    /// No agent may be started at this depth.
    TooDeep {
        limit: u32,
    },
    /// The new agent's id is taken: draw another.
    AgentExists(AgentId),
    /// As many steers as may wait already wait for the queued agent.
    TooManySteers {
        limit: u32,
    },
    /// The server ends.
    ShuttingDown,
}

/// Facts worth keeping: what a journal holds, line by line, and enough to make the fleet again ([`crate::Replay`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fact {
    /// A new agent, with its first run.
    Spawned {
        request: Box<SpawnRequest>,
        handle: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        alias: Option<String>,
        depth: u32,
        at: Timestamp,
    },
    /// Another run of a settled agent.
    Resumed {
        agent: AgentId,
        run: u32,
        launch: Box<Launch>,
        at: Timestamp,
    },
    Started {
        agent: AgentId,
        run: u32,
        at: Timestamp,
    },
    /// Somebody asked for its end.
    Stopped {
        agent: AgentId,
        run: u32,
        by: EndedBy,
        at: Timestamp,
    },
    /// A long text is cut to its beginning.
    Settled {
        completion: Box<Completion>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<TouchedPath>,
    },
    /// The editor has had the news. Made by the shell, once it has been written.
    Announced {
        agent: AgentId,
        run: u32,
        at: Timestamp,
    },
    /// The news is in its owner's history.
    Delivered {
        agent: AgentId,
        run: u32,
        at: Timestamp,
    },
    /// The owner read the result itself.
    Consumed {
        agent: AgentId,
        run: u32,
        at: Timestamp,
    },
    /// A person has seen the result.
    Seen {
        agent: AgentId,
        run: u32,
        at: Timestamp,
    },
}

impl Fact {
    /// The agent that it is about.
    pub fn agent(&self) -> &AgentId {
        match self {
            Self::Spawned { request, .. } => &request.agent,
            Self::Settled { completion, .. } => &completion.agent,
            Self::Resumed { agent, .. }
            | Self::Started { agent, .. }
            | Self::Stopped { agent, .. }
            | Self::Announced { agent, .. }
            | Self::Delivered { agent, .. }
            | Self::Consumed { agent, .. }
            | Self::Seen { agent, .. } => agent,
        }
    }
}
