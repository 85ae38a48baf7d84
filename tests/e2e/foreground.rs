//! Agents that their caller waits for: progress, partial updates, the inline result.

use protocol::{AgentUpdate, ProgressToken, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::AgentStatus;

#[test]
fn the_result_comes_inline_and_progress_has_one_begin_and_one_end() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("all done")],
    );
    lab.model.script(
        "kid",
        vec![Line::call("read", &json!({ "path": "README.md" })), Line::text("kid waits").gated("go")],
    );
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::prompt("[[script boss]]");
    params.updates_token = Some(ProgressToken::Text("updates".into()));
    let pending = client.send::<method::SessionPrompt>(&params);
    lab.model.wait_request("the second turn of the child", |record| record.id == "kid" && record.step == 1);
    let token = support::wait_until("a token for the call", support::LIMIT, || client.begun_tokens().pop());
    lab.model.open_gate("go");
    assert_eq!(client.wait(&pending).unwrap().text.as_deref(), Some("all done"));
    let progress = client.wait_progress_end(&token);
    let kinds = progress.kinds();
    assert_eq!(kinds[0], "begin");
    assert_eq!(kinds.iter().filter(|kind| **kind == "end").count(), 1, "{kinds:?}");
    let begin = &progress.values[0].0;
    assert_eq!(begin["cancellable"], true);
    assert!(begin["percentage"].is_null());
    assert!(begin["title"].as_str().unwrap().contains("a task"), "{begin}");
    let last = lab.model.requests_of("boss").pop().unwrap();
    assert!(last.text().contains("kid waits"), "the parent's model has the text: {}", last.text());
    let updates = client.progress(&json!("updates"));
    let update: AgentUpdate = serde_json::from_value(updates.values[0].0.clone()).unwrap();
    assert_eq!(update.summary.agent_id, update.agent_id);
    let last: AgentUpdate = serde_json::from_value(updates.values.last().unwrap().0.clone()).unwrap();
    assert_eq!(last.summary.status, AgentStatus::Completed, "the tail is always sent");
    assert!(client.seen::<method::AgentCompleted>().is_empty(), "no completion of a foreground run");
    client.finish();
}

#[test]
fn reports_keep_their_rates() {
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "identicalCalls": 0, "noProgressTurns": 0 } }));
    let steps = (0..25).map(|_| Line {
        delay: std::time::Duration::from_millis(40),
        ..Line::call("read", &json!({ "path": "README.md" }))
    });
    lab.model.script("kid", steps.chain([Line::text("done")]).collect());
    lab.model
        .script("boss", vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("ok")]);
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::prompt("[[script boss]]");
    params.updates_token = Some(ProgressToken::Number(7));
    let pending = client.send::<method::SessionPrompt>(&params);
    client.wait(&pending).unwrap();
    let token = client.created_tokens().pop().expect("a token was made");
    let progress = client.wait_progress_end(&token);
    let reports: Vec<_> =
        progress.values.iter().filter(|(value, _)| value["kind"] == "report").map(|(_, at)| *at).collect();
    assert!(!reports.is_empty());
    for pair in reports.windows(2).take(reports.len().saturating_sub(2)) {
        assert!(pair[1] - pair[0] >= std::time::Duration::from_millis(400), "two reports a second a token");
    }
    let updates = client.progress(&json!(7)).values;
    let span = updates.last().unwrap().1 - updates[0].1;
    assert!(
        (updates.len() as f64) <= 10.0 * span.as_secs_f64() + 4.0,
        "{} updates in {span:?}",
        updates.len()
    );
    client.finish();
}

#[test]
fn twenty_live_tokens_and_one_for_the_rest() {
    let lab = Lab::new();
    let calls = (0..30)
        .fold(Line::default(), |line, _| line.and_call("Agent", &super::agent("[[script kid]]", false)));
    lab.model.script("boss", vec![calls, Line::text("ok")]);
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    support::wait_until("thirty children at work", support::LIMIT, || {
        (lab.model.requests_of("kid").len() == 30).then_some(())
    });
    // A token whose work is over before the client has taken it is never used.
    support::wait_until("the tokens", support::LIMIT, || {
        let tokens = client.created_tokens();
        let begun =
            tokens.iter().filter(|token| client.progress(token).kinds().first() == Some(&"begin")).count();
        (begun >= 21).then_some(())
    });
    lab.model.open_gate("kid");
    client.wait(&pending).unwrap();
    let tokens = client.created_tokens();
    assert_eq!(tokens.len(), 21, "twenty and one for the rest");
    for token in tokens {
        let progress = client.wait_progress_end(&token);
        let bounds = progress.kinds().iter().filter(|kind| **kind != "report").count();
        assert_eq!(bounds, 2, "{token}: {:?}", progress.kinds());
    }
    client.finish();
}

#[test]
fn a_refused_token_gets_no_progress() {
    let lab = Lab::new();
    lab.model
        .script("boss", vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("ok")]);
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    client.on_request(|_| support::client::Reply::Error(-32603, "no".into()));
    client.run("[[script boss]]");
    for token in client.created_tokens() {
        assert!(client.progress(&token).values.is_empty());
    }
    client.finish();
}
