//! Nothing acts unasked: modes, the question, and what leaves a tool unrun.

use std::time::Duration;

use protocol::{AgentStopParams, StopScope, method};
use serde_json::{Value, json};
use support::client::{Asked, Introduction, Reply, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, WaitingOn};

const QUESTION: &str = "window/showMessageRequest";

fn asking() -> Introduction {
    Introduction::default().with_settings(json!({ "permissions": { "mode": "ask" } }))
}

/// A child that wants to leave a mark in the workspace.
fn marking(lab: &Lab) {
    let call = Line::call("bash", &json!({ "command": "touch mark" }));
    lab.model.script("kid", vec![call, Line::text("told")]);
}

fn has_mark(lab: &Lab) -> bool {
    lab.work().join("mark").exists()
}

/// The button of a question whose title holds this word.
fn button(asked: &Asked, word: &str) -> Value {
    let actions = asked.params["actions"].as_array().cloned().unwrap_or_default();
    let found =
        actions.into_iter().find(|action| action["title"].as_str().is_some_and(|title| title.contains(word)));
    found.unwrap_or_else(|| panic!("no button {word}: {}", asked.params))
}

#[test]
fn a_question_names_the_child_and_yes_runs_the_tool() {
    let lab = Lab::new();
    marking(&lab);
    let mut client = StdioClient::introduced(&lab, asking());
    client.on_request(|asked| match asked.method.as_str() {
        QUESTION => Reply::Hold,
        _ => Reply::Result(Value::Null),
    });
    let mut params = support::client::spawn("[[script kid]]");
    params.name = Some("marker".into());
    let spawned = client.request::<method::AgentSpawn>(&params);
    let asked = client.wait_asked(QUESTION, |_| true);
    let text = asked.params["message"].as_str().unwrap();
    assert!(text.contains(&spawned.handle) && text.contains("touch mark"), "{text}");
    let waiting =
        client.wait_agent(&spawned.agent_id, "waits", |agent| agent.waiting_on == Some(WaitingOn::Approval));
    assert_eq!(waiting.status, AgentStatus::Running);
    assert!(!has_mark(&lab));
    client.answer(&asked, &button(&asked, "Allow"));
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert!(has_mark(&lab));
    client.finish();
}

#[test]
fn no_leaves_it_unrun_and_tells_the_model() {
    let lab = Lab::new();
    marking(&lab);
    let mut client = StdioClient::introduced(&lab, asking());
    client.on_request(|asked| match asked.method.as_str() {
        QUESTION => Reply::Result(button(asked, "Refuse")),
        _ => Reply::Result(Value::Null),
    });
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert!(!has_mark(&lab));
    assert!(lab.model.requests_of("kid")[1].text().contains("refused"));
    client.finish();
}

#[test]
fn a_closed_question_is_neither() {
    let lab = Lab::new();
    marking(&lab);
    let mut client = StdioClient::introduced(&lab, asking());
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_asked(QUESTION, |_| true);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!has_mark(&lab));
    assert_eq!(lab.model.requests_of("kid").len(), 1, "the model is not told anything");
    let agent = client.fleet().remove(0);
    assert_eq!((agent.status, agent.waiting_on), (AgentStatus::Running, Some(WaitingOn::Approval)));
    let stop = AgentStopParams {
        agent_id: Some(spawned.agent_id.clone()),
        handle: None,
        session_id: None,
        scope: StopScope::Subtree,
    };
    client.request::<method::AgentStop>(&stop);
    client.wait_status(&spawned.agent_id, AgentStatus::Stopped);
    assert!(!has_mark(&lab));
    client.finish();
}

#[test]
fn the_end_of_the_client_is_no_consent() {
    let lab = Lab::new();
    marking(&lab);
    let mut client = StdioClient::introduced(&lab, asking());
    client.on_request(|_| Reply::Hold);
    client.spawn_agent("[[script kid]]");
    client.wait_asked(QUESTION, |_| true);
    client.close_input();
    client.wait_end(Duration::from_secs(2));
    assert!(!has_mark(&lab));
}

#[test]
fn plan_refuses_without_asking() {
    let lab = Lab::new();
    marking(&lab);
    let introduction = Introduction::default().with_settings(json!({ "permissions": { "mode": "plan" } }));
    let mut client = StdioClient::introduced(&lab, introduction);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert!(!has_mark(&lab) && client.asked(QUESTION).is_empty());
    assert!(lab.model.requests_of("kid")[1].text().contains("plan"));
    client.finish();
}

#[test]
fn editors_ask_by_default() {
    let lab = Lab::new();
    marking(&lab);
    let mut client = StdioClient::introduced(&lab, Introduction::default().with_settings(json!({})));
    client.on_request(|_| Reply::Hold);
    client.spawn_agent("[[script kid]]");
    client.wait_asked(QUESTION, |_| true);
    assert!(!has_mark(&lab));
    client.request::<method::AgentStopAll>(&protocol::AgentStopAllParams::default());
    client.wait_ended(1);
    client.finish();
}

#[test]
fn rules_allow_and_deny() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![
            Line::call("bash", &json!({ "command": "touch mark" }))
                .and_call("bash", &json!({ "command": "touch other" })),
            Line::text("told"),
        ],
    );
    let settings = json!({ "permissions": { "mode": "auto", "deny": ["bash(touch other)"] } });
    let mut client = StdioClient::introduced(&lab, Introduction::default().with_settings(settings));
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert!(has_mark(&lab) && !lab.work().join("other").exists(), "a deny rule binds in every mode");
    client.finish();
}

#[test]
fn an_untrusted_folder_widens_nothing() {
    let lab = Lab::new();
    marking(&lab);
    lab.write(".adjutant/settings.json", json!({ "permissions": { "mode": "auto" } }).to_string());
    let mut introduction = asking();
    introduction.options["trusted"] = false.into();
    let mut client = StdioClient::introduced(&lab, introduction);
    client.on_request(|_| Reply::Hold);
    client.spawn_agent("[[script kid]]");
    client.wait_asked(QUESTION, |_| true);
    assert!(!has_mark(&lab));
    client.request::<method::AgentStopAll>(&protocol::AgentStopAllParams::default());
    client.wait_ended(1);
    client.finish();
}
