//! Random stories: whatever happens in whatever order, the promises hold, and in the end everything has been told.

use proptest::prelude::*;
use vocab::{
    AgentId, AgentStatus, DeliveryState, EndedBy, Outcome, PermissionMode, SessionId, SteerId, Timestamp,
    Usage, WaitingOn,
};

use super::invariants::Watch;
use crate::{
    BatchId, CallId, Effect, Fact, Input, Launch, Origin, Owner, Progress, Reply, ResumeRequest, Roster,
    SessionLimits, SpawnRequest, Steer, StopScope,
};

/// One step of a story. Numbers name agents, sessions, calls and batches, not all of which exist.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Open { session: u8, limits: SessionLimits },
    Limits { session: u8, limits: SessionLimits },
    Close { session: u8 },
    Spawn { session: u8, parent: Option<u8>, twice: bool, launch: Launch },
    Resume { agent: u8, launch: Launch },
    Start { agent: u8, old: bool },
    Progress { agent: u8, old: bool, asking: bool },
    Settle { agent: u8, old: bool, status: AgentStatus },
    Expire { agent: u8 },
    Steer { agent: u8 },
    Unsteer { agent: u8 },
    Stop { agent: u8, scope: StopScope, by: EndedBy },
    StopAll { session: Option<u8>, by: EndedBy },
    Await { agent: u8, run: Option<u32>, consume: bool },
    Read { agent: u8, run: Option<u32>, consume: bool },
    Gone { call: u8 },
    Seen { agent: u8 },
    Drain { owner: u8, agent: bool, idle: bool },
    Answer { batch: u8, arrived: bool },
    TurnOver { owner: u8, agent: bool, turn: u64 },
    Pass { ms: u64 },
}

fn limits() -> impl Strategy<Value = SessionLimits> {
    let times = (prop_oneof![Just(0u64), Just(700), Just(5_000)], prop_oneof![Just(0u64), Just(200)]);
    (1..4u32, 1..4u32, prop_oneof![Just(0u32), 3..9u32], times, any::<bool>()).prop_map(
        |(max_concurrent, max_depth, descendants, (wall_clock_ms, hold_ms), join)| SessionLimits {
            max_concurrent,
            max_depth,
            descendants,
            wall_clock_ms,
            hold_ms,
            join_ms: 3_000,
            straggler_ms: 1_500,
            join,
        },
    )
}

fn launch() -> impl Strategy<Value = Launch> {
    let origin = prop_oneof![4 => Just(Origin::Model), 1 => Just(Origin::Person), 1 => Just(Origin::Program)];
    (prop::bool::weighted(0.8), any::<bool>(), origin, prop::option::of(1..3u64)).prop_map(
        |(background, wakes, origin, turn)| Launch {
            prompt: "go".to_owned(),
            background,
            wake_model: wakes || origin == Origin::Model,
            origin,
            tool_call: None,
            turn,
        },
    )
}

fn by() -> impl Strategy<Value = EndedBy> {
    prop_oneof![Just(EndedBy::User), Just(EndedBy::Parent)]
}

fn final_status() -> impl Strategy<Value = AgentStatus> {
    prop_oneof![
        4 => Just(AgentStatus::Completed),
        1 => Just(AgentStatus::Steered),
        1 => Just(AgentStatus::Aborted),
        1 => Just(AgentStatus::Stopped),
        1 => Just(AgentStatus::Error),
        1 => Just(AgentStatus::Running),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let agent = || 0..14u8;
    let scope = prop_oneof![Just(StopScope::One), Just(StopScope::Subtree)];
    let run = || prop::option::of(1..4u32);
    prop_oneof![
        2 => (0..3u8, limits()).prop_map(|(session, limits)| Step::Open { session, limits }),
        1 => (0..3u8, limits()).prop_map(|(session, limits)| Step::Limits { session, limits }),
        1 => (0..3u8).prop_map(|session| Step::Close { session }),
        14 => (0..2u8, prop::option::weighted(0.3, agent()), prop::bool::weighted(0.05), launch())
            .prop_map(|(session, parent, twice, launch)| Step::Spawn { session, parent, twice, launch }),
        6 => (agent(), launch()).prop_map(|(agent, launch)| Step::Resume { agent, launch }),
        3 => (agent(), prop::bool::weighted(0.1)).prop_map(|(agent, old)| Step::Start { agent, old }),
        4 => (agent(), prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(agent, old, asking)| Step::Progress { agent, old, asking }),
        14 => (agent(), prop::bool::weighted(0.1), final_status())
            .prop_map(|(agent, old, status)| Step::Settle { agent, old, status }),
        1 => agent().prop_map(|agent| Step::Expire { agent }),
        3 => agent().prop_map(|agent| Step::Steer { agent }),
        1 => agent().prop_map(|agent| Step::Unsteer { agent }),
        5 => (agent(), scope, by()).prop_map(|(agent, scope, by)| Step::Stop { agent, scope, by }),
        1 => (prop::option::of(0..3u8), by()).prop_map(|(session, by)| Step::StopAll { session, by }),
        5 => (agent(), run(), any::<bool>()).prop_map(|(agent, run, consume)| Step::Await { agent, run, consume }),
        4 => (agent(), run(), any::<bool>()).prop_map(|(agent, run, consume)| Step::Read { agent, run, consume }),
        3 => any::<u8>().prop_map(|call| Step::Gone { call }),
        1 => agent().prop_map(|agent| Step::Seen { agent }),
        8 => (agent(), prop::bool::weighted(0.3), any::<bool>())
            .prop_map(|(owner, agent, idle)| Step::Drain { owner, agent, idle }),
        6 => (0..4u8, prop::bool::weighted(0.7)).prop_map(|(batch, arrived)| Step::Answer { batch, arrived }),
        3 => (agent(), prop::bool::weighted(0.3), 1..3u64)
            .prop_map(|(owner, agent, turn)| Step::TurnOver { owner, agent, turn }),
        8 => prop_oneof![Just(1u64), Just(150), Just(200), Just(1_600), Just(4_000)].prop_map(|ms| Step::Pass { ms }),
    ]
}

/// A fleet, what was promised of it, and what its shell would know.
#[derive(Default)]
pub(super) struct World {
    pub(super) roster: Roster,
    pub(super) watch: Watch,
    pub(super) now: Timestamp,
    calls: u64,
    agents: u8,
    /// Given and not answered for.
    pub(super) batches: Vec<BatchId>,
    /// What was recorded, in order.
    pub(super) journal: Vec<Fact>,
}

impl World {
    pub(super) fn apply(&mut self, input: &Input) {
        let effects = self.roster.apply(self.now, input.clone());
        self.watch.look(input, &self.roster, &effects);
        for effect in effects {
            match effect {
                Effect::Reply { reply: Reply::Batch { batch, completions, .. }, .. }
                    if !completions.is_empty() =>
                {
                    self.batches.push(batch);
                }
                Effect::Record { fact, .. } => self.journal.push(fact),
                Effect::Announce { completions, .. } => {
                    self.journal.extend(completions.into_iter().map(|done| Fact::Announced {
                        agent: done.agent,
                        run: done.run,
                        at: self.now,
                    }));
                }
                _ => {}
            }
        }
    }

    pub(super) fn call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }

    /// The agent's run, or the one before it.
    fn run(&self, agent: &AgentId, old: bool) -> u32 {
        self.roster.agent(agent).map_or(1, |record| record.run_number() - u32::from(old))
    }

    pub(super) fn take(&mut self, step: Step) {
        let input = match step {
            Step::Open { session, limits } => Input::OpenSession { session: session_id(session), limits },
            Step::Limits { session, limits } => Input::SetLimits { session: session_id(session), limits },
            Step::Close { session } => Input::CloseSession { session: session_id(session) },
            Step::Spawn { session, parent, twice, launch } => {
                // An id is used twice only while somebody has it; one that is gone was never to be used again.
                let twice = twice && self.roster.agent(&agent_id(self.agents)).is_some();
                self.agents += u8::from(!twice);
                let parent = parent.map(agent_id);
                let owner = parent.as_ref().and_then(|parent| self.roster.agent(parent));
                let session = owner.map_or_else(|| session_id(session), |owner| owner.session.clone());
                let request = request(agent_id(self.agents), session, parent, launch);
                Input::Spawn { call: self.call(), request }
            }
            Step::Resume { agent, launch } => {
                let request = ResumeRequest { agent: agent_id(agent), launch };
                Input::Resume { call: self.call(), request }
            }
            Step::Answer { batch, .. } if self.batches.is_empty() => {
                Input::Delivered { batch: BatchId(batch.into()) }
            }
            Step::Answer { batch, arrived } => {
                let batch = self.batches.remove(usize::from(batch) % self.batches.len());
                if arrived { Input::Delivered { batch } } else { Input::Returned { batch } }
            }
            Step::Drain { owner, agent, idle } => {
                Input::Drain { call: self.call(), owner: owner_id(owner, agent), idle }
            }
            Step::TurnOver { owner, agent, turn } => Input::TurnOver { owner: owner_id(owner, agent), turn },
            Step::Pass { ms } => {
                self.now = self.now.plus_ms(ms);
                Input::Tick
            }
            Step::StopAll { session, by } => {
                Input::StopAll { call: self.call(), session: session.map(session_id), by }
            }
            Step::Gone { call } => Input::CallerGone { call: CallId(u64::from(call)) },
            of_a_run => self.of_a_run(&of_a_run),
        };
        self.apply(&input);
    }

    fn of_a_run(&mut self, step: &Step) -> Input {
        match *step {
            Step::Start { agent, old } => {
                let agent = agent_id(agent);
                Input::Started { run: self.run(&agent, old), agent }
            }
            Step::Progress { agent, old, asking } => {
                let agent = agent_id(agent);
                Input::Progress { run: self.run(&agent, old), agent, progress: progress(asking) }
            }
            Step::Settle { agent, old, status } => {
                let agent = agent_id(agent);
                Input::Settled {
                    run: self.run(&agent, old),
                    agent,
                    outcome: outcome(status),
                    progress: progress(false),
                }
            }
            Step::Expire { agent } => {
                let agent = agent_id(agent);
                Input::SteersExpired { run: self.run(&agent, false), agent, steers: vec![steer()] }
            }
            Step::Seen { agent } => {
                let agent = agent_id(agent);
                Input::Seen { run: self.run(&agent, false), agent }
            }
            Step::Steer { agent } => {
                Input::Steer { call: self.call(), agent: agent_id(agent), steer: steer() }
            }
            Step::Unsteer { agent } => {
                Input::Unsteer { call: self.call(), agent: agent_id(agent), steer: steer().id }
            }
            Step::Stop { agent, scope, by } => {
                Input::Stop { call: self.call(), agent: agent_id(agent), scope, by }
            }
            Step::Await { agent, run, consume } => {
                Input::Await { call: self.call(), agent: agent_id(agent), run, consume }
            }
            Step::Read { agent, run, consume } => {
                Input::Read { call: self.call(), agent: agent_id(agent), run, consume }
            }
            _ => Input::Tick,
        }
    }

    /// Lets everything end by itself.
    pub(super) fn settle_all(&mut self) {
        // Each round settles what runs and so starts what waits.
        for _ in 0..100 {
            let live = self.roster.agents().filter(|agent| !agent.status().is_final());
            let live: Vec<_> = live.map(|agent| (agent.id.clone(), agent.run_number())).collect();
            if live.is_empty() {
                return;
            }
            for (agent, run) in live {
                let outcome = outcome(AgentStatus::Completed);
                self.apply(&Input::Settled { agent, run, outcome, progress: progress(false) });
            }
        }
        panic!("something never ends");
    }

    /// Lets time go by until nothing is due any more.
    pub(super) fn wait(&mut self) {
        for _ in 0..1_000 {
            let Some(at) = self.roster.next_deadline() else { return };
            self.now = at;
            self.apply(&Input::Tick);
        }
        panic!("time never comes to rest");
    }

    /// Sends back what is in hand, and then takes and keeps all that waits for the sessions.
    pub(super) fn drain_all(&mut self) {
        for batch in std::mem::take(&mut self.batches) {
            self.apply(&Input::Returned { batch });
        }
        for session in 0..3 {
            let call = self.call();
            self.apply(&Input::Drain { call, owner: Owner::Session(session_id(session)), idle: false });
        }
        for batch in std::mem::take(&mut self.batches) {
            self.apply(&Input::Delivered { batch });
        }
    }
}

pub(super) fn session_id(number: u8) -> SessionId {
    SessionId::from(format!("s{number}"))
}

fn agent_id(number: u8) -> AgentId {
    AgentId::from(format!("a{number}"))
}

fn owner_id(number: u8, agent: bool) -> Owner {
    if agent { Owner::Agent(agent_id(number)) } else { Owner::Session(session_id(number % 3)) }
}

/// A launch by the owner's model.
pub(super) fn launch_of(background: bool) -> Launch {
    Launch {
        prompt: "go".to_owned(),
        background,
        wake_model: true,
        origin: Origin::Model,
        tool_call: None,
        turn: None,
    }
}

fn steer() -> Steer {
    Steer { id: SteerId::from("steer"), text: "go left".to_owned(), author: EndedBy::User }
}

pub(super) fn progress(asking: bool) -> Progress {
    Progress { turns: 1, waiting_on: asking.then_some(WaitingOn::Approval), ..Progress::default() }
}

pub(super) fn outcome(status: AgentStatus) -> Outcome {
    let text = "text".to_owned();
    Outcome { status, ended_by: EndedBy::Itself, reason: None, text, error: None, usage: Usage::default() }
}

pub(super) fn request(
    agent: AgentId,
    session: SessionId,
    parent: Option<AgentId>,
    launch: Launch,
) -> SpawnRequest {
    SpawnRequest {
        agent,
        session,
        parent,
        agent_type: "explore".to_owned(),
        display_name: "Explore".to_owned(),
        color: None,
        description: "look".to_owned(),
        name: None,
        cwd: "/w".to_owned(),
        model: "m".to_owned(),
        requested_model: None,
        thinking: None,
        permission_mode: PermissionMode::Ask,
        max_turns: None,
        budget: vocab::Budget::default(),
        tags: Vec::new(),
        on_disk: true,
        plan: None,
        launch,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_the_end_everything_has_been_told_once(steps in prop::collection::vec(step(), 1..160)) {
        let mut world = World::default();
        world.take(Step::Open { session: 0, limits: SessionLimits::default() });
        for step in steps {
            world.take(step);
        }
        world.settle_all();
        world.wait();
        world.drain_all();
        let World { roster, watch, .. } = &world;
        prop_assert_eq!(roster.next_deadline(), None);
        for ((agent, run), (_, background)) in &watch.outcomes {
            let key = (agent.clone(), *run);
            prop_assert_eq!(watch.announced.contains(&key), *background, "{}#{} announced", agent, run);
            let told = watch.delivered.contains(&key) || watch.consumed.contains(&key);
            let Some(record) = roster.agent(agent) else { continue };
            let waits = record.delivery_of(*run) == Some(DeliveryState::Pending);
            // What an agent owns waits for that agent, which has ended.
            prop_assert_eq!(waits, *background && !told, "{}#{} waits", agent, run);
            prop_assert!(record.parent.is_some() || !waits, "{}#{} was never told", agent, run);
        }
        for record in roster.agents() {
            prop_assert!(watch.outcomes.contains_key(&(record.id.clone(), record.run_number())));
        }
    }

    #[test]
    fn after_the_end_nothing_moves(
        before in prop::collection::vec(step(), 1..100),
        after in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::default();
        for step in before {
            world.take(step);
        }
        world.apply(&Input::Shutdown);
        prop_assert_eq!(world.roster.next_deadline(), None);
        let settled = world.watch.outcomes.len();
        for step in after {
            world.take(step);
            prop_assert_eq!(world.roster.next_deadline(), None);
        }
        prop_assert!(world.roster.agents().all(|agent| agent.status().is_final()));
        prop_assert_eq!(world.watch.outcomes.len(), settled);
    }

    #[test]
    fn equal_stories_have_equal_states(steps in prop::collection::vec(step(), 1..60)) {
        let mut one = World::default();
        let mut other = World::default();
        for step in steps {
            one.take(step.clone());
            other.take(step);
        }
        prop_assert!(one.roster == other.roster);
    }
}
