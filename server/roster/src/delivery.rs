//! News of settled background runs, on its way to two audiences.
//!
//! *The owner's model* gets it from its mailbox. A row is held first, so that a reader of the result can win, and with
//! it the other runs that the owner launched in the same turn; then it is pending, until the owner drains its mailbox at
//! a turn boundary; a batch is leased until the owner says whether it arrived. Reading the result withdraws the row.
//!
//! *The editor* gets each completion once, whatever the model has read: a run that a model launched when it leaves its
//! hold, with its group; a run that a person or a program launched at once, since somebody looks at it.

use std::collections::{BTreeMap, BTreeSet};

use vocab::{AgentId, AgentStatus, EndedBy, SessionId, Timestamp};

use crate::Roster;
use crate::collector::Collector;
use crate::effect::{Fact, Reply};
use crate::input::{BatchId, CallId, Origin, Owner};
use crate::limits::Timer;
use crate::record::{RunKey, Slot};

/// Runs of one owner's turn, reported together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupId(u64);

/// Completions that leave their hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ParcelId(u64);

/// The news of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct News {
    pub(crate) state: NewsState,
    /// Whether the editor has been told.
    pub(crate) announced: bool,
    /// Whether it is a reason to wake the owner.
    wakes: bool,
    /// Rows are given in the order in which their runs settled.
    serial: u64,
    group: Option<GroupId>,
}

/// Where a row stands. A row is delivered or consumed once, and never after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewsState {
    Held,
    Pending,
    /// On its way. `read`: the owner has read the result meanwhile, so that a batch that comes back brings nothing.
    Leased {
        read: bool,
    },
    Delivered,
    Consumed,
}

/// What waits for one owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mailbox {
    /// Live background runs and held rows: what is still to come.
    pub(crate) owed: u32,
    /// Pending rows by serial.
    ready: BTreeMap<u64, RunKey>,
    /// Those of them that are a reason to wake the owner.
    waking: BTreeSet<u64>,
    /// Batches that the owner has and has not answered for.
    leases: BTreeSet<BatchId>,
    /// Groups that may still be joined, by turn.
    open: BTreeMap<u64, GroupId>,
}

impl Mailbox {
    /// Whether it is a reason to wake its owner. One that has a batch in hand comes back by itself.
    pub(crate) fn calls(&self) -> bool {
        !self.waking.is_empty() && self.leases.is_empty()
    }

    /// Whether nothing in it keeps its owner from ending.
    pub(crate) fn is_done(&self) -> bool {
        self.owed == 0 && self.waking.is_empty() && self.leases.is_empty()
    }
}

/// A group of runs.
#[derive(Debug, Clone, PartialEq)]
struct Group {
    owner: Owner,
    session: SessionId,
    turn: u64,
    /// Whether further runs may join.
    open: bool,
    /// How many have ever joined.
    size: u32,
    /// Members that have not settled. Stopped ones have, so nothing keeps a group waiting that cannot come.
    live: BTreeSet<RunKey>,
    /// Members that have settled and wait for the others.
    settled: Vec<RunKey>,
    /// When it is reported as it is; set by its first completion.
    deadline: Option<Timestamp>,
    /// Whether a part has been reported: what is left waits for a shorter time.
    parted: bool,
}

/// Completions in their hold.
#[derive(Debug, Clone, PartialEq)]
struct Parcel {
    owner: Owner,
    session: SessionId,
    rows: Vec<RunKey>,
    group: Option<GroupId>,
    /// Names the group to the editor; none for a run on its own.
    label: Option<String>,
    until: Timestamp,
}

/// Rows that an owner has been given.
#[derive(Debug, Clone, PartialEq)]
struct Batch {
    owner: Owner,
    session: SessionId,
    /// With the agents' names, since a record may go with its session before the batch is answered for.
    rows: Vec<(RunKey, AgentId)>,
}

/// All groups, parcels and batches under way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Deliveries {
    groups: BTreeMap<GroupId, Group>,
    parcels: BTreeMap<ParcelId, Parcel>,
    batches: BTreeMap<BatchId, Batch>,
    last: u64,
}

impl Deliveries {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Roster {
    /// Puts a run that is being launched into its turn's group.
    pub(crate) fn join_group(&mut self, slot: Slot, owner: &Owner, turn: u64) {
        let Some(record) = self.records.get(&slot) else { return };
        let (key, session) = (record.key(), record.session.clone());
        if !self.sessions.get(&session).is_some_and(|open| open.limits.join) {
            return;
        }
        let known = self.mailbox(owner).and_then(|mailbox| mailbox.open.get(&turn).copied());
        let id = known.unwrap_or_else(|| GroupId(self.deliveries.number()));
        let group = self.deliveries.groups.entry(id).or_insert_with(|| Group {
            owner: owner.clone(),
            session,
            turn,
            open: true,
            size: 0,
            live: BTreeSet::new(),
            settled: Vec::new(),
            deadline: None,
            parted: false,
        });
        group.size += 1;
        group.live.insert(key);
        if let Some(mailbox) = self.mailbox_mut(owner) {
            mailbox.open.insert(turn, id);
        }
        if let Some(record) = self.records.get_mut(&slot) {
            record.run.group = Some(id);
        }
    }

    /// Makes the news of a run that has just settled. `read`: its owner has the result already.
    pub(crate) fn file_news(&mut self, slot: Slot, read: bool, fx: &mut Collector) {
        let Some(record) = self.records.get(&slot).filter(|record| record.run.background) else { return };
        let (key, agent) = (record.key(), record.id.clone());
        let (owner, session, group) = (record.owner(), record.session.clone(), record.run.group);
        let from_model = record.run.origin == Origin::Model;
        let by_person = record.completion().is_some_and(|done| done.outcome.ended_by == EndedBy::User);
        // An agent that waits for what it owns is not woken by news, it is answered.
        let wakes = matches!(owner, Owner::Agent(_)) || (record.run.wake_model && !by_person);
        if read || self.ending {
            self.owe_less(&owner);
        }
        if self.ending {
            return;
        }
        let state = if read { NewsState::Consumed } else { NewsState::Held };
        let serial = self.deliveries.number();
        let Some(settled) = self.settled_mut(key) else { return };
        settled.news = Some(News { state, announced: !from_model, wakes, serial, group });
        if !from_model {
            fx.announce(vec![settled.completion.clone()], false, None);
        }
        if read {
            fx.record(&session, Fact::Consumed { agent, run: key.run, at: self.now });
        }
        match group {
            Some(group) => self.settle_in_group(group, key, fx),
            None => {
                self.hold(
                    Parcel { owner, session, rows: vec![key], group, label: None, until: self.now },
                    fx,
                );
            }
        }
    }

    /// A member of a group has settled. The first of them starts the group's deadline.
    fn settle_in_group(&mut self, id: GroupId, key: RunKey, fx: &mut Collector) {
        let now = self.now;
        let Some(group) = self.deliveries.groups.get_mut(&id) else { return };
        let session = self.sessions.get(&group.session);
        group.live.remove(&key);
        group.settled.push(key);
        if group.deadline.is_none() {
            let limits = session.map(|session| &session.limits);
            let wait =
                limits.map_or(0, |limits| if group.parted { limits.straggler_ms } else { limits.join_ms });
            let at = now.plus_ms(wait);
            group.deadline = Some(at);
            self.timers.set(at, Timer::Join(id));
        }
        self.release_if_complete(id, fx);
    }

    /// The group has waited long enough.
    pub(crate) fn join_is_over(&mut self, id: GroupId, fx: &mut Collector) {
        if let Some(group) = self.deliveries.groups.get_mut(&id) {
            group.deadline = None;
            self.release(id, fx);
        }
    }

    fn release_if_complete(&mut self, id: GroupId, fx: &mut Collector) {
        let complete = |group: &Group| !group.open && group.live.is_empty();
        if self.deliveries.groups.get(&id).is_some_and(complete) {
            self.release(id, fx);
            self.deliveries.groups.remove(&id);
        }
    }

    /// Reports what has settled of a group. The rest goes on as a group of its own.
    fn release(&mut self, id: GroupId, fx: &mut Collector) {
        let now = self.now;
        let Some(group) = self.deliveries.groups.get_mut(&id) else { return };
        if let Some(at) = group.deadline.take() {
            self.timers.unset(at, Timer::Join(id));
        }
        let rows = std::mem::take(&mut group.settled);
        if rows.is_empty() {
            return;
        }
        group.parted = true;
        let label = (group.size > 1).then(|| match &group.owner {
            Owner::Session(session) => format!("{session}/{}", group.turn),
            Owner::Agent(agent) => format!("{agent}/{}", group.turn),
        });
        let (owner, session) = (group.owner.clone(), group.session.clone());
        self.hold(Parcel { owner, session, rows, group: Some(id), label, until: now }, fx);
    }

    /// Holds completions back so that a reader can win.
    fn hold(&mut self, mut parcel: Parcel, fx: &mut Collector) {
        let session = self.sessions.get(&parcel.session);
        let hold_ms = session.map_or(0, |session| if session.closing { 0 } else { session.limits.hold_ms });
        if hold_ms == 0 {
            return self.let_go(parcel, fx);
        }
        let id = ParcelId(self.deliveries.number());
        parcel.until = self.now.plus_ms(hold_ms);
        self.timers.set(parcel.until, Timer::Hold(id));
        self.deliveries.parcels.insert(id, parcel);
    }

    /// Completions have been held back long enough.
    pub(crate) fn hold_is_over(&mut self, id: ParcelId, fx: &mut Collector) {
        if let Some(parcel) = self.deliveries.parcels.remove(&id) {
            self.let_go(parcel, fx);
        }
    }

    /// What is left of a parcel waits for its owner; all of it is announced.
    fn let_go(&mut self, parcel: Parcel, fx: &mut Collector) {
        let mut completions = Vec::new();
        for key in parcel.rows {
            let Some(agent) = self.records.get(&key.slot).map(|record| record.id.clone()) else { continue };
            let Some(settled) = self.settled_mut(key) else { continue };
            let Some(news) = &mut settled.news else { continue };
            if !std::mem::replace(&mut news.announced, true) {
                completions.push(settled.completion.clone());
            }
            if news.state == NewsState::Held {
                news.state = NewsState::Pending;
                self.owe_less(&parcel.owner);
                self.make_ready(&parcel.owner, key, fx);
                fx.changed(&agent, false);
            }
        }
        if !completions.is_empty() {
            let partial = parcel.group.is_some_and(|group| self.is_partial(group));
            fx.announce(completions, partial, parcel.label);
        }
    }

    /// Puts a pending row where its owner finds it.
    pub(crate) fn make_ready(&mut self, owner: &Owner, key: RunKey, fx: &mut Collector) {
        let Some(news) = self.settled(key).and_then(|settled| settled.news.as_ref()) else { return };
        let (serial, wakes) = (news.serial, news.wakes);
        let Some(mailbox) = self.mailbox_mut(owner) else { return };
        mailbox.ready.insert(serial, key);
        if wakes {
            mailbox.waking.insert(serial);
            fx.wake(owner.clone());
        }
    }

    /// Whether a wake of this owner has a reason and a hearer.
    pub(crate) fn may_wake(&self, owner: &Owner) -> bool {
        !self.ending && self.mailbox(owner).is_some_and(Mailbox::calls) && self.can_hear(owner)
    }

    fn can_hear(&self, owner: &Owner) -> bool {
        match owner {
            Owner::Session(session) => self.sessions.get(session).is_some_and(|open| !open.closing),
            Owner::Agent(agent) => {
                self.agent(agent).is_some_and(|owner| owner.status() == AgentStatus::Running)
            }
        }
    }

    /// Members of a group are still to come.
    fn is_partial(&self, group: GroupId) -> bool {
        self.deliveries.groups.get(&group).is_some_and(|group| !group.live.is_empty())
    }

    /// The turn's tool calls are over: its group is what it is.
    pub(crate) fn turn_over(&mut self, owner: &Owner, turn: u64, fx: &mut Collector) {
        if let Some(id) = self.mailbox_mut(owner).and_then(|mailbox| mailbox.open.remove(&turn)) {
            self.close_group(id, fx);
        }
    }

    fn close_group(&mut self, id: GroupId, fx: &mut Collector) {
        if let Some(group) = self.deliveries.groups.get_mut(&id).filter(|_| !self.ending) {
            group.open = false;
            self.release_if_complete(id, fx);
        }
    }

    /// No tool call of the owner runs: all its groups are what they are.
    pub(crate) fn close_groups_of(&mut self, owner: &Owner, fx: &mut Collector) {
        let open = self.mailbox_mut(owner).map(|mailbox| std::mem::take(&mut mailbox.open));
        for id in open.into_iter().flat_map(BTreeMap::into_values) {
            self.close_group(id, fx);
        }
    }

    /// The owner takes all that waits for it.
    pub(crate) fn drain(&mut self, call: CallId, owner: &Owner, idle: bool, fx: &mut Collector) {
        let batch = BatchId(self.deliveries.number());
        self.close_groups_of(owner, fx);
        let hears = !self.ending && self.can_hear(owner);
        let rows = match self.mailbox_mut(owner) {
            Some(mailbox) if hears && !(idle && mailbox.waking.is_empty()) => {
                mailbox.waking.clear();
                std::mem::take(&mut mailbox.ready)
            }
            _ => BTreeMap::new(),
        };
        let mut completions = Vec::new();
        let mut groups = BTreeSet::new();
        let mut leased = Vec::new();
        let mut session = None;
        for key in rows.into_values() {
            let Some(settled) = self.settled_mut(key) else { continue };
            let Some(news) = &mut settled.news else { continue };
            news.state = NewsState::Leased { read: false };
            groups.extend(news.group);
            session.get_or_insert_with(|| settled.completion.session.clone());
            completions.push(settled.completion.clone());
            leased.push((key, settled.completion.agent.clone()));
        }
        let partial = groups.into_iter().any(|group| self.is_partial(group));
        if let Some(session) = session {
            if let Some(mailbox) = self.mailbox_mut(owner) {
                mailbox.leases.insert(batch);
            }
            self.deliveries.batches.insert(batch, Batch { owner: owner.clone(), session, rows: leased });
        }
        fx.reply(call, Reply::Batch { batch, completions, partial });
    }

    /// A batch has arrived. That is kept even where the record has gone with its session.
    pub(crate) fn delivered(&mut self, batch: BatchId, fx: &mut Collector) {
        let Some(Batch { owner, session, rows }) = self.deliveries.batches.remove(&batch) else { return };
        for (key, agent) in rows {
            if let Some(news) = self.settled_mut(key).and_then(|settled| settled.news.as_mut()) {
                news.state = NewsState::Delivered;
                fx.changed(&agent, false);
            }
            fx.record(&session, Fact::Delivered { agent, run: key.run, at: self.now });
        }
        self.end_lease(&owner, batch, fx);
    }

    /// A batch has not arrived: what nobody has read meanwhile waits again.
    pub(crate) fn returned(&mut self, batch: BatchId, fx: &mut Collector) {
        let Some(Batch { owner, session, rows }) = self.deliveries.batches.remove(&batch) else { return };
        for (key, agent) in rows {
            let Some(news) = self.settled_mut(key).and_then(|settled| settled.news.as_mut()) else {
                continue;
            };
            if news.state == (NewsState::Leased { read: true }) {
                news.state = NewsState::Consumed;
                let fact = Fact::Consumed { agent: agent.clone(), run: key.run, at: self.now };
                fx.record(&session, fact);
                fx.changed(&agent, false);
            } else {
                news.state = NewsState::Pending;
                self.make_ready(&owner, key, fx);
            }
        }
        self.end_lease(&owner, batch, fx);
    }

    fn end_lease(&mut self, owner: &Owner, batch: BatchId, fx: &mut Collector) {
        if let Some(mailbox) = self.mailbox_mut(owner) {
            mailbox.leases.remove(&batch);
            // What came meanwhile woke nobody.
            fx.wake(owner.clone());
        }
    }

    /// Takes back what an earlier run of an owner had in hand when it ended: nobody answers for it any more.
    pub(crate) fn return_all_of(&mut self, slot: Slot, fx: &mut Collector) {
        let leases = self.records.get_mut(&slot).map(|record| std::mem::take(&mut record.mailbox.leases));
        for batch in leases.into_iter().flatten() {
            self.returned(batch, fx);
        }
    }

    /// The owner has read a result: its row is withdrawn, if it is not on its way already.
    pub(crate) fn consume(&mut self, key: RunKey, fx: &mut Collector) {
        let Some(record) = self.records.get(&key.slot) else { return };
        let (agent, owner, session) = (record.id.clone(), record.owner(), record.session.clone());
        let Some(news) = self.settled_mut(key).and_then(|settled| settled.news.as_mut()) else { return };
        let serial = news.serial;
        match news.state {
            NewsState::Held => {
                news.state = NewsState::Consumed;
                self.owe_less(&owner);
            }
            NewsState::Pending => {
                news.state = NewsState::Consumed;
                if let Some(mailbox) = self.mailbox_mut(&owner) {
                    mailbox.ready.remove(&serial);
                    mailbox.waking.remove(&serial);
                }
            }
            NewsState::Leased { .. } => {
                news.state = NewsState::Leased { read: true };
                return;
            }
            NewsState::Delivered | NewsState::Consumed => return,
        }
        fx.record(&session, Fact::Consumed { agent: agent.clone(), run: key.run, at: self.now });
        fx.changed(&agent, false);
    }

    /// A session closes: what is held is announced now, since nothing is left to wait for.
    pub(crate) fn release_all_of(&mut self, session: &SessionId, fx: &mut Collector) {
        let groups = self.deliveries.groups.iter().filter(|(_, group)| group.session == *session);
        for (id, owner, turn) in
            groups.map(|(id, group)| (*id, group.owner.clone(), group.turn)).collect::<Vec<_>>()
        {
            if let Some(mailbox) = self.mailbox_mut(&owner) {
                mailbox.open.remove(&turn);
            }
            self.release(id, fx);
            self.close_group(id, fx);
        }
        let parcels = self.deliveries.parcels.iter().filter(|(_, parcel)| parcel.session == *session);
        for (id, until) in parcels.map(|(id, parcel)| (*id, parcel.until)).collect::<Vec<_>>() {
            self.timers.unset(until, Timer::Hold(id));
            self.hold_is_over(id, fx);
        }
    }

    /// One more run whose news is to come.
    pub(crate) fn owe_more(&mut self, owner: &Owner) {
        if let Some(mailbox) = self.mailbox_mut(owner) {
            mailbox.owed += 1;
        }
    }

    fn owe_less(&mut self, owner: &Owner) {
        if let Some(mailbox) = self.mailbox_mut(owner) {
            mailbox.owed = mailbox.owed.saturating_sub(1);
        }
    }

    /// News of a run of an earlier server: it wakes nothing.
    pub(crate) fn restored_news(&mut self, state: NewsState) -> News {
        News { state, announced: true, wakes: false, serial: self.deliveries.number(), group: None }
    }
}
