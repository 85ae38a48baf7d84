//! The demo's parts without a server, and its ends with one that is none.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use protocol::{FleetChangedParams, FleetListResult, SessionEventParams, SessionSubscribeResult};
use serde_json::{Value, json};

use super::DemoOptions;
use super::fleet::{Fleet, Update};
use super::guest::Guest;
use super::process::{Home, ServerProcess};
use super::screen::Screen;
use super::story::{Shown, Step, Story};

fn agent(id: &str, status: &str, delivery: Option<&str>, ended_by: Option<&str>) -> Value {
    let mut agent = json!({
        "agentId": id, "run": 1, "sessionId": "s", "handle": id, "type": "Explore", "displayName": "Explore",
        "description": "d", "status": status, "isBackground": true, "depth": 1, "cwd": "/", "createdAt": 1, "turns": 1,
        "toolUses": 2, "usage": {}, "subtree": { "agents": 0, "running": 0, "usage": {} }, "compactions": 0,
        "model": "offline/planner", "permissionMode": "plan", "tags": [], "attention": 0, "resumable": false,
        "unread": false, "files": [], "filesTotal": 0,
    });
    for (name, value) in [("delivery", delivery), ("endedBy", ended_by)] {
        if let Some(value) = value {
            agent[name] = value.into();
        }
    }
    agent
}

fn change(base: u64, agents: &[Value]) -> FleetChangedParams {
    let change = json!({
        "epoch": "e", "revision": base + 1, "baseRevision": base, "serverNow": 5, "upserted": agents, "removed": [],
    });
    serde_json::from_value(change).expect("a change")
}

fn listed() -> Fleet {
    let limits = json!({
        "maxConcurrent": 4, "maxSubagentDepth": 2, "wallClockMs": 0, "idleMs": 0, "noProgressTurns": 0, "tokens": 0,
        "costUsd": 0.0, "descendants": 0, "identicalCalls": 0,
    });
    let list = json!({ "epoch": "e", "revision": 3, "serverNow": 4, "agents": [agent("a", "running", None, None)], "limits": limits });
    let list: FleetListResult = serde_json::from_value(list).expect("a list");
    let mut fleet = Fleet::default();
    fleet.replace(list);
    fleet
}

#[test]
fn a_missed_change_asks_for_the_list() {
    let mut fleet = Fleet::default();
    assert_eq!(fleet.change(change(0, &[])), Update::ListAgain, "nothing is known yet");
    let mut fleet = listed();
    assert_eq!(fleet.change(change(2, &[agent("a", "error", None, None)])), Update::Taken, "the list had it");
    assert_eq!(fleet.live(), 1);
    assert_eq!(fleet.change(change(5, &[])), Update::ListAgain);
    assert_eq!(fleet.change(change(3, &[agent("b", "queued", None, None)])), Update::Taken);
    assert_eq!(fleet.live(), 2);
}

#[test]
fn news_on_its_way_is_waited_for_unless_a_person_stopped_the_agent() {
    let mut fleet = listed();
    fleet.change(change(3, &[agent("a", "completed", Some("held"), Some("self"))]));
    assert_eq!((fleet.live(), fleet.unreported()), (0, 1));
    fleet.change(change(4, &[agent("a", "stopped", Some("pending"), Some("user"))]));
    assert_eq!(fleet.unreported(), 0);
    fleet.change(change(5, &[agent("a", "completed", Some("delivered"), Some("self"))]));
    assert_eq!(fleet.unreported(), 0);
}

fn event(seq: u64, event: &Value) -> SessionEventParams {
    serde_json::from_value(json!({ "sessionId": "s", "seq": seq, "event": event })).expect("an event")
}

fn subscribed(next_seq: u64, entries: &[Value]) -> SessionSubscribeResult {
    let page =
        json!({ "entries": entries, "asOfSeq": next_seq - 1, "hasMore": false, "total": entries.len() });
    serde_json::from_value(json!({ "page": page, "nextSeq": next_seq })).expect("an answer")
}

fn shown(story: &mut Story, seq: u64, what: &Value) -> Vec<Shown> {
    match story.event(event(seq, what)) {
        Step::Show(shown) => shown,
        Step::SubscribeAgain => panic!("a gap at {seq}"),
    }
}

#[test]
fn a_text_is_shown_line_by_line_and_never_twice() {
    let mut story = Story::default();
    story.subscribed(&subscribed(1, &[]));
    let run =
        shown(&mut story, 1, &json!({ "type": "runStart", "run": 1, "promptId": "p", "author": "user" }));
    assert_eq!(run, [Shown::Run { number: 1, asked: true }]);
    assert!(story.is_running());
    let delta = |offset: u64, text: &str| json!({ "type": "textDelta", "entryId": "m", "offset": offset, "text": text });
    assert_eq!(shown(&mut story, 2, &delta(0, "one\ntw")), [Shown::Line("one".into())]);
    assert_eq!(story.partial(), "tw");
    assert_eq!(shown(&mut story, 2, &delta(0, "again")), [], "an event that is known");
    assert_eq!(shown(&mut story, 3, &delta(6, "o")), []);
    let end = json!({ "type": "messageEnd", "entryId": "m", "role": "assistant", "text": "one\ntwo\nthree" });
    assert_eq!(shown(&mut story, 4, &end), [Shown::Line("two".into()), Shown::Line("three".into())]);
    assert!(!story.ended_well(), "the run goes on");
    let end = json!({ "type": "runEnd", "run": 1, "stopReason": "endTurn", "usage": {} });
    assert_eq!(shown(&mut story, 5, &end), []);
    assert!(story.ended_well() && !story.is_running());
}

#[test]
fn a_gap_is_filled_from_the_page() {
    let mut story = Story::default();
    story.subscribed(&subscribed(1, &[]));
    shown(&mut story, 1, &json!({ "type": "runStart", "run": 1, "author": "host" }));
    let end = json!({ "type": "runEnd", "run": 1, "stopReason": "endTurn", "usage": {} });
    assert_eq!(story.event(event(9, &end)), Step::SubscribeAgain);
    let base = |id: &str, seq: u64| json!({ "entryId": id, "seq": seq, "at": 1, "run": 1 });
    let with = |mut entry: Value, more: &Value| {
        entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        entry
    };
    let said = json!({ "kind": "assistant", "text": "all", "stopReason": "stop", "model": "m", "usage": {} });
    let run = json!({ "kind": "run", "startedAt": 1, "stopReason": "endTurn", "turns": 1, "usage": {} });
    let entries = [with(base("m", 5), &said), with(base("r", 9), &run)];
    assert_eq!(story.subscribed(&subscribed(10, &entries)), [Shown::Line("all".into())]);
    assert!(story.ended_well() && !story.is_running());
}

#[test]
fn a_run_that_ends_badly_says_why() {
    let mut story = Story::default();
    story.subscribed(&subscribed(1, &[]));
    let end = json!({ "type": "runEnd", "run": 1, "stopReason": "error", "error": "no model", "usage": {} });
    assert_eq!(shown(&mut story, 1, &end), [Shown::Trouble("no model".into())]);
    assert!(!story.ended_well());
}

fn options(binary: &str) -> (DemoOptions, tempfile::TempDir) {
    let home = tempfile::tempdir().expect("a folder");
    let options = DemoOptions {
        folder: std::env::temp_dir(),
        home: Some(home.path().to_owned()),
        no_color: true,
        binary: PathBuf::from(binary),
        limit: Duration::from_millis(300),
    };
    (options, home)
}

#[tokio::test]
async fn a_server_that_dies_is_said_to_have_died() {
    let (options, home) = options("/bin/false");
    let given = || Home::Given(home.path().to_owned());
    let (mut server, client, notifications) =
        ServerProcess::start(&options.binary, &options.folder, home.path()).expect("it starts");
    let mut guest = Guest::new(client, notifications, Screen::new(true));
    let trouble = guest.visit(&options.folder).await.expect_err("there is no server");
    let said = super::complaint(guest, &mut server, trouble, given()).await;
    assert!(said.starts_with("the server ended: it ended with exit status: 1"), "{said}");
    assert!(said.contains("adjutant.log"), "{said}");
    assert_eq!(super::run(options).await.expect("it is told"), ExitCode::FAILURE);
}

#[tokio::test]
async fn a_server_that_never_answers_is_killed_at_the_limit() {
    let (options, home) = options("/bin/sh");
    // A shell that is given `--stdio` ends at once; this one reads and says nothing.
    let script = home.path().join("silent");
    std::fs::write(&script, "#!/bin/sh\nexec cat >/dev/null\n").expect("written");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("may run");
    let options = DemoOptions { binary: script, ..options };
    let began = std::time::Instant::now();
    assert_eq!(super::run(options).await.expect("it is told"), ExitCode::FAILURE);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_named() {
    let (options, _home) = options("/nowhere/adjutant");
    let error = super::run(options).await.expect_err("there is no binary").to_string();
    assert!(error.contains("/nowhere/adjutant could not be started"), "{error}");
}
