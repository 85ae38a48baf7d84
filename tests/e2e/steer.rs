//! Messages into a running conversation, and taking them back.

use protocol::{
    AgentSteerParams, AgentUnsteerParams, Delivered, ErrorCode, SessionEvent, SessionSteerParams,
    SessionUnsteerParams, method,
};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::AgentId;

fn message(agent: &AgentId, text: &str) -> AgentSteerParams {
    serde_json::from_value(json!({ "agentId": agent, "message": text })).expect("a message has this shape")
}

#[test]
fn a_message_reaches_the_agent_before_its_next_turn() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![Line::text("looking").gated("go").and_call("ls", &json!({})), Line::text("heard")],
    );
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let mut transcript = client.open_agent(&spawned.agent_id);
    lab.model.wait_request("its request", |record| record.id == "kid");
    let steer = client.request::<method::AgentSteer>(&message(&spawned.agent_id, "look under the mat"));
    assert_eq!(steer.delivered, Delivered::Now);
    lab.model.open_gate("go");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    assert!(lab.model.requests_of("kid")[1].text().contains("look under the mat"));
    client.follow_agent(&spawned.agent_id, &mut transcript, "the delivery", |seen| {
        seen.has(|event| matches!(event, SessionEvent::SteerDelivered { steer_id, .. } if *steer_id == steer.steer_id))
    });
    client.finish();
}

#[test]
fn a_message_can_be_taken_back_until_it_is_read() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![Line::text("looking").gated("go").and_call("ls", &json!({})), Line::text("heard").gated("end")],
    );
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    lab.model.wait_request("its request", |record| record.id == "kid");
    let wrong = client.request::<method::AgentSteer>(&message(&spawned.agent_id, "wrong words"));
    let right = client.request::<method::AgentSteer>(&message(&spawned.agent_id, "right words"));
    let take_back = |steer_id| AgentUnsteerParams { agent_id: spawned.agent_id.clone(), steer_id };
    assert!(client.request::<method::AgentUnsteer>(&take_back(wrong.steer_id.clone())).withdrawn);
    assert!(
        !client.request::<method::AgentUnsteer>(&take_back(wrong.steer_id)).withdrawn,
        "it is gone already"
    );
    lab.model.open_gate("go");
    let second = lab.model.wait_request("the next turn", |record| record.id == "kid" && record.step == 1);
    assert!(second.text().contains("right words") && !second.text().contains("wrong words"));
    assert!(!client.request::<method::AgentUnsteer>(&take_back(right.steer_id)).withdrawn, "it was read");
    lab.model.open_gate("end");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    client.finish();
}

#[test]
fn a_message_to_a_queued_agent_waits_for_its_start() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "first");
    lab.model.script("second", vec![Line::text("ok")]);
    let mut client = StdioClient::start(&lab);
    client.spawn_agent("[[script first]]");
    let queued = client.spawn_agent("[[script second]]");
    let steer = client.request::<method::AgentSteer>(&message(&queued.agent_id, "and mind the step"));
    assert_eq!(steer.delivered, Delivered::Queued);
    lab.model.open_gate("first");
    client.wait_ended(2);
    let seen = lab.model.requests_of("second");
    assert!(seen.iter().any(|record| record.text().contains("mind the step")), "it was delivered");
    client.finish();
}

#[test]
fn an_ended_agent_takes_no_message() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    let error = client.refused::<method::AgentSteer>(&json!(message(&spawned.agent_id, "too late")));
    assert_eq!(error.code, ErrorCode::NotRunning.code());
    client.finish();
}

#[test]
fn a_session_is_steered_and_the_message_can_be_taken_back() {
    let lab = Lab::new();
    lab.model
        .script("boss", vec![Line::text("busy").gated("go").and_call("ls", &json!({})), Line::text("ok")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the run", |record| record.id == "boss");
    let steer = |text: &str| SessionSteerParams { session_id: None, text: text.into() };
    let wrong = client.request::<method::SessionSteer>(&steer("wrong words"));
    client.request::<method::SessionSteer>(&steer("right words"));
    let back = SessionUnsteerParams { steer_id: wrong.steer_id };
    assert!(client.request::<method::SessionUnsteer>(&back).withdrawn);
    lab.model.open_gate("go");
    client.wait(&pending).unwrap();
    let second = lab.model.requests_of("boss")[1].text();
    assert!(second.contains("right words") && !second.contains("wrong words"));
    let error = client.refused::<method::SessionSteer>(&json!({ "text": "anyone there?" }));
    assert_eq!(error.code, ErrorCode::NotRunning.code());
    client.finish();
}

#[test]
fn the_model_steers_its_own_agent() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call(
                "Agent",
                &json!({
                    "prompt": "[[script kid]]", "description": "d", "subagent_type": "general-purpose",
                    "run_in_background": true, "name": "helper",
                }),
            ),
            Line::call("steer_subagent", &json!({ "agent_id": "helper", "message": "check the attic" })),
            Line::text("steered"),
            Line::text("thanks"),
        ],
    );
    lab.model
        .script("kid", vec![Line::text("looking").gated("go").and_call("ls", &json!({})), Line::text("ok")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    lab.model.open_gate("go");
    let second = lab.model.wait_request("the next turn", |record| record.id == "kid" && record.step == 1);
    assert!(second.text().contains("check the attic"));
    client.wait_ended(1);
    client.finish();
}
