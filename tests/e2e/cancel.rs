//! What the cancel of one request ends, and what it leaves.

use protocol::{ErrorCode, method};
use serde_json::json;
use support::client::{StdioClient, prompt};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::AgentStatus;

#[test]
fn a_running_prompt_ends_with_its_foreground_agents() {
    let lab = Lab::new();
    lab.model
        .script("boss", vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("x")]);
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the child", |record| record.id == "kid");
    client.cancel(&pending);
    assert_eq!(client.wait(&pending).unwrap_err().code, ErrorCode::Cancelled.code());
    client.wait_any_agent("is stopped", |agent| agent.status == AgentStatus::Stopped);
    super::wait_idle(&lab.model);
    assert_eq!(client.run("hello").stop_reason, vocab::RunStop::EndTurn, "the session is free again");
    client.finish();
}

#[test]
fn a_queued_prompt_is_withdrawn_and_the_others_stay() {
    let lab = Lab::new();
    super::waiting(&lab.model, "first");
    lab.model.script("third", vec![Line::text("third done")]);
    let mut client = StdioClient::start(&lab);
    let first = client.prompt("[[script first]]");
    lab.model.wait_request("the first", |record| record.id == "first");
    let second = client.prompt("forget this");
    let third = client.prompt("[[script third]]");
    client.cancel(&second);
    assert_eq!(client.wait(&second).unwrap_err().code, ErrorCode::Cancelled.code());
    lab.model.open_gate("first");
    assert_eq!(client.wait(&first).unwrap().text.as_deref(), Some("first is at work"));
    assert_eq!(client.wait(&third).unwrap().text.as_deref(), Some("third done"));
    assert!(!lab.model.requests().iter().any(|record| record.text().contains("forget this")));
    client.finish();
}

#[test]
fn the_token_of_a_prompt_is_as_good_as_its_request() {
    let lab = Lab::new();
    super::waiting(&lab.model, "boss");
    let mut client = StdioClient::start(&lab);
    let mut params = prompt("[[script boss]]");
    params.work_done_token = Some(protocol::ProgressToken::Text("mine".into()));
    let pending = client.send::<method::SessionPrompt>(&params);
    lab.model.wait_request("the run", |record| record.id == "boss");
    client.notify("window/workDoneProgress/cancel", &json!({ "token": "mine" }));
    assert_eq!(client.wait(&pending).unwrap().stop_reason, vocab::RunStop::Aborted);
    let progress = client.wait_progress_end(&json!("mine"));
    assert_eq!(progress.kinds().iter().filter(|kind| **kind == "end").count(), 1);
    super::wait_idle(&lab.model);
    client.finish();
}

#[test]
fn a_request_that_was_answered_with_an_id_goes_on() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let pending = client.send::<method::AgentSpawn>(&support::client::spawn("[[script kid]]"));
    let spawned = client.wait(&pending).unwrap();
    lab.model.wait_request("its request", |record| record.id == "kid");
    client.cancel(&pending);
    lab.model.open_gate("kid");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    client.finish();
}

#[test]
fn cancelling_nothing_is_nothing() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.notify("$/cancelRequest", &json!({ "id": 4711 }));
    client.notify("$/cancelRequest", &json!({ "id": "no such" }));
    client.notify("window/workDoneProgress/cancel", &json!({ "token": "no such" }));
    client.run("hello");
    client.finish();
}

#[test]
fn a_background_agent_survives_the_cancel_of_the_prompt_that_started_it() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]]", true)),
            Line::text("thinking").gated("boss"),
        ],
    );
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the child", |record| record.id == "kid");
    lab.model.wait_request("the second turn", |record| record.id == "boss" && record.step == 1);
    client.cancel(&pending);
    client.wait(&pending).unwrap_err();
    lab.model.open_gate("kid");
    client.wait_any_agent("has completed", |agent| agent.status == AgentStatus::Completed);
    client.finish();
}
