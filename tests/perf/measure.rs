//! The measurements: each starts a server of its own.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use protocol::{AgentStopAllParams, method};
use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::Record;
use support::lab::Lab;
use support::process::Usage;
use vocab::AgentStatus;

/// What is done in a fan-out: five turns of 20 ms and 50 tokens, each with a call, and an answer.
const STEPS: &str = "k=5 tool=read delay_ms=20 tokens=50";
/// How long a large fan-out may take at all.
const PATIENCE: Duration = Duration::from_mins(3);

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// From the start of the process to the answer to `initialize`.
pub(crate) fn start() -> Duration {
    let lab = Lab::for_figures();
    let once = || {
        let before = Instant::now();
        let client = StdioClient::start(&lab);
        let took = before.elapsed().as_secs_f64();
        client.finish();
        took
    };
    once();
    Duration::from_secs_f64(median((0..20).map(|_| once()).collect()))
}

/// What an idle server uses, a session open.
pub(crate) fn idle() -> Usage {
    let lab = Lab::for_figures();
    let mut client = StdioClient::start(&lab);
    client.open_session();
    std::thread::sleep(Duration::from_millis(500));
    let usage = Usage::of(client.pid());
    client.finish();
    usage
}

/// One child that its caller waits for.
#[derive(Debug)]
pub(crate) struct Foreground {
    pub wall_ms: f64,
    /// The time that the model itself takes for the same calls, the parent's counted in.
    pub floor_ms: f64,
    /// Model calls in all.
    pub turns: f64,
}

pub(crate) fn foreground() -> Foreground {
    let lab = Lab::for_figures();
    let mut client = StdioClient::introduced(&lab, unlimited());
    let prompt = format!("[[fan-out n=1 bg=false]] [[steps {STEPS} id=%i]]");
    client.run(&prompt);
    let mut walls = Vec::new();
    for _ in 0..9 {
        let before = Instant::now();
        client.run(&prompt);
        walls.push(before.elapsed().as_secs_f64() * 1e3);
    }
    client.finish();
    let child = (0..9).map(|_| floor(&lab, 1)["wall_s"].as_f64().unwrap_or_default() * 1e3).collect();
    // The parent's two calls have no delay: what they cost is what the least client needs for them.
    let parent =
        (0..9).map(|_| floor_of(&lab, 1, 1, 0)["wall_s"].as_f64().unwrap_or_default() * 1e3).collect();
    Foreground { wall_ms: median(walls), floor_ms: median(child) + median(parent), turns: 8.0 }
}

/// `floor` with these many conversations.
fn floor(lab: &Lab, children: usize) -> Value {
    floor_of(lab, children, 5, 20)
}

fn floor_of(lab: &Lab, children: usize, turns: usize, delay_ms: usize) -> Value {
    let number = |value: usize| value.to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_floor"))
        .current_dir(lab.work())
        .args(["--port", &lab.model.port().to_string(), "--n", &number(children), "--k", &number(turns)])
        .args(["--delay-ms", &number(delay_ms), "--tokens", "50"])
        .output()
        .expect("floor runs");
    serde_json::from_slice(&output.stdout).expect("floor prints its figures")
}

fn unlimited() -> Introduction {
    Introduction::default().with_settings(json!({
        "permissions": { "mode": "auto" }, "maxConcurrent": 65_536, "limits": { "descendants": 0 },
    }))
}

/// Many children beside the session.
#[derive(Debug)]
pub(crate) struct FanOut {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub peak_rss_mib: f64,
    pub floor_wall_s: f64,
    pub floor_cpu_s: f64,
    pub floor_rss_mib: f64,
    /// From the last child's last byte to the parent's request that tells of it.
    pub told_ms: f64,
    pub completed: usize,
    pub announced: usize,
    pub delivered: usize,
    /// Agents that were announced, or told of, more than once.
    pub twice: usize,
    /// From `initialized` of the next server to its whole roster.
    pub restored_ms: f64,
    /// Agents in it.
    pub restored: usize,
}

pub(crate) fn fan_out(children: usize) -> FanOut {
    let lab = Lab::for_figures();
    let floors: Vec<Value> = (0..3).map(|_| floor(&lab, children)).collect();
    let of_floor =
        |key: &str| median(floors.iter().map(|figures| figures[key].as_f64().unwrap_or(f64::NAN)).collect());
    lab.model.reset();

    let mut client = StdioClient::introduced(&lab, unlimited());
    client.open_session();
    let prompt = format!("[[fan-out n={children} bg=true]] [[steps {STEPS} id=%i]]");
    let before = Usage::of(client.pid());
    let started = Instant::now();
    let pending = client.prompt(&prompt);
    let finals = support::wait_until("the children's last answers", PATIENCE, || {
        let records = lab.model.requests();
        let done = records.iter().filter(|record| record.kind == "final" && record.t_end > 0).count();
        (done == children).then_some(records)
    });
    let agents = client.wait_ended(children);
    let wall = settled_after(&agents, started, &finals);
    client.wait(&pending).expect("the prompt is answered");
    let told = support::wait_until("the parent is told of all", Duration::from_secs(30), || {
        let records = lab.model.requests();
        let seen: usize =
            records.iter().filter(|record| record.kind == "ack").map(|record| record.done_seen).sum();
        (seen >= children && records.iter().all(|record| record.t_end > 0)).then_some(records)
    });
    let after = Usage::of(client.pid());
    let (announced, announced_twice) = announced(&client);
    let delivered: usize =
        told.iter().filter(|record| record.kind == "ack").map(|record| record.done_seen).sum();
    client.finish();
    let mut next = StdioClient::introduced(&lab, unlimited());
    let begun = Instant::now();
    let restored = next.fleet().len();
    let restored_ms = begun.elapsed().as_secs_f64() * 1e3;
    next.finish();
    let last_done =
        told.iter().filter(|record| record.kind == "final").map(|record| record.t_end).max().unwrap_or(0);
    let told_at =
        told.iter().filter(|record| record.kind == "ack").map(|record| record.t_head).max().unwrap_or(0);
    FanOut {
        wall_s: wall,
        cpu_s: after.cpu_s - before.cpu_s,
        peak_rss_mib: after.peak_rss_mib,
        floor_wall_s: of_floor("wall_s"),
        floor_cpu_s: of_floor("cpu_s"),
        floor_rss_mib: of_floor("peak_rss_mib"),
        told_ms: told_at.saturating_sub(last_done) as f64 / 1e3,
        completed: agents.iter().filter(|agent| agent.status == AgentStatus::Completed).count(),
        announced,
        delivered,
        twice: announced_twice + delivered.saturating_sub(children),
        restored_ms,
        restored,
    }
}

/// From the prompt to the moment in which the last child settled, by the server's own clock; the model's first and last
/// byte bound it where clocks are coarse.
fn settled_after(agents: &[protocol::AgentSummary], started: Instant, records: &[Record]) -> f64 {
    let first = records.iter().map(|record| record.t_head).min().unwrap_or(0);
    let last = agents.iter().filter_map(|agent| agent.completed_at).map(|at| at.0 * 1000).max().unwrap_or(0);
    let last = last.max(records.iter().map(|record| record.t_end).max().unwrap_or(0));
    (last.saturating_sub(first) as f64 / 1e6).min(started.elapsed().as_secs_f64())
}

/// How many agents were announced, and how many more than once.
fn announced(client: &StdioClient) -> (usize, usize) {
    let mut counts = BTreeMap::new();
    for note in client.seen::<method::AgentCompleted>() {
        for completion in note.completions {
            *counts.entry((completion.agent_id, completion.run)).or_insert(0) += 1;
        }
    }
    (counts.len(), counts.values().filter(|count| **count > 1).count())
}

/// From a token's way out of the model to its event's way into the client.
#[derive(Debug)]
pub(crate) struct Latency {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

pub(crate) fn latency() -> Latency {
    let lab = Lab::for_figures();
    let mut client = StdioClient::introduced(&lab, unlimited());
    let unix_zero = unix_zero();
    let spawned: Vec<_> = (0..20)
        .map(|id| {
            client.spawn_agent(&format!("[[steps k=0 delay_ms=300 tokens=60 tok_ms=34 stamp=true id={id}]]"))
        })
        .collect();
    for agent in &spawned {
        client.open_agent(&agent.agent_id);
    }
    client.wait_ended(20);
    let mut delays = Vec::new();
    for note in client.notes().into_iter().filter(|note| note.method == "adjutant/agent/event") {
        if note.params["event"]["type"] != "textDelta" {
            continue;
        }
        let arrived = note.at.duration_since(unix_zero.0).as_micros() as u64 + unix_zero.1;
        let text = note.params["event"]["text"].as_str().unwrap_or_default();
        let stamps = text.split_whitespace().filter_map(|word| word.strip_prefix('@')?.parse::<u64>().ok());
        delays.extend(stamps.map(|sent| arrived.saturating_sub(sent) as f64 / 1e3));
    }
    client.finish();
    assert!(delays.len() > 1000, "every token arrives: {}", delays.len());
    delays.sort_by(f64::total_cmp);
    Latency { p50_ms: percentile(&delays, 0.5), p99_ms: percentile(&delays, 0.99) }
}

/// A moment on the monotonic clock, and the same in Unix microseconds.
fn unix_zero() -> (Instant, u64) {
    (Instant::now(), support::fake_model::now_us())
}

/// Stop of everything to the end of the last connection, with 100 children that stream; in milliseconds.
pub(crate) fn cancel() -> f64 {
    let lab = Lab::for_figures();
    let mut client = StdioClient::introduced(&lab, unlimited());
    for id in 0..100 {
        client.spawn_agent(&format!("[[steps k=0 tokens=100000 tok_ms=50 id={id}]]"));
    }
    support::wait_until("a hundred streams", support::LIMIT, || {
        (lab.model.requests().iter().filter(|record| record.t_first > 0).count() == 100).then_some(())
    });
    let before = support::fake_model::now_us();
    client.request::<method::AgentStopAll>(&AgentStopAllParams::default());
    let last = support::wait_until("the end of the streams", support::LIMIT, || {
        let records = lab.model.requests();
        records.iter().all(|record| record.t_end > 0).then(|| records.iter().map(|record| record.t_end).max())
    });
    client.wait_ended(100);
    client.finish();
    last.unwrap_or(0).saturating_sub(before) as f64 / 1e3
}
