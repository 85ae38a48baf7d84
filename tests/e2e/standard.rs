//! An editor that knows nothing of ours gets standard messages only, and can still do everything by commands.

use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;

fn nothing_of_ours(client: &StdioClient) {
    let ours: Vec<_> =
        client.notes().into_iter().filter(|note| note.method.starts_with("adjutant/")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn a_prompt_by_command_is_answered_at_once_and_told_when_it_has_ended() {
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::text("the answer is blue").gated("go")]);
    let mut client = StdioClient::introduced(&lab, Introduction::standard());
    let pending = client.send_command("adjutant.server.prompt", &json!({ "text": "[[script boss]]" }));
    let (answer, took) = client.wait_for(&pending, support::LIMIT);
    assert!(answer.unwrap()["sessionId"].is_string() && took.as_millis() <= 250, "{took:?}");
    lab.model.open_gate("go");
    client.wait_message("the answer is blue");
    nothing_of_ours(&client);
    client.finish();
}

#[test]
fn background_agents_have_progress_there() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::introduced(&lab, Introduction::standard());
    let started = client.command(
        "adjutant.server.delegate",
        &json!({ "type": "general-purpose", "prompt": "[[script kid]]" }),
    );
    assert!(started["agentId"].is_string());
    let token = support::wait_until("a token", support::LIMIT, || client.begun_tokens().pop());
    lab.model.open_gate("kid");
    let progress = client.wait_progress_end(&token);
    assert_eq!(progress.kinds()[0], "begin");
    client.wait_message("kid is at work");
    nothing_of_ours(&client);
    client.finish();
}

#[test]
fn an_editor_without_progress_gets_none() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let introduction = Introduction { capability: None, capabilities: json!({}), ..Introduction::default() };
    let mut client = StdioClient::introduced(&lab, introduction);
    client.command(
        "adjutant.server.delegate",
        &json!({ "type": "general-purpose", "prompt": "[[script kid]]" }),
    );
    lab.model.wait_request("the child", |record| record.id == "kid");
    lab.model.open_gate("kid");
    client.wait_message("kid is at work");
    assert!(client.created_tokens().is_empty());
    nothing_of_ours(&client);
    client.finish();
}

#[test]
fn the_methods_answer_there_too_but_tell_nothing_unasked() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::introduced(&lab, Introduction::standard());
    client.spawn_agent("[[script kid]]");
    let token = support::wait_until("a token", support::LIMIT, || client.begun_tokens().pop());
    lab.model.open_gate("kid");
    client.wait_progress_end(&token);
    assert_eq!(client.fleet().len(), 1);
    client.command("adjutant.server.summary", &Value::Null);
    nothing_of_ours(&client);
    client.finish();
}
