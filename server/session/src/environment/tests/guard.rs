//! Commands behind the guard: whatever they start, nothing of it is left.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{ignore_output, request, run, wait_for_file, workspace};
use crate::environment::supervise::GuardReport;
use crate::environment::{CommandEnd, CommandRequest, Environment, EnvironmentError, LocalDisk, OutputDelta};

/// The example of this crate, which `cargo test` builds beside the tests.
fn guard_binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let binary = tests.parent().and_then(std::path::Path::parent).unwrap().join("examples/exec_guard");
    assert!(binary.exists(), "`cargo build --example exec_guard` first: {} is missing", binary.display());
    binary
}

fn guarded() -> (tempfile::TempDir, LocalDisk) {
    let (folder, disk) = workspace();
    (folder, disk.with_exec_guard(guard_binary()))
}

/// A text that only the processes of one test carry, as an argument of theirs.
fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // A length of sleep that nobody else has.
    format!("9{:06}.{}", NEXT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(arguments) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if entry.file_name().to_string_lossy().parse::<u32>().is_ok() && arguments.contains(mark) {
            found.push(format!("{} {arguments}", entry.file_name().display()));
        }
    }
    found
}

fn nothing_left(mark: &str) {
    let until = Instant::now() + Duration::from_secs(1);
    while !processes_with(mark).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(processes_with(mark), [""; 0]);
}

/// Each makes the file `ready` once it runs, and then goes on for ever.
const ZOO: [(&str, &str); 10] = [
    ("foreground", "echo > ready; sleep MARK"),
    ("background", "sleep MARK & sleep MARK & echo > ready; wait"),
    ("pipe", "echo > ready; sleep MARK | sleep MARK | cat"),
    ("detached", "setsid sleep MARK & echo > ready; sleep MARK"),
    (
        "twice detached",
        "setsid bash -c 'setsid sleep MARK & setsid sleep MARK & sleep MARK' & echo > ready; sleep MARK",
    ),
    ("disowned", "(nohup sleep MARK >/dev/null 2>&1 & disown); echo > ready; sleep MARK"),
    (
        "stubborn",
        "trap '' TERM HUP INT; setsid bash -c 'trap \"\" TERM; while :; do sleep MARK; done' & echo > ready; while :; do sleep MARK; done",
    ),
    ("flood", "echo > ready; (while :; do echo MARK >&2; done) & while :; do echo flood; done"),
    (
        "breeder",
        "(setsid bash -c 'while :; do setsid sleep MARK & sleep 0.01; done' &); echo > ready; sleep MARK",
    ),
    ("stopped", "sleep MARK & echo > ready; kill -STOP $!; kill -STOP $$"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_zoo_leaves_nothing() {
    for (name, command) in ZOO {
        let (_folder, disk) = guarded();
        let mark = mark();
        let wanted = request(&disk, &command.replace("MARK", &mark));
        let cancel = CancellationToken::new();
        let stop = async {
            wait_for_file(&disk.root().join("ready")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
            Instant::now()
        };
        let (outcome, cancelled) = tokio::join!(disk.spawn(wanted, &cancel, ignore_output()), stop);
        let took = cancelled.elapsed();
        assert_eq!(outcome.unwrap().end, CommandEnd::Cancelled, "{name}");
        assert_eq!(processes_with(&mark), [""; 0], "{name}: all is gone before the answer");
        assert!(took < Duration::from_millis(1_900), "{name}: {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_leaves_nothing() {
    for (name, command) in ZOO {
        let (_folder, disk) = guarded();
        let mark = mark();
        let wanted = request(&disk, &command.replace("MARK", &mark));
        let never = CancellationToken::new();
        let ready = disk.root().join("ready");
        tokio::select! {
            outcome = disk.spawn(wanted, &never, ignore_output()) => panic!("{name}: {outcome:?}"),
            _ = wait_for_file(&ready) => {}
        }
        nothing_left(&mark);
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    for command in
        ["sleep MARK & echo done", "setsid sleep MARK & echo done", "(setsid nohup sleep MARK &) ; echo done"]
    {
        let (_folder, disk) = guarded();
        let mark = mark();
        let started = Instant::now();
        let outcome = run(&disk, &command.replace("MARK", &mark)).await;
        assert_eq!(
            (outcome.end, outcome.output.head.as_str()),
            (CommandEnd::Exited(0), "done\n"),
            "{command}"
        );
        assert!(outcome.left_running);
        assert!(started.elapsed() < Duration::from_secs(1));
        assert_eq!(processes_with(&mark), [""; 0], "{command}");
    }
}

#[tokio::test]
async fn a_late_writer_gets_its_moment() {
    let (_folder, disk) = guarded();
    let outcome = run(&disk, "echo first > >(sleep 0.05; cat)").await;
    assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::Exited(0), "first\n"));
}

#[tokio::test]
async fn ends_are_told_exactly() {
    let (_folder, disk) = guarded();
    assert_eq!(run(&disk, "exit 137").await.end, CommandEnd::Exited(137));
    assert_eq!(run(&disk, "kill -SEGV $$").await.end, CommandEnd::Signalled(11));
    let outcome = run(&disk, "true").await;
    assert_eq!((outcome.end, outcome.left_running), (CommandEnd::Exited(0), false));
    assert_eq!(
        run(&disk, "ulimit -c; ls -l /proc/self/fd/0 | grep -c /dev/null").await.output.head,
        "0\n1\n"
    );
}

#[tokio::test]
async fn time_runs_out_under_a_guard() {
    let (_folder, disk) = guarded();
    let mark = mark();
    let command = format!("echo x; setsid sleep {mark} & sleep {mark}");
    let wanted = CommandRequest { timeout: Duration::from_millis(300), ..request(&disk, &command) };
    let outcome = disk.spawn(wanted, &CancellationToken::new(), ignore_output()).await.unwrap();
    assert_eq!((outcome.end, outcome.output.head.as_str()), (CommandEnd::TimedOut, "x\n"));
    assert_eq!(processes_with(&mark), [""; 0]);
}

#[tokio::test]
async fn a_missing_shell_is_told_by_the_guard() {
    let (_folder, disk) = guarded();
    let disk = disk.with_shell("/nonexistent/shell");
    let error =
        disk.spawn(request(&disk, "true"), &CancellationToken::new(), ignore_output()).await.unwrap_err();
    assert!(
        matches!(&error, EnvironmentError::Start(reason) if reason.contains("/nonexistent/shell")),
        "{error}"
    );
}

#[tokio::test]
async fn a_command_that_kills_its_guard_is_swept_away() {
    let (_folder, disk) = guarded();
    let mark = mark();
    let outcome = run(&disk, &format!("sleep {mark} & kill -KILL $PPID; sleep {mark}")).await;
    assert!(matches!(outcome.end, CommandEnd::Lost(_)), "{:?}", outcome.end);
    nothing_left(&mark);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_takes_its_commands_with_it() {
    for (name, command) in ZOO {
        let folder = tempfile::tempdir().unwrap();
        let mark = mark();
        // A process that holds the lifeline as the server does, and is then killed as the server may be.
        let script = "import os,socket,subprocess,sys,time\n\
            ours,guards=socket.socketpair()\n\
            subprocess.Popen([sys.argv[1],'exec-guard','--','/bin/bash','-c',sys.argv[2]],stdin=guards,\
            stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)\n\
            guards.close()\n\
            time.sleep(100)\n";
        let mut server = Command::new("python3")
            .args(["-c", script])
            .arg(guard_binary())
            .arg(command.replace("MARK", &mark))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_file(&folder.path().join("ready")).await;
        server.kill().unwrap();
        server.wait().unwrap();
        let killed = Instant::now();
        nothing_left(&mark);
        assert!(killed.elapsed() < Duration::from_secs(1), "{name}");
    }
}

#[tokio::test]
async fn three_hundred_megabytes_are_capped_in_memory_and_on_disk() {
    let (folder, disk) = guarded();
    let disk = disk.with_spill_folder(folder.path().join("spill"));
    let outcome = run(&disk, "head -c 300000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo end").await;
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    let output = outcome.output;
    assert!(output.total_bytes > 300_000_000 && output.tail.ends_with("end\n"));
    assert!(output.head.len() + output.tail.len() <= 50 * 1024);
    let spill = output.spill.unwrap();
    assert!(spill.cut);
    assert_eq!(std::fs::metadata(&spill.path).unwrap().len(), 64 * 1024 * 1024);
}

#[tokio::test]
async fn output_is_shown_while_it_comes() {
    let (_folder, disk) = guarded();
    let seen = Arc::new(Mutex::new(Vec::<OutputDelta>::new()));
    let sink = Arc::clone(&seen);
    let on_output = Arc::new(move |delta| sink.lock().unwrap().push(delta));
    let wanted = request(&disk, "echo a; sleep 0.3; echo b");
    disk.spawn(wanted, &CancellationToken::new(), on_output).await.unwrap();
    let seen = seen.lock().unwrap();
    let shown: Vec<_> = seen.iter().map(|delta| (delta.offset, delta.text.as_str())).collect();
    assert_eq!(shown, [(0, "a\n"), (2, "b\n")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_side_by_side() {
    let (_folder, disk) = guarded();
    let tasks: Vec<_> = (0..60)
        .map(|n| {
            let disk = disk.clone();
            tokio::spawn(async move { run(&disk, &format!("sleep 0.1; echo {n}; exit {n}")).await })
        })
        .collect();
    for (n, task) in (0..).zip(tasks) {
        let outcome = task.await.unwrap();
        assert_eq!((outcome.end, outcome.output.head), (CommandEnd::Exited(n), format!("{n}\n")));
    }
}

#[tokio::test]
async fn confined_writes_reach_only_what_is_named() {
    let (_folder, disk) = guarded();
    // Outside of the temporary folders, which stay writable.
    let outside = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let target = outside.path().join("f");
    let command = format!(
        "echo x > {} || echo refused; echo y > inside; cat inside; echo z > /dev/null; \
        echo s > >(cat); mkdir d && mv inside d/ && ls d",
        target.display()
    );
    let confined = disk.clone().with_confined_writes([]);
    let outcome = run(&confined, &command).await;
    if outcome.output.head.starts_with('y') {
        // The kernel has no Landlock: nothing to see.
        return;
    }
    assert!(outcome.output.head.contains("refused\ny\n"), "{}", outcome.output.head);
    assert!(outcome.output.head.contains("s\n") && outcome.output.head.contains("inside\n"));
    assert!(!target.exists());
    let allowed = disk.with_confined_writes([outside.path().to_owned()]);
    assert!(!run(&allowed, &command).await.output.head.contains("refused"));
    assert!(target.exists());
}

#[test]
fn a_guard_run_by_hand_says_what_it_is() {
    let output = Command::new(guard_binary())
        .args(["exec-guard", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("internal"));
}

#[test]
fn a_report_reads_as_it_was_written_and_nothing_else_does() {
    let reports = [
        GuardReport::Exited { code: -1, left_running: true },
        GuardReport::Signalled { signal: 9, left_running: false },
        GuardReport::Failed("two\nlines".to_owned()),
    ];
    for report in reports {
        let read = GuardReport::parse(report.encode().as_bytes()).unwrap();
        assert_eq!(read.encode(), report.encode());
    }
    for text in ["", "exited 1 true", "exited x true\n", "exited 1\n", "other 1 true\n"] {
        assert_eq!(GuardReport::parse(text.as_bytes()), None, "{text:?}");
    }
}
