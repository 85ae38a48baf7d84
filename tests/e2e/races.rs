//! Results that are fetched while they are announced: the model gets each of them, and none twice by mistake.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;

/// Agents in one session, sessions one after the other, and of them so many at a time: a thousand fetches in all.
const ROUNDS: usize = 25;
const SESSIONS: usize = 20;
const AT_A_TIME: usize = 2;

/// Delays that differ from round to round and meet the hold of 4 ms from both sides.
fn delay(round: usize, step: usize) -> Duration {
    Duration::from_millis(((round * 7 + step * 5) % 11) as u64)
}

/// Gives how many results came by a notice.
fn one_session(seed: usize) -> usize {
    let lab = Lab::new();
    lab.settings(&json!({ "delivery": { "holdMs": 4 } }));
    for round in 0..ROUNDS {
        let mut call = super::agent(&format!("[[script kid{round}]]"), true);
        call["name"] = format!("kid{round}").into();
        let wait = (round + seed).is_multiple_of(3);
        let fetch = json!({ "agent_id": format!("kid{round}"), "wait": wait });
        let late = |line: Line, step: usize| Line { delay: delay(round + seed, step), ..line };
        let lines = vec![
            Line::call("Agent", &call),
            late(Line::call("get_subagent_result", &fetch), 1),
            Line::text("that is all"),
        ];
        lab.model.script(&format!("boss{round}"), lines);
        let found = late(Line::text(format!("treasure-{round}-found")), 2);
        lab.model.script(&format!("kid{round}"), vec![found]);
    }
    let mut client = StdioClient::start(&lab);
    for round in 0..ROUNDS {
        client.run(&format!("[[script boss{round}]]"));
    }
    client.wait_ended(ROUNDS);
    // Whatever still waits comes before this.
    client.run("[[script none]] is anything left?");
    let asked = lab.model.requests().into_iter().filter(|record| record.text().contains("is anything left?"));
    let history = asked.max_by_key(|record| record.messages).expect("the last prompt was asked").body;
    let messages = history["messages"].as_array().expect("a history").clone();
    let noticed = (0..ROUNDS).filter(|round| told_once(&messages, *round)).count();
    client.finish();
    noticed
}

/// In this history the result came as a notice (true) or by a fetch; both only if the model fetched what it had been
/// told.
fn told_once(messages: &[Value], round: usize) -> bool {
    let text = format!("treasure-{round}-found");
    let holds = |message: &&Value| message.to_string().contains(&text);
    let places: Vec<_> = messages.iter().enumerate().filter(|(_, message)| holds(message)).collect();
    let is_notice = |message: &Value| message.to_string().contains("task-notification");
    let notices: Vec<_> =
        places.iter().filter(|(_, message)| is_notice(message)).map(|(at, _)| *at).collect();
    let fetched = places.iter().find(|(_, message)| message["role"] == "tool").map(|(at, _)| *at);
    assert!(notices.len() <= 1, "{text}: told {} times", notices.len());
    assert!(!places.is_empty(), "{text}: never told");
    if let (Some(fetched), Some(notice)) = (fetched, notices.first()) {
        assert!(*notice < fetched, "{text}: told at {notice} after it was fetched at {fetched}");
    }
    let kinds: BTreeSet<_> = places.iter().map(|(_, message)| message["role"].to_string()).collect();
    assert!(places.len() <= 2, "{text}: {} times, from {kinds:?}", places.len());
    !notices.is_empty()
}

#[test]
fn a_thousand_fetches_against_as_many_notices() {
    let lane =
        |lane: usize| (0..SESSIONS).map(|session| one_session(lane * SESSIONS + session)).sum::<usize>();
    let noticed: usize = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_A_TIME).map(|at| scope.spawn(move || lane(at))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("each result was told once")).sum()
    });
    let all = ROUNDS * SESSIONS * AT_A_TIME;
    assert!((1..all).contains(&noticed), "{noticed} of {all} by a notice: nothing raced");
}
