//! Histories: strictness, and that each message is encoded once whatever happens around it.

use std::sync::Arc;

use super::{Encoded, FOLD, History, KEEP};
use crate::testing::{calls_message, endpoint, result, said};
use crate::wire::{Dialect, Profile};
use crate::{ContentBlock, HistoryError, Message};

fn profile(dialect: Dialect) -> Arc<Profile> {
    endpoint(dialect, |_| {}).profile
}

fn bytes(encoded: &Encoded) -> Vec<u8> {
    let pieces = encoded.tail.iter().map(|piece| &piece.bytes);
    encoded.folded.iter().chain(pieces).flat_map(AsRef::as_ref).copied().collect()
}

/// A history of `turns` turns that ends with the results of the last one.
fn talk(turns: usize) -> History {
    let mut history = History::new();
    history.push(Message::user("go"));
    for turn in 0..turns {
        add_turn(&mut history, turn);
    }
    history
}

fn add_turn(history: &mut History, turn: usize) {
    let ids = [format!("a{turn}"), format!("b{turn}")];
    history.push(Message::Assistant(calls_message(&[(&ids[0], "x", "{}"), (&ids[1], "y", "{\"n\":1}")])));
    history.push(result(&ids[1], vec![ContentBlock::text("out")]));
    history.push(result(&ids[0], vec![]));
}

#[test]
fn growing_a_history_gives_the_bytes_of_encoding_it_whole() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let profile = profile(dialect);
        let mut history = talk(0);
        for turn in 0..200 {
            add_turn(&mut history, turn);
            let grown = history.snapshot().encode(&profile).expect("good");
            let whole = Encoded::new(&profile, history.messages());
            assert_eq!(bytes(&grown), bytes(&whole), "{dialect:?}, turn {turn}");
            assert_eq!(grown.tokens, whole.tokens);
            assert!(grown.tail.len() < FOLD + KEEP);
        }
        assert_eq!(
            history.snapshot().encode(&profile).expect("good").folded.len(),
            (2 * 200 + 1 - KEEP) / FOLD
        );
    }
}

#[test]
fn what_was_encoded_is_kept_and_shared() {
    let profile = profile(Dialect::OpenAi);
    let mut history = talk(100);
    let before = history.snapshot().encode(&profile).expect("good");
    add_turn(&mut history, 100);
    let after = history.snapshot().encode(&profile).expect("good");
    for (a, b) in before.folded.iter().zip(&after.folded) {
        assert_eq!(a.as_ptr(), b.as_ptr());
    }
    let equal = Arc::new(Profile::clone(&profile));
    let again = history.snapshot().encode(&equal).expect("good");
    assert_eq!(after.folded[0].as_ptr(), again.folded[0].as_ptr(), "an equal profile is the same");
}

#[test]
fn another_model_gets_an_encoding_of_its_own() {
    let history = talk(3);
    let openai = history.snapshot().encode(&profile(Dialect::OpenAi)).expect("good");
    let anthropic = history.snapshot().encode(&profile(Dialect::Anthropic)).expect("good");
    assert_ne!(bytes(&openai), bytes(&anthropic));
    let back = history.snapshot().encode(&profile(Dialect::OpenAi)).expect("good");
    assert_eq!(bytes(&openai), bytes(&back));
}

#[test]
fn an_old_snapshot_stays_what_it_was() {
    let profile = profile(Dialect::OpenAi);
    let mut history = talk(2);
    let old = history.snapshot();
    let expected = bytes(&old.encode(&profile).expect("good"));
    add_turn(&mut history, 2);
    history.snapshot().encode(&profile).expect("good");
    assert_eq!(bytes(&old.encode(&profile).expect("still good")), expected);
    history.truncate(1);
    history.push(Message::user("else"));
    let cut = history.snapshot().encode(&profile).expect("good");
    assert_eq!(bytes(&cut), bytes(&Encoded::new(&profile, history.messages())));
    assert_eq!(bytes(&old.encode(&profile).expect("still good")), expected);
    history.truncate(99);
    assert_eq!(history.len(), 2, "nothing is there to be cut");
}

#[test]
fn a_clone_goes_its_own_way() {
    let profile = profile(Dialect::Anthropic);
    let mut one = talk(2);
    one.snapshot().encode(&profile).expect("good");
    let mut two = one.clone();
    one.push(Message::user("one"));
    two.push(Message::user("two"));
    for history in [&one, &two] {
        let encoded = history.snapshot().encode(&profile).expect("good");
        assert_eq!(bytes(&encoded), bytes(&Encoded::new(&profile, history.messages())));
    }
}

#[test]
fn replacing_forgets_the_calls_before() {
    let mut history = talk(2);
    history.check().expect("good");
    history.replace(vec![Arc::new(Message::user("summary"))]);
    add_turn(&mut history, 0);
    assert_eq!(history.check(), Ok(()));
}

#[test]
fn a_history_that_would_be_refused_is_not_sent() {
    type Build = fn(&mut History);
    let table: &[(&str, Build, HistoryError)] = &[
        ("empty", |_| {}, HistoryError::Empty),
        ("ends with the model", |h| h.push(Message::Assistant(said("x"))), HistoryError::EndsWithAssistant),
        (
            "open at the end",
            |h| {
                h.push(Message::Assistant(calls_message(&[("a", "x", ""), ("b", "x", "")])));
                h.push(result("a", vec![]));
            },
            HistoryError::MissingResult("b".into()),
        ),
        (
            "a user between call and result",
            |h| {
                h.push(Message::Assistant(calls_message(&[("a", "x", "")])));
                h.push(Message::user("hey"));
                h.push(result("a", vec![]));
            },
            HistoryError::MissingResult("a".into()),
        ),
        (
            "the model goes on without a result",
            |h| {
                h.push(Message::Assistant(calls_message(&[("a", "x", "")])));
                h.push(Message::Assistant(said("x")));
                h.push(Message::user("hey"));
            },
            HistoryError::MissingResult("a".into()),
        ),
        ("a result of nothing", |h| h.push(result("a", vec![])), HistoryError::OrphanResult("a".into())),
        (
            "two results",
            |h| {
                h.push(Message::Assistant(calls_message(&[("a", "x", "")])));
                h.push(result("a", vec![]));
                h.push(result("a", vec![]));
            },
            HistoryError::OrphanResult("a".into()),
        ),
        (
            "twins in one message",
            |h| h.push(Message::Assistant(calls_message(&[("a", "x", ""), ("a", "x", "")]))),
            HistoryError::DuplicateCall("a".into()),
        ),
        (
            "twins in two messages",
            |h| {
                for _ in 0..2 {
                    h.push(Message::Assistant(calls_message(&[("a", "x", "")])));
                    h.push(result("a", vec![]));
                }
            },
            HistoryError::DuplicateCall("a".into()),
        ),
    ];
    for (what, build, expected) in table {
        let mut history = History::new();
        build(&mut history);
        for _ in 0..2 {
            assert_eq!(history.check().as_ref(), Err(expected), "{what}");
            let encoded = history.snapshot().encode(&profile(Dialect::OpenAi));
            assert_eq!(encoded.err().as_ref(), Some(expected), "{what}");
        }
    }
}

#[test]
fn a_missing_result_can_still_be_given() {
    let mut history = History::new();
    history.push(Message::user("go"));
    history.push(Message::Assistant(calls_message(&[("a", "x", "")])));
    assert!(history.check().is_err());
    history.push(result("a", vec![]));
    assert_eq!(history.check(), Ok(()));
    assert!(history.snapshot().known_calls().contains("a"));
    assert!(!history.snapshot().known_calls().contains("b"));
}

#[test]
fn messages_keep_their_form_in_files() {
    let messages = [
        Message::user("hi"),
        Message::Assistant(calls_message(&[("a", "x", "{\"n\":1.0}")])),
        result("a", vec![ContentBlock::Image { mime_type: "image/png".into(), data: "QQ==".into() }]),
    ];
    let texts: Vec<_> = messages.iter().map(|m| serde_json::to_string(m).expect("it is JSON")).collect();
    assert_eq!(texts[0], r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#);
    let call = r#"{"type":"toolCall","id":"a","name":"x","arguments":"{\"n\":1.0}"}"#;
    assert!(
        texts[1]
            .starts_with(&format!(r#"{{"role":"assistant","content":[{call}],"finish":"toolUse","usage":"#))
    );
    let image = r#"{"type":"image","mimeType":"image/png","data":"QQ=="}"#;
    let expected = format!(
        r#"{{"role":"toolResult","toolCallId":"a","toolName":"tool","content":[{image}],"isError":false}}"#
    );
    assert_eq!(texts[2], expected);
    for (message, text) in messages.iter().zip(&texts) {
        assert_eq!(&serde_json::from_str::<Message>(text).expect("it reads back"), message);
    }
}
