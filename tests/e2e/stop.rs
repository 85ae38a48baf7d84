//! Ending agents: one, what is under it, all; from the roster and through progress.

use std::time::Duration;

use protocol::{AgentResultParams, AgentStopAllParams, AgentStopParams, SessionEvent, StopScope, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentId, AgentStatus, EndedBy};

fn stop(agent: &AgentId, scope: StopScope) -> AgentStopParams {
    AgentStopParams { agent_id: Some(agent.clone()), handle: None, session_id: None, scope }
}

#[test]
fn a_stop_is_answered_at_once_and_closes_the_connection() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let mut transcript = client.open_agent(&spawned.agent_id);
    client.follow_agent(&spawned.agent_id, &mut transcript, "its first words", |seen| {
        // Streamed to us, or on the page already.
        seen.texts.values().any(|text| !text.is_empty())
    });
    let pending = client.send::<method::AgentStop>(&stop(&spawned.agent_id, StopScope::Subtree));
    let (answer, took) = client.wait_for(&pending, support::LIMIT);
    assert_eq!(answer.unwrap().stopped[0].agent_id, spawned.agent_id);
    assert!(took < Duration::from_millis(250), "{took:?}");
    let ended = client.wait_status(&spawned.agent_id, AgentStatus::Stopped);
    assert_eq!(ended.ended_by, Some(EndedBy::User));
    super::wait_idle(&lab.model);
    let again = client.request::<method::AgentStop>(&stop(&spawned.agent_id, StopScope::Subtree));
    assert!(again.stopped.iter().all(|agent| agent.status == AgentStatus::Stopped), "idempotent: {again:?}");
    let params = AgentResultParams { agent_id: spawned.agent_id, run: None, verbose: false };
    let result = client.request::<method::AgentResult>(&params);
    assert!(result.partial && result.text.contains("kid is at work"), "{result:?}");
    client.finish();
}

#[test]
fn an_agent_that_a_person_stopped_wakes_no_model() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", true)), Line::text("waiting")],
    );
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let agent = client.wait_any_agent("runs", |agent| agent.status == AgentStatus::Running).agent_id;
    client.request::<method::AgentStop>(&stop(&agent, StopScope::Subtree));
    client.wait_note::<method::AgentCompleted>("the stop", |note| {
        note.completions[0].ended_by == EndedBy::User
    });
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(lab.model.requests_of("boss").len(), 2);
    client.finish();
}

#[test]
fn a_running_command_is_killed_as_a_group() {
    let lab = Lab::new();
    let command = "sleep 98761 & sleep 98762; wait";
    lab.model.script("kid", vec![Line::call("bash", &json!({ "command": command })), Line::text("ok")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let commands = support::wait_until("the commands", support::LIMIT, || {
        let found = support::process::tree(client.pid());
        let found: Vec<_> = found.into_iter().filter(|process| process.name == "sleep").collect();
        (found.len() == 2).then_some(found)
    });
    client.request::<method::AgentStop>(&stop(&spawned.agent_id, StopScope::One));
    client.wait_status(&spawned.agent_id, AgentStatus::Stopped);
    support::process::wait_gone("after the stop", &commands, Duration::from_millis(200));
    client.finish();
}

#[test]
fn stop_all_reaches_queued_ones_too() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 2 }));
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned: Vec<_> = (0..5).map(|_| client.spawn_agent("[[script kid]]").agent_id).collect();
    let stopped = client.request::<method::AgentStopAll>(&AgentStopAllParams::default()).stopped;
    assert_eq!(stopped.len(), 5);
    for agent in &spawned {
        client.wait_status(agent, AgentStatus::Stopped);
    }
    assert!(client.request::<method::AgentStopAll>(&AgentStopAllParams::default()).stopped.is_empty());
    super::wait_idle(&lab.model);
    assert!(lab.model.requests_of("kid").len() <= 2, "no queued one was started by the stop");
    client.finish();
}

#[test]
fn a_cancelled_progress_token_stops_that_child_alone() {
    let lab = Lab::new();
    let calls = Line::call("Agent", &super::agent("[[script a]]", false))
        .and_call("Agent", &super::agent("[[script b]]", false));
    lab.model.script("boss", vec![calls, Line::text("ok")]);
    super::waiting(&lab.model, "a");
    super::waiting(&lab.model, "b");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    for name in ["a", "b"] {
        lab.model.wait_request(name, |record| record.id == name);
    }
    support::wait_until("two tokens", support::LIMIT, || (client.begun_tokens().len() == 2).then_some(()));
    let token = client.created_tokens()[0].clone();
    client.notify("window/workDoneProgress/cancel", &json!({ "token": token }));
    let stopped = client.wait_any_agent("is stopped", |agent| agent.status == AgentStatus::Stopped);
    assert_eq!(stopped.ended_by, Some(EndedBy::User));
    client.wait_progress_end(&token);
    for name in ["a", "b"] {
        lab.model.open_gate(name);
    }
    assert_eq!(client.wait(&pending).unwrap().text.as_deref(), Some("ok"), "the parent goes on");
    let results = lab.model.requests_of("boss")[1].text();
    assert!(results.contains("STOPPED BY THE USER"), "{results}");
    client.finish();
}

#[test]
fn a_stopped_agent_says_so_in_its_transcript() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let mut transcript = client.open_agent(&spawned.agent_id);
    lab.model.wait_request("its request", |record| record.id == "kid");
    client.request::<method::AgentStop>(&stop(&spawned.agent_id, StopScope::Subtree));
    client.follow_agent(&spawned.agent_id, &mut transcript, "the end of the run", |seen| {
        seen.has(|event| matches!(event, SessionEvent::RunEnd { stop_reason: vocab::RunStop::Aborted, .. }))
    });
    client.finish();
}
