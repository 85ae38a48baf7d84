//! The record of one agent: who it is, for ever, and its numbered runs.

use std::collections::{BTreeSet, VecDeque};

use vocab::{
    AgentId, AgentStatus, Budget, DeliveryState, EndedBy, PermissionMode, SessionId, ThinkingLevel,
    Timestamp, ToolCallId, Usage,
};

use crate::admission::Permit;
use crate::completion::Completion;
use crate::delivery::{GroupId, Mailbox, News, NewsState};
use crate::input::{CallId, Ending, Origin, Owner, Progress, SpawnRequest, Steer};
use crate::limits::RunClock;

/// Settled runs kept beside the current one. Older ones are on disk; one whose news is still on its way is never let go.
pub(crate) const MAX_PAST_RUNS: usize = 32;

/// An agent's place in the order of creation, never used twice. Cheaper to copy and to compare than its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u64);

/// One run of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) slot: Slot,
    pub(crate) run: u32,
}

/// One agent. What it is never changes; what it does is its current run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRecord {
    pub id: AgentId,
    pub session: SessionId,
    /// The agent that owns it; none where the session does.
    pub parent: Option<AgentId>,
    /// 1 for an agent of the session itself.
    pub depth: u32,
    /// Unique in its session.
    pub handle: String,
    /// From a name of the caller's choice; unique in its session, among handles too.
    pub alias: Option<String>,
    pub agent_type: String,
    pub display_name: String,
    pub color: Option<String>,
    pub description: String,
    pub cwd: String,
    pub model: String,
    /// What was asked for, where it is not what runs.
    pub requested_model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub permission_mode: PermissionMode,
    /// Turn limit of each run; none means unlimited.
    pub max_turns: Option<u32>,
    /// What each run may use.
    pub budget: Budget,
    pub tags: Vec<String>,
    /// Whether its transcript is on disk.
    pub on_disk: bool,
    /// What the shell needs to run it again after a restart.
    pub plan: Option<String>,
    pub created_at: Timestamp,

    pub(crate) slot: Slot,
    pub(crate) run: Run,
    pub(crate) past: VecDeque<PastRun>,
    /// Of all runs before the latest, those that are only on disk too.
    pub(crate) spent_before: Usage,
    /// In creation order.
    pub(crate) children: Vec<Slot>,
    pub(crate) live_children: BTreeSet<Slot>,
    /// What its children have to tell it. Of the agent, not of the run: a resumed owner gets what it has missed.
    pub(crate) mailbox: Mailbox,
}

/// The latest run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) number: u32,
    pub(crate) background: bool,
    pub(crate) wake_model: bool,
    pub(crate) origin: Origin,
    pub(crate) tool_call: Option<ToolCallId>,
    /// The owner's turn in which it was launched.
    pub(crate) turn: Option<u64>,
    /// Whom it is reported together with.
    pub(crate) group: Option<GroupId>,
    /// Callers that wait for its end.
    pub(crate) waiters: BTreeSet<CallId>,
    pub(crate) state: RunState,
}

/// What the latest run does. Each state has only what it needs: a permit cannot be kept by leaving `Running`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunState {
    Queued(Queued),
    Running(Running),
    Stopping(Stopping),
    Settled(Box<SettledRun>),
}

/// Admitted, waiting for a permit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Queued {
    /// Key in the session's queue.
    pub(crate) place: u64,
    pub(crate) prompt: String,
    /// Handed over at the start.
    pub(crate) steers: Vec<Steer>,
}

/// Started and not ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Running {
    pub(crate) permit: Option<Permit>,
    pub(crate) started_at: Timestamp,
    pub(crate) progress: Progress,
    /// Whether its session is there.
    pub(crate) set_up: bool,
    pub(crate) clock: RunClock,
    /// The call that it lives by, for a foreground run.
    pub(crate) keeper: Option<CallId>,
    pub(crate) expired: Vec<Steer>,
}

/// Asked to end, not ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stopping {
    pub(crate) permit: Option<Permit>,
    pub(crate) started_at: Timestamp,
    pub(crate) progress: Progress,
    pub(crate) ending: Ending,
    /// When it is given up.
    pub(crate) grace_until: Timestamp,
    pub(crate) expired: Vec<Steer>,
}

/// Over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettledRun {
    pub(crate) completion: Completion,
    pub(crate) progress: Progress,
    pub(crate) seen: bool,
    /// The way of its news; none for foreground and interrupted runs.
    pub(crate) news: Option<News>,
}

/// A run before the latest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastRun {
    pub(crate) number: u32,
    pub(crate) settled: Box<SettledRun>,
}

impl SettledRun {
    /// Whether nobody is to be told of it any more.
    pub(crate) fn is_told(&self) -> bool {
        self.news.as_ref().is_none_or(|news| {
            news.announced && matches!(news.state, NewsState::Delivered | NewsState::Consumed)
        })
    }
}

impl AgentRecord {
    /// The state of the latest run.
    pub fn status(&self) -> AgentStatus {
        match &self.run.state {
            RunState::Queued(_) => AgentStatus::Queued,
            RunState::Running(_) => AgentStatus::Running,
            RunState::Stopping(_) => AgentStatus::Stopping,
            RunState::Settled(settled) => settled.completion.status(),
        }
    }

    /// Number of the latest run, from 1.
    pub fn run_number(&self) -> u32 {
        self.run.number
    }

    /// Whether the latest run is a background run.
    pub fn is_background(&self) -> bool {
        self.run.background
    }

    /// Whether the end of the latest run may wake its owner's model.
    pub fn wakes_model(&self) -> bool {
        self.run.wake_model
    }

    /// Who launched the latest run.
    pub fn origin(&self) -> Origin {
        self.run.origin
    }

    /// The tool call that launched the latest run.
    pub fn tool_call(&self) -> Option<&ToolCallId> {
        self.run.tool_call.as_ref()
    }

    /// Who gets its completions.
    pub fn owner(&self) -> Owner {
        match &self.parent {
            Some(parent) => Owner::Agent(parent.clone()),
            None => Owner::Session(self.session.clone()),
        }
    }

    /// When the latest run left the queue; none where it never did.
    pub fn started_at(&self) -> Option<Timestamp> {
        match &self.run.state {
            RunState::Queued(_) => None,
            RunState::Running(running) => Some(running.started_at),
            RunState::Stopping(stopping) => Some(stopping.started_at),
            RunState::Settled(settled) => settled.completion.started_at,
        }
    }

    /// The last sample of the latest run; of a settled run the one it ended with.
    pub fn progress(&self) -> &Progress {
        static NOTHING_YET: Progress = Progress {
            turns: 0,
            tool_uses: 0,
            usage: vocab::Usage {
                input: 0,
                output: 0,
                cache_read: 0,
                cache_write: 0,
                total: 0,
                cost_usd: None,
            },
            waiting_on: None,
            activity: None,
            tool: None,
            context_percent: None,
            compactions: 0,
            files: Vec::new(),
            files_total: 0,
        };
        match &self.run.state {
            RunState::Queued(_) => &NOTHING_YET,
            RunState::Running(running) => &running.progress,
            RunState::Stopping(stopping) => &stopping.progress,
            RunState::Settled(settled) => &settled.progress,
        }
    }

    /// What all its runs have used, what it owns not counted in.
    pub fn usage(&self) -> Usage {
        let mut usage = self.spent_before;
        usage += match &self.run.state {
            RunState::Settled(settled) => settled.completion.outcome.usage,
            _ => self.progress().usage,
        };
        usage
    }

    /// Puts a run that is over among those before the latest.
    pub(crate) fn remember(&mut self, number: u32, settled: Box<SettledRun>) {
        self.spent_before += settled.completion.outcome.usage;
        self.past.push_back(PastRun { number, settled });
        if self.past.len() > MAX_PAST_RUNS
            && let Some(told) = self.past.iter().position(|past| past.settled.is_told())
        {
            self.past.remove(told);
        }
    }

    /// Why and by whom the latest run is being stopped.
    pub fn ending(&self) -> Option<Ending> {
        match &self.run.state {
            RunState::Stopping(stopping) => Some(stopping.ending),
            _ => None,
        }
    }

    /// What the latest run came to, once it is over.
    pub fn completion(&self) -> Option<&Completion> {
        match &self.run.state {
            RunState::Settled(settled) => Some(&settled.completion),
            _ => None,
        }
    }

    /// What a run came to, by its number. Runs far back are only on disk.
    pub fn completion_of(&self, run: u32) -> Option<&Completion> {
        self.settled(run).map(|settled| &settled.completion)
    }

    /// Whether the latest run is a settled background run that no person has seen. Who stopped a run has seen it.
    pub fn unread(&self) -> bool {
        match &self.run.state {
            RunState::Settled(settled) => {
                self.run.background && !settled.seen && settled.completion.outcome.ended_by != EndedBy::User
            }
            _ => false,
        }
    }

    /// How far the news of the latest run has come; none while it is live, and for foreground and interrupted runs.
    pub fn delivery(&self) -> Option<DeliveryState> {
        self.delivery_of(self.run.number)
    }

    /// How far the news of a run has come, by its number.
    pub fn delivery_of(&self, run: u32) -> Option<DeliveryState> {
        let news = self.settled(run)?.news.as_ref()?;
        Some(match news.state {
            NewsState::Held => DeliveryState::Held,
            NewsState::Pending | NewsState::Leased { .. } => DeliveryState::Pending,
            NewsState::Delivered => DeliveryState::Delivered,
            NewsState::Consumed => DeliveryState::Consumed,
        })
    }

    pub(crate) fn key(&self) -> RunKey {
        RunKey { slot: self.slot, run: self.run.number }
    }

    pub(crate) fn settled(&self, run: u32) -> Option<&SettledRun> {
        match &self.run.state {
            RunState::Settled(settled) if self.run.number == run => Some(settled),
            _ => self.past.iter().find(|past| past.number == run).map(|past| &*past.settled),
        }
    }

    pub(crate) fn settled_mut(&mut self, run: u32) -> Option<&mut SettledRun> {
        match &mut self.run.state {
            RunState::Settled(settled) if self.run.number == run => Some(settled),
            _ => self.past.iter_mut().find(|past| past.number == run).map(|past| &mut *past.settled),
        }
    }

    /// A record of a new agent, its first run not admitted yet.
    pub(crate) fn new(request: SpawnRequest, place: Place) -> Self {
        Self {
            id: request.agent,
            session: request.session,
            parent: request.parent,
            depth: place.depth,
            handle: place.handle,
            alias: place.alias,
            agent_type: request.agent_type,
            display_name: request.display_name,
            color: request.color,
            description: request.description,
            cwd: request.cwd,
            model: request.model,
            requested_model: request.requested_model,
            thinking: request.thinking,
            permission_mode: request.permission_mode,
            max_turns: request.max_turns,
            budget: request.budget,
            tags: request.tags,
            on_disk: request.on_disk,
            plan: request.plan,
            created_at: place.created_at,
            slot: place.slot,
            run: Run::launched(1, request.launch),
            past: VecDeque::new(),
            spent_before: Usage::default(),
            children: Vec::new(),
            live_children: BTreeSet::new(),
            mailbox: Mailbox::default(),
        }
    }
}

/// What the core decides of a new record.
pub(crate) struct Place {
    pub(crate) slot: Slot,
    pub(crate) depth: u32,
    pub(crate) handle: String,
    pub(crate) alias: Option<String>,
    pub(crate) created_at: Timestamp,
}
