//! Nothing blocks the reader: whatever waits for a model or a person delays no other message.

use std::time::Duration;

use protocol::{ErrorCode, PingParams, SessionOpenParams, method};
use serde_json::{Value, json};
use support::client::{Pending, StdioClient};
use support::lab::Lab;

const AT_ONCE: Duration = Duration::from_millis(200);

/// Eight sessions, each with a prompt that its model does not answer.
fn eight_held(lab: &Lab, client: &mut StdioClient) -> Vec<Pending<protocol::PromptResult>> {
    super::waiting(&lab.model, "held");
    let held = (0..8)
        .map(|at| {
            let open = SessionOpenParams {
                session_id: Some(format!("s{at}").into()),
                ..SessionOpenParams::default()
            };
            let session = client.request::<method::SessionOpen>(&open).session_id;
            let mut params = support::client::prompt("[[script held]]");
            params.session_id = Some(session);
            client.send::<method::SessionPrompt>(&params)
        })
        .collect();
    support::wait_until("all eight wait for their model", support::LIMIT, || {
        (lab.model.requests_of("held").len() == 8).then_some(())
    });
    held
}

#[test]
fn with_eight_prompts_held_a_ninth_request_a_cancel_and_shutdown_are_answered_at_once() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let held = eight_held(&lab, &mut client);
    let ninth = client.send::<method::Ping>(&PingParams {});
    let (answer, took) = client.wait_for(&ninth, support::LIMIT);
    assert!(answer.is_ok() && took < AT_ONCE, "the ninth request took {took:?}");
    let before = std::time::Instant::now();
    client.cancel(&held[0]);
    assert_eq!(client.wait(&held[0]).unwrap_err().code, ErrorCode::Cancelled.code());
    assert!(before.elapsed() < AT_ONCE, "the cancel took {:?}", before.elapsed());
    let shutdown = client.send_raw("shutdown", &Value::Null);
    let (answer, took) = client.wait_for(&shutdown, support::LIMIT);
    answer.unwrap();
    assert!(took < AT_ONCE + Duration::from_millis(50), "shutdown took {took:?}");
    client.tolerate();
    client.notify("exit", &Value::Null);
    client.wait_end(Duration::from_secs(2));
}

#[test]
fn questions_that_nobody_answers_delay_nothing() {
    let lab = Lab::new();
    let introduction =
        support::client::Introduction::default().with_settings(json!({ "permissions": { "mode": "ask" } }));
    let mut client = StdioClient::introduced(&lab, introduction);
    client.on_request(|_| support::client::Reply::Hold);
    let call = support::fake_model::Line::call("bash", &json!({ "command": "true" }));
    lab.model.script("kid", vec![call]);
    for _ in 0..8 {
        client.spawn_agent("[[script kid]]");
    }
    support::wait_until("eight questions", support::LIMIT, || {
        (client.asked("window/showMessageRequest").len() >= 8).then_some(())
    });
    let pending = client.send::<method::Ping>(&PingParams {});
    let (answer, took) = client.wait_for(&pending, support::LIMIT);
    assert!(answer.is_ok() && took < AT_ONCE, "{took:?}");
    client.request::<method::AgentStopAll>(&protocol::AgentStopAllParams::default());
    client.wait_ended(8);
    client.finish();
}

#[test]
fn a_thousand_requests_at_once_are_all_answered() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let pending: Vec<_> = (0..1000).map(|_| client.send::<method::Ping>(&PingParams {})).collect();
    for pending in &pending {
        client.wait(pending).unwrap();
    }
    client.finish();
}
