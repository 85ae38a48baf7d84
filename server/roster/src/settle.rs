//! The end of a run: the one function that every way out goes through, so that a run has one outcome for ever.

use vocab::{AgentId, AgentStatus, EndReason, EndedBy, Outcome, SessionId, Timestamp};

use crate::Roster;
use crate::admission::Permit;
use crate::collector::Collector;
use crate::completion::{Completion, KEPT_TEXT_BYTES};
use crate::effect::{Fact, Reply};
use crate::input::{Ending, Owner, Progress, Steer};
use crate::limits::Timer;
use crate::record::{AgentRecord, RunKey, RunState, SettledRun, Slot};

/// How long a long result stays in memory, in milliseconds. Then its beginning does, and the transcript has the rest.
const TEXT_KEPT_MS: u64 = 600_000;

/// What a run leaves behind when it ends.
struct Remains {
    permit: Option<Permit>,
    /// Where it waited, if it did.
    place: Option<u64>,
    deadline: Option<(Timestamp, Timer)>,
    started_at: Option<Timestamp>,
    progress: Progress,
    undelivered_steers: Vec<Steer>,
}

impl Remains {
    /// Empties a live state; nothing where the run is over.
    fn of(key: RunKey, state: &mut RunState) -> Option<Self> {
        match state {
            RunState::Queued(queued) => Some(Self {
                permit: None,
                place: Some(queued.place),
                deadline: None,
                started_at: None,
                progress: Progress::default(),
                undelivered_steers: std::mem::take(&mut queued.steers),
            }),
            RunState::Running(running) => Some(Self {
                permit: running.permit.take(),
                place: None,
                deadline: running.clock.deadline().map(|at| (at, Timer::WallClock(key))),
                started_at: Some(running.started_at),
                progress: std::mem::take(&mut running.progress),
                undelivered_steers: std::mem::take(&mut running.expired),
            }),
            RunState::Stopping(stopping) => Some(Self {
                permit: stopping.permit.take(),
                place: None,
                deadline: Some((stopping.grace_until, Timer::Grace(key))),
                started_at: Some(stopping.started_at),
                progress: std::mem::take(&mut stopping.progress),
                undelivered_steers: std::mem::take(&mut stopping.expired),
            }),
            RunState::Settled(_) => None,
        }
    }
}

impl Roster {
    /// A run's task was joined. Only for the latest run, started and not over: one that was given up has its outcome.
    pub(crate) fn joined(
        &mut self,
        agent: &AgentId,
        run: u32,
        outcome: Outcome,
        last: Progress,
        fx: &mut Collector,
    ) {
        let Some(record) = self.record_mut(agent).filter(|record| record.run.number == run) else { return };
        let slot = record.slot;
        let outcome = match &mut record.run.state {
            RunState::Running(running) => {
                running.progress = last;
                sound(outcome)
            }
            RunState::Stopping(stopping) => {
                stopping.progress = last;
                ended_from_outside(stopping.ending, outcome)
            }
            RunState::Queued(_) | RunState::Settled(_) => return,
        };
        self.settle(slot, outcome, fx);
    }

    /// Ends the latest run of a record; nothing where it is over. Bookkeeping comes before anybody is told.
    pub(crate) fn settle(&mut self, slot: Slot, outcome: Outcome, fx: &mut Collector) {
        let Some(record) = self.records.get_mut(&slot) else { return };
        let from = record.status();
        let Some(mut remains) = Remains::of(record.key(), &mut record.run.state) else { return };
        let mut progress = std::mem::take(&mut remains.progress);
        progress.waiting_on = None;
        progress.tool = None;
        progress.usage = outcome.usage;
        let permit = remains.permit.take();
        let freed = permit.is_some();
        let (place, deadline) = (remains.place, remains.deadline);
        let completion = completion_of(record, remains, &progress, outcome, self.now);
        let (id, session, parent) = (record.id.clone(), record.session.clone(), record.parent.clone());
        let waiters = std::mem::take(&mut record.run.waiters);
        let children = if self.ending {
            Vec::new()
        } else {
            record.live_children.iter().copied().collect::<Vec<Slot>>()
        };
        let files = progress.files.clone();
        let key = record.key();
        let evict_at = (record.on_disk && completion.outcome.text.len() > KEPT_TEXT_BYTES)
            .then(|| self.now.plus_ms(TEXT_KEPT_MS));
        let settled = SettledRun { completion: completion.clone(), progress, seen: false, news: None };
        record.run.state = RunState::Settled(Box::new(settled));

        if let Some((at, timer)) = deadline {
            self.timers.unset(at, timer);
        }
        if !self.ending {
            self.timers.set(evict_at, Timer::CutText(key));
        }
        if let Some(session) = self.sessions.get_mut(&session) {
            session.live.remove(&slot);
            session.counts.shift(Some(from), completion.status());
            if let Some(place) = place {
                session.leave_queue(place);
            }
            if let Some(permit) = permit {
                session.give_back(permit);
            }
        }
        if let Some(parent) = parent.as_ref().and_then(|parent| self.record_mut(parent)) {
            parent.live_children.remove(&slot);
        }
        let mut kept = completion.clone();
        kept.cut_text();
        fx.record(&session, Fact::Settled { completion: Box::new(kept), files });
        fx.changed(&id, true);

        let mut read = false;
        for call in waiters {
            read |= self.waits.remove(&call).is_some_and(|wait| wait.consume);
            fx.reply(call, Reply::Settled(Box::new(completion.clone())));
        }
        // Nobody is left to hear from what it owns.
        for child in children {
            self.stop_run(child, Ending { by: EndedBy::Parent, reason: None }, fx);
        }
        self.close_groups_of(&Owner::Agent(id), fx);
        self.file_news(slot, read, fx);
        if freed {
            self.fill(&session, fx);
        }
        self.leave_if_closed(&session, fx);
    }

    /// A result has been in memory long enough.
    pub(crate) fn cut_text(&mut self, key: RunKey) {
        if let Some(settled) = self.settled_mut(key) {
            settled.completion.cut_text();
        }
    }

    /// Everything ends now, with the server. What is under way is cancelled and not waited for.
    pub(crate) fn shut_down(&mut self, fx: &mut Collector) {
        if self.ending {
            return;
        }
        self.ending = true;
        self.timers.clear();
        let live: Vec<Slot> =
            self.sessions.values().flat_map(|session| session.live.iter().copied()).collect();
        for slot in live {
            let ending = Ending { by: EndedBy::Host, reason: None };
            self.cancel(slot, ending, fx);
            let usage = self.records.get(&slot).map(|record| record.progress().usage).unwrap_or_default();
            let outcome = Outcome { usage, ..Outcome::without_text(AgentStatus::Interrupted, EndedBy::Host) };
            self.settle(slot, outcome, fx);
        }
    }

    /// Removes a closed session and its agents once all of them have settled.
    pub(crate) fn leave_if_closed(&mut self, session: &SessionId, fx: &mut Collector) {
        if self.ending || !self.sessions.get(session).is_some_and(|open| open.closing && open.live.is_empty())
        {
            return;
        }
        let Some(gone) = self.sessions.remove(session) else { return };
        for slot in gone.agents {
            if let Some(record) = self.records.remove(&slot) {
                self.ids.remove(&record.id);
                fx.changed(&record.id, true);
            }
        }
    }
}

/// An outcome as the core takes it: a task that returned without a final state has lost it.
fn sound(outcome: Outcome) -> Outcome {
    if outcome.status.is_final() {
        return outcome;
    }
    let error =
        outcome.error.unwrap_or_else(|| "the run ended without an outcome; resume it to go on".to_owned());
    Outcome {
        status: AgentStatus::Error,
        ended_by: EndedBy::Itself,
        reason: Some(EndReason::Lost),
        error: Some(error),
        ..outcome
    }
}

/// What a run came to that was ended from outside before it ended itself: whatever it still brought is kept as partial.
pub(crate) fn ended_from_outside(ending: Ending, outcome: Outcome) -> Outcome {
    let status = if ending.by == EndedBy::Limit { AgentStatus::Aborted } else { AgentStatus::Stopped };
    Outcome { status, ended_by: ending.by, reason: ending.reason, ..outcome }
}

fn completion_of(
    record: &AgentRecord,
    remains: Remains,
    progress: &Progress,
    outcome: Outcome,
    now: Timestamp,
) -> Completion {
    Completion {
        agent: record.id.clone(),
        run: record.run.number,
        session: record.session.clone(),
        parent: record.parent.clone(),
        handle: record.handle.clone(),
        agent_type: record.agent_type.clone(),
        description: record.description.clone(),
        background: record.run.background,
        tool_call: record.run.tool_call.clone(),
        outcome,
        turns: progress.turns,
        max_turns: record.max_turns,
        tool_uses: progress.tool_uses,
        context_percent: progress.context_percent,
        compactions: progress.compactions,
        started_at: remains.started_at,
        completed_at: now,
        undelivered_steers: remains.undelivered_steers,
        restored: false,
        text_cut: false,
    }
}
