//! Places are given back, whatever happens to those who have them: nobody who holds one waits for somebody in the queue.

use proptest::prelude::*;
use vocab::{AgentId, AgentStatus, EndReason, EndedBy, SessionId};

use super::random::{World, launch_of, outcome, progress, request};
use crate::{Input, SessionLimits, StopScope};

/// How a run ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Answers,
    Fails,
    Panics,
    /// It is stopped and unwinds.
    Stops(StopScope),
    /// It is stopped and never ends.
    Hangs,
    /// It never had a session.
    NeverStarts,
}

/// An agent, whether it runs in the background, how it ends, and whom it asks first.
#[derive(Debug, Clone)]
struct Plan {
    background: bool,
    end: End,
    children: Vec<Plan>,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        4 => Just(End::Answers),
        2 => Just(End::Fails),
        2 => Just(End::Panics),
        1 => Just(End::Stops(StopScope::One)),
        1 => Just(End::Stops(StopScope::Subtree)),
        1 => Just(End::Hangs),
        1 => Just(End::NeverStarts),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf =
        (any::<bool>(), end()).prop_map(|(background, end)| Plan { background, end, children: Vec::new() });
    leaf.prop_recursive(2, 12, 3, |inner| {
        (any::<bool>(), end(), prop::collection::vec(inner, 0..3))
            .prop_map(|(background, end, children)| Plan { background, end, children })
    })
}

/// A run that was spawned and has not been given its end.
struct Live {
    agent: AgentId,
    end: End,
    children: Vec<Plan>,
}

struct Story {
    world: World,
    agents: usize,
    live: Vec<Live>,
}

impl Story {
    fn new(places: u32) -> Self {
        let mut story = Self { world: World::default(), agents: 0, live: Vec::new() };
        let limits = SessionLimits {
            max_concurrent: places,
            max_depth: 3,
            descendants: 0,
            ..SessionLimits::default()
        };
        story.world.apply(&Input::OpenSession { session: session(), limits });
        story
    }

    fn spawn(&mut self, parent: Option<AgentId>, plan: Plan) {
        self.agents += 1;
        let agent = AgentId::from(format!("p{}", self.agents));
        let request = request(agent.clone(), session(), parent, launch_of(plan.background));
        let call = self.world.call();
        self.world.apply(&Input::Spawn { call, request });
        if self.world.roster.agent(&agent).is_some() {
            self.live.push(Live { agent, end: plan.end, children: plan.children });
        }
    }

    /// One that runs and waits for none of its children takes its next step. False: there is none.
    fn step(&mut self, pick: usize) -> bool {
        let roster = &self.world.roster;
        self.live.retain(|live| roster.agent(&live.agent).is_some_and(|record| !record.status().is_final()));
        let waits = |live: &Live| {
            roster
                .agents()
                .any(|other| other.parent.as_ref() == Some(&live.agent) && !other.status().is_final())
        };
        let status = |live: &Live| roster.agent(&live.agent).map(crate::AgentRecord::status);
        let ready: Vec<usize> = (0..self.live.len())
            .filter(|at| status(&self.live[*at]) != Some(AgentStatus::Queued) && !waits(&self.live[*at]))
            .collect();
        if ready.is_empty() {
            return false;
        }
        let at = ready[pick % ready.len()];
        let owner = self.live[at].agent.clone();
        if status(&self.live[at]) == Some(AgentStatus::Running) && !self.live[at].children.is_empty() {
            let child = self.live[at].children.remove(0);
            self.world.apply(&Input::Started { agent: owner.clone(), run: 1 });
            self.spawn(Some(owner), child);
        } else {
            let live = self.live.remove(at);
            self.finish(&live);
        }
        true
    }

    fn finish(&mut self, live: &Live) {
        let (status, reason) = match live.end {
            End::Answers => (AgentStatus::Completed, None),
            End::Fails => (AgentStatus::Error, Some(EndReason::Provider)),
            End::Panics => (AgentStatus::Error, Some(EndReason::Panic)),
            End::NeverStarts => (AgentStatus::Error, Some(EndReason::Setup)),
            End::Stops(_) | End::Hangs => (AgentStatus::Stopped, None),
        };
        if let End::Stops(scope) = live.end {
            self.stop(live, scope);
        }
        if matches!(live.end, End::Hangs) {
            self.stop(live, StopScope::Subtree);
            self.world.wait();
            return;
        }
        let outcome = vocab::Outcome { reason, ..outcome(status) };
        let agent = live.agent.clone();
        self.world.apply(&Input::Settled { agent, run: 1, outcome, progress: progress(false) });
    }

    fn stop(&mut self, live: &Live, scope: StopScope) {
        let call = self.world.call();
        self.world.apply(&Input::Stop { call, agent: live.agent.clone(), scope, by: EndedBy::User });
    }
}

fn session() -> SessionId {
    SessionId::from("s0")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_one_place_delegating_agents_never_block_each_other(
        plans in prop::collection::vec(plan(), 1..8),
        picks in prop::collection::vec(any::<usize>(), 1..40),
        places in prop_oneof![3 => Just(1u32), 1 => 2..4u32],
    ) {
        let mut story = Story::new(places);
        for plan in plans {
            story.spawn(None, plan);
        }
        let mut steps = 0;
        while story.step(picks[steps % picks.len()]) {
            steps += 1;
            prop_assert!(steps < 10_000, "it never comes to an end");
        }
        let roster = &story.world.roster;
        let left: Vec<_> = roster.agents().filter(|agent| !agent.status().is_final()).collect();
        prop_assert!(left.is_empty(), "nobody can go on, and these wait: {:?}", left);
        prop_assert_eq!(roster.permits_in_use(&session()), 0);
        prop_assert_eq!(roster.queue(&session()).count(), 0);
        // Each ended once.
        prop_assert_eq!(story.world.watch.outcomes.len(), roster.agents().count());
    }
}
