//! Aborts at every point: what was begun is closed, nothing goes on, the next request is valid.

use std::time::Duration;

use model::ModelError;
use tokio_util::sync::CancellationToken;
use vocab::{RunStop, WaitingOn};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, entries, results, settle, steer};
use crate::{
    AbortReport, EntryBody, ExtensionApi, Prompt, PromptAnswer, Session, SessionConfig, ToolCallDecision,
    ToolOutcome,
};

/// Starts a run, lets a second pass, aborts, and says how long the abort took.
async fn abort_after_a_second(config: SessionConfig) -> (Session, crate::RunOutcome, Duration) {
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = tokio::time::Instant::now();
    let report = running.handle.abort().await.unwrap();
    assert_eq!(report, AbortReport { aborted: true, ..AbortReport::default() });
    let (session, outcome) = running.end().await;
    assert_eq!(outcome.stop, RunStop::Aborted);
    assert_eq!(outcome.error, None);
    (session, outcome, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn in_a_stream_the_text_is_kept_and_the_connection_closed() {
    let model = Scripted::new(vec![
        vec![
            Step::Thinking("hm".into()),
            text("partial"),
            call("c1", "sleep", "{\"ms"),
            Step::Wait(Duration::from_secs(99)),
        ],
        vec![text("ok")],
    ]);
    let (mut session, outcome, took) = abort_after_a_second(config(&model)).await;
    assert_eq!((took, model.open()), (Duration::ZERO, 0));
    assert_eq!((outcome.text.as_str(), outcome.turns), ("partial", 0));
    let EntryBody::Assistant { message, discarded: false } = &entries(&session)[2].body else {
        panic!("no partial text")
    };
    assert!(serde_json::to_string(message).unwrap().contains("Operation aborted"));
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said(), ["u:go", "a:partial", "u:next"]);
}

#[tokio::test(start_paused = true)]
async fn before_the_first_word_nothing_is_kept() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(99))], vec![text("ok")]]);
    let (mut session, ..) = abort_after_a_second(config(&model)).await;
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said(), ["u:go", "u:next"]);
}

#[tokio::test(start_paused = true)]
async fn in_a_tool_each_call_gets_its_result() {
    let model = Scripted::new(vec![
        vec![call("c1", "same", ""), call("c2", "sleep", r#"{"ms":60000}"#), call("c3", "fail", "")],
        vec![text("ok")],
    ]);
    let (mut session, _, took) = abort_after_a_second(config(&model)).await;
    assert_eq!(took, Duration::ZERO);
    let expected = [("c1", ToolOutcome::Ok), ("c2", ToolOutcome::Aborted), ("c3", ToolOutcome::Error)]
        .map(|(id, o)| (id.to_owned(), o));
    assert_eq!(results(&session), expected);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(
        model.last().said()[2..],
        ["r:c1:same", "r!:c2:stopped sleeping", "r!:c3:it failed", "u:next"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_deaf_tool_is_dropped_after_its_grace() {
    let model = Scripted::new(vec![vec![call("c1", "deaf", "")], vec![text("ok")]]);
    let (mut session, _, took) = abort_after_a_second(config(&model)).await;
    assert_eq!(took, Duration::from_millis(2_500));
    assert_eq!(results(&session), [("c1".to_owned(), ToolOutcome::Aborted)]);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said()[2], "r!:c1:Operation aborted");
}

#[tokio::test(start_paused = true)]
async fn calls_that_had_not_begun_do_not_begin() {
    let model = Scripted::new(vec![
        vec![call("c1", "lonely_sleep", r#"{"ms":60000}"#), call("c2", "lonely_sleep", r#"{"ms":60000}"#)],
        vec![text("ok")],
    ]);
    let (mut session, _, took) = abort_after_a_second(config(&model)).await;
    assert_eq!(took, Duration::ZERO);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said()[2..4], ["r!:c1:stopped sleeping", "r!:c2:Operation aborted"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_waits_for_a_person_waits_no_more() {
    let model = Scripted::new(vec![vec![call("c1", "same", "")], vec![text("ok")]]);
    let mut config = config(&model);
    config.extensions.push(std::sync::Arc::new(|api: &mut ExtensionApi| {
        api.on_tool_call(|event| {
            Box::pin(async move {
                let _waiting = event.context.waiting(WaitingOn::Approval);
                std::future::pending::<()>().await;
                ToolCallDecision::Proceed { arguments: event.arguments }
            })
        });
    }));
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(running.handle.progress().borrow().waiting_on, Some(WaitingOn::Approval));
    running.cancel.cancel();
    let (session, outcome) = running.end().await;
    assert_eq!(outcome.stop, RunStop::Aborted);
    assert_eq!(results(&session), [("c1".to_owned(), ToolOutcome::Aborted)]);
    assert_eq!(session.handle().progress().borrow().waiting_on, None);
}

#[tokio::test(start_paused = true)]
async fn between_attempts_the_sleep_ends() {
    let cut = ModelError::Cut { detail: "gone".into() };
    let model = Scripted::new(vec![vec![text("half"), Step::Fail(cut)], vec![text("ok")]]);
    let (mut session, outcome, took) = abort_after_a_second(config(&model)).await;
    assert_eq!(took, Duration::ZERO);
    assert_eq!(outcome.text, "");
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said(), ["u:go", "u:next"], "a failed attempt is not history");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_before_it_starts_asks_nobody() {
    let model = Scripted::new(Vec::new());
    let (mut session, _) = Session::new(config(&model)).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = session.run(Prompt::new("go"), cancel).await;
    assert_eq!((outcome.stop, outcome.turns), (RunStop::Aborted, 0));
    assert_eq!(model.seen().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_is_handed_back_and_not_sent() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(99))]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = super::support::drive(session);
    let first = handle.prompt(Prompt::new("first"));
    settle().await;
    let second = handle.prompt(Prompt::new("second"));
    handle.steer(steer("s1", "left"));
    let report = handle.abort().await.unwrap();
    assert!(report.aborted);
    assert_eq!(report.prompts, [Prompt::new("second")]);
    assert_eq!(report.steers, [steer("s1", "left")]);
    assert_eq!(second.await, Some(PromptAnswer::Withdrawn));
    let Some(PromptAnswer::Ended(outcome)) = first.await else { panic!("not answered") };
    assert_eq!((outcome.stop, outcome.undelivered_steers.len()), (RunStop::Aborted, 0));
    let report = handle.abort().await.unwrap();
    assert!(!report.aborted, "idle");
    handle.close();
    driver.await.unwrap();
}
