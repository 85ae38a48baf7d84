//! Providers that fail: bounded, said plainly, and never taken for success.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::{Fault, Line};
use support::lab::{self, Lab};
use vocab::{AgentStatus, EndReason, RunStop};

/// Retries without long waits.
fn impatient() -> Value {
    json!({
        "permissions": { "mode": "auto" },
        "retry": { "maxRetries": 1, "baseDelayMs": 20 },
        "limits": { "idleMs": 700 },
    })
}

fn start(lab: &Lab) -> StdioClient {
    StdioClient::introduced(lab, Introduction::default().with_settings(impatient()))
}

#[test]
fn an_unreachable_provider_is_an_error_that_says_so() {
    let lab = Lab::new();
    // A port that nobody listens on: bound, and given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let provider = json!({
        "baseUrl": format!("http://127.0.0.1:{port}/v1"), "api": "openai-completions", "apiKey": "k",
        "models": [{ "id": "fake" }],
    });
    lab.models(&json!({ "nowhere": provider }));
    let mut client = start(&lab);
    let mut params = support::client::spawn("hello");
    params.model = Some("nowhere/fake".into());
    let spawned = client.request::<protocol::method::AgentSpawn>(&params);
    let ended = client.wait_status(&spawned.agent_id, AgentStatus::Error);
    assert_eq!(ended.reason, Some(EndReason::Provider));
    let error = ended.error.unwrap();
    assert!(error.contains("nowhere") || error.contains(&port.to_string()), "{error}");
    client.finish();
}

#[test]
fn a_provider_that_never_answers_is_given_up_in_time() {
    for kind in ["hang", "stall"] {
        let lab = Lab::new();
        lab.model.script(
            "kid",
            vec![Line::text("so far").streaming(3, Duration::ZERO).failing(Fault::new(kind, 99))],
        );
        let mut client = start(&lab);
        let before = Instant::now();
        let spawned = client.spawn_agent("[[script kid]]");
        let ended = client.wait_status(&spawned.agent_id, AgentStatus::Aborted);
        assert_eq!(ended.reason, Some(EndReason::Idle), "{kind}");
        assert!(before.elapsed() < Duration::from_secs(6), "{kind}: {:?}", before.elapsed());
        super::wait_idle(&lab.model);
        client.finish();
    }
}

#[test]
fn a_stream_that_is_cut_is_an_error_and_never_a_success() {
    for model in [lab::MODEL, lab::ANTHROPIC] {
        for kind in ["drop", "eof", "error_event"] {
            let lab = Lab::new();
            let line = Line::text("half an ans").streaming(3, Duration::ZERO).failing(Fault::new(kind, 99));
            lab.model.script("boss", vec![line]);
            let mut introduction = Introduction::default().with_settings(impatient());
            introduction.options["model"] = model.into();
            let mut client = StdioClient::introduced(&lab, introduction);
            let result = client.run("[[script boss]]");
            assert_eq!(result.stop_reason, RunStop::Error, "{model} {kind}");
            assert!(!result.error.unwrap().is_empty(), "{model} {kind}");
            client.finish();
        }
    }
}

#[test]
fn what_passes_is_tried_again_and_told() {
    for kind in ["429", "500", "529", "drop", "eof"] {
        let lab = Lab::new();
        let line = Line::text("well").streaming(3, Duration::ZERO).failing(Fault::new(kind, 1));
        lab.model.script("boss", vec![line]);
        let mut client = start(&lab);
        let session = client.open_session();
        let mut transcript = client.subscribe(&session);
        let result = client.run("[[script boss]]");
        assert_eq!(result.stop_reason, RunStop::EndTurn, "{kind}: {:?}", result.error);
        client.follow_session(&mut transcript, "the retry", |seen| {
            seen.has(|event| matches!(event, protocol::SessionEvent::Retry { .. }))
        });
        client.finish();
    }
}

#[test]
fn retry_after_is_heeded() {
    let lab = Lab::new();
    let fault = Fault::new("429", 1).retry_after(1);
    lab.model.script("boss", vec![Line::text("well").failing(fault)]);
    let mut client = start(&lab);
    let before = Instant::now();
    assert_eq!(client.run("[[script boss]]").text.as_deref(), Some("well"));
    let took = before.elapsed();
    assert!((Duration::from_millis(950)..Duration::from_secs(3)).contains(&took), "{took:?}");
    client.finish();
}

#[test]
fn a_refused_key_is_not_tried_again_and_not_shown() {
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::text("x").failing(Fault::new("401", 99))]);
    let mut client = start(&lab);
    let result = client.run("[[script boss]]");
    assert_eq!((result.stop_reason, lab.model.requests().len()), (RunStop::Error, 1));
    let error = result.error.unwrap();
    assert!(error.contains("401") && !error.contains("test-key"), "{error}");
    client.finish();
}

#[test]
fn no_redirect_is_followed() {
    for status in ["301", "307", "308"] {
        let lab = Lab::new();
        lab.model.script("boss", vec![Line::text("x").failing(Fault::new(status, 99))]);
        let mut client = start(&lab);
        // A followed redirect fails the test in the scripted model.
        assert_eq!(client.run("[[script boss]]").stop_reason, RunStop::Error);
        client.finish();
    }
}

#[test]
fn broken_arguments_are_an_error_result_and_the_run_goes_on() {
    for model in [lab::MODEL, lab::ANTHROPIC] {
        let lab = Lab::new();
        lab.model.script(
            "boss",
            vec![
                Line::default().and_raw_call("bash", "{\"command\": \"touch mark\", "),
                Line::default().and_call("read", &json!({ "path": 7 })),
                Line::default().and_call("no_such_tool", &json!({})),
                Line::text("I see"),
            ],
        );
        let mut introduction = Introduction::default().with_settings(impatient());
        introduction.options["model"] = model.into();
        let mut client = StdioClient::introduced(&lab, introduction);
        let result = client.run("[[script boss]]");
        assert_eq!(
            (result.stop_reason, result.text.as_deref()),
            (RunStop::EndTurn, Some("I see")),
            "{model}"
        );
        assert!(!lab.work().join("mark").exists(), "half a call is no call");
        let last = lab.model.requests_of("boss").pop().unwrap().text();
        assert!(last.contains("no_such_tool"), "{last}");
        client.finish();
    }
}

#[test]
fn one_broken_event_does_not_pass_unnoticed() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::text("x").streaming(4, Duration::ZERO).failing(Fault::new("malformed", 99))],
    );
    let mut client = start(&lab);
    let result = client.run("[[script boss]]");
    assert!(
        result.stop_reason == RunStop::Error
            || result
                .text
                .as_deref()
                .is_some_and(|text| text.ends_with("lorem ipsum lorem ipsum lorem ipsum lorem ipsum ")),
        "{result:?}"
    );
    client.finish();
}
