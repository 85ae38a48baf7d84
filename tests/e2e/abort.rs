//! Ending the session's run: its foreground agents go with it, background agents stay, what was queued comes back.

use protocol::{SessionAbortParams, SessionEvent, SessionSteerParams, method};
use serde_json::json;
use support::client::{StdioClient, prompt};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, RunStop};

#[test]
fn what_was_queued_is_handed_back() {
    let lab = Lab::new();
    super::waiting(&lab.model, "boss");
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let mut transcript = client.subscribe(&session);
    let first = client.prompt("[[script boss]]");
    lab.model.wait_request("the run", |record| record.id == "boss");
    let mut queued = prompt("a second thought");
    queued.prompt_id = Some("mine".into());
    let second = client.send::<method::SessionPrompt>(&queued);
    client.request::<method::SessionSteer>(&SessionSteerParams { session_id: None, text: "faster".into() });
    client.follow_session(&mut transcript, "the queue", |seen| {
        seen.has(
            |event| matches!(event, SessionEvent::PromptQueued { prompt_id } if prompt_id.as_str() == "mine"),
        )
    });
    let aborted = client.request::<method::SessionAbort>(&SessionAbortParams::default());
    assert!(aborted.aborted);
    let mut texts: Vec<_> = aborted.withdrawn.iter().map(|text| text.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["a second thought", "faster"]);
    assert!(
        aborted.withdrawn.iter().any(|text| text.prompt_id.as_ref().is_some_and(|id| id.as_str() == "mine"))
    );
    assert_eq!(client.wait(&first).unwrap().stop_reason, RunStop::Aborted);
    assert_eq!(client.wait(&second).unwrap().stop_reason, RunStop::Aborted);
    client.follow_session(&mut transcript, "both were withdrawn", |seen| {
        seen.has(|event| matches!(event, SessionEvent::PromptWithdrawn { .. }))
            && seen.has(|event| matches!(event, SessionEvent::SteerWithdrawn { .. }))
    });
    super::wait_idle(&lab.model);
    assert_eq!(client.run("hello").stop_reason, RunStop::EndTurn, "the session lives");
    assert!(!lab.model.requests().pop().unwrap().text().contains("a second thought"));
    client.finish();
}

#[test]
fn foreground_agents_go_with_the_run_and_background_agents_stay() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script back]]", true)),
            Line::call("Agent", &super::agent("[[script front]]", false)),
            Line::text("never said"),
        ],
    );
    super::waiting(&lab.model, "back");
    super::waiting(&lab.model, "front");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    let front = client
        .wait_any_agent("is in front", |agent| !agent.is_background && agent.status == AgentStatus::Running);
    lab.model.wait_request("its request", |record| record.id == "front");
    let aborted = client.request::<method::SessionAbort>(&SessionAbortParams::default());
    assert_eq!((aborted.aborted, aborted.background_running), (true, 1));
    assert_eq!(client.wait(&pending).unwrap().stop_reason, RunStop::Aborted);
    client.wait_status(&front.agent_id, AgentStatus::Stopped);
    lab.model.open_gate("back");
    client.wait_any_agent("has completed", |agent| {
        agent.is_background && agent.status == AgentStatus::Completed
    });
    super::wait_idle(&lab.model);
    client.finish();
}

#[test]
fn an_idle_session_is_not_aborted() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.open_session();
    let aborted = client.request::<method::SessionAbort>(&SessionAbortParams::default());
    assert!(!aborted.aborted && aborted.withdrawn.is_empty());
    client.finish();
}

#[test]
fn a_call_that_was_cut_off_is_closed_in_the_history() {
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::call("bash", &json!({ "command": "sleep 98763" })), Line::text("x")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    support::wait_until("the command", support::LIMIT, || {
        support::process::tree(client.pid()).into_iter().find(|process| process.name == "sleep")
    });
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&pending).unwrap();
    // The scripted model refuses a history in which a call has no result.
    client.run("hello");
    client.finish();
}
