//! Tool calls: order, faults, caps, updates.

use std::time::Duration;

use model::FinishReason;
use vocab::{RunStop, WaitingOn};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, entries, results, run, run_with, told};
use crate::{EntryBody, SessionEvent, ToolOutcome, ToolPolicy};

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_answer_in_order() {
    let model = Scripted::new(vec![
        vec![
            call("c1", "sleep", r#"{"ms":300}"#),
            call("c2", "sleep", r#"{"ms":"100"}"#),
            call("c3", "sleep", r#"{"ms":200}"#),
        ],
        vec![text("done")],
    ]);
    let mut config = config(&model);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    running.handle.watch(true);
    let start = tokio::time::Instant::now();
    let (session, outcome) = running.end().await;
    assert_eq!(start.elapsed(), Duration::from_millis(300));
    assert_eq!(outcome.tool_uses, 3);
    assert_eq!(model.last().said()[2..], ["r:c1:slept 300", "r:c2:slept 100", "r:c3:slept 200"]);
    let ends: Vec<_> = told
        .lock()
        .unwrap()
        .iter()
        .filter_map(|(_, event)| match event {
            SessionEvent::ToolEnd { tool_call_id, .. } => Some(tool_call_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ends, ["c2", "c3", "c1"], "ends come as they happen");
    let EntryBody::Assistant { message, .. } = &entries(&session)[2].body else { panic!("no answer") };
    let stored = serde_json::to_string(message).unwrap();
    assert!(stored.contains(r#"{\"ms\":\"100\"}"#), "the answer is stored as it came: {stored}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_wants_no_company_gets_none() {
    let model = Scripted::new(vec![
        vec![
            call("c1", "sleep", r#"{"ms":100}"#),
            call("c2", "lonely_sleep", r#"{"ms":100}"#),
            call("c3", "sleep", r#"{"ms":100}"#),
        ],
        vec![],
    ]);
    let start = tokio::time::Instant::now();
    run(&model, "go").await;
    assert_eq!(start.elapsed(), Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_a_result_of_its_own_call() {
    let model = Scripted::new(vec![
        vec![
            call("c1", "nothing_like_it", "{}"),
            call("c2", "read", r#"{"path":"a""#),
            call("c3", "read", r#"["a"]"#),
            call("c4", "read", ""),
            call("c5", "fail", ""),
            call("c6", "panic", "{}"),
            call("c7", "read", r#"{"path":"a","limit":null}"#),
        ],
        vec![text("I see")],
    ]);
    let (session, outcome) = run(&model, "go").await;
    assert_eq!((outcome.stop, outcome.text.as_str()), (RunStop::EndTurn, "I see"));
    let said = model.last().said();
    for (index, part) in [
        (2, "r!:c1:There is no tool named \"nothing_like_it\". You have: read, "),
        (3, "r!:c2:The arguments of read are not valid JSON"),
        (4, "r!:c3:The arguments of read are a list"),
        (5, "r!:c4:The arguments of read do not fit:\n- path: is required"),
        (6, "r!:c5:it failed"),
        (7, "r!:c6:panic failed with a fault of its own"),
        (8, "r:c7:read {\"path\":\"a\"}"),
    ] {
        assert!(said[index].starts_with(part), "{}", said[index]);
    }
    assert_eq!(results(&session).last().unwrap().1, ToolOutcome::Ok);
    assert_eq!(results(&session).iter().filter(|(_, outcome)| *outcome == ToolOutcome::Error).count(), 6);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_cut_message_do_not_run() {
    let cut = || vec![call("c1", "sleep", r#"{"ms":100}"#), Step::Finish(FinishReason::Length)];
    let model = Scripted::new(vec![cut(), vec![text("again")]]);
    let start = tokio::time::Instant::now();
    let (_, outcome) = run(&model, "go").await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(outcome.text, "again");
    assert!(model.last().said()[2].starts_with("r!:c1:Not run: your message was cut"));

    let cut_as = |id| vec![call(id, "sleep", "{}"), Step::Finish(FinishReason::Length)];
    let model = Scripted::new(vec![cut_as("c1"), cut_as("c2"), cut_as("c3")]);
    let (_, outcome) = run(&model, "go").await;
    assert_eq!(outcome.stop, RunStop::Error);
    assert!(outcome.error.unwrap().contains("again and again"));
}

#[tokio::test(start_paused = true)]
async fn calls_run_whatever_the_finish_is_called() {
    let model = Scripted::new(vec![
        vec![call("c1", "same", "{}"), Step::Finish(FinishReason::Stop)],
        vec![text("ok")],
    ]);
    run(&model, "go").await;
    assert_eq!(model.last().said()[2], "r:c1:same");
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_where_all_calls_vote_for_it() {
    let model = Scripted::new(vec![vec![call("c1", "done", ""), call("c2", "done", "")]]);
    let (_, outcome) = run(&model, "go").await;
    assert_eq!((outcome.stop, outcome.turns), (RunStop::EndTurn, 1));
    let model = Scripted::new(vec![vec![call("c1", "done", ""), call("c2", "same", "")], vec![text("more")]]);
    assert_eq!(run(&model, "go").await.1.text, "more");
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_cut_before_it_reaches_the_model() {
    let model = Scripted::new(vec![vec![call("c1", "flood", "")], vec![]]);
    run(&model, "go").await;
    let said = &model.last().said()[2];
    assert!(said.len() < 70_000 && said.contains("[output cut after "), "{}", said.len());
}

#[tokio::test(start_paused = true)]
async fn updates_are_paced_and_end_with_their_call() {
    let model = Scripted::new(vec![vec![call("c1", "chatty", "")], vec![Step::Wait(Duration::from_secs(1))]]);
    let mut config = config(&model);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    running.handle.watch(true);
    running.end().await;
    let told = told.lock().unwrap();
    let updates = told.iter().filter(|(_, event)| matches!(event, SessionEvent::ToolUpdate { .. })).count();
    assert!((20..=32).contains(&updates), "{updates} updates in half a second");
    let last_update = told.iter().rposition(|(_, event)| matches!(event, SessionEvent::ToolUpdate { .. }));
    let end = told.iter().position(|(_, event)| matches!(event, SessionEvent::ToolEnd { .. }));
    assert!(last_update < end, "nothing of a call comes after its end");
    let gapless = told.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
    assert!(gapless, "a watcher misses nothing");
}

#[tokio::test(start_paused = true)]
async fn progress_shows_what_runs() {
    let model = Scripted::new(vec![
        vec![
            text("Let me look.\nClosely."),
            call("c1", "read", r#"{"path":"src/a.rs"}"#),
            call("c2", "sleep", r#"{"ms":500}"#),
        ],
        vec![],
    ]);
    let running = Running::start(config(&model), "go");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let progress = running.handle.progress().borrow().clone();
    assert_eq!(progress.waiting_on, Some(WaitingOn::Tool));
    assert_eq!(progress.activity.as_deref(), Some("sleep…"));
    assert_eq!((progress.turns, progress.tool_uses), (1, 2));
    assert_eq!(&*progress.tool.unwrap().title, "a call");
    assert_eq!(progress.text_tail.as_deref(), Some("Let me look.\nClosely."));
    assert_eq!(progress.files[0].path, std::path::Path::new("/srv/app/src/a.rs"));
    assert!(!progress.files[0].edited);
    let (session, _) = running.end().await;
    let progress = session.handle().progress().borrow().clone();
    assert_eq!((progress.tool, progress.files_total), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn a_policy_narrows_what_is_offered_and_what_runs() {
    let model = Scripted::new(vec![vec![call("c1", "read", r#"{"path":"a"}"#)], vec![]]);
    let mut config = config(&model);
    config.tool_policy = ToolPolicy {
        allow: Some(vec!["same".into(), "read".into(), "fail".into()]),
        deny: vec!["read".into()],
    };
    run_with(config, "go").await;
    assert_eq!(model.last().tools, ["fail", "same"]);
    assert!(
        model.last().said()[2].starts_with("r!:c1:There is no tool named \"read\". You have: fail, same.")
    );
}
