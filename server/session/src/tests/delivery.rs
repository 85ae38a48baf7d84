//! Messages of extensions and hooks: pulled at boundaries, acknowledged once, waking an idle session or not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use vocab::EntryId;

use super::script::{Scripted, Step, call, gate, text};
use super::support::{Running, config, drive, entries, kinds, settle};
use crate::{
    BoundaryKind, CustomMessage, DeliverAs, Delivery, EntryBody, ExtensionApi, Prompt, PromptAnswer, Session,
    SessionConfig,
};

/// A mailbox that a `before_turn` hook empties, as an owner of completions has one.
#[derive(Default)]
struct Mailbox {
    waiting: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<BoundaryKind>>,
    acknowledged: Mutex<Vec<(&'static str, EntryId)>>,
}

impl Mailbox {
    fn put(&self, text: &'static str) {
        self.waiting.lock().unwrap().push(text);
    }

    fn acknowledged(&self) -> Vec<&'static str> {
        self.acknowledged.lock().unwrap().iter().map(|(text, _)| *text).collect()
    }
}

fn with_mailbox(config: &mut SessionConfig) -> Arc<Mailbox> {
    let mailbox = Arc::<Mailbox>::default();
    let owner = Arc::clone(&mailbox);
    config.extensions.push(Arc::new(move |api: &mut ExtensionApi| {
        let owner = Arc::clone(&owner);
        api.on_before_turn(move |boundary| {
            owner.asked.lock().unwrap().push(boundary.at);
            let waiting = std::mem::take(&mut *owner.waiting.lock().unwrap());
            let owner = Arc::clone(&owner);
            Box::pin(async move {
                tokio::task::yield_now().await;
                let deliver = |text: &'static str| {
                    let owner = Arc::clone(&owner);
                    let message =
                        CustomMessage { key: Some(text.into()), ..CustomMessage::text("news", text) };
                    Delivery::new(message, move |id| owner.acknowledged.lock().unwrap().push((text, id)))
                };
                waiting.into_iter().map(deliver).collect()
            })
        });
    }));
    mailbox
}

#[tokio::test(start_paused = true)]
async fn news_enters_at_each_boundary_after_steers() {
    let model = Scripted::new(vec![vec![call("c1", "sleep", r#"{"ms":2000}"#)], vec![text("one")]]);
    let mut config = config(&model);
    let mailbox = with_mailbox(&mut config);
    mailbox.put("early");
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    mailbox.put("while a tool runs");
    running.handle.steer(super::support::steer("s1", "left"));
    let (session, _) = running.end().await;
    assert_eq!(
        model.last().said(),
        ["u:go", "u:early", "a:(c1)", "r:c1:slept 2000", "u:left", "u:while a tool runs"]
    );
    assert_eq!(mailbox.acknowledged(), ["early", "while a tool runs"]);
    assert_eq!(session.delivered_keys().collect::<Vec<_>>(), ["early", "while a tool runs"]);
    let ids: Vec<_> = entries(&session)
        .iter()
        .filter(|entry| matches!(entry.body, EntryBody::CustomMessage { .. }))
        .map(|entry| entry.id.clone())
        .collect();
    let acknowledged: Vec<_> =
        mailbox.acknowledged.lock().unwrap().iter().map(|(_, id)| id.clone()).collect();
    assert_eq!(ids, acknowledged);
    assert_eq!(
        *mailbox.asked.lock().unwrap(),
        [BoundaryKind::Start, BoundaryKind::Between, BoundaryKind::WouldStop]
    );
}

#[tokio::test(start_paused = true)]
async fn news_keeps_a_run_going_that_would_stop() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(2)), text("one")], vec![text("two")]]);
    let mut config = config(&model);
    let mailbox = with_mailbox(&mut config);
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    mailbox.put("news");
    let (_, outcome) = running.end().await;
    assert_eq!((outcome.text.as_str(), outcome.turns), ("two", 2));
    assert_eq!(model.last().said(), ["u:go", "a:one", "u:news"]);
}

#[tokio::test(start_paused = true)]
async fn a_wake_starts_a_run_only_if_there_is_news() {
    let model = Scripted::new(vec![vec![text("one")], vec![text("two")]]);
    let mut config = config(&model);
    let mailbox = with_mailbox(&mut config);
    let (session, handle) = Session::new(config).unwrap();
    let driver = drive(session);
    handle.wake();
    settle().await;
    assert_eq!((model.seen().len(), mailbox.asked.lock().unwrap().len()), (0, 1));
    mailbox.put("a");
    handle.wake();
    settle().await;
    assert_eq!(model.last().said(), ["u:a"]);
    mailbox.put("b");
    settle().await;
    assert_eq!(model.seen().len(), 1, "without a wake nobody looks");
    let Some(PromptAnswer::Ended(outcome)) = handle.prompt(Prompt::new("go")).await else { panic!() };
    assert_eq!((outcome.run, outcome.text.as_str()), (2, "two"));
    assert_eq!(model.last().said(), ["u:a", "a:one", "u:go", "u:b"]);
    handle.close();
    driver.await.unwrap();
    assert_eq!(mailbox.acknowledged(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_does_not_wait_for_a_hook_of_an_idle_session() {
    let model = Scripted::new(vec![vec![text("one")]]);
    let mut config = config(&model);
    config.extensions.push(Arc::new(|api: &mut ExtensionApi| {
        api.on_before_turn(|boundary| {
            Box::pin(async move {
                if boundary.at == BoundaryKind::Wake {
                    std::future::pending::<()>().await;
                }
                Vec::new()
            })
        });
    }));
    let (session, handle) = Session::new(config).unwrap();
    let driver = drive(session);
    handle.wake();
    settle().await;
    assert!(handle.page(crate::PageRequest::default()).await.is_some(), "the inbox is served meanwhile");
    let Some(PromptAnswer::Ended(outcome)) = handle.prompt(Prompt::new("go")).await else { panic!() };
    assert_eq!(outcome.text, "one");
    handle.wake();
    settle().await;
    handle.close();
    driver.await.unwrap();
}

/// News and wakes at random moments: everything is delivered once, without anybody prompting.
#[tokio::test(start_paused = true)]
async fn no_wake_is_lost_whenever_it_comes() {
    for seed in 0..200_u64 {
        let turns = (0..40).map(|_| vec![Step::Wait(Duration::from_millis(3)), text("ok")]).collect();
        let model = Scripted::new(turns);
        let mut config = config(&model);
        let mailbox = with_mailbox(&mut config);
        let (session, handle) = Session::new(config).unwrap();
        let driver = drive(session);
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for text in all {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state % 3 {
                0 => tokio::time::sleep(Duration::from_micros(state % 7_000)).await,
                1 => {
                    for _ in 0..state % 9 {
                        tokio::task::yield_now().await;
                    }
                }
                _ => {}
            }
            mailbox.put(text);
            handle.wake();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.close();
        driver.await.unwrap();
        assert_eq!(mailbox.acknowledged(), all, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_for_its_moment() {
    let gate = gate();
    let model = Scripted::new(vec![
        vec![Step::Gate(gate.clone()), call("c1", "same", "")],
        vec![text("one")],
        vec![text("two")],
        vec![text("three")],
    ]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = drive(session);
    let send = |text: &str, deliver_as, trigger| {
        handle.send_message(CustomMessage::text("x", text), deliver_as, trigger);
    };
    send("idle, no trigger", DeliverAs::FollowUp, false);
    let first = handle.prompt(Prompt::new("go"));
    settle().await;
    send("next turn", DeliverAs::NextTurn, true);
    send("follow-up", DeliverAs::FollowUp, true);
    send("steer", DeliverAs::Steer, true);
    send("passive", DeliverAs::Steer, false);
    gate.open();
    first.await;
    assert_eq!(
        model.last().said(),
        ["u:idle, no trigger", "u:go", "a:(c1)", "r:c1:same", "u:steer", "u:passive", "a:one", "u:follow-up"]
    );
    handle.prompt(Prompt::new("again")).await;
    assert_eq!(model.last().said()[8..], ["a:two", "u:again", "u:next turn"]);
    assert_eq!(model.seen().len(), 4);
    handle.close();
    driver.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_runs_for_a_message_that_asks_for_it() {
    let model = Scripted::new(vec![vec![text("one")]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = drive(session);
    handle.send_message(CustomMessage::text("x", "quiet"), DeliverAs::Steer, false);
    settle().await;
    assert_eq!(model.seen().len(), 0);
    handle.send_message(CustomMessage::text("x", "loud"), DeliverAs::FollowUp, true);
    settle().await;
    assert_eq!(model.last().said(), ["u:quiet", "u:loud"]);
    handle.close();
    let (session, outcomes) = driver.await.unwrap();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(kinds(&session), ["customMessage", "runStart", "customMessage", "assistant", "runEnd"]);
}

#[tokio::test(start_paused = true)]
async fn after_an_abort_messages_are_kept_but_start_nothing() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(99))], vec![text("ok")]]);
    let (session, handle) = Session::new(config(&model)).unwrap();
    let driver = drive(session);
    handle.prompt(Prompt::new("go"));
    settle().await;
    handle.send_message(CustomMessage::text("x", "steer"), DeliverAs::Steer, true);
    handle.send_message(CustomMessage::text("x", "later"), DeliverAs::FollowUp, true);
    handle.abort().await;
    settle().await;
    assert_eq!(model.seen().len(), 1);
    handle.prompt(Prompt::new("next")).await;
    assert_eq!(model.last().said(), ["u:go", "u:steer", "u:later", "u:next"]);
    handle.close();
    driver.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_entry_is_kept_and_never_sent() {
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(1)), text("ok")]]);
    let running = Running::start(config(&model), "go");
    running.handle.append_entry("state", json!({ "n": 1 }));
    let (session, outcome) = running.end().await;
    assert_eq!(outcome.turns, 1);
    assert!(kinds(&session).contains(&"customEntry".to_owned()));
    assert_eq!(model.last().said(), ["u:go"]);
}
