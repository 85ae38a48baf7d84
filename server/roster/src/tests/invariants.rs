//! What holds after every input, whatever it was.

use std::collections::{BTreeMap, BTreeSet};

use vocab::{AgentId, AgentStatus, DeliveryState, Outcome, SessionId};

use crate::record::RunState;
use crate::{CallId, Effect, Fact, Input, Owner, Reply, Roster};

type Run = (AgentId, u32);

/// Remembers what was promised once and for all.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) highest_limit: BTreeMap<SessionId, u32>,
    pub(super) outcomes: BTreeMap<Run, (Outcome, bool)>,
    pub(super) announced: BTreeSet<Run>,
    pub(super) delivered: BTreeSet<Run>,
    pub(super) consumed: BTreeSet<Run>,
    pub(super) given: BTreeSet<Run>,
    answered: BTreeSet<CallId>,
    /// Owners that were woken and have not drained since.
    woken: BTreeSet<Owner>,
    ended: bool,
}

impl Watch {
    /// Looks at one input and what came of it.
    pub(super) fn look(&mut self, input: &Input, roster: &Roster, effects: &[Effect]) {
        if let Input::OpenSession { session, limits } | Input::SetLimits { session, limits } = input {
            let highest = self.highest_limit.entry(session.clone()).or_default();
            *highest = limits.max_concurrent.max(1).max(*highest);
        }
        if let Input::Drain { owner, .. } = input {
            self.woken.remove(owner);
        }
        for effect in effects {
            self.look_at(effect);
        }
        self.nobody_sleeps_on(roster);
        self.ended |= *input == Input::Shutdown;
        self.permits(roster);
        self.outcomes_stay(roster);
        nothing_waits_on_the_queue(roster);
        books_agree(roster);
        match roster.next_deadline() {
            Some(at) => assert!(at > roster.now && !self.ended, "a deadline has been left behind"),
            None => assert!(!roster.agents().any(|agent| agent.status() == AgentStatus::Stopping)),
        }
    }

    fn look_at(&mut self, effect: &Effect) {
        match effect {
            Effect::Record { fact: Fact::Settled { completion, .. }, .. } => {
                let run = (completion.agent.clone(), completion.run);
                let value = (completion.outcome.clone(), completion.background);
                assert!(completion.outcome.status.is_final(), "{run:?} ended without an end");
                assert_eq!(self.outcomes.insert(run.clone(), value), None, "{run:?} settled twice");
            }
            Effect::Record { fact: Fact::Delivered { agent, run, .. }, .. } => {
                let run = (agent.clone(), *run);
                assert!(!self.consumed.contains(&run) && self.delivered.insert(run.clone()), "{run:?} twice");
            }
            Effect::Record { fact: Fact::Consumed { agent, run, .. }, .. } => {
                let run = (agent.clone(), *run);
                assert!(!self.delivered.contains(&run) && self.consumed.insert(run.clone()), "{run:?} twice");
            }
            Effect::Announce { completions, .. } => {
                assert!(!self.ended, "announced after the end");
                assert!(!completions.is_empty());
                for completion in completions {
                    let run = (completion.agent.clone(), completion.run);
                    assert!(completion.background, "{run:?} is no news");
                    assert!(self.announced.insert(run.clone()), "{run:?} was announced twice");
                }
            }
            Effect::Reply { call, reply } => {
                assert!(self.answered.insert(*call), "{call:?} was answered twice");
                if let Reply::Batch { completions, .. } = reply {
                    for completion in completions {
                        let run = (completion.agent.clone(), completion.run);
                        assert!(!self.delivered.contains(&run), "{run:?} was given again");
                        self.given.insert(run);
                    }
                }
            }
            Effect::Wake { owner } => {
                assert!(!self.ended, "woken after the end");
                self.woken.insert(owner.clone());
            }
            Effect::Start { .. } => assert!(!self.ended, "started after the end"),
            _ => {}
        }
    }

    /// Whether no owner was woken that has not looked since.
    pub(super) fn nobody_woken(&self) -> bool {
        self.woken.is_empty()
    }

    /// A reason to wake an owner that could hear it has woken it, since it last looked.
    fn nobody_sleeps_on(&self, roster: &Roster) {
        let sessions = roster.sessions.keys().cloned().map(Owner::Session);
        let agents = roster.agents().map(|agent| Owner::Agent(agent.id.clone()));
        for owner in sessions.chain(agents).filter(|owner| roster.may_wake(owner)) {
            assert!(self.woken.contains(&owner), "{owner:?} was not woken");
        }
    }

    fn permits(&self, roster: &Roster) {
        for (session, highest) in &self.highest_limit {
            let using = roster.agents_of(session).filter(|agent| {
                let active = matches!(agent.status(), AgentStatus::Running | AgentStatus::Stopping);
                active && agent.parent.is_none() && agent.is_background()
            });
            let using = using.count() as u32;
            assert_eq!(using, roster.permits_in_use(session), "permits in use");
            assert!(using <= *highest, "more runs than permits");
            let limit = roster.limits(session).map_or(0, |limits| limits.max_concurrent.max(1));
            let waiting = roster.queue(session).count();
            assert!(waiting == 0 || using >= limit || roster.ending, "a permit is free and somebody waits");
        }
    }

    fn outcomes_stay(&self, roster: &Roster) {
        for ((agent, run), (outcome, _)) in &self.outcomes {
            if let Some(completion) = roster.agent(agent).and_then(|record| record.completion_of(*run)) {
                assert_eq!(completion.outcome, *outcome, "{agent}#{run} changed its outcome");
            }
        }
    }
}

/// Somebody who may hold a permit waits for nested and foreground runs, so these never queue.
fn nothing_waits_on_the_queue(roster: &Roster) {
    for agent in roster.agents() {
        if agent.status() == AgentStatus::Queued {
            assert!(agent.parent.is_none() && agent.is_background(), "{} must not queue", agent.id);
        }
    }
}

/// What is kept for speed says the same as the records.
fn books_agree(roster: &Roster) {
    for (id, session) in &roster.sessions {
        let live = roster.agents_of(id).filter(|agent| !agent.status().is_final());
        assert_eq!(live.map(|agent| agent.slot).collect::<BTreeSet<_>>(), session.live);
        let counts = session.counts;
        let total = counts.queued + counts.running + counts.stopping + counts.finished;
        assert_eq!(total as usize, session.agents.len(), "counts");
        assert_eq!((counts.queued + counts.running + counts.stopping) as usize, session.live.len(), "counts");
        assert_eq!(counts.queued as usize, roster.queue(id).count(), "counts");
    }
    let mut owed: BTreeMap<Owner, u32> = BTreeMap::new();
    for agent in roster.agents() {
        let live = agent.is_background() && !agent.status().is_final();
        let past = agent.past.iter().map(|past| past.number);
        let held = past
            .chain([agent.run_number()])
            .filter(|run| agent.delivery_of(*run) == Some(DeliveryState::Held));
        *owed.entry(agent.owner()).or_default() += u32::from(live) + held.count() as u32;
        let waiters = agent.run.waiters.iter().filter(|call| roster.waits.contains_key(call)).count();
        assert_eq!(waiters, agent.run.waiters.len(), "waiters");
        if let RunState::Settled(_) = agent.run.state {
            assert!(
                agent.live_children.is_empty() || agent_children_settle(roster, agent),
                "orphans of {}",
                agent.id
            );
            assert_eq!(waiters, 0, "left waiting");
        }
    }
    for (owner, owed) in owed {
        if let Some(mailbox) = roster.mailbox(&owner).filter(|_| !roster.ending) {
            assert_eq!(mailbox.owed, owed, "what {owner:?} is owed");
        }
    }
}

/// Live children of a settled owner are being stopped, or a person has resumed them.
fn agent_children_settle(roster: &Roster, owner: &crate::AgentRecord) -> bool {
    owner
        .live_children
        .iter()
        .filter_map(|slot| roster.records.get(slot))
        .all(|child| child.status() == AgentStatus::Stopping || child.run_number() > 1)
}
