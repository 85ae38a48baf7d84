//! Sessions with a file: there before the first request, read back after any end.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use tokio_util::sync::CancellationToken;
use vocab::{RunStop, Usage};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, entries, kinds, results, run_with};
use crate::storage::{Writer, load_session};
use crate::{
    CustomMessage, DeliverAs, EntryBody, Ledger, Prompt, Session, SessionConfig, SessionKind, ShutdownReason,
    Storage, ToolOutcome,
};

struct Disk {
    folder: TempDir,
    writer: Writer,
}

impl Disk {
    fn new() -> Self {
        Self { folder: tempdir().unwrap(), writer: Writer::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s1").join("session.jsonl")
    }

    fn config(&self, model: &Arc<Scripted>) -> SessionConfig {
        SessionConfig { storage: Storage::File(self.writer.file(self.path())), ..config(model) }
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_conversation_is_read_back_as_it_was() {
    let disk = Disk::new();
    let usage = Usage { cost_usd: Some(0.25), ..Usage::of_tokens(50, 50, 0, 0) };
    let model = Scripted::new(vec![
        vec![
            Step::Thinking("hm".into()),
            text("I look"),
            call("c1", "read", r#"{"path":"a"}"#),
            Step::Usage(usage),
        ],
        vec![text("done"), Step::Usage(usage)],
    ]);
    let (session, handle) = Session::new(disk.config(&model)).unwrap();
    assert!(!disk.path().exists(), "nothing before the first prompt");
    handle.send_message(
        CustomMessage { key: Some("k1".into()), ..CustomMessage::text("x", "note") },
        DeliverAs::NextTurn,
        false,
    );
    let (session, _) = Running::resume(session, handle, Prompt::new("go")).end().await;
    let before = entries(&session);
    let history = session.messages().to_vec();
    let info = session.info();
    session.close(ShutdownReason::Quit).await;
    assert_eq!(disk.lines().len(), before.len() + 1);
    assert!(disk.lines()[0].contains("\"kind\":\"header\""));

    let model = Scripted::new(vec![vec![text("welcome back")]]);
    let (mut session, _) = Session::reopen(disk.config(&model)).unwrap();
    assert_eq!(entries(&session), before);
    assert_eq!(session.messages(), history);
    assert_eq!(session.delivered_keys().collect::<Vec<_>>(), ["k1"]);
    let reopened = session.info();
    assert_eq!((reopened.usage, reopened.run), (info.usage, 1));
    assert_eq!((&reopened.title, reopened.context_percent), (&info.title, info.context_percent));
    let outcome = session.run(Prompt::new("hello again"), CancellationToken::new()).await;
    assert_eq!((outcome.run, outcome.text.as_str()), (2, "welcome back"));
    session.close(ShutdownReason::Quit).await;
    let loaded = load_session(&disk.path(), false).unwrap();
    let seqs: Vec<_> = loaded.entries.iter().map(|entry| entry.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "numbers only grow: {seqs:?}");
    assert_eq!(loaded.title().as_deref(), Some("go"));
    assert_eq!(loaded.model(), ("lab/scripted", vocab::ThinkingLevel::Off));
}

#[tokio::test]
async fn a_parents_prompt_is_on_disk_before_its_request() {
    let disk = Disk::new();
    let model = Scripted::new(vec![vec![Step::Wait(Duration::from_millis(200)), text("ok")]]);
    let running = Running::start(disk.config(&model), "go");
    while model.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let lines = disk.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[2].contains("\"kind\":\"prompt\""));
    running.end().await;
}

#[tokio::test]
async fn wherever_the_file_is_cut_the_session_goes_on() {
    let disk = Disk::new();
    let model = Scripted::new(vec![
        vec![text("I look"), call("c1", "same", ""), call("c2", "read", r#"{"path":"a"}"#)],
        vec![call("c3", "fail", "")],
        vec![text("done")],
    ]);
    let (session, outcome) =
        run_with(SessionConfig { kind: SessionKind::Child, ..disk.config(&model) }, "go").await;
    assert_eq!(outcome.stop, RunStop::EndTurn);
    session.close(ShutdownReason::Quit).await;
    let whole = fs::read(disk.path()).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for end in header..whole.len() {
        fs::write(disk.path(), &whole[..end]).unwrap();
        let model = Scripted::new(vec![vec![text("ok")]]);
        let (mut session, _) = Session::reopen(disk.config(&model)).unwrap();
        let restored = entries(&session).len();
        // The scripted model refuses a history with a call that has no result.
        let outcome = session.run(Prompt::new("next"), CancellationToken::new()).await;
        assert_eq!(outcome.text, "ok", "cut at {end}");
        session.close(ShutdownReason::Quit).await;
        let loaded = load_session(&disk.path(), false).unwrap();
        assert_eq!((loaded.report.skipped, loaded.report.torn_bytes), (0, 0), "cut at {end}");
        assert_eq!(loaded.entries.len(), 1 + restored + 4, "cut at {end}");
    }
}

#[tokio::test]
async fn a_run_that_a_crash_ended_is_told_and_its_calls_closed() {
    let disk = Disk::new();
    let model = Scripted::new(vec![
        vec![text("I look"), call("c1", "same", ""), call("c2", "read", r#"{"path":"a"}"#)],
        vec![],
    ]);
    let (session, _) = run_with(disk.config(&model), "go").await;
    session.close(ShutdownReason::Quit).await;
    let lines = disk.lines();
    // Up to the first result.
    fs::write(disk.path(), lines[..5].join("\n") + "\n").unwrap();
    let model = Scripted::new(vec![vec![text("ok")]]);
    let (mut session, _) = Session::reopen(disk.config(&model)).unwrap();
    assert_eq!(kinds(&session)[3..], ["toolResult", "toolResult", "notice"]);
    let expected = [("c1".to_owned(), ToolOutcome::Ok), ("c2".to_owned(), ToolOutcome::Interrupted)];
    assert_eq!(results(&session), expected);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert!(model.last().said()[3].contains("whether it took effect is unknown"));
    session.close(ShutdownReason::Quit).await;

    let (session, _) = Session::reopen(disk.config(&Scripted::new(Vec::new()))).unwrap();
    assert_eq!(kinds(&session).iter().filter(|kind| *kind == "notice").count(), 1, "told once");
}

#[tokio::test]
async fn lost_and_strange_lines_leave_a_history_that_can_be_sent() {
    let disk = Disk::new();
    let model = Scripted::new(vec![vec![call("c1", "same", ""), call("c2", "same", "")], vec![text("done")]]);
    let (session, _) = run_with(disk.config(&model), "go").await;
    session.close(ShutdownReason::Quit).await;
    let mut lines = disk.lines();
    lines.remove(4);
    let orphan = lines[4].replace("c2", "c9");
    lines.insert(5, orphan);
    lines.insert(3, "{\"id\":\"x\",\"seq\":3,\"at\":1,\"run\":1,\"kind\":\"hologram\"}".to_owned());
    lines.insert(3, "not json".to_owned());
    fs::write(disk.path(), lines.join("\n") + "\n").unwrap();
    let model = Scripted::new(vec![vec![text("ok")]]);
    let (mut session, _) = Session::reopen(disk.config(&model)).unwrap();
    assert!(entries(&session).iter().any(|entry| matches!(entry.body, EntryBody::Unknown { .. })));
    assert_eq!(session.run(Prompt::new("next"), CancellationToken::new()).await.text, "ok");
    session.close(ShutdownReason::Quit).await;
}

#[tokio::test]
async fn another_sessions_file_is_refused() {
    let disk = Disk::new();
    let model = Scripted::new(vec![vec![text("ok")]]);
    let (session, _) = run_with(disk.config(&model), "go").await;
    session.close(ShutdownReason::Quit).await;
    let config = SessionConfig { seat: crate::Seat::new("s2".into()), ..disk.config(&model) };
    assert!(Session::reopen(config).expect_err("another id").to_string().contains("not a session file"));
}

#[tokio::test]
async fn a_delivery_is_acknowledged_once_its_line_is_in_the_file() {
    let disk = Disk::new();
    let model = Scripted::new(vec![vec![text("ok")]]);
    let mut config = disk.config(&model);
    let path = disk.path();
    let seen: Arc<Mutex<Option<String>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let handed = std::sync::atomic::AtomicBool::new(false);
    let handed = Arc::new(handed);
    config.extensions.push(Arc::new(move |api: &mut crate::ExtensionApi| {
        let (path, sink, handed) = (path.clone(), Arc::clone(&sink), Arc::clone(&handed));
        api.on_before_turn(move |_| {
            let (path, sink) = (path.clone(), Arc::clone(&sink));
            let first = !handed.swap(true, std::sync::atomic::Ordering::SeqCst);
            Box::pin(async move {
                let message = CustomMessage::text("news", "the news");
                let delivery = crate::Delivery::new(message, move |_| {
                    *sink.lock().unwrap() = Some(fs::read_to_string(&path).unwrap_or_default());
                });
                first.then_some(delivery).into_iter().collect()
            })
        });
    }));
    let (session, _) = run_with(config, "go").await;
    session.close(ShutdownReason::Quit).await;
    assert!(seen.lock().unwrap().as_deref().expect("acknowledged").contains("the news"));
}

#[tokio::test]
async fn a_disk_that_refuses_does_not_stop_the_work() {
    let disk = Disk::new();
    fs::write(disk.folder.path().join("s1"), "a file where a folder should be").unwrap();
    let model = Scripted::new(vec![vec![text("ok")]]);
    let (_, outcome) = run_with(disk.config(&model), "go").await;
    assert_eq!((outcome.stop, outcome.text.as_str()), (RunStop::EndTurn, "ok"));
}

#[tokio::test]
async fn what_failed_attempts_used_is_read_back_and_counted_once() {
    let disk = Disk::new();
    let used = |tokens| Step::Usage(Usage::of_tokens(tokens, 0, 0, 0));
    let cut = || Step::Fail(model::ModelError::Cut { detail: "no finish".into() });
    let scripted = Scripted::new(vec![
        // Nothing of it arrived but the bill.
        vec![used(40), cut()],
        vec![text("half"), used(5), cut()],
        vec![text("done"), used(1)],
    ]);
    let ledger = Ledger::default();
    let retry = model::RetryPolicy { base_delay: Duration::ZERO, ..Default::default() };
    let config = SessionConfig { ledger: ledger.clone(), retry, ..disk.config(&scripted) };
    let (mut session, _) = Session::new(config).unwrap();
    let outcome = session.run(Prompt::new("go"), CancellationToken::new()).await;
    assert_eq!((outcome.usage.total, ledger.spent().total), (46, 46));
    session.close(ShutdownReason::Quit).await;

    for (kind, remembered) in [(SessionKind::Parent, 46), (SessionKind::Child, 0)] {
        let ledger = Ledger::default();
        ledger.set_reporting(true);
        let again = Scripted::new(Vec::new());
        let config = SessionConfig { kind, ledger: ledger.clone(), ..disk.config(&again) };
        let (session, _) = Session::reopen(config).unwrap();
        assert_eq!(session.info().usage.total, 46, "{kind:?}");
        // An agent's record remembers for it.
        assert_eq!((ledger.spent().total, ledger.take_report()), (remembered, None), "{kind:?}");
    }
}
