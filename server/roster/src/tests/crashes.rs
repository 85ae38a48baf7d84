//! Random stories in which the server dies and another makes the fleet again from the facts that were kept.

use std::collections::BTreeSet;

use proptest::prelude::*;
use vocab::{AgentId, AgentStatus, DeliveryState};

use super::invariants::Watch;
use super::random::{Step, World, session_id, step};
use crate::{Fact, Input, Progress, Replay, Roster, SessionLimits};

/// What happens before the server dies: it may lose the last facts that it had not written yet.
#[derive(Debug, Clone)]
struct Life {
    steps: Vec<Step>,
    lost: usize,
    /// It ends in order.
    orderly: bool,
}

fn life() -> impl Strategy<Value = Life> {
    (prop::collection::vec(step(), 1..80), 0..6usize, any::<bool>()).prop_map(|(steps, lost, orderly)| Life {
        steps,
        lost,
        orderly,
    })
}

impl World {
    /// The server dies, and the next one takes over.
    fn die(&mut self, lost: usize, orderly: bool) {
        let told = self.watch.announced.clone();
        if orderly {
            self.apply(&Input::Shutdown);
        }
        for _ in 0..lost {
            match self.journal.last() {
                // The editor is told after the disk has the end.
                Some(Fact::Settled { completion, .. })
                    if told.contains(&(completion.agent.clone(), completion.run)) =>
                {
                    break;
                }
                Some(_) => drop(self.journal.pop()),
                None => break,
            }
        }
        let in_history = std::mem::take(&mut self.watch.delivered);
        let highest_limit = std::mem::take(&mut self.watch.highest_limit);
        self.watch = Watch::default();
        self.watch.highest_limit = highest_limit;
        self.roster = Roster::new();
        self.batches.clear();
        self.take_over(&in_history);
    }

    fn take_over(&mut self, in_history: &BTreeSet<(AgentId, u32)>) {
        let mut replay = Replay::new();
        for fact in std::mem::take(&mut self.journal) {
            // A lost fact can leave later ones without what they speak of; all else fits.
            replay.take(fact.clone());
            self.journal.push(fact);
        }
        let arrived: Vec<_> = replay
            .undelivered()
            .map(|(agent, run, _)| (agent.clone(), run))
            .filter(|key| in_history.contains(key))
            .collect();
        for (agent, run) in arrived {
            let fact = Fact::Delivered { agent, run, at: self.now };
            assert!(replay.take(fact.clone()), "delivered twice");
            self.journal.push(fact);
        }
        let (agents, facts) = replay.finish(self.now, |_| ("so far".to_owned(), Progress::default()));
        self.journal.extend(facts);
        for agent in &agents {
            for run in &agent.runs {
                let key = (agent.request.agent.clone(), run.completion.run);
                let (outcome, background) = (run.completion.outcome.clone(), run.completion.background);
                self.watch.outcomes.insert(key.clone(), (outcome, background));
                match run.delivery {
                    Some(DeliveryState::Delivered) => drop(self.watch.delivered.insert(key.clone())),
                    Some(DeliveryState::Consumed) => drop(self.watch.consumed.insert(key.clone())),
                    _ => {}
                }
                if run.announced {
                    self.watch.announced.insert(key);
                }
            }
        }
        for session in 0..3 {
            let limits = SessionLimits::default();
            self.apply(&Input::OpenSession { session: session_id(session), limits });
        }
        for agent in agents {
            self.apply(&Input::Restore { agent: Box::new(agent) });
        }
        assert!(self.roster.agents().all(|agent| agent.status().is_final()), "something says that it runs");
        assert!(self.watch.nobody_woken(), "a restored fleet starts nothing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_dies_everything_is_told_once(lives in prop::collection::vec(life(), 1..4)) {
        let mut world = World::default();
        world.take(Step::Open { session: 0, limits: SessionLimits::default() });
        for Life { steps, lost, orderly } in lives {
            for step in steps {
                world.take(step);
            }
            world.die(lost, orderly);
        }
        world.settle_all();
        world.wait();
        world.drain_all();
        let World { roster, watch, .. } = &world;
        for ((agent, run), (outcome, background)) in &watch.outcomes {
            let key = (agent.clone(), *run);
            let interrupted = outcome.status == AgentStatus::Interrupted;
            prop_assert_eq!(watch.announced.contains(&key), *background || interrupted, "{}#{} announced", agent, run);
            let told = watch.delivered.contains(&key) || watch.consumed.contains(&key);
            let Some(record) = roster.agent(agent) else { continue };
            let waits = record.delivery_of(*run) == Some(DeliveryState::Pending);
            prop_assert_eq!(waits, (*background || interrupted) && !told, "{}#{} waits", agent, run);
            prop_assert!(record.parent.is_some() || !waits, "{}#{} was never told", agent, run);
        }
    }
}
