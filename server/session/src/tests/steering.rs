//! Steers in every state of a session.

use std::time::Duration;

use model::ModelError;
use tokio_util::sync::CancellationToken;
use vocab::RunStop;

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, drive, kinds, settle, steer, told};
use crate::{Prompt, Session, SessionEvent, SteerReceipt};

#[tokio::test(start_paused = true)]
async fn before_the_run_it_comes_after_the_prompt() {
    let model = Scripted::new(vec![vec![text("ok")]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let early = handle.steer(steer("s1", "left"));
    Running::resume(session, handle, Prompt::new("go")).end().await;
    assert_eq!(early.await, Some(SteerReceipt::Queued));
    assert_eq!(model.last().said(), ["u:go", "u:left"]);
}

#[tokio::test(start_paused = true)]
async fn during_a_stream_it_makes_the_run_go_on() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(2)), text("one")], vec![text("two")]]);
    let mut config = config(&model);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.handle.steer(steer("s1", "left"));
    running.handle.steer(steer("s2", "right"));
    assert_eq!(running.handle.unsteer("s9".into()).await, Some(false));
    let (session, outcome) = running.end().await;
    assert_eq!((outcome.text.as_str(), outcome.turns), ("two", 2));
    assert_eq!(model.last().said(), ["u:go", "a:one", "u:left", "u:right"]);
    assert_eq!(kinds(&session), ["runStart", "prompt", "assistant", "steer", "steer", "assistant", "runEnd"]);
    let steps: Vec<_> = told
        .lock()
        .unwrap()
        .iter()
        .filter_map(|(_, event)| match event {
            SessionEvent::SteerQueued(steer) => Some(format!("queued {}", steer.steer_id)),
            SessionEvent::SteerDelivered(steer) => Some(format!("delivered {}", steer.steer_id)),
            _ => None,
        })
        .collect();
    assert_eq!(steps, ["queued s1", "queued s2", "delivered s1", "delivered s2"]);
}

#[tokio::test(start_paused = true)]
async fn during_tools_it_comes_after_their_results() {
    let model = Scripted::new(vec![
        vec![call("c1", "sleep", r#"{"ms":2000}"#), call("c2", "same", "")],
        vec![text("ok")],
    ]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.handle.steer(steer("s1", "left"));
    running.end().await;
    assert_eq!(model.last().said()[1..], ["a:(c1)(c2)", "r:c1:slept 2000", "r:c2:same", "u:left"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_vote_to_end_it_still_gets_its_turn() {
    let model = Scripted::new(vec![
        vec![call("c1", "sleep", r#"{"ms":2000}"#)],
        vec![call("c2", "done", "")],
        vec![text("ok")],
    ]);
    let running = Running::start(config(&model), "go");
    let handle = running.handle.clone();
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(running.end());
    settle().await;
    drop(handle);

    let model = Scripted::new(vec![
        vec![Step::Wait(Duration::from_secs(2)), call("c1", "done", "")],
        vec![text("ok")],
    ]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.handle.steer(steer("s1", "left"));
    let (_, outcome) = running.end().await;
    assert_eq!(outcome.text, "ok");
    assert_eq!(model.last().said()[2..], ["r:c1:done", "u:left"]);
}

#[tokio::test(start_paused = true)]
async fn during_a_retry_it_waits_for_the_answer() {
    let cut = ModelError::Cut { detail: "gone".into() };
    let model = Scripted::new(vec![vec![Step::Fail(cut)], vec![text("one")], vec![text("two")]]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(running.handle.steer(steer("s1", "left")).await, Some(SteerReceipt::Queued));
    running.end().await;
    assert_eq!(model.last().said(), ["u:go", "a:one", "u:left"]);
}

#[tokio::test(start_paused = true)]
async fn it_can_be_taken_back_until_it_is_delivered() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(2)), text("one")]]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.handle.steer(steer("s1", "left"));
    assert_eq!(running.handle.unsteer("s1".into()).await, Some(true));
    assert_eq!(running.handle.unsteer("s1".into()).await, Some(false));
    let (_, outcome) = running.end().await;
    assert_eq!(outcome.turns, 1);
}

#[tokio::test(start_paused = true)]
async fn idle_it_is_too_late() {
    let model = Scripted::new(vec![vec![text("one")]]);
    let mut config = config(&model);
    let told = told(&mut config);
    let (session, handle) = Session::new(config).unwrap();
    let driver = drive(session);
    handle.prompt(Prompt::new("go")).await;
    assert_eq!(handle.steer(steer("s1", "left")).await, Some(SteerReceipt::TooLate));
    handle.close();
    let (mut session, _) = driver.await.unwrap();
    let late = handle.steer(steer("s2", "right"));
    session.serve_waiting();
    assert_eq!(late.await, Some(SteerReceipt::TooLate), "also once nobody drives the session");
    let expired =
        told.lock().unwrap().iter().filter(|(_, e)| matches!(e, SessionEvent::SteerExpired(_))).count();
    assert_eq!(expired, 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_says_which_it_did_not_read() {
    let refused = ModelError::Http {
        host: "h".into(),
        status: 401,
        message: "no".into(),
        retry_after: None,
        retry: None,
    };
    let model =
        Scripted::new(vec![vec![Step::Wait(Duration::from_secs(2)), Step::Fail(refused)], vec![text("ok")]]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.handle.steer(steer("s1", "left"));
    let (mut session, outcome) = running.end().await;
    assert_eq!(outcome.stop, RunStop::Error);
    assert_eq!(outcome.undelivered_steers, [steer("s1", "left")]);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().said(), ["u:go", "u:next"]);
}
