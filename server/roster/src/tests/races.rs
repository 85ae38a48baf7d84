//! Deeds that meet in one tick, in every order that they can come in.

use vocab::{AgentId, AgentStatus, EndedBy};

use super::random::launch_of;
use super::script::{Stage, stage};
use crate::{CallId, Input, Launch, ResumeRequest};

/// Plays every order of `lines` between a beginning and an end; gives the number of orders.
fn every_order(before: &str, lines: &[&str], after: &str, check: &mut dyn FnMut(&[&str], &Stage)) -> usize {
    fn permute(at: usize, lines: &mut [&str], visit: &mut dyn FnMut(&[&str])) {
        if at == lines.len() {
            visit(lines);
        }
        for other in at..lines.len() {
            lines.swap(at, other);
            permute(at + 1, lines, visit);
            lines.swap(at, other);
        }
    }
    let mut orders = 0;
    permute(0, &mut lines.to_vec(), &mut |order| {
        orders += 1;
        let played = stage(&format!("{before}\n{}\n{after}", order.join("\n")));
        check(order, &played);
    });
    orders
}

fn at(order: &[&str], line: &str) -> usize {
    order.iter().position(|other| *other == line).unwrap_or_else(|| panic!("no line {line}"))
}

fn run(number: u32) -> (AgentId, u32) {
    (AgentId::from("a"), number)
}

#[test]
fn fetch_against_notice() {
    let mut orders = 0;
    for fetch in ["read a consume", "await a consume"] {
        for answer in ["delivered b1", "returned b1"] {
            let lines = ["settle a ok \"found\"", fetch, "+200ms", "drain s idle", answer, "drain s"];
            let after = "+1s\nreturned b1\nreturned b2\ndrain s\ndelivered b1\ndelivered b2\ndelivered b3";
            orders += every_order("open s\nspawn a explore bg", &lines, after, &mut |order, played| {
                let delivered = played.watch.delivered.contains(&run(1));
                let consumed = played.watch.consumed.contains(&run(1));
                assert!(delivered != consumed, "{order:#?}\n{}", played.shown);
                let told = played.shown.matches("fact delivered").count();
                assert_eq!(told, usize::from(delivered), "{}", played.shown);
                // Whoever has fetched the text before it was told has it, and is not told.
                let fetched = at(order, fetch) > at(order, lines[0]) || fetch.starts_with("await");
                let had = played.shown.contains(": a#1 completed \"found\"");
                assert_eq!(had, fetched, "{}", played.shown);
                assert!(fetched || delivered, "{}", played.shown);
            });
        }
    }
    assert!(orders >= 1_000);
}

#[test]
fn stop_settle_and_resume() {
    let (stop, settle, resume, steer) =
        ("stop a", "settle a#1 ok \"first\"", "resume a bg", "steer a \"left\"");
    let lines = [stop, settle, resume, steer, "await a", "read a"];
    let before = "open s max=1\nspawn a explore bg\nstart a";
    every_order(before, &lines, "settle a#2 ok \"second\"\n+4s", &mut |order, played| {
        let position = |line| at(order, line);
        let resumed = position(resume) > position(settle);
        let first_stopped = position(stop) < position(settle);
        let second_stopped = resumed && position(stop) > position(resume);
        let status = |stopped: bool| if stopped { AgentStatus::Stopped } else { AgentStatus::Completed };
        let context = || format!("{order:#?}\n{}", played.shown);
        let (first, _) = &played.watch.outcomes[&run(1)];
        assert_eq!((first.status, first.text.as_str()), (status(first_stopped), "first"), "{}", context());
        let second = played.watch.outcomes.get(&run(2)).map(|(outcome, _)| outcome.status);
        assert_eq!(second, resumed.then(|| status(second_stopped)), "{}", context());
        assert_eq!(played.shown.contains("refused: a is still"), !resumed, "{}", context());
        // A run that is being stopped, or has ended, takes no message.
        let live_first = position(steer) < position(settle) && position(steer) < position(stop);
        let between = position(resume) < position(stop) && position(stop) < position(steer);
        let live_second = resumed && position(steer) > position(resume) && !between;
        let taken = played.shown.contains(": s1 now") || played.shown.contains(": s1 queued");
        assert_eq!(taken, live_first || live_second, "{}", context());
        // Each caller has its answer, and no place is taken for ever.
        for call in 1..=6 {
            assert_eq!(played.shown.matches(&format!("  c{call}: ")).count(), 1, "{}", context());
        }
        assert_eq!(played.roster.permits_in_use(&"s".into()), 0);
    });
}

#[test]
fn a_refused_resume_changes_nothing_in_any_state() {
    let queued = "open s max=1\nspawn b explore bg\nspawn a explore bg";
    let running = "open s\nspawn a explore bg";
    let states = [
        (queued.to_owned(), AgentStatus::Queued),
        (running.to_owned(), AgentStatus::Running),
        (format!("{running}\nstart a"), AgentStatus::Running),
        (format!("{running}\nstart a\nstop a"), AgentStatus::Stopping),
        (format!("{running}\nsettle a ok\nresume a bg \"the winner\""), AgentStatus::Running),
    ];
    for (script, status) in states {
        for background in [true, false] {
            let mut played = stage(&script);
            let before = played.roster.clone();
            assert_eq!(before.agent(&"a".into()).map(crate::AgentRecord::status), Some(status));
            let launch = Launch { prompt: "the loser".to_owned(), ..launch_of(background) };
            let request = ResumeRequest { agent: "a".into(), launch };
            played.apply(&Input::Resume { call: CallId(99), request });
            assert!(played.shown.contains(&format!("c99: refused: a is still {}", status.as_str())));
            assert!(played.roster == before, "{script}\n{}", played.shown);
        }
    }
}

/// From the spawn of an agent that has to wait to its first words.
const STEPS: [&str; 6] =
    ["spawn a explore bg", "settle b ok", "start a", "progress a waiting=model", "progress a turns=1", ""];

#[test]
fn a_stop_at_every_step_is_one_end() {
    for steps in 1..=STEPS.len() {
        for stop in ["stop a one", "stop a", "stopall s", "stopall"] {
            let before = STEPS[..steps].join("\n");
            let played = stage(&format!(
                "open s max=1\nspawn b explore bg\n{before}\n{stop}\n{stop}\nsettle a ok \"words\"\nsettle b ok\n+4s"
            ));
            let (outcome, _) = &played.watch.outcomes[&run(1)];
            assert_eq!((outcome.status, outcome.ended_by), (AgentStatus::Stopped, EndedBy::User), "{before}");
            let started = steps > 1;
            assert_eq!(played.shown.contains("cancel a#1 by user"), started, "{}", played.shown);
            assert_eq!(outcome.text, if started { "words" } else { "" }, "{}", played.shown);
            assert_eq!(
                played.shown.contains("start a#1"),
                started,
                "a stop starts nothing: {}",
                played.shown
            );
            assert_eq!(played.shown.matches("fact settled a#1").count(), 1);
        }
    }
}

#[test]
fn a_wait_at_every_step_gets_the_end_and_a_look_gets_the_state() {
    for steps in 1..=STEPS.len() {
        let before = STEPS[..steps].join("\n");
        let played = stage(&format!(
            "open s max=1\nspawn b explore bg\n{before}\nread a consume\nawait a consume\nsettle b ok\n\
             settle a ok \"words\"\n+4s\ndrain s"
        ));
        let state = if steps == 1 { "c3: a#1 queued at 1" } else { "c3: a#1 running" };
        assert!(played.shown.contains(state), "{}", played.shown);
        assert_eq!(played.shown.matches("c4: a#1 completed \"words\"").count(), 1, "{}", played.shown);
        assert!(played.watch.consumed.contains(&run(1)), "{}", played.shown);
        assert!(!played.watch.given.contains(&run(1)), "the news was withdrawn: {}", played.shown);
    }
}

#[test]
fn a_message_at_every_step_is_told_where_it_goes() {
    for steps in 1..=STEPS.len() {
        let before = STEPS[..steps].join("\n");
        let played = stage(&format!(
            "open s max=1\nspawn b explore bg\n{before}\nsteer a \"one\"\nsteer a \"two\"\nsettle b ok\nstart a"
        ));
        let now = steps >= 3;
        let answers = if now { ["c3: s1 now", "c4: s2 now"] } else { ["c3: s1 queued", "c4: s2 queued"] };
        for answer in answers {
            assert!(played.shown.contains(answer), "{}", played.shown);
        }
        // In order, once, with the start or after it.
        let handed =
            played.shown.lines().filter(|line| line.contains("start a#1") || line.contains("  steer a#1"));
        let handed = handed.collect::<Vec<_>>().join("\n");
        let place = |text: &str| handed.find(text).unwrap_or_else(|| panic!("no {text}: {}", played.shown));
        assert!(place("\"one\"") < place("\"two\""), "{}", played.shown);
        assert_eq!((handed.matches("\"one\"").count(), handed.matches("\"two\"").count()), (1, 1));
    }
    for (script, status) in [
        ("spawn a explore bg\nstop a", "stopping"),
        ("spawn a explore bg\nsettle a ok", "completed"),
        ("spawn a explore bg\nsettle a error", "error"),
        ("spawn a explore bg\nsettle a aborted", "aborted"),
        ("spawn a explore bg\nstop a\nsettle a ok", "stopped"),
    ] {
        let played = stage(&format!("open s\n{script}\nsteer a \"late\""));
        let refusal = format!("refused: a is not running but {status}");
        assert!(played.shown.contains(&refusal), "{}", played.shown);
        assert!(!played.shown.contains("  steer a#1"), "{}", played.shown);
    }
}
