//! What watchers get: gap-free numbers, pieces that add up, nothing while nobody watches.

use std::time::Duration;

use vocab::{ThinkingLevel, ToolCallId};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, entries, run_with, settle, told};
use crate::{EntryBody, PageRequest, RunLimits, SessionConfig, SessionEvent};

fn stream(chunks: usize, gap_ms: u64) -> Vec<Step> {
    let mut steps = vec![Step::Thinking("let me think".into())];
    for n in 0..chunks {
        steps.push(Step::Wait(Duration::from_millis(gap_ms)));
        steps.push(text(&format!("<{n}é>")));
    }
    steps.push(call("c1", "same", ""));
    steps
}

#[tokio::test(start_paused = true)]
async fn pieces_add_up_and_are_paced() {
    let model = Scripted::new(vec![stream(1_000, 1), vec![text("end")]]);
    let mut config = config(&model);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    running.handle.watch(true);
    let (_, _) = running.end().await;
    let told = told.lock().unwrap();
    assert!(told.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "no gap");
    assert_eq!(told[0].0, 1, "from the first event on");
    let mut text = String::new();
    let mut deltas = 0;
    for (_, event) in told.iter() {
        if let SessionEvent::TextDelta(delta) = event {
            if delta.offset == 0 {
                text.clear();
            }
            assert_eq!(delta.offset, text.len());
            text.push_str(&delta.text);
            deltas += 1;
            if text.starts_with("<999") {
                break;
            }
        }
    }
    assert!((40..=65).contains(&deltas), "{deltas} pieces of a second");
    assert!(
        told.iter().any(|(_, e)| matches!(e, SessionEvent::ThinkingDelta(d) if d.text == "let me think"))
    );
    let announced =
        told.iter().any(|(_, e)| matches!(e, SessionEvent::ToolCallDelta { name, .. } if &**name == "same"));
    assert!(announced);
}

#[tokio::test(start_paused = true)]
async fn slow_pieces_are_told_at_once() {
    let model = Scripted::new(vec![stream(20, 50), vec![]]);
    let mut config = config(&model);
    let start = tokio::time::Instant::now();
    let times: std::sync::Arc<std::sync::Mutex<Vec<u64>>> = std::sync::Arc::default();
    let sink = std::sync::Arc::clone(&times);
    config.observer = Box::new(move |_, event: SessionEvent| {
        if let SessionEvent::TextDelta(_) = event {
            sink.lock().unwrap().push(start.elapsed().as_millis() as u64);
        }
    });
    let running = Running::start(config, "go");
    running.handle.watch(true);
    running.end().await;
    let expected: Vec<u64> = (1..=20).map(|n| n * 50).collect();
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 20);
    for (time, expected) in times.iter().zip(expected) {
        assert!(time.abs_diff(expected) <= 1, "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_watching_gets_the_frame_alone() {
    let model = Scripted::new(vec![stream(100, 1), vec![text("end")]]);
    let mut config = config(&model);
    let told = told(&mut config);
    run_with(config, "go").await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(matches!(told[0].1, SessionEvent::RunStart { .. }));
    assert!(matches!(told[1].1, SessionEvent::RunEnd { .. }));
    assert_eq!(told[0].0, 1);
}

#[tokio::test(start_paused = true)]
async fn opening_under_way_misses_and_repeats_nothing() {
    for at in [0, 7, 100, 505, 990] {
        let model = Scripted::new(vec![stream(1_000, 1), vec![text("end")]]);
        let mut config = config(&model);
        let told = told(&mut config);
        let running = Running::start(config, "go");
        tokio::time::sleep(Duration::from_millis(at)).await;
        let page = running.handle.open(PageRequest::default()).await.unwrap();
        let mut text = page.partial.as_ref().map(|partial| partial.message.text()).unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(3)).await;
        // A second viewer in between gets all there is, and the first still misses nothing.
        let second = running.handle.open(PageRequest::default()).await.unwrap();
        let (session, _) = running.end().await;
        let told = told.lock().unwrap();
        let after: Vec<_> = told.iter().filter(|(seq, _)| *seq > page.as_of_seq).collect();
        assert_eq!(after[0].0, page.as_of_seq + 1, "opened at {at} ms");
        assert!(after.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0));
        let mut second_text =
            second.partial.as_ref().map(|partial| partial.message.text()).unwrap_or_default();
        for (seq, event) in &after {
            match event {
                SessionEvent::TextDelta(delta) => {
                    assert_eq!(delta.offset, text.len(), "opened at {at} ms");
                    text.push_str(&delta.text);
                    if *seq > second.as_of_seq {
                        assert_eq!(delta.offset, second_text.len());
                        second_text.push_str(&delta.text);
                    }
                }
                SessionEvent::MessageEnd { entry } if matches!(entry.body, EntryBody::Assistant { .. }) => {
                    break;
                }
                _ => {}
            }
        }
        let whole = (0..1_000).map(|n| format!("<{n}é>")).collect::<Vec<_>>().concat();
        assert_eq!(text, whole, "opened at {at} ms");
        assert_eq!(second_text, whole);
        drop(session);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_in_the_making_and_its_entry_share_an_id() {
    let model = Scripted::new(vec![vec![text("a"), Step::Wait(Duration::from_secs(1)), text("b")]]);
    let running = Running::start(config(&model), "go");
    settle().await;
    let partial = running.handle.page(PageRequest::default()).await.unwrap().partial.expect("streaming");
    let (session, _) = running.end().await;
    assert!(entries(&session).iter().any(|entry| entry.id == partial.entry_id));
    assert_eq!((partial.message.text().as_str(), partial.run), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn pages_go_back_and_forth() {
    let ids: Vec<ToolCallId> = (0..30).map(|n| format!("c{n}").into()).collect();
    let model = Scripted::new(vec![
        ids.iter()
            .map(|id| Step::Call(Box::leak(id.to_string().into_boxed_str()), "same", String::new()))
            .collect(),
        vec![],
    ]);
    let limits = RunLimits { identical_calls: 0, ..RunLimits::default() };
    let (session, _) = run_with(SessionConfig { limits, ..config(&model) }, "go").await;
    let all = entries(&session);
    assert_eq!(all.len(), 35);
    let last = session.page(PageRequest { limit: 10, ..PageRequest::default() });
    assert_eq!((last.entries.len(), last.has_more, last.total), (10, true, 35));
    assert_eq!(last.entries[..], all[25..]);
    let before = last.entries[0].seq;
    let earlier = session.page(PageRequest { before: Some(before), limit: 100, ..PageRequest::default() });
    assert_eq!((earlier.entries.len(), earlier.has_more), (25, false));
    let from = session.page(PageRequest { from_seq: Some(before), limit: 100, ..PageRequest::default() });
    assert_eq!(from.entries, last.entries);
    let none = session.page(PageRequest { from_seq: Some(u64::MAX), ..PageRequest::default() });
    assert_eq!((none.entries.len(), none.as_of_seq), (0, last.as_of_seq));
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_harms_nobody() {
    let model = Scripted::new(vec![vec![text("ok")]]);
    let mut config = config(&model);
    config.observer = Box::new(|_, _| panic!("a faulty observer"));
    assert_eq!(run_with(config, "go").await.1.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_model_can_be_changed_under_way() {
    let first = Scripted::new(vec![vec![Step::Wait(Duration::from_secs(1)), call("c1", "same", "")]]);
    let second = Scripted::new(vec![vec![text("from the second")]]);
    let mut config = config(&first);
    let told = told(&mut config);
    let running = Running::start(config, "go");
    running.handle.set_model(std::sync::Arc::clone(&second) as _, ThinkingLevel::High);
    let (session, outcome) = running.end().await;
    assert_eq!(outcome.text, "from the second");
    assert_eq!(session.info().thinking, ThinkingLevel::High);
    assert!(told.lock().unwrap().iter().any(|(_, e)| matches!(e, SessionEvent::ModelChanged { .. })));
}
