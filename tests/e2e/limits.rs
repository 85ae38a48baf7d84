//! Limits of a run, each with its own reason.

use std::time::Duration;

use protocol::method;
use serde_json::{Value, json};
use support::client::{Introduction, Reply, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentId, AgentStatus, EndReason, EndedBy};

const QUESTION: &str = "window/showMessageRequest";

fn status(client: &mut StdioClient, agent: &AgentId) -> AgentStatus {
    let rows = client.fleet();
    rows.iter().find(|row| row.agent_id == *agent).expect("it is listed").status
}

fn ls(limit: usize) -> Line {
    Line::call("ls", &json!({ "path": ".", "limit": limit }))
}

/// Runs an agent until a limit ends it.
fn ended(settings: &Value, script: Vec<Line>) -> protocol::AgentSummary {
    let lab = Lab::new();
    lab.settings(settings);
    lab.model.script("kid", script);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let row = client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    client.finish();
    row
}

fn assert_limit(row: &protocol::AgentSummary, reason: EndReason) {
    let end = (row.status, row.ended_by, row.reason);
    assert_eq!(end, (AgentStatus::Aborted, Some(EndedBy::Limit), Some(reason)), "{row:?}");
}

#[test]
fn turns_then_grace_then_the_end() {
    let settings = json!({ "defaultMaxTurns": 2, "graceTurns": 2 });
    let row = ended(&settings, (1..9).map(ls).collect());
    assert_limit(&row, EndReason::MaxTurns);
    assert_eq!((row.turns, row.max_turns), (4, Some(2)));

    let row = ended(&settings, vec![ls(1), ls(2), ls(3), Line::text("so far")]);
    assert_eq!((row.status, row.turns), (AgentStatus::Steered, 4));
    let row = ended(&settings, vec![ls(1), Line::text("done")]);
    assert_eq!((row.status, row.turns), (AgentStatus::Completed, 2));
}

#[test]
fn the_same_call_again_and_again_and_nothing_new() {
    let same = || (0..9).map(|_| ls(1)).collect();
    let row = ended(&json!({ "limits": { "identicalCalls": 3 } }), same());
    assert_limit(&row, EndReason::RepeatedCall);
    assert_eq!(row.turns, 3);
    let row = ended(&json!({ "limits": { "identicalCalls": 0, "noProgressTurns": 2 } }), same());
    assert_limit(&row, EndReason::NoProgress);
    assert_eq!(row.turns, 3);
}

#[test]
fn silence_that_outlasts_the_retries_is_the_idle_limit() {
    let silent = || Line::text("and then").gated("never");
    let settings = json!({ "limits": { "idleMs": 400 }, "retry": { "maxRetries": 1, "baseDelayMs": 10 } });
    let row = ended(&settings, vec![silent(), silent()]);
    assert_limit(&row, EndReason::Idle);
}

#[test]
fn time_runs_out_with_what_was_written_and_the_place_is_free_again() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1, "limits": { "wallClockMs": 2500 } }));
    lab.model.script("slow", vec![Line::text("half of it").gated("never")]);
    lab.model.script("next", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let slow = client.spawn_agent("[[script slow]]");
    let next = client.spawn_agent("[[script next]]");
    assert_eq!(next.status, AgentStatus::Queued);
    let row = client.wait_status(&slow.agent_id, AgentStatus::Aborted);
    assert_limit(&row, EndReason::WallClock);
    assert_eq!(row.result_preview.as_deref(), Some("half of it"));
    client.wait_status(&next.agent_id, AgentStatus::Completed);
    client.finish();
}

#[test]
fn no_clock_runs_while_a_person_is_asked_whoever_watches() {
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "wallClockMs": 1500 } }));
    lab.model.script(
        "kid",
        vec![Line::call("write", &json!({ "path": "a.txt", "content": "x" })), Line::text("done")],
    );
    let blind = Introduction { capabilities: json!({}), ..Introduction::standard() };
    for introduction in [Introduction::default(), blind] {
        let asking = introduction.with_settings(json!({ "permissions": { "mode": "ask" } }));
        let mut client = StdioClient::introduced(&lab, asking);
        client.on_request(|asked| match asked.method.as_str() {
            QUESTION => Reply::Hold,
            _ => Reply::Result(Value::Null),
        });
        let spawned = client.spawn_agent("[[script kid]]");
        let asked = client.wait_asked(QUESTION, |_| true);
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(status(&mut client, &spawned.agent_id), AgentStatus::Running);
        client.answer(&asked, &asked.params["actions"][0].clone());
        let result = json!({ "agentId": spawned.agent_id });
        let result = serde_json::from_value(result).expect("a result is asked for so");
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while client.request::<method::AgentResult>(&result).partial {
            assert!(std::time::Instant::now() < deadline, "it goes on once it is answered");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(status(&mut client, &spawned.agent_id), AgentStatus::Completed);
        client.finish();
    }
}
