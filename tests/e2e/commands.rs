//! The commands that any editor can call.

use std::time::Duration;

use protocol::{COMMANDS, method};
use serde_json::{Value, json};
use support::client::{Introduction, Reply, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, SessionId};

#[test]
fn every_command_of_this_version_is_offered_and_answers_in_time() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let offered = client.initialized["capabilities"]["executeCommandProvider"]["commands"].clone();
    assert_eq!(offered, COMMANDS.iter().map(|row| row.name).collect::<Value>());
    client.spawn_agent("[[script kid]]");
    for row in COMMANDS {
        let argument = match row.name {
            "adjutant.server.delegate" => json!({ "type": "Explore", "prompt": "x" }),
            "adjutant.server.delegateSelection" => continue,
            _ => json!({}),
        };
        let pending = client.send_command(row.name, &argument);
        let (_, took) = client.wait_for(&pending, support::LIMIT);
        assert!(took < Duration::from_millis(400), "{} took {took:?}", row.name);
    }
    client.finish();
}

#[test]
fn stop_steer_and_resume_by_handle() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![Line::text("looking").gated("go").and_call("ls", &json!({})), Line::text("ok").gated("end")],
    );
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    lab.model.wait_request("its request", |record| record.id == "kid");
    let by_handle = |more: Value| {
        let mut argument = json!({ "handle": spawned.handle });
        argument.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        argument
    };
    client.command("adjutant.server.steer", &by_handle(json!({ "message": "mind the cat" })));
    lab.model.open_gate("go");
    let second = lab.model.wait_request("its next turn", |record| record.id == "kid" && record.step == 1);
    assert!(second.text().contains("mind the cat"));
    client.command("adjutant.server.stop", &by_handle(json!({})));
    client.wait_status(&spawned.agent_id, AgentStatus::Stopped);
    client.command("adjutant.server.resume", &by_handle(json!({ "prompt": "go on" })));
    client.wait_agent(&spawned.agent_id, "runs again", |agent| agent.run == 2);
    lab.model.open_gate("end");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.run == 2 && agent.status.is_final());
    client.finish();
}

#[test]
fn a_choice_that_is_left_open_is_asked() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned: Vec<_> = (0..2).map(|_| client.spawn_agent("[[script kid]]")).collect();
    let wanted = spawned[1].handle.clone();
    client.on_request(move |asked| match asked.method.as_str() {
        "window/showMessageRequest" => Reply::Result(json!({ "title": wanted })),
        _ => Reply::Result(Value::Null),
    });
    client.command("adjutant.server.stop", &json!({}));
    client.wait_status(&spawned[1].agent_id, AgentStatus::Stopped);
    lab.model.open_gate("kid");
    client.wait_status(&spawned[0].agent_id, AgentStatus::Completed);
    client.finish();
}

#[test]
fn a_selection_is_delegated() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("seen")]);
    let mut client = StdioClient::start(&lab);
    let uri = lab.uri("poem.txt");
    let document =
        json!({ "uri": uri, "languageId": "text", "version": 1, "text": "one\nthe quiet sea\nthree\n" });
    client.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    let range = json!({ "start": { "line": 1, "character": 4 }, "end": { "line": 1, "character": 13 } });
    let argument =
        json!({ "type": "general-purpose", "uri": uri, "range": range, "prompt": "[[script kid]]" });
    client.command("adjutant.server.delegateSelection", &argument);
    client.wait_ended(1);
    let request = lab.model.requests()[0].text();
    assert!(request.contains("quiet sea") && !request.contains("three"), "{request}");
    let asked = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
    let pending = client.send_raw("textDocument/codeAction", &asked);
    let actions = client.wait(&pending).unwrap();
    assert!(actions.to_string().contains("adjutant.server.delegateSelection"), "{actions}");
    client.finish();
}

#[test]
fn missing_text_is_written_in_a_document_that_sends_itself() {
    let lab = Lab::new();
    let mut client = StdioClient::introduced(&lab, Introduction::standard());
    let answer = client.command("adjutant.server.prompt", &json!({}));
    let uri = answer["composeUri"].as_str().expect("a document is opened").to_owned();
    let shown = client.wait_asked("window/showDocument", |_| true);
    assert_eq!(shown.params["uri"], uri);
    let path = uri.strip_prefix("file://").unwrap();
    let text = std::fs::read_to_string(path).unwrap() + "what is the time?\n";
    let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
    client.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    let start = json!({ "line": 3, "character": 0 });
    let asked = json!({
        "textDocument": { "uri": uri }, "range": { "start": start, "end": start }, "context": { "diagnostics": [] },
    });
    let pending = client.send_raw("textDocument/codeAction", &asked);
    let action = client.wait(&pending).unwrap()[0]["command"].clone();
    client.command(action["command"].as_str().unwrap(), &action["arguments"][0]);
    lab.model.wait_request("what was written", |record| record.text().contains("what is the time?"));
    client.wait_message("ack");
    client.finish();
}

#[test]
fn sessions_are_made_and_resumed() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let first = client.open_session();
    client.run("hello");
    let made = client.command("adjutant.server.newSession", &Value::Null);
    let made: SessionId = serde_json::from_value(made["sessionId"].clone()).unwrap();
    assert_ne!(made, first);
    client.finish();
    let mut client = StdioClient::start(&lab);
    let resumed = client.command("adjutant.server.resumeSession", &json!({ "sessionId": first }));
    assert_eq!(resumed["sessionId"], json!(first));
    let error = client.refused_raw(
        "workspace/executeCommand",
        &json!({ "command": "adjutant.server.resumeSession", "arguments": [{ "sessionId": "no-such" }] }),
    );
    assert_eq!(error.code, protocol::ErrorCode::UnknownSession.code(), "{error:?}");
    client.finish();
}

#[test]
fn the_summary_is_one_sentence() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let text = client.command("adjutant.server.summary", &Value::Null)["text"].as_str().unwrap().to_owned();
    assert!(!text.is_empty() && !text.contains('\n'), "{text}");
    client.wait_message(&text);
    client.finish();
}

#[test]
fn an_abort_by_command_ends_the_run() {
    let lab = Lab::new();
    super::waiting(&lab.model, "boss");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the run", |record| record.id == "boss");
    assert_eq!(client.command("adjutant.server.abort", &Value::Null)["aborted"], true);
    assert_eq!(client.wait(&pending).unwrap().stop_reason, vocab::RunStop::Aborted);
    assert!(client.seen::<method::AgentCompleted>().is_empty());
    client.finish();
}

#[test]
fn an_unknown_command_is_refused() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let error =
        client.refused_raw("workspace/executeCommand", &json!({ "command": "adjutant.server.dance" }));
    assert!(error.message.contains("adjutant.server.dance"), "{error:?}");
    client.finish();
}
