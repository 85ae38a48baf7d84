//! Runs from a prompt to their end, queued prompts, and what a run comes to.

use std::time::Duration;

use model::FinishReason;
use tokio_util::sync::CancellationToken;
use vocab::{EndReason, RunStop, Usage};

use super::script::{Scripted, Step, call, gate, text};
use super::support::{config, drive, entries, kinds, run, settle, told};
use crate::{Prompt, PromptAnswer, Session, SessionEvent, Withdrawal};

fn named(id: &str, text: &str) -> Prompt {
    Prompt { prompt_id: Some(id.into()), ..Prompt::new(text) }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_answered() {
    let usage = Usage { cost_usd: Some(0.5), ..Usage::of_tokens(90, 10, 100, 0) };
    let model = Scripted::new(vec![vec![text("Hel"), text("lo"), Step::Usage(usage)]]);
    let (session, outcome) = run(&model, "hi").await;
    assert_eq!(outcome.stop, RunStop::EndTurn);
    assert_eq!((outcome.text.as_str(), outcome.turns, outcome.run), ("Hello", 1, 1));
    assert_eq!(outcome.usage, usage);
    assert_eq!(outcome.error, None);
    assert_eq!(kinds(&session), ["runStart", "prompt", "assistant", "runEnd"]);
    assert_eq!(model.last().system, "be brief");
    assert_eq!(model.last().said(), ["u:hi"]);
    let progress = session.handle().progress().borrow().clone();
    assert!(!progress.active);
    assert_eq!((progress.turns, progress.usage, progress.waiting_on), (1, usage, None));
    assert_eq!(progress.activity.as_deref(), Some("Hello"));
    assert_eq!(progress.context_percent, Some(20.0));
    let info = session.info();
    assert_eq!((info.title.as_deref(), info.usage, info.run), (Some("hi"), usage, 1));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on() {
    let model = Scripted::new(vec![vec![text("one")], vec![text("two")]]);
    let (mut session, _) = run(&model, "first").await;
    let outcome = session.run(Prompt::new("second"), CancellationToken::new()).await;
    assert_eq!((outcome.text.as_str(), outcome.run), ("two", 2));
    assert_eq!(model.last().said(), ["u:first", "a:one", "u:second"]);
    let runs: Vec<_> = entries(&session).iter().map(|entry| entry.run).collect();
    assert_eq!(runs, [1, 1, 1, 1, 2, 2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn the_caller_may_count_runs_itself() {
    let model = Scripted::new(vec![vec![text("one")]]);
    let (mut session, _) = Session::new(config(&model)).unwrap();
    let outcome = session.run(Prompt { run: Some(7), ..Prompt::new("x") }, CancellationToken::new()).await;
    assert_eq!((outcome.run, session.info().run), (7, 7));
}

#[tokio::test(start_paused = true)]
async fn the_last_text_of_the_run_is_its_answer() {
    let model = Scripted::new(vec![
        vec![text("I look."), call("c1", "read", r#"{"path":"a"}"#)],
        vec![text("  \n")],
        vec![],
    ]);
    let (mut session, outcome) = run(&model, "go").await;
    assert_eq!((outcome.text.as_str(), outcome.tool_uses, outcome.turns), ("I look.", 1, 2));
    let outcome = session.run(Prompt::new("again"), CancellationToken::new()).await;
    assert_eq!((outcome.stop, outcome.text.as_str()), (RunStop::EndTurn, ""), "of this run alone");
    assert_eq!(
        model.last().said(),
        ["u:go", "a:I look.(c1)", "r:c1:read {\"path\":\"a\"}", "u:again"],
        "an answer that says nothing is not sent back"
    );
}

#[tokio::test(start_paused = true)]
async fn ends_are_what_they_are() {
    let cases: [(Vec<Step>, RunStop, Option<EndReason>); 4] = [
        (vec![text("cut"), Step::Finish(FinishReason::Length)], RunStop::Length, None),
        (vec![Step::Finish(FinishReason::Length)], RunStop::Error, Some(EndReason::Provider)),
        (vec![text("no"), Step::Finish(FinishReason::Refusal)], RunStop::Refusal, None),
        (vec![call("c1", "read", "{}"), Step::Finish(FinishReason::Refusal)], RunStop::Refusal, None),
    ];
    for (steps, stop, reason) in cases {
        let model = Scripted::new(vec![steps, vec![text("later")]]);
        let (mut session, outcome) = run(&model, "x").await;
        assert_eq!((outcome.stop, outcome.reason), (stop, reason));
        assert_eq!(outcome.error.is_some(), stop == RunStop::Error);
        session.run(Prompt::new("next"), CancellationToken::new()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_queue_and_can_be_taken_back() {
    let gate = gate();
    let model = Scripted::new(vec![vec![Step::Gate(gate.clone()), text("one")], vec![text("three")]]);
    let mut config = config(&model);
    let told = told(&mut config);
    let (session, handle) = Session::new(config).unwrap();
    let driver = drive(session);
    let first = handle.prompt(named("p1", "first"));
    settle().await;
    let second = handle.prompt(named("p2", "second"));
    let third = handle.prompt(named("p3", "third"));
    assert_eq!(handle.withdraw_prompt("p2".into()).await, Some(Withdrawal::Withdrawn));
    assert_eq!(handle.withdraw_prompt("p9".into()).await, Some(Withdrawal::Unknown));
    assert_eq!(second.await, Some(PromptAnswer::Withdrawn));
    assert_eq!(handle.info().await.unwrap().queued_prompts, 1);
    gate.open();
    let Some(PromptAnswer::Ended(outcome)) = first.await else { panic!("not answered") };
    assert_eq!(outcome.text, "one");
    let Some(PromptAnswer::Ended(outcome)) = third.await else { panic!("not answered") };
    assert_eq!(outcome.text, "three");
    handle.close();
    let (_, outcomes) = driver.await.unwrap();
    assert_eq!(outcomes.len(), 2);
    let prompts: Vec<_> = told
        .lock()
        .unwrap()
        .iter()
        .filter_map(|(_, event)| match event {
            SessionEvent::PromptQueued { prompt_id } => Some(format!("queued {prompt_id}")),
            SessionEvent::PromptStarted { prompt_id } => Some(format!("started {prompt_id}")),
            SessionEvent::PromptWithdrawn { prompt_id } => Some(format!("withdrawn {prompt_id}")),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["started p1", "queued p2", "queued p3", "withdrawn p2", "started p3"]);
}

#[tokio::test(start_paused = true)]
async fn taking_back_a_running_prompt_aborts_its_run_alone() {
    let model =
        Scripted::new(vec![vec![text("par"), Step::Wait(Duration::from_secs(99))], vec![text("two")]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = drive(session);
    let first = handle.prompt(named("p1", "first"));
    let second = handle.prompt(named("p2", "second"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(handle.withdraw_prompt("p1".into()).await, Some(Withdrawal::Aborting));
    let Some(PromptAnswer::Ended(outcome)) = first.await else { panic!("not answered") };
    assert_eq!((outcome.stop, outcome.text.as_str()), (RunStop::Aborted, "par"));
    let Some(PromptAnswer::Ended(outcome)) = second.await else { panic!("not answered") };
    assert_eq!(outcome.text, "two");
    handle.close();
    driver.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_answers_what_is_queued() {
    let gate = gate();
    let model = Scripted::new(vec![vec![Step::Gate(gate.clone())]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = drive(session);
    let first = handle.prompt(Prompt::new("first"));
    let second = handle.prompt(Prompt::new("second"));
    settle().await;
    handle.close();
    gate.open();
    assert!(matches!(first.await, Some(PromptAnswer::Ended(_))));
    assert_eq!(second.await, Some(PromptAnswer::Withdrawn));
    driver.await.unwrap();
    assert_eq!(handle.prompt(Prompt::new("too late")).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaves_a_session_that_goes_on() {
    let model = Scripted::new(vec![
        vec![text("working"), call("c1", "sleep", r#"{"ms":50000}"#)],
        vec![text("fine")],
    ]);
    let (mut session, _) = Session::new(config(&model)).unwrap();
    let run = session.run(Prompt::new("go"), CancellationToken::new());
    assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
    let outcome = session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(outcome.text, "fine");
    assert_eq!(model.last().said(), ["u:go", "a:working(c1)", "r!:c1:Operation aborted", "u:next"]);
}

#[test]
fn runs_can_be_spawned() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let model = Scripted::new(Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (mut session, _) = Session::new(config(&model)).unwrap();
        let size = std::mem::size_of_val(&session);
        assert!(size <= 1_200, "a session is {size} bytes");
        let run = is_send(session.run(Prompt::new("x"), CancellationToken::new()));
        let size = std::mem::size_of_val(&run);
        assert!(size <= 6_000, "a run is {size} bytes");
        drop(run);
        drop(is_send(session.idle()));
    });
}

#[tokio::test(start_paused = true)]
async fn a_relative_folder_is_refused() {
    let model = Scripted::new(Vec::new());
    let mut config = config(&model);
    config.cwd = "srv/app".into();
    assert!(Session::new(config).expect_err("relative").to_string().contains("absolute"));
    let error = Session::reopen(super::support::config(&model)).expect_err("no file");
    assert!(error.to_string().contains("without a file"));
}
