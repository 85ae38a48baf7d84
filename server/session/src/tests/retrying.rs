//! Attempts that fail: tried again, visibly, and never part of what is sent.

use std::time::Duration;

use model::ModelError;
use vocab::{EndReason, RunStop, Usage, WaitingOn};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, entries, kinds, run, run_with, told};
use crate::{EntryBody, SessionEvent};

fn http(status: u16, retry_after: Option<u64>) -> ModelError {
    let retry_after = retry_after.map(Duration::from_secs);
    ModelError::Http { host: "h".into(), status, message: "busy".into(), retry_after, retry: None }
}

fn cut() -> Step {
    Step::Fail(ModelError::Cut { detail: "no finish".into() })
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_discarded_and_asked_for_again() {
    let usage = Usage::of_tokens(5, 5, 0, 0);
    let model = Scripted::new(vec![
        vec![text("half an ans"), call("c1", "same", "{"), cut()],
        vec![text("an answer"), Step::Usage(usage)],
    ]);
    let mut config = config(&model);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    running.handle.watch(true);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(running.handle.progress().borrow().waiting_on, Some(WaitingOn::Retry));
    let (session, outcome) = running.end().await;
    assert_eq!((outcome.stop, outcome.text.as_str(), outcome.turns), (RunStop::EndTurn, "an answer", 1));
    assert_eq!(model.last().said(), ["u:go"]);
    let discarded: Vec<_> = entries(&session)
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Assistant { discarded, .. } => Some(*discarded),
            _ => None,
        })
        .collect();
    assert_eq!(discarded, [true, false]);
    let told = told.lock().unwrap();
    let retry = told.iter().find_map(|(_, event)| match event {
        SessionEvent::Retry(retry) => Some(retry.clone()),
        _ => None,
    });
    let retry = retry.expect("told");
    assert_eq!((retry.attempt, retry.max_attempts), (1, 3));
    assert!(retry.discarded.is_some() && retry.error.contains("no finish"));
}

#[tokio::test(start_paused = true)]
async fn a_hint_is_followed() {
    let model = Scripted::new(vec![vec![Step::Fail(http(429, Some(1)))], vec![text("ok")]]);
    run(&model, "go").await;
    let seen = model.seen();
    let waited = seen[1].at - seen[0].at;
    assert!((1_000..=1_200).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_after_the_last_attempt() {
    let model = Scripted::new((0..4).map(|_| vec![Step::Fail(http(529, None))]).collect());
    let (session, outcome) = run(&model, "go").await;
    assert_eq!((outcome.stop, outcome.reason), (RunStop::Error, Some(EndReason::Provider)));
    assert!(outcome.error.unwrap().contains("529"));
    assert_eq!((model.seen().len(), outcome.turns), (4, 0));
    assert_eq!(kinds(&session), ["runStart", "prompt", "runEnd"]);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_for_each_request() {
    let fail = || vec![cut()];
    let mut turns =
        vec![fail(), fail(), vec![call("c1", "same", "")], fail(), fail(), fail(), vec![text("ok")]];
    turns.push(Vec::new());
    let model = Scripted::new(turns);
    let (_, outcome) = run(&model, "go").await;
    assert_eq!((outcome.text.as_str(), outcome.turns), ("ok", 2));
}

#[tokio::test(start_paused = true)]
async fn a_final_error_is_final() {
    let model = Scripted::new(vec![vec![Step::Fail(http(401, None))]]);
    let (_, outcome) = run(&model, "go").await;
    assert_eq!((outcome.stop, model.seen().len()), (RunStop::Error, 1));
}

#[tokio::test(start_paused = true)]
async fn silence_to_the_end_is_the_idle_limit() {
    let idle = || vec![Step::Fail(ModelError::Idle { host: "h".into(), limit: Duration::from_mins(5) })];
    let model = Scripted::new((0..4).map(|_| idle()).collect());
    let (_, outcome) = run(&model, "go").await;
    assert_eq!((outcome.stop, outcome.reason), (RunStop::Limit, Some(EndReason::Idle)));
}

#[tokio::test(start_paused = true)]
async fn no_faulty_end_passes_for_an_answer() {
    let errors = [
        ModelError::Cut { detail: "end of stream".into() },
        ModelError::Malformed { detail: "unknown finish".into() },
        ModelError::ErrorEvent { kind: "overloaded".into(), message: "later".into(), retry: true },
        ModelError::Overflow { message: "too long".into() },
    ];
    for error in errors {
        let model = Scripted::new(vec![vec![
            text("looks fine"),
            call("c1", "same", "{}"),
            Step::Fail(error.clone()),
        ]]);
        let mut config = config(&model);
        config.retry.enabled = false;
        let (session, outcome) = run_with(config, "go").await;
        assert_eq!((outcome.stop, outcome.text.as_str(), outcome.tool_uses), (RunStop::Error, "", 0));
        assert_eq!(kinds(&session), ["runStart", "prompt", "assistant", "runEnd"]);
    }
}
