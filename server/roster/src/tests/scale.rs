//! Large fleets: what one agent costs does not grow with the others, counted in effects and rows, not in time.

use vocab::{AgentId, AgentStatus, EndedBy, Outcome, PermissionMode, SessionId, Timestamp, Usage};

use crate::{
    CallId, Effect, Input, Launch, Origin, Owner, Progress, Reply, Roster, SessionLimits, SpawnRequest,
};

const MANY: u64 = 10_000;

fn spawn(number: u64, turn: Option<u64>) -> Input {
    let launch = Launch {
        prompt: "go".to_owned(),
        background: true,
        wake_model: true,
        origin: Origin::Model,
        tool_call: None,
        turn,
    };
    let request = SpawnRequest {
        agent: agent(number),
        session: SessionId::from("s"),
        parent: None,
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
    };
    Input::Spawn { call: CallId(number), request }
}

fn settle(number: u64) -> Input {
    let outcome = Outcome {
        status: AgentStatus::Completed,
        ended_by: EndedBy::Itself,
        reason: None,
        text: "done".to_owned(),
        error: None,
        usage: Usage::default(),
    };
    Input::Settled { agent: agent(number), run: 1, outcome, progress: Progress::default() }
}

fn agent(number: u64) -> AgentId {
    AgentId::from(format!("a{number}"))
}

fn open(max_concurrent: u32) -> Roster {
    let mut roster = Roster::new();
    let limits = SessionLimits { max_concurrent, descendants: 0, ..SessionLimits::default() };
    roster.apply(Timestamp(0), Input::OpenSession { session: SessionId::from("s"), limits });
    roster
}

#[test]
fn ten_thousand_agents_of_one_turn_are_one_announcement() {
    let mut roster = open(MANY as u32);
    for number in 0..MANY {
        assert!(roster.apply(Timestamp(number), spawn(number, Some(1))).len() <= 5);
    }
    let owner = Owner::Session(SessionId::from("s"));
    assert_eq!(roster.apply(Timestamp(MANY), Input::TurnOver { owner: owner.clone(), turn: 1 }), []);
    for number in 0..MANY {
        assert!(roster.apply(Timestamp(MANY), settle(number)).len() <= 2);
    }
    assert_eq!(roster.next_deadline(), Some(Timestamp(MANY + 200)));
    let effects = roster.apply(Timestamp(MANY + 200), Input::Tick);
    let announced = effects.iter().map(|effect| match effect {
        Effect::Announce { completions, .. } => completions.len(),
        _ => 0,
    });
    assert_eq!(announced.filter(|count| *count > 0).collect::<Vec<_>>(), [MANY as usize]);
    assert_eq!(effects.len() as u64, MANY + 2, "a row each, one announcement, one wake");
    let effects = roster.apply(Timestamp(MANY + 200), Input::Drain { call: CallId(MANY), owner, idle: true });
    assert!(matches!(
        effects.as_slice(),
        [Effect::Reply { reply: Reply::Batch { completions, .. }, .. }] if completions.len() as u64 == MANY
    ));
}

#[test]
fn ten_thousand_queued_agents_run_one_after_the_other() {
    let mut roster = open(1);
    for number in 0..MANY {
        let effects = roster.apply(Timestamp(0), spawn(number, None));
        assert!(effects.len() <= 5);
    }
    let session = SessionId::from("s");
    assert_eq!(roster.counts(Some(&session)).queued as u64, MANY - 1);
    assert_eq!(roster.queue_position(&agent(MANY - 1)), Some(MANY as u32 - 1));
    assert_eq!(roster.agent(&agent(MANY - 1)).map(|record| record.handle.as_str()), Some("explore-10000"));
    for number in 0..MANY {
        let effects = roster.apply(Timestamp(0), settle(number));
        assert!(effects.len() <= 6, "{effects:?}");
    }
    assert_eq!(roster.counts(None).finished as u64, MANY);
    assert_eq!(roster.permits_in_use(&session), 0);
}

#[test]
fn stopping_ten_thousand_agents_takes_a_fact_a_cancel_and_a_row_each() {
    let mut roster = open(MANY as u32);
    for number in 0..MANY {
        roster.apply(Timestamp(0), spawn(number, None));
    }
    let stop = Input::StopAll { call: CallId(MANY), session: None, by: EndedBy::User };
    assert_eq!(roster.apply(Timestamp(0), stop).len() as u64, 3 * MANY + 1);
    let effects = roster.apply(Timestamp(crate::STOP_GRACE_MS), Input::Tick);
    assert_eq!(effects.len() as u64, 3 * MANY, "a detach, a fact and a row each");
    assert!(roster.agents().all(|agent| agent.status() == AgentStatus::Stopped));
}
