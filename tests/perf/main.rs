//! Figures of the release build beside those of `floor`, the least program that makes the same model calls, in the same
//! run. Prints a table; fails only where something is twice what it may be, or where a count is wrong.
//!
//! `cargo test --profile ci -p adjutant-tests --test perf [-- 1000]`: the argument is the size of the large fan-out.

mod measure;
mod table;

use std::io::Write;
use std::process::ExitCode;

use self::table::{Budget, Table};

/// Children of the fan-out where the command line does not say.
const CHILDREN: usize = 100;

fn main() -> ExitCode {
    let children = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(CHILDREN);
    let mut table = Table::default();

    let start = measure::start();
    table.row(
        "start to `initialize` answered, median of 20",
        start.as_secs_f64() * 1e3,
        "ms",
        Budget::AtMost(10.0),
    );
    let idle = measure::idle();
    table.row("idle memory, PSS", idle.pss_mib, "MiB", Budget::AtMost(10.0));
    table.row("idle threads", idle.threads as f64, "", Budget::None);

    let one = measure::foreground();
    let allowed = one.floor_ms + 0.3 * one.turns;
    table.row("one foreground child, 5 steps: floor", one.floor_ms, "ms", Budget::None);
    table.row("one foreground child, 5 steps, median", one.wall_ms, "ms", Budget::AtMost(allowed));

    let fan = measure::fan_out(children);
    let label = |what: &str| format!("{children} background children, 5 steps: {what}");
    table.row(&label("floor, wall"), fan.floor_wall_s, "s", Budget::None);
    table.row(&label("wall"), fan.wall_s, "s", Budget::AtMost(1.3 * fan.floor_wall_s));
    table.row(&label("floor, CPU"), fan.floor_cpu_s, "s", Budget::None);
    table.row(&label("CPU"), fan.cpu_s, "s", Budget::AtMost(2.0 * fan.floor_cpu_s));
    table.row(&label("floor, peak memory"), fan.floor_rss_mib, "MiB", Budget::None);
    let memory = if children <= 100 { 25.0 } else { 90.0 * children as f64 / 1000.0 };
    table.row(&label("peak memory"), fan.peak_rss_mib, "MiB", Budget::AtMost(memory));
    table.row(&label("last done to parent told"), fan.told_ms, "ms", Budget::AtMost(210.0));
    table.row(&label("ended well"), fan.completed as f64, "", Budget::Exactly(children as f64));
    table.row(&label("announced to the editor"), fan.announced as f64, "", Budget::Exactly(children as f64));
    table.row(&label("told to the model"), fan.delivered as f64, "", Budget::Exactly(children as f64));
    table.row(&label("told twice"), fan.twice as f64, "", Budget::Exactly(0.0));

    let restore = 50.0 * (children as f64 / 1000.0).max(1.0);
    table.row(&label("in the next server's roster"), fan.restored_ms, "ms", Budget::AtMost(restore));
    table.row(&label("restored"), fan.restored as f64, "", Budget::Exactly(children as f64));

    let latency = measure::latency();
    table.row("token in to event out, 20 children, p50", latency.p50_ms, "ms", Budget::AtMost(0.5));
    table.row("token in to event out, 20 children, p99", latency.p99_ms, "ms", Budget::AtMost(2.0));
    table.row("cancel to last connection closed, 100 children", measure::cancel(), "ms", Budget::AtMost(5.0));

    let mut out = std::io::stdout().lock();
    let _ = write!(out, "{table}").and_then(|()| out.flush());
    if table.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
