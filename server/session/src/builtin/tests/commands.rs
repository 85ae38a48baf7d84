//! bash.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Desk, text};

#[tokio::test]
async fn output_is_answered_and_silence_is_told() {
    let desk = Desk::new();
    let output = desk.call("bash", json!({ "command": "echo a; echo b >&2" })).await.unwrap();
    assert_eq!((text(&output), &output.details), ("a\nb\n", &Value::Null));
    assert_eq!(desk.text("bash", json!({ "command": "true" })).await, "(no output)");
}

#[tokio::test]
async fn a_failure_is_an_error_with_the_output() {
    let desk = Desk::new();
    assert_eq!(
        desk.error("bash", json!({ "command": "echo a; exit 3" })).await,
        "a\n\nCommand exited with code 3"
    );
    assert_eq!(desk.error("bash", json!({ "command": "false" })).await, "Command exited with code 1");
    assert_eq!(
        desk.error("bash", json!({ "command": "kill -9 $$" })).await,
        "Command was killed by signal 9"
    );
    let error = desk.error("bash", json!({ "command": "printf x; sleep 9", "timeout": 0.2 })).await;
    assert!(error.starts_with("x\n\nCommand timed out after 0.2 seconds"), "{error}");
}

#[tokio::test]
async fn faulty_arguments_start_nothing() {
    let desk = Desk::new();
    for (arguments, word) in [
        (json!({ "command": " " }), "empty"),
        (json!({ "command": "touch made\0" }), "NUL"),
        (json!({ "command": "touch made", "timeout": 0 }), "timeout"),
        (json!({ "command": "touch made", "timeout": 1e300 }), "timeout"),
    ] {
        assert!(desk.error("bash", arguments).await.contains(word), "{word}");
    }
    assert!(!desk.root().join("made").exists());
}

#[tokio::test]
async fn long_output_names_its_file() {
    let desk = Desk::new();
    let output = desk.call("bash", json!({ "command": "seq 1 5000" })).await.unwrap();
    let shown = text(&output);
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("4999\n5000\n"));
    let path = output.details["fullOutputPath"].as_str().unwrap();
    assert!(
        shown.contains(&format!("[3000 lines left out of 5000 (23.3KB). All output: `{path}`")),
        "{shown}"
    );
    assert!(shown.len() < 52_000);
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 5_000);
    let error = desk.error("bash", json!({ "command": "seq 1 5000; exit 2" })).await;
    assert!(error.ends_with("5000\n\nCommand exited with code 2"));
}

#[tokio::test]
async fn progress_is_the_end_of_the_output_so_far() {
    let desk = Desk::new();
    let command = json!({ "command": "echo a; sleep 0.3; seq 1 20000; sleep 0.3" });
    let (result, seen) = desk.call_watched("bash", command, &CancellationToken::new()).await;
    result.unwrap();
    assert_eq!(text(&seen[0]), "a\n");
    let last = seen.last().unwrap();
    assert!(text(last).ends_with("20000\n") && text(last).len() <= 4 * 1024);
    assert_eq!(last.details["outputBytes"], 108_896);
}

#[tokio::test]
async fn a_cancelled_command_ends_with_what_it_wrote() {
    let desk = Desk::new();
    let cancel = CancellationToken::new();
    let call = desk.call_watched("bash", json!({ "command": "echo a; sleep 100" }), &cancel);
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
        Instant::now()
    };
    let ((result, _), cancelled) = tokio::join!(call, stop);
    assert_eq!(result.unwrap_err().0, "a\n\nOperation aborted; the command was ended");
    assert!(cancelled.elapsed() < Duration::from_secs(1));
}
