//! The fleet as a pure state machine: what happens goes in, what is to be done comes out.
//!
//! [`Roster::apply`] takes one [`Input`] at a time and answers with [`Effect`]s, which its shell carries out in order
//! and never waits for. There is no clock, no task, no file and no chance in here, so a test can replay any story, and
//! two equal histories have equal states.
//!
//! The story of one agent. It is *spawned* and becomes a record, for ever. Its first run is *admitted*: it starts, or
//! waits in its session's queue for a permit (`admission.rs`). While it runs it can be steered (`steer.rs`) and stopped
//! (`stop.rs`), alone or with what it owns (`family.rs`), and its clock runs (`limits.rs`). It *settles* once, through one
//! function (`settle.rs`); callers that wait are answered (`waiting.rs`). A background run leaves news, which waits in the
//! owner's mailbox and is told to the editor (`delivery.rs`). A settled record can be resumed: that is another run.
//!
//! Effects come in this order: facts and acts, changed rows, answers, announcements, wakes. So a fact is kept before
//! anybody hears of it, and a permit has gone to the next run before the end of the last is told.

mod admission;
mod collector;
mod completion;
mod delivery;
mod effect;
mod family;
mod input;
mod limits;
mod names;
mod record;
mod replay;
mod restore;
mod settle;
mod steer;
mod stop;
mod waiting;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use vocab::{AgentId, SessionId, Timestamp};

pub use admission::Counts;
pub use completion::{Completion, KEPT_TEXT_BYTES};
pub use effect::{Effect, Fact, Refusal, Reply};
pub use family::Subtree;
pub use input::{
    BatchId, CallId, CurrentTool, Ending, Input, Launch, Origin, Owner, Progress, RestoredAgent, RestoredRun,
    ResumeRequest, SessionLimits, SpawnRequest, Steer, StopScope, TouchedPath,
};
pub use record::AgentRecord;
pub use replay::{Replay, UnfinishedRun};
pub use steer::MAX_QUEUED_STEERS;
pub use stop::STOP_GRACE_MS;

use admission::Session;
use collector::Collector;
use delivery::{Deliveries, Mailbox};
use limits::Timers;
use record::{RunKey, RunState, SettledRun, Slot};
use waiting::Wait;

/// All agents of one server and what is on its way between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Roster {
    /// The latest time it was told. It never goes back.
    now: Timestamp,
    revision: u64,
    /// The server ends: no input starts, announces or delivers anything any more.
    ending: bool,
    sessions: BTreeMap<SessionId, Session>,
    ids: BTreeMap<AgentId, Slot>,
    records: BTreeMap<Slot, AgentRecord>,
    slots_used: u64,
    waits: BTreeMap<CallId, Wait>,
    deliveries: Deliveries,
    timers: Timers,
}

impl Roster {
    /// An empty fleet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what happened at `now` and answers what is to be done. Unknown ids, late and repeated inputs are answered
    /// or ignored, never an error.
    pub fn apply(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.now = self.now.max(now);
        let mut fx = Collector::default();
        // A task that was joined has ended, however late that is heard: it is not given up.
        if matches!(input, Input::Settled { .. }) {
            self.take(input, &mut fx);
            self.pass_time(&mut fx);
        } else {
            self.pass_time(&mut fx);
            self.take(input, &mut fx);
            self.pass_time(&mut fx);
        }
        self.revision += fx.changes();
        fx.finish(|owner| self.may_wake(owner))
    }

    fn take(&mut self, input: Input, fx: &mut Collector) {
        match input {
            Input::OpenSession { session, limits } => self.open_session(&session, limits, fx),
            Input::SetLimits { session, limits } => self.set_limits(&session, limits, fx),
            Input::CloseSession { session } => self.close_session(&session, fx),
            Input::Spawn { call, request } => self.spawn(call, request, fx),
            Input::Resume { call, request } => self.resume(call, request, fx),
            Input::Restore { agent } => self.restore(*agent, fx),
            Input::Started { agent, run } => self.started(&agent, run, fx),
            Input::Progress { agent, run, progress } => self.progress(&agent, run, progress, fx),
            Input::Settled { agent, run, outcome, progress } => {
                self.joined(&agent, run, outcome, progress, fx);
            }
            Input::SteersExpired { agent, run, steers } => self.steers_expired(&agent, run, steers),
            Input::Steer { call, agent, steer } => self.steer(call, &agent, steer, fx),
            Input::Unsteer { call, agent, steer } => self.unsteer(call, &agent, steer, fx),
            Input::Stop { call, agent, scope, by } => self.stop(call, &agent, scope, by, fx),
            Input::StopAll { call, session, by } => self.stop_all(call, session.as_ref(), by, fx),
            Input::Await { call, agent, run, consume } => self.await_run(call, &agent, run, consume, fx),
            Input::Read { call, agent, run, consume } => self.read(call, &agent, run, consume, fx),
            Input::CallerGone { call } => self.caller_gone(call, fx),
            Input::Seen { agent, run } => self.seen(&agent, run, fx),
            Input::Drain { call, owner, idle } => self.drain(call, &owner, idle, fx),
            Input::Delivered { batch } => self.delivered(batch, fx),
            Input::Returned { batch } => self.returned(batch, fx),
            Input::TurnOver { owner, turn } => self.turn_over(&owner, turn, fx),
            Input::Tick => {}
            Input::Shutdown => self.shut_down(fx),
        }
    }

    /// When [`Input::Tick`] is wanted, if nothing else happens before.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Grows with each change of any row.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The record of an agent.
    pub fn agent(&self, agent: &AgentId) -> Option<&AgentRecord> {
        self.ids.get(agent).and_then(|slot| self.records.get(slot))
    }

    /// All records, in creation order.
    pub fn agents(&self) -> impl Iterator<Item = &AgentRecord> {
        self.records.values()
    }

    /// The records of one session, in creation order.
    pub fn agents_of(&self, session: &SessionId) -> impl Iterator<Item = &AgentRecord> {
        let slots = self.sessions.get(session).into_iter().flat_map(|session| session.agents.iter());
        slots.filter_map(|slot| self.records.get(slot))
    }

    /// The agent of a session that a person or a model means by its id, its handle or its alias. Names may be in any
    /// letter case and begin with `@`. An agent of another session is not found.
    pub fn resolve(&self, session: &SessionId, reference: &str) -> Option<&AgentRecord> {
        let by_id = self.ids.get(reference.trim()).and_then(|slot| self.records.get(slot));
        by_id.filter(|record| record.session == *session).or_else(|| {
            let slot = self.sessions.get(session)?.names.find(reference)?;
            self.records.get(&slot)
        })
    }

    /// How many agents of a session are in which state; of all sessions where none is named.
    pub fn counts(&self, session: Option<&SessionId>) -> Counts {
        let mut sum = Counts::default();
        for (id, open) in &self.sessions {
            if session.is_none_or(|session| session == id) {
                sum.queued += open.counts.queued;
                sum.running += open.counts.running;
                sum.stopping += open.counts.stopping;
                sum.finished += open.counts.finished;
            }
        }
        sum
    }

    /// Place in the queue of its session, from 1; nothing for an agent that is not queued. Costs a step for each agent
    /// before it: to number a whole queue, go through [`Roster::queue`].
    pub fn queue_position(&self, agent: &AgentId) -> Option<u32> {
        let record = self.agent(agent)?;
        let RunState::Queued(queued) = &record.run.state else { return None };
        Some(self.sessions.get(&record.session)?.position(queued.place))
    }

    /// The queued agents of a session, next first.
    pub fn queue(&self, session: &SessionId) -> impl Iterator<Item = &AgentRecord> {
        let slots = self.sessions.get(session).into_iter().flat_map(Session::queue);
        slots.filter_map(|slot| self.records.get(&slot))
    }

    /// The limits of a session.
    pub fn limits(&self, session: &SessionId) -> Option<&SessionLimits> {
        self.sessions.get(session).map(|open| &open.limits)
    }

    /// How many top-level background runs of a session are running or stopping.
    pub fn permits_in_use(&self, session: &SessionId) -> u32 {
        self.sessions.get(session).map_or(0, Session::permits_in_use)
    }

    fn next_slot(&mut self) -> Slot {
        self.slots_used += 1;
        Slot(self.slots_used)
    }

    fn record_mut(&mut self, agent: &AgentId) -> Option<&mut AgentRecord> {
        self.ids.get(agent).and_then(|slot| self.records.get_mut(slot))
    }

    fn settled(&self, key: RunKey) -> Option<&SettledRun> {
        self.records.get(&key.slot)?.settled(key.run)
    }

    fn settled_mut(&mut self, key: RunKey) -> Option<&mut SettledRun> {
        self.records.get_mut(&key.slot)?.settled_mut(key.run)
    }

    fn mailbox(&self, owner: &Owner) -> Option<&Mailbox> {
        match owner {
            Owner::Session(session) => self.sessions.get(session).map(|open| &open.mailbox),
            Owner::Agent(agent) => self.agent(agent).map(|record| &record.mailbox),
        }
    }

    fn mailbox_mut(&mut self, owner: &Owner) -> Option<&mut Mailbox> {
        match owner {
            Owner::Session(session) => self.sessions.get_mut(session).map(|open| &mut open.mailbox),
            Owner::Agent(agent) => self.record_mut(agent).map(|record| &mut record.mailbox),
        }
    }
}
