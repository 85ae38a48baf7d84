//! Who may run: sessions with their limits, the queue, the permits, and the start of a run.
//!
//! Only top-level background runs need a permit, and hold it while they run or stop. Foreground and nested runs take
//! none: somebody who may hold one waits for them, and a run that holds a permit must never wait for a queued one.

use std::collections::{BTreeMap, BTreeSet};

use vocab::{AgentId, AgentStatus, SessionId, WaitingOn};

use crate::Roster;
use crate::collector::Collector;
use crate::delivery::Mailbox;
use crate::effect::{Effect, Fact, Refusal, Reply};
use crate::input::{CallId, Launch, Origin, Owner, Progress, ResumeRequest, SessionLimits, SpawnRequest};
use crate::limits::{RunClock, Timer};
use crate::names::Names;
use crate::record::{AgentRecord, Place, Queued, Run, RunState, Running, Slot};

/// The right to run. Made by a session's pool only, and given back there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permit(());

/// One root session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Session {
    pub(crate) limits: SessionLimits,
    /// It goes as soon as everything under it has settled.
    pub(crate) closing: bool,
    pub(crate) agents: BTreeSet<Slot>,
    pub(crate) live: BTreeSet<Slot>,
    pub(crate) names: Names,
    pub(crate) mailbox: Mailbox,
    pub(crate) counts: Counts,
    queue: BTreeMap<u64, Slot>,
    next_place: u64,
    permits_in_use: u32,
}

/// How many agents of a session are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub queued: u32,
    pub running: u32,
    pub stopping: u32,
    pub finished: u32,
}

impl Counts {
    fn of(&mut self, status: AgentStatus) -> &mut u32 {
        match status {
            AgentStatus::Queued => &mut self.queued,
            AgentStatus::Running => &mut self.running,
            AgentStatus::Stopping => &mut self.stopping,
            _ => &mut self.finished,
        }
    }

    /// Counts an agent's move from one state to another.
    pub(crate) fn shift(&mut self, from: Option<AgentStatus>, to: AgentStatus) {
        if let Some(from) = from {
            let count = self.of(from);
            *count = count.saturating_sub(1);
        }
        *self.of(to) += 1;
    }
}

impl Session {
    pub(crate) fn permits_in_use(&self) -> u32 {
        self.permits_in_use
    }

    fn take_permit(&mut self) -> Option<Permit> {
        if self.permits_in_use >= self.limits.max_concurrent.max(1) {
            return None;
        }
        self.permits_in_use += 1;
        Some(Permit(()))
    }

    /// Takes a permit back; it is used up by this.
    pub(crate) fn give_back(&mut self, Permit(()): Permit) {
        self.permits_in_use = self.permits_in_use.saturating_sub(1);
    }

    fn enqueue(&mut self, slot: Slot) -> u64 {
        let place = self.next_place;
        self.next_place += 1;
        self.queue.insert(place, slot);
        place
    }

    pub(crate) fn leave_queue(&mut self, place: u64) {
        self.queue.remove(&place);
    }

    /// Position in the queue, from 1.
    pub(crate) fn position(&self, place: u64) -> u32 {
        self.queue.range(..=place).count() as u32
    }

    pub(crate) fn queue(&self) -> impl Iterator<Item = Slot> {
        self.queue.values().copied()
    }
}

impl Roster {
    pub(crate) fn open_session(&mut self, session: &SessionId, limits: SessionLimits, fx: &mut Collector) {
        if self.ending {
            return;
        }
        self.sessions.entry(session.clone()).or_default().closing = false;
        self.set_limits(session, limits, fx);
        // What became ready while it was closing woke nobody.
        fx.wake(Owner::Session(session.clone()));
    }

    pub(crate) fn set_limits(&mut self, session: &SessionId, limits: SessionLimits, fx: &mut Collector) {
        if let Some(open) = self.sessions.get_mut(session) {
            open.limits = limits;
            self.fill(session, fx);
        }
    }

    /// A new agent.
    pub(crate) fn spawn(&mut self, call: CallId, request: SpawnRequest, fx: &mut Collector) {
        let depth = match self.check_spawn(&request) {
            Ok(depth) => depth,
            Err(refusal) => return fx.refuse(call, refusal),
        };
        let slot = self.next_slot();
        let Some(session) = self.sessions.get_mut(&request.session) else { return };
        let handle = session.names.allocate(&request.agent_type, slot);
        let wish = request.name.as_deref().filter(|name| !name.trim().is_empty());
        let alias = wish.map(|name| session.names.allocate(name, slot));
        session.agents.insert(slot);
        let fact = Fact::Spawned {
            request: Box::new(request.clone()),
            handle: handle.clone(),
            alias: alias.clone(),
            depth,
            at: self.now,
        };
        fx.record(&request.session, fact);
        let place = Place { slot, depth, handle, alias, created_at: self.now };
        self.adopt(AgentRecord::new(request, place));
        self.launch(slot, None, fx);
        self.answer_launch(call, slot, fx);
    }

    /// Another run of a settled agent. A refusal changes nothing.
    pub(crate) fn resume(&mut self, call: CallId, request: ResumeRequest, fx: &mut Collector) {
        let slot = match self.check_resume(&request.agent) {
            Ok(slot) => slot,
            Err(refusal) => return fx.refuse(call, refusal),
        };
        let Some(record) = self.records.get_mut(&slot) else { return };
        let before = record.status();
        let number = record.run.number.saturating_add(1);
        let launch = Box::new(request.launch.clone());
        fx.record(&record.session, Fact::Resumed { agent: request.agent, run: number, launch, at: self.now });
        let run = Run::launched(number, request.launch);
        let old = std::mem::replace(&mut record.run, run);
        if let RunState::Settled(settled) = old.state {
            record.remember(old.number, settled);
        }
        self.launch(slot, Some(before), fx);
        self.answer_launch(call, slot, fx);
    }

    fn check_spawn(&self, request: &SpawnRequest) -> Result<u32, Refusal> {
        if self.ids.contains_key(&request.agent) {
            return Err(Refusal::AgentExists(request.agent.clone()));
        }
        self.check_room(&request.session)?;
        let depth = match &request.parent {
            None => 1,
            Some(parent) => {
                let owner = self.agent(parent).filter(|owner| owner.session == request.session);
                let owner = owner.ok_or_else(|| Refusal::UnknownAgent(parent.clone()))?;
                if owner.status() != AgentStatus::Running {
                    return Err(Refusal::NotRunning { agent: parent.clone(), status: owner.status() });
                }
                owner.depth.saturating_add(1)
            }
        };
        let limit = self.sessions.get(&request.session).map_or(1, |session| session.limits.max_depth.max(1));
        if depth > limit { Err(Refusal::TooDeep { limit }) } else { Ok(depth) }
    }

    fn check_resume(&self, agent: &AgentId) -> Result<Slot, Refusal> {
        let record = self.agent(agent).ok_or_else(|| Refusal::UnknownAgent(agent.clone()))?;
        if !record.status().is_final() {
            return Err(Refusal::StillRunning { agent: agent.clone(), status: record.status() });
        }
        self.check_room(&record.session)?;
        // A child of a settled owner may be resumed: a person does that. One of an owner that is being stopped would be
        // born into its end.
        match record.parent.as_ref().and_then(|parent| self.agent(parent)) {
            Some(owner) if owner.status() == AgentStatus::Stopping => {
                Err(Refusal::NotRunning { agent: owner.id.clone(), status: owner.status() })
            }
            _ => Ok(record.slot),
        }
    }

    fn check_room(&self, session: &SessionId) -> Result<(), Refusal> {
        if self.ending {
            return Err(Refusal::ShuttingDown);
        }
        let open = self.sessions.get(session).filter(|open| !open.closing);
        let open = open.ok_or_else(|| Refusal::UnknownSession(session.clone()))?;
        match open.limits.descendants {
            limit if limit > 0 && open.live.len() as u64 >= u64::from(limit) => {
                Err(Refusal::TooMany { limit })
            }
            _ => Ok(()),
        }
    }

    /// Puts a new record where it can be found.
    pub(crate) fn adopt(&mut self, record: AgentRecord) {
        let slot = record.slot;
        if let Some(parent) = record.parent.as_ref().and_then(|parent| self.record_mut(parent)) {
            parent.children.push(slot);
        }
        self.ids.insert(record.id.clone(), slot);
        self.records.insert(slot, record);
    }

    /// Admits the latest run of a record: it starts, or it waits for a permit.
    fn launch(&mut self, slot: Slot, from: Option<AgentStatus>, fx: &mut Collector) {
        let Some(record) = self.records.get(&slot) else { return };
        let (id, owner) = (record.id.clone(), record.owner());
        let background = record.run.background;
        let needs_permit = background && record.parent.is_none();
        let turn = record.run.turn.filter(|_| background && record.run.origin == Origin::Model);
        if let Some(parent) = record.parent.clone().and_then(|parent| self.record_mut(&parent)) {
            parent.live_children.insert(slot);
        }
        if background {
            self.owe_more(&owner);
        }
        if let Some(turn) = turn {
            self.join_group(slot, &owner, turn);
        }
        let Some(record) = self.records.get_mut(&slot) else { return };
        let Some(session) = self.sessions.get_mut(&record.session) else { return };
        session.live.insert(slot);
        session.counts.shift(from, AgentStatus::Queued);
        fx.changed(&id, true);
        let permit = if needs_permit { session.take_permit() } else { None };
        if !needs_permit || permit.is_some() {
            self.start(slot, permit, fx);
        } else if let RunState::Queued(queued) = &mut record.run.state {
            queued.place = session.enqueue(slot);
        }
    }

    /// Starts an admitted run.
    fn start(&mut self, slot: Slot, permit: Option<Permit>, fx: &mut Collector) {
        self.return_all_of(slot, fx);
        let Some(record) = self.records.get_mut(&slot) else { return };
        let Some(session) = self.sessions.get_mut(&record.session) else { return };
        let key = record.key();
        let RunState::Queued(queued) = &mut record.run.state else { return };
        let prompt = std::mem::take(&mut queued.prompt);
        let steers = std::mem::take(&mut queued.steers);
        let clock = RunClock::started(self.now, session.limits.wall_clock_ms);
        record.run.state = RunState::Running(Running {
            permit,
            started_at: self.now,
            progress: Progress { waiting_on: Some(WaitingOn::Setup), ..Progress::default() },
            set_up: false,
            clock,
            keeper: None,
            expired: Vec::new(),
        });
        session.counts.shift(Some(AgentStatus::Queued), AgentStatus::Running);
        self.timers.set(clock.deadline(), Timer::WallClock(key));
        let agent = record.id.clone();
        fx.record(&record.session, Fact::Started { agent: agent.clone(), run: key.run, at: self.now });
        fx.changed(&agent, true);
        // What became ready between its runs woke nobody.
        fx.wake(Owner::Agent(agent.clone()));
        fx.act(Effect::Start { agent, run: key.run, prompt, steers });
    }

    /// Starts queued runs while there are permits, first come, first served.
    pub(crate) fn fill(&mut self, session: &SessionId, fx: &mut Collector) {
        while let Some(open) = self.sessions.get_mut(session) {
            if self.ending || open.closing || open.queue.is_empty() {
                return;
            }
            let Some(permit) = open.take_permit() else { return };
            match open.queue.pop_first() {
                Some((_, slot)) => self.start(slot, Some(permit), fx),
                None => return,
            }
        }
    }

    fn answer_launch(&mut self, call: CallId, slot: Slot, fx: &mut Collector) {
        let Some(record) = self.records.get(&slot) else { return };
        // It has just been put at the end.
        let waiting = self.sessions.get(&record.session).map_or(0, |session| session.queue.len() as u32);
        let reply = Reply::Spawned {
            agent: record.id.clone(),
            run: record.run.number,
            handle: record.handle.clone(),
            status: record.status(),
            queue_position: (record.status() == AgentStatus::Queued).then_some(waiting),
        };
        fx.reply(call, reply);
    }
}

impl Run {
    /// A run that has not been admitted yet.
    pub(crate) fn launched(number: u32, launch: Launch) -> Self {
        Self {
            number,
            background: launch.background,
            wake_model: launch.wake_model,
            origin: launch.origin,
            tool_call: launch.tool_call,
            turn: launch.turn,
            group: None,
            waiters: BTreeSet::new(),
            state: RunState::Queued(Queued { place: 0, prompt: launch.prompt, steers: Vec::new() }),
        }
    }
}
