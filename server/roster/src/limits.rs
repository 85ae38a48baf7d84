//! Time: the deadlines of the whole fleet in one ordered set, and the clock of a run, which stands still while the run
//! waits for a person.

use std::collections::BTreeSet;

use vocab::{AgentId, EndReason, EndedBy, Timestamp, WaitingOn};

use crate::Roster;
use crate::collector::Collector;
use crate::delivery::{GroupId, ParcelId};
use crate::input::{Ending, Progress};
use crate::record::{RunKey, RunState};

/// What is due at a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A stopped run has not ended in time.
    Grace(RunKey),
    /// A run has used up its time.
    WallClock(RunKey),
    /// A group has waited for its members long enough.
    Join(GroupId),
    /// Completions have been held back long enough.
    Hold(ParcelId),
    /// A long result has been in memory long enough.
    CutText(RunKey),
}

/// All deadlines, soonest first. Whoever sets one keeps its time, to take it back.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Timers(BTreeSet<(Timestamp, Timer)>);

impl Timers {
    /// Sets a deadline, if there is one.
    pub(crate) fn set(&mut self, at: impl Into<Option<Timestamp>>, timer: Timer) {
        self.0.extend(at.into().map(|at| (at, timer)));
    }

    /// Takes a deadline back, if there is one.
    pub(crate) fn unset(&mut self, at: impl Into<Option<Timestamp>>, timer: Timer) {
        if let Some(at) = at.into() {
            self.0.remove(&(at, timer));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the first deadline that has come.
    fn pop_due(&mut self, now: Timestamp) -> Option<Timer> {
        let (at, _) = self.0.first()?;
        if *at > now { None } else { self.0.pop_first().map(|(_, timer)| timer) }
    }
}

/// The wall clock of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunClock {
    /// 0 is no limit.
    limit_ms: u64,
    spent_ms: u64,
    /// None while it stands still.
    since: Option<Timestamp>,
}

impl RunClock {
    pub(crate) fn started(now: Timestamp, limit_ms: u64) -> Self {
        Self { limit_ms, spent_ms: 0, since: Some(now) }
    }

    /// When the run has used up its time, if it goes on as it does.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let since = self.since.filter(|_| self.limit_ms > 0)?;
        Some(since.plus_ms(self.limit_ms.saturating_sub(self.spent_ms)))
    }

    fn set_standing(&mut self, now: Timestamp, standing: bool) {
        match (self.since, standing) {
            (Some(since), true) => {
                self.spent_ms = self.spent_ms.saturating_add(now.ms_since(since));
                self.since = None;
            }
            (None, false) => self.since = Some(now),
            _ => {}
        }
    }
}

impl Roster {
    /// Does what is due. Whatever that makes due at once is done too.
    pub(crate) fn pass_time(&mut self, fx: &mut Collector) {
        while let Some(timer) = self.timers.pop_due(self.now) {
            match timer {
                Timer::Grace(key) => self.grace_is_over(key, fx),
                Timer::WallClock(key) => {
                    let ending = Ending { by: EndedBy::Limit, reason: Some(EndReason::WallClock) };
                    let below = Ending { by: EndedBy::Parent, reason: None };
                    self.stop_family(key.slot, ending, below, fx);
                }
                Timer::Join(group) => self.join_is_over(group, fx),
                Timer::Hold(parcel) => self.hold_is_over(parcel, fx),
                Timer::CutText(key) => self.cut_text(key),
            }
        }
    }

    /// Setting up is done.
    pub(crate) fn started(&mut self, agent: &AgentId, run: u32, fx: &mut Collector) {
        let Some(record) = self.record_mut(agent).filter(|record| record.run.number == run) else { return };
        let RunState::Running(running) = &mut record.run.state else { return };
        if running.set_up {
            return;
        }
        running.set_up = true;
        if running.progress.waiting_on == Some(WaitingOn::Setup) {
            running.progress.waiting_on = None;
        }
        fx.changed(agent, true);
    }

    /// Takes a sample of a live run. One that says nothing new is no change.
    pub(crate) fn progress(&mut self, agent: &AgentId, run: u32, sample: Progress, fx: &mut Collector) {
        let now = self.now;
        let Some(slot) = self.ids.get(agent) else { return };
        let Some(record) = self.records.get_mut(slot).filter(|record| record.run.number == run) else {
            return;
        };
        let key = record.key();
        let progress = match &mut record.run.state {
            RunState::Running(running) => {
                let before = running.clock.deadline();
                running.clock.set_standing(now, sample.waiting_on == Some(WaitingOn::Approval));
                let after = running.clock.deadline();
                if before != after {
                    self.timers.unset(before, Timer::WallClock(key));
                    self.timers.set(after, Timer::WallClock(key));
                }
                &mut running.progress
            }
            RunState::Stopping(stopping) => &mut stopping.progress,
            RunState::Queued(_) | RunState::Settled(_) => return,
        };
        if *progress != sample {
            *progress = sample;
            fx.changed(agent, false);
        }
    }
}
