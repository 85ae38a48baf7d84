//! Commands as mere process groups, without a guard.

use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{ignore_output, request, run, workspace};
use crate::environment::{CommandEnd, CommandRequest, Environment, EnvironmentError};

#[tokio::test]
async fn output_of_both_kinds_comes_in_order_with_the_code() {
    let (_folder, disk) = workspace();
    let outcome = run(&disk, "echo a; echo b >&2; echo c; pwd; exit 3").await;
    assert_eq!(outcome.end, CommandEnd::Exited(3));
    assert_eq!(outcome.output.head, format!("a\nb\nc\n{}\n", disk.root().display()));
}

#[tokio::test]
async fn a_command_gets_no_input() {
    let (_folder, disk) = workspace();
    assert_eq!(run(&disk, "cat; read x || echo none").await.output.head, "none\n");
}

#[tokio::test]
async fn a_command_that_a_signal_killed_did_not_succeed() {
    let (_folder, disk) = workspace();
    assert_eq!(run(&disk, "kill -KILL $$").await.end, CommandEnd::Signalled(9));
}

#[tokio::test]
async fn a_missing_folder_or_shell_is_told() {
    let (_folder, disk) = workspace();
    let gone = CommandRequest { cwd: disk.root().join("gone"), ..request(&disk, "true") };
    let error = disk.spawn(gone, &CancellationToken::new(), ignore_output()).await.unwrap_err();
    assert!(matches!(error, EnvironmentError::NotFound(_)));
    let disk = disk.with_shell("/nonexistent/shell");
    let error =
        disk.spawn(request(&disk, "true"), &CancellationToken::new(), ignore_output()).await.unwrap_err();
    assert!(matches!(error, EnvironmentError::Start(_)), "{error}");
}

#[tokio::test]
async fn time_runs_out() {
    let (_folder, disk) = workspace();
    let wanted =
        CommandRequest { timeout: Duration::from_millis(200), ..request(&disk, "echo x; sleep 100; echo y") };
    let started = Instant::now();
    let outcome = disk.spawn(wanted, &CancellationToken::new(), ignore_output()).await.unwrap();
    assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::TimedOut, "x\n"));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_stubborn_group_is_killed_after_its_grace() {
    let (_folder, disk) = workspace();
    let cancel = CancellationToken::new();
    let command = request(&disk, "trap '' TERM; echo x; while :; do sleep 0.05; done");
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(disk.spawn(command, &cancel, ignore_output()), stop);
    assert_eq!(outcome.unwrap().end, CommandEnd::Cancelled);
    assert!(cancelled.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_background_process_of_the_group_does_not_hold_the_answer() {
    let (_folder, disk) = workspace();
    let started = Instant::now();
    let outcome = run(&disk, "sleep 100 & echo done").await;
    assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::Exited(0), "done\n"));
    assert!(started.elapsed() < Duration::from_secs(1));
}

/// The first look at a call only hands its start to another thread; all of them would else start one after the other here.
#[tokio::test]
async fn starting_commands_holds_up_nobody_else() {
    let (_folder, disk) = workspace();
    let cancel = CancellationToken::new();
    let mut calls = Vec::new();
    for n in 0..12 {
        calls.push(disk.spawn(request(&disk, &format!("touch made-{n}")), &cancel, ignore_output()));
    }
    for call in &mut calls {
        assert!(call.now_or_never().is_none());
    }
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().end, CommandEnd::Exited(0));
        assert!(disk.root().join(format!("made-{n}")).exists());
    }
}

#[tokio::test]
async fn a_call_dropped_while_it_starts_leaves_nothing_running() {
    let (_folder, disk) = workspace();
    let cancel = CancellationToken::new();
    let mut call = disk.spawn(request(&disk, "sleep 1; touch made"), &cancel, ignore_output());
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!disk.root().join("made").exists());
}

#[tokio::test]
async fn a_cancelled_call_starts_nothing() {
    let (_folder, disk) = workspace();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = disk.spawn(request(&disk, "touch made"), &cancel, ignore_output()).await;
    assert!(matches!(result, Err(EnvironmentError::Cancelled)));
    assert!(!disk.root().join("made").exists());
}
