//! What people and programs get wrong: each gets an answer that says what, and nothing else is disturbed.

use protocol::{ErrorCode, PingParams, SessionPromptParams, method};
use serde_json::json;
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, RunStop};

#[test]
fn an_unknown_method() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for method in ["adjutant/agent/juggle", "textDocument/juggle", "adjutant/attention/list"] {
        assert_eq!(client.refused_raw(method, &json!({})).code, ErrorCode::UnknownMethod.code(), "{method}");
    }
    client.notify("adjutant/unheard", &json!({}));
    client.notify("$/optional", &json!({}));
    client.request::<method::Ping>(&PingParams {});
    client.finish();
}

#[test]
fn bad_params_name_the_field() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for (method, params, field) in [
        ("adjutant/session/prompt", json!({}), "text"),
        ("adjutant/session/prompt", json!({ "text": 7 }), "text"),
        ("adjutant/session/prompt", json!({ "text": "  " }), "text"),
        (
            "adjutant/session/prompt",
            json!({ "text": "x", "attachments": [{ "type": "file", "uri": 1 }] }),
            "attachments[0]",
        ),
        ("adjutant/agent/spawn", json!({ "prompt": "x" }), "type"),
        ("adjutant/agent/spawn", json!({ "type": "Explore" }), "prompt"),
        ("adjutant/agent/spawn", json!({ "type": "Explore", "prompt": "x", "maxTurns": -1 }), "maxTurns"),
        ("adjutant/agent/spawn", json!({ "type": "Explore", "prompt": "x", "thinking": "hard" }), "thinking"),
        ("adjutant/agent/stop", json!({}), "agentId"),
        ("adjutant/agent/stop", json!({ "agentId": "a", "scope": "world" }), "scope"),
        ("adjutant/agent/steer", json!({ "agentId": "a" }), "message"),
        ("adjutant/agent/result", json!({}), "agentId"),
        ("adjutant/agent/transcript", json!({ "agentId": "a" }), "limit"),
        ("adjutant/fleet/list", json!({ "limit": "all" }), "limit"),
        ("adjutant/session/subscribe", json!({}), "sessionId"),
        ("adjutant/document", json!({}), "uri"),
    ] {
        let error = client.refused_raw(method, &params);
        assert_eq!(error.code, ErrorCode::BadParams.code(), "{method} {params}: {error:?}");
        assert!(error.message.contains(field), "{method} {params} names {field}: {}", error.message);
        assert_eq!(error.data["kind"], "badParams");
    }
    let error = client.refused_raw("adjutant/session/prompt", &json!(["text"]));
    assert_eq!(error.code, ErrorCode::BadParams.code());
    client.finish();
}

#[test]
fn a_parameter_of_a_later_version_is_refused_and_named() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for (field, value, code) in [
        ("isolation", json!("worktree"), ErrorCode::WorktreeUnavailable),
        ("isolation", json!("container"), ErrorCode::BadParams),
        ("isolated", json!("yes"), ErrorCode::BadParams),
        ("inheritContext", json!(true), ErrorCode::BadParams),
        ("budget", json!({ "tokens": 0 }), ErrorCode::BadParams),
    ] {
        let params = json!({ "type": "Explore", "prompt": "x", field: value });
        let error = client.refused::<method::AgentSpawn>(&params);
        let named = code == ErrorCode::WorktreeUnavailable || error.message.contains(field);
        assert!(error.code == code.code() && named, "{error:?}");
    }
    let error = client.refused::<method::SessionOpen>(&json!({ "fork": "e1" }));
    assert!(error.message.contains("fork"), "{error:?}");
    assert!(client.fleet().is_empty());
    client.finish();
}

#[test]
fn an_unknown_agent_session_type_or_model() {
    let lab = Lab::new();
    lab.settings(&json!({ "fallbackSubagent": "none" }));
    let mut client = StdioClient::start(&lab);
    for (method, params, code) in [
        ("adjutant/agent/stop", json!({ "agentId": "nobody" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/stop", json!({ "handle": "nobody" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/steer", json!({ "agentId": "nobody", "message": "x" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/resume", json!({ "agentId": "nobody", "prompt": "x" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/result", json!({ "agentId": "nobody" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/open", json!({ "agentId": "nobody" }), ErrorCode::UnknownAgent),
        ("adjutant/agent/seen", json!({ "agentId": "nobody", "run": 1 }), ErrorCode::UnknownAgent),
        ("adjutant/session/prompt", json!({ "sessionId": "none", "text": "x" }), ErrorCode::UnknownSession),
        ("adjutant/session/subscribe", json!({ "sessionId": "none" }), ErrorCode::UnknownSession),
        ("adjutant/session/open", json!({ "resume": "none" }), ErrorCode::UnknownSession),
        ("adjutant/agent/spawn", json!({ "type": "Juggler", "prompt": "x" }), ErrorCode::UnknownType),
        (
            "adjutant/agent/spawn",
            json!({ "type": "Explore", "prompt": "x", "model": "moon/cheese" }),
            ErrorCode::ModelUnavailable,
        ),
    ] {
        let error = client.refused_raw(method, &params);
        assert_eq!(error.code, code.code(), "{method} {params}: {error:?}");
    }
    let error = client.refused::<method::AgentSpawn>(&json!({ "type": "Juggler", "prompt": "x" }));
    let said = format!("{} {}", error.message, error.data);
    assert!(said.contains("Juggler") && said.contains("Explore"), "it says what there is: {said}");
    assert!(client.fleet().is_empty() && lab.model.requests().is_empty());
    client.finish();
}

#[test]
fn a_missing_key_says_which_variable() {
    let lab = Lab::new();
    let provider = json!({
        "baseUrl": format!("http://127.0.0.1:{}/v1", lab.model.port()), "api": "openai-completions",
        "apiKey": "$SOME_PROVIDER_KEY", "models": [{ "id": "fake" }],
    });
    lab.models(&json!({ "keyless": provider }));
    let mut client = StdioClient::start(&lab);
    let params = json!({ "type": "Explore", "prompt": "x", "model": "keyless/fake" });
    let error = client.refused::<method::AgentSpawn>(&params);
    assert_eq!(error.code, ErrorCode::NoCredentials.code(), "{error:?}");
    assert!(error.message.contains("SOME_PROVIDER_KEY"), "{error:?}");
    client.finish();
}

#[test]
fn no_model_at_all_is_said_when_one_is_needed() {
    let lab = Lab::new();
    std::fs::remove_file(lab.home().join("models.json")).unwrap();
    let mut introduction = Introduction::default();
    introduction.options.as_object_mut().unwrap().remove("model");
    let mut client = StdioClient::introduced(&lab, introduction);
    let error = client.refused::<method::SessionPrompt>(&json!({ "text": "hello" }));
    let codes = [ErrorCode::NoCredentials.code(), ErrorCode::ModelUnavailable.code()];
    assert!(codes.contains(&error.code), "{error:?}");
    assert!(format!("{} {}", error.message, error.data).contains("models.json"), "{error:?}");
    client.finish();
}

#[test]
fn a_broken_models_file_is_named() {
    let lab = Lab::new();
    lab.write_home("models.json", "{ \"providers\": ");
    let mut client = StdioClient::start(&lab);
    let error = client.refused::<method::SessionPrompt>(&json!({ "text": "hello" }));
    client.wait_message("models.json");
    assert!(!error.message.is_empty());
    client.finish();
}

#[test]
fn broken_settings_are_named_and_the_rest_holds() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": "many", "limits": { "descendants": 1 } }));
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    client.spawn_agent("[[script kid]]");
    client.wait_message("maxConcurrent");
    let error = client.refused::<method::AgentSpawn>(&json!({ "type": "Explore", "prompt": "x" }));
    assert_eq!(error.code, ErrorCode::LimitReached.code());
    lab.model.open_gate("kid");
    client.wait_ended(1);
    client.finish();
}

#[test]
fn a_definition_with_a_yaml_error_is_named_and_skipped() {
    let lab = Lab::new();
    lab.write(".adjutant/agents/broken.md", "---\nname: broken\ndescription: [unclosed\n---\nDo things.\n");
    lab.write(
        ".adjutant/agents/fine.md",
        "---\nname: fine\ndescription: A fine one\n---\nYou are the fine agent.\n",
    );
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.request::<method::AgentSpawn>(
        &serde_json::from_value(json!({ "type": "fine", "prompt": "[[script kid]]" })).unwrap(),
    );
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert!(lab.model.requests()[0].text().contains("You are the fine agent."));
    client.wait_message("broken.md");
    client.finish();
}

#[test]
fn definitions_of_an_untrusted_folder_are_not_read() {
    let lab = Lab::new();
    lab.settings(&json!({ "fallbackSubagent": "none" }));
    lab.write(".adjutant/agents/sly.md", "---\nname: sly\ndescription: d\n---\nYou are sly.\n");
    let mut introduction = Introduction::default();
    introduction.options["trusted"] = false.into();
    let mut client = StdioClient::introduced(&lab, introduction);
    let error = client.refused::<method::AgentSpawn>(&json!({ "type": "sly", "prompt": "x" }));
    assert_eq!(error.code, ErrorCode::UnknownType.code());
    client.finish();
}

#[test]
fn files_that_are_no_utf_8_disturb_no_tool() {
    let lab = Lab::new();
    lab.write("latin.txt", b"caf\xe9 au lait\nplain line\n");
    lab.write("noise.bin", (0..=255).collect::<Vec<u8>>());
    std::fs::write(
        lab.work().join(std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
            b"n\xffame.txt",
        ))),
        "plain line\n",
    )
    .unwrap();
    lab.model.script(
        "boss",
        vec![
            Line::call("ls", &json!({}))
                .and_call("grep", &json!({ "pattern": "plain line" }))
                .and_call("find", &json!({ "pattern": "*" }))
                .and_call("read", &json!({ "path": "latin.txt" }))
                .and_call("read", &json!({ "path": "noise.bin" }))
                .and_call("bash", &json!({ "command": "cat noise.bin" })),
            Line::text("seen"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    let result = client.run("[[script boss]]");
    assert_eq!((result.stop_reason, result.text.as_deref()), (RunStop::EndTurn, Some("seen")));
    let answers = lab.model.requests_of("boss")[1].text();
    assert!(answers.contains("latin.txt:2") || answers.contains("plain line"), "{answers}");
    client.finish();
}

#[test]
fn a_path_with_spaces_accents_and_a_hash() {
    let lab = Lab::named("mon café #1 – 100% «été»");
    lab.write("sous dossier/fichier #2 é.txt", "bonjour\n");
    lab.model.script(
        "boss",
        vec![
            Line::call("read", &json!({ "path": "sous dossier/fichier #2 é.txt" }))
                .and_call("bash", &json!({ "command": "pwd" }))
                .and_call("grep", &json!({ "pattern": "bonjour" }))
                .and_call("Agent", &super::agent("[[script kid]]", false)),
            Line::text("ok"),
        ],
    );
    lab.model.script("kid", vec![Line::call("read", &json!({ "path": "README.md" })), Line::text("kid ok")]);
    let mut client = StdioClient::start(&lab);
    let mut params: SessionPromptParams = support::client::prompt("[[script boss]]");
    let uri = lab.uri("sous dossier/fichier #2 é.txt");
    params.attachments = serde_json::from_value(json!([{ "type": "file", "uri": uri }])).unwrap();
    let result = client.request::<method::SessionPrompt>(&params);
    assert_eq!(result.text.as_deref(), Some("ok"));
    let answers = lab.model.requests_of("boss")[1].text();
    assert!(answers.matches("bonjour").count() >= 3, "asked for, read and found: {answers}");
    assert!(answers.contains("mon café #1 – 100% «été»") && answers.contains("kid ok"), "{answers}");
    client.finish();
}

#[test]
fn a_folder_that_is_not_there() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let error = client.refused::<method::SessionOpen>(&json!({ "cwd": "/no/such/folder" }));
    assert!(error.message.contains("/no/such/folder"), "{error:?}");
    client.finish();
}
