//! Ending runs from outside. A stop is answered at once; a running agent is `stopping` until its task is joined or its
//! grace is over, a queued one has settled already.

use vocab::{AgentId, AgentStatus, EndReason, EndedBy, Outcome, SessionId};

use crate::Roster;
use crate::collector::Collector;
use crate::effect::{Effect, Fact, Refusal, Reply};
use crate::input::{CallId, Ending, StopScope};
use crate::limits::Timer;
use crate::record::{AgentRecord, RunKey, RunState, Slot, Stopping};
use crate::settle::ended_from_outside;

/// How long a stopped run may take to end, in milliseconds. Then it is given up, and its permit is taken back.
pub const STOP_GRACE_MS: u64 = 3_000;

impl Roster {
    /// Stops an agent, alone or with everything under it. One that is over, or being stopped, stays as it is.
    pub(crate) fn stop(
        &mut self,
        call: CallId,
        agent: &AgentId,
        scope: StopScope,
        by: EndedBy,
        fx: &mut Collector,
    ) {
        let Some(&slot) = self.ids.get(agent) else {
            return fx.refuse(call, Refusal::UnknownAgent(agent.clone()));
        };
        let mut reached = vec![slot];
        if scope == StopScope::Subtree {
            reached.extend(self.live_below(slot));
        }
        self.stop_and_answer(call, &reached, by, fx);
    }

    /// Stops everything that lives under one session, or under all.
    pub(crate) fn stop_all(
        &mut self,
        call: CallId,
        session: Option<&SessionId>,
        by: EndedBy,
        fx: &mut Collector,
    ) {
        let live: Vec<Slot> = match session {
            None => self.sessions.values().flat_map(|open| open.live.iter().copied()).collect(),
            Some(session) => match self.sessions.get(session) {
                Some(open) => open.live.iter().copied().collect(),
                None => return fx.refuse(call, Refusal::UnknownSession(session.clone())),
            },
        };
        self.stop_and_answer(call, &live, by, fx);
    }

    fn stop_and_answer(&mut self, call: CallId, slots: &[Slot], by: EndedBy, fx: &mut Collector) {
        let agents = slots.iter().filter_map(|slot| self.records.get(slot)).map(|record| record.id.clone());
        let agents: Vec<AgentId> = agents.collect();
        for slot in slots {
            self.stop_run(*slot, Ending { by, reason: None }, fx);
        }
        // A record that went with its closing session was live, so it is stopped.
        let status = |agent: &AgentId| self.agent(agent).map_or(AgentStatus::Stopped, AgentRecord::status);
        let agents = agents.into_iter().map(|agent| (agent.clone(), status(&agent))).collect();
        fx.reply(call, Reply::Stopped { agents });
    }

    /// The session goes, and its agents with it.
    pub(crate) fn close_session(&mut self, session: &SessionId, fx: &mut Collector) {
        let Some(open) = self.sessions.get_mut(session).filter(|_| !self.ending) else { return };
        open.closing = true;
        let live: Vec<Slot> = open.live.iter().copied().collect();
        self.release_all_of(session, fx);
        for slot in live {
            self.stop_run(slot, Ending { by: EndedBy::Parent, reason: None }, fx);
        }
        self.leave_if_closed(session, fx);
    }

    /// Ends a run and, for another reason, everything under it.
    pub(crate) fn stop_family(&mut self, slot: Slot, ending: Ending, below: Ending, fx: &mut Collector) {
        let family = self.live_below(slot);
        self.stop_run(slot, ending, fx);
        for child in family {
            self.stop_run(child, below, fx);
        }
    }

    /// Ends one live run: the first to ask is its stopper.
    pub(crate) fn stop_run(&mut self, slot: Slot, ending: Ending, fx: &mut Collector) {
        let Some(record) = self.records.get(&slot) else { return };
        let (agent, run) = (record.id.clone(), record.run.number);
        match &record.run.state {
            RunState::Queued(_) => {
                fx.record(&record.session, Fact::Stopped { agent, run, by: ending.by, at: self.now });
                self.settle(slot, ended_from_outside(ending, unstarted()), fx);
            }
            RunState::Running(_) => {
                fx.record(&record.session, Fact::Stopped { agent, run, by: ending.by, at: self.now });
                self.cancel(slot, ending, fx);
            }
            RunState::Stopping(_) | RunState::Settled(_) => {}
        }
    }

    /// Cancels a running run and gives it its grace.
    pub(crate) fn cancel(&mut self, slot: Slot, ending: Ending, fx: &mut Collector) {
        let Some(record) = self.records.get_mut(&slot) else { return };
        let key = record.key();
        let RunState::Running(running) = &mut record.run.state else { return };
        self.timers.unset(running.clock.deadline(), Timer::WallClock(key));
        let grace_until = self.now.plus_ms(STOP_GRACE_MS);
        self.timers.set(grace_until, Timer::Grace(key));
        record.run.state = RunState::Stopping(Stopping {
            permit: running.permit.take(),
            started_at: running.started_at,
            progress: std::mem::take(&mut running.progress),
            ending,
            grace_until,
            expired: std::mem::take(&mut running.expired),
        });
        if let Some(session) = self.sessions.get_mut(&record.session) {
            session.counts.shift(Some(AgentStatus::Running), AgentStatus::Stopping);
        }
        fx.act(Effect::Cancel { agent: record.id.clone(), run: key.run, ending });
        fx.changed(&record.id, true);
    }

    /// A stopped run did not end in time: it is given up.
    pub(crate) fn grace_is_over(&mut self, key: RunKey, fx: &mut Collector) {
        let Some(record) = self.records.get(&key.slot).filter(|record| record.run.number == key.run) else {
            return;
        };
        let RunState::Stopping(stopping) = &record.run.state else { return };
        let seconds = STOP_GRACE_MS / 1_000;
        let outcome = Outcome {
            error: Some(format!("it did not end within {seconds} s of being stopped and was cut off")),
            usage: stopping.progress.usage,
            ..unstarted()
        };
        // What stopped it matters more than that it hung, where there is such a reason.
        let reason = stopping.ending.reason.or(Some(EndReason::Detached));
        let outcome = ended_from_outside(Ending { reason, ..stopping.ending }, outcome);
        fx.act(Effect::Detach { agent: record.id.clone(), run: key.run });
        self.settle(key.slot, outcome, fx);
    }
}

/// The outcome of a run that brought nothing.
fn unstarted() -> Outcome {
    Outcome::without_text(AgentStatus::Stopped, EndedBy::Parent)
}
