//! One place and many agents that end in every way: it is given back each time, and nobody is left waiting.

use std::time::{Duration, Instant};

use protocol::{AgentStopParams, AgentSummary, PingParams, StopScope, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::{Fault, Line};
use support::lab::Lab;
use vocab::AgentStatus;

const RUNS: usize = 200;
const KINDS: [&str; 7] = ["answers", "fails", "is-cut", "works", "ends-early", "hangs", "deaf"];

/// What a run does, in an order that looks like none and is the same each time.
fn kind(run: usize) -> &'static str {
    // The last kind takes a second each, so there are few of it.
    if run % 40 == 7 { "deaf" } else { KINDS[(run * 2_654_435_761) / 7 % (KINDS.len() - 1)] }
}

fn scripts(lab: &Lab) {
    let call = |command: &str| Line::call("bash", &json!({ "command": command }));
    lab.model.script("answers", vec![Line::text("an answer")]);
    lab.model.script("fails", vec![Line::text("never").failing(Fault::new("400", u64::MAX))]);
    lab.model.script("is-cut", vec![Line::text("half").failing(Fault::new("drop", u64::MAX))]);
    lab.model.script("works", vec![call("true"), Line::text("worked")]);
    lab.model.script("ends-early", vec![Line::text("some").failing(Fault::new("eof", u64::MAX))]);
    lab.model.script("hangs", vec![Line::text("hangs at it").gated("never")]);
    lab.model.script("deaf", vec![call("trap '' TERM INT; sleep 98795; sleep 98795"), Line::text("never")]);
}

fn is_active(row: &AgentSummary) -> bool {
    matches!(row.status, AgentStatus::Running | AgentStatus::Stopping)
}

#[test]
fn two_hundred_ends_of_all_kinds_give_the_place_back() {
    let lab = Lab::new();
    lab.settings(&json!({
        "maxConcurrent": 1, "retry": { "enabled": false }, "limits": { "descendants": 0 },
    }));
    scripts(&lab);
    let mut client = StdioClient::start(&lab);
    for run in 0..RUNS {
        client.spawn_agent(&format!("[[script {}]]", kind(run)));
    }
    let start = Instant::now();
    let mut skipped = 0;
    loop {
        let fleet = client.fleet();
        assert!(fleet.iter().filter(|row| is_active(row)).count() <= 1, "more than one has a place");
        let live = fleet.iter().filter(|row| !row.status.is_final()).count();
        if live == 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(2), "{live} are left");
        // Those that would run for ever are stopped where they stand, some of them in the queue.
        let endless =
            |row: &&AgentSummary| ["hangs", "deaf"].iter().any(|kind| row.description.contains(kind));
        let waiting = fleet.iter().filter(endless).find(|row| row.status == AgentStatus::Queued);
        let waiting = waiting.filter(|_| skipped < 10);
        skipped += usize::from(waiting.is_some());
        let running = fleet.iter().filter(endless).find(|row| row.status == AgentStatus::Running);
        for row in running.into_iter().chain(waiting) {
            let agent_id = Some(row.agent_id.clone());
            let params =
                AgentStopParams { agent_id, handle: None, session_id: None, scope: StopScope::Subtree };
            client.request::<method::AgentStop>(&params);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let counts = client.request::<method::Ping>(&PingParams {}).agents;
    assert_eq!((counts.running, counts.queued, counts.finished as usize), (0, 0, RUNS));
    let fleet = client.fleet();
    for (run, row) in fleet.iter().enumerate() {
        let kind = KINDS.iter().find(|kind| row.description.contains(**kind)).expect("one of the kinds");
        let expected = match *kind {
            "answers" | "works" => AgentStatus::Completed,
            "hangs" | "deaf" => AgentStatus::Stopped,
            _ => AgentStatus::Error,
        };
        assert_eq!(row.status, expected, "{run}: {row:?}");
    }
    let last = client.spawn_agent("[[script answers]]");
    assert_eq!(last.status, AgentStatus::Running, "the place is free");
    client.wait_status(&last.agent_id, AgentStatus::Completed);
    super::wait_idle(&lab.model);
    assert!(!lab.processes().iter().any(|process| process.name == "sleep"), "no command is left");
    client.finish();
}
