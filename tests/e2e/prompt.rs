//! The parent session: prompts, tools, files, the queue.

use protocol::{
    ErrorCode, PromptDisposition, SessionCloseParams, SessionEvent, SessionOpenParams,
    SessionUnsubscribeParams, method,
};
use serde_json::json;
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::{self, Lab};
use vocab::RunStop;

#[test]
fn a_prompt_runs_tools_and_is_answered_when_its_run_has_ended() {
    for model in [lab::MODEL, lab::ANTHROPIC] {
        let lab = Lab::new();
        let mut introduction = Introduction::default();
        introduction.options["model"] = model.into();
        let mut client = StdioClient::introduced(&lab, introduction);
        lab.model.script(
            "look",
            vec![
                Line::text("I look.").and_call("read", &json!({ "path": "README.md" })),
                Line::text("A small project."),
            ],
        );
        let result = client.run("[[script look]]");
        assert_eq!(
            (result.stop_reason, result.disposition),
            (RunStop::EndTurn, PromptDisposition::Forwarded)
        );
        assert_eq!(result.text.as_deref(), Some("A small project."), "{model}");
        assert!(result.usage.total > 0);
        let second = &lab.model.requests_of("look")[1];
        assert!(second.text().contains("# A small project"), "the file reached the model: {}", second.text());
        assert_eq!(second.key.as_deref(), Some("test-key"));
        client.finish();
    }
}

#[test]
fn a_session_has_its_file_from_its_first_prompt_and_is_resumed_from_it() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let opened = client.request::<method::SessionOpen>(&SessionOpenParams::default());
    assert!(!opened.persisted, "nothing is written before the first prompt");
    super::waiting(&lab.model, "first");
    let pending = client.prompt("[[script first]] remember the blue door");
    lab.model.wait_request("the first request", |record| record.id == "first");
    let open =
        SessionOpenParams { session_id: Some(opened.session_id.clone()), ..SessionOpenParams::default() };
    let info = client.request::<method::SessionOpen>(&open);
    let file = info.file.expect("it has a file");
    assert!(
        info.persisted && std::fs::read_to_string(&file).unwrap().contains("blue door"),
        "before the answer"
    );
    lab.model.open_gate("first");
    client.wait(&pending).unwrap();
    client.finish();

    let mut client = StdioClient::start(&lab);
    let latest = SessionOpenParams { resume: Some("latest".into()), ..SessionOpenParams::default() };
    assert_eq!(client.request::<method::SessionOpen>(&latest).session_id, opened.session_id);
    client.run("and now?");
    let last = lab.model.requests().pop().unwrap();
    assert!(last.text().contains("blue door"), "the history is there again");
    client.finish();
}

#[test]
fn an_ephemeral_session_writes_nothing() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let open = SessionOpenParams { ephemeral: true, ..SessionOpenParams::default() };
    let session = client.request::<method::SessionOpen>(&open).session_id;
    let mut params = support::client::prompt("the secret word is abracadabra");
    params.session_id = Some(session);
    client.request::<method::SessionPrompt>(&params);
    client.finish();
    let found =
        std::process::Command::new("grep").args(["-rl", "abracadabra"]).arg(lab.home()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "no file holds it");
}

#[test]
fn a_prompt_while_one_runs_is_queued_and_runs_afterwards() {
    let lab = Lab::new();
    super::waiting(&lab.model, "first");
    lab.model.script("second", vec![Line::text("second done")]);
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let mut transcript = client.subscribe(&session);
    let first = client.prompt("[[script first]]");
    lab.model.wait_request("the first prompt", |record| record.id == "first");
    let second = client.prompt("[[script second]]");
    client.follow_session(&mut transcript, "the second is queued", |seen| {
        seen.has(|event| matches!(event, SessionEvent::PromptQueued { .. }))
    });
    assert!(!client.is_answered(&second) && lab.model.requests_of("second").is_empty());
    lab.model.open_gate("first");
    assert_eq!(client.wait(&first).unwrap().text.as_deref(), Some("first is at work"));
    assert_eq!(client.wait(&second).unwrap().text.as_deref(), Some("second done"));
    client.follow_session(&mut transcript, "both have ended", |seen| {
        seen.events.iter().filter(|event| matches!(event, SessionEvent::RunEnd { .. })).count() == 2
    });
    client.finish();
}

#[test]
fn attachments_reach_the_model() {
    let lab = Lab::new();
    lab.write("notes.txt", "the tide turns at noon\n");
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::prompt("what do they say?");
    let diagnostic = json!({
        "range": { "start": { "line": 4, "character": 0 }, "end": { "line": 4, "character": 1 } },
        "message": "an unused sail",
    });
    let uri = lab.uri("notes.txt");
    params.attachments = serde_json::from_value(json!([
        { "type": "file", "uri": uri },
        { "type": "selection", "uri": uri, "range": diagnostic["range"], "text": "a given text" },
        { "type": "diagnostic", "uri": uri, "diagnostic": diagnostic },
        { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" },
    ]))
    .unwrap();
    client.request::<method::SessionPrompt>(&params);
    let request = lab.model.requests()[0].text();
    for part in ["notes.txt", "a given text", "an unused sail", "iVBORw0KGgo="] {
        assert!(request.contains(part), "{part}: {request}");
    }
    client.finish();
}

#[test]
fn work_done_progress_of_a_prompt_begins_and_ends_before_its_answer() {
    let lab = Lab::new();
    lab.model.script(
        "look",
        vec![
            Line::call("read", &json!({ "path": "README.md" })),
            Line::call("ls", &json!({})),
            Line::text("ok"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::prompt("[[script look]]");
    params.work_done_token = Some(protocol::ProgressToken::Text("t1".into()));
    let pending = client.send::<method::SessionPrompt>(&params);
    client.wait(&pending).unwrap();
    let progress = client.progress(&json!("t1"));
    let kinds = progress.kinds();
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"begin"), Some(&"end")),
        "the end is there with the answer"
    );
    assert_eq!(kinds.iter().filter(|kind| **kind != "report").count(), 2);
    client.finish();
}

#[test]
fn a_closed_session_ends_what_runs_in_it_and_stays_on_disk() {
    let lab = Lab::new();
    super::waiting(&lab.model, "boss");
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let spawned = client.spawn_agent("[[script kid]]");
    let pending = client.prompt("[[script boss]] the green bottle");
    for name in ["boss", "kid"] {
        lab.model.wait_request(name, |record| record.id == name);
    }
    client.request::<method::SessionClose>(&SessionCloseParams { session_id: session.clone() });
    assert_eq!(client.wait(&pending).unwrap().stop_reason, RunStop::Aborted);
    // The row ends and goes with its session; both may be told in one message.
    client.wait_note::<method::FleetChanged>("the agent's row is gone", |params| {
        params.removed.contains(&spawned.agent_id)
    });
    super::wait_idle(&lab.model);
    let error = client.refused::<method::SessionPrompt>(&json!({ "sessionId": session, "text": "hello?" }));
    assert_eq!(error.code, ErrorCode::UnknownSession.code(), "{error:?}");
    let open = SessionOpenParams { resume: Some(session.to_string()), ..SessionOpenParams::default() };
    assert_eq!(client.request::<method::SessionOpen>(&open).session_id, session);
    // What became of the agent, which is told now, speaks of its script.
    lab.model.open_gate("kid");
    client.run("what was it?");
    assert!(lab.model.requests().pop().unwrap().text().contains("the green bottle"));
    assert_eq!(client.seen::<method::AgentCompleted>().len(), 1, "announced once");
    client.finish();
}

#[test]
fn who_unsubscribes_is_told_nothing_more() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let mut transcript = client.subscribe(&session);
    client.run("hello");
    client.follow_session(&mut transcript, "the run's end", |seen| {
        seen.has(|event| matches!(event, SessionEvent::RunEnd { .. }))
    });
    client.request::<method::SessionUnsubscribe>(&SessionUnsubscribeParams { session_id: session });
    let before = client.seen::<method::SessionEvent>().len();
    client.run("hello again");
    assert_eq!(client.seen::<method::SessionEvent>().len(), before);
    client.finish();
}
