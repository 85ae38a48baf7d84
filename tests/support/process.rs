//! A look at processes through `/proc`: who descends from whom, what they use, whether they are gone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::wait_until;

/// One process. The start time tells it from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub pid: u32,
    started: u64,
    parent: u32,
    pub name: String,
}

/// The fields of `/proc/<pid>/stat` after the name, which may hold anything.
fn stat(pid: u32) -> Option<(String, Vec<String>)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = line.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    Some((name, tail.split_whitespace().map(str::to_owned).collect()))
}

impl Process {
    /// The process with this number, if it lives; one that is dead and not reaped does not.
    pub fn of(pid: u32) -> Option<Self> {
        let (name, fields) = stat(pid)?;
        if matches!(fields.first()?.as_str(), "Z" | "X") {
            return None;
        }
        let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
        Some(Self { pid, started: number(19)?, parent: number(1)? as u32, name })
    }

    /// Whether this very process lives.
    pub fn lives(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.started == self.started)
    }
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Process::of).collect()
}

/// A process and everything below it.
pub fn tree(pid: u32) -> Vec<Process> {
    let all = all();
    let mut inside = BTreeSet::from([pid]);
    // A child can have a smaller number than its parent: repeat until nothing is added.
    loop {
        let before = inside.len();
        let children: Vec<_> = all
            .iter()
            .filter(|process| inside.contains(&process.parent))
            .map(|process| process.pid)
            .collect();
        inside.extend(children);
        if inside.len() == before {
            break;
        }
    }
    all.into_iter().filter(|process| inside.contains(&process.pid)).collect()
}

/// The living processes that have `NAME=value` in their environment, wherever they hang: also those that a dead parent
/// left behind.
pub fn marked(name: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{name}={value}");
    let has_mark = |process: &Process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    all().into_iter().filter(has_mark).collect()
}

/// The living processes whose command line holds this text.
pub fn running(text: &str) -> Vec<Process> {
    let says = |process: &Process| {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    all().into_iter().filter(|process| process.pid != std::process::id()).filter(says).collect()
}

/// Whether a process works in this folder.
pub fn is_in(pid: u32, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
}

/// Waits until none of these processes lives.
///
/// # Panics
/// With those that still live after `limit`.
pub fn wait_gone(what: &str, processes: &[Process], limit: Duration) {
    let names: Vec<_> = processes.iter().map(|process| format!("{} {}", process.pid, process.name)).collect();
    wait_until(&format!("{what}: the end of {names:?}"), limit, || {
        (!processes.iter().any(Process::lives)).then_some(())
    });
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Its own time on the processors, in seconds.
    pub cpu_s: f64,
    /// That of its children that it has waited for.
    pub children_cpu_s: f64,
    pub rss_mib: f64,
    pub peak_rss_mib: f64,
    /// Memory of its own and its share of what it shares with others.
    pub pss_mib: f64,
    pub threads: u64,
}

impl Usage {
    /// Of one process; zeros if it is gone.
    pub fn of(pid: u32) -> Self {
        let (_, fields) = stat(pid).unwrap_or_default();
        // A tick is a hundredth of a second on every Linux that this runs on.
        let seconds =
            |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 100.0;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let shared = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        Self {
            cpu_s: seconds(11) + seconds(12),
            children_cpu_s: seconds(13) + seconds(14),
            rss_mib: number(&status, "VmRSS:") / 1024.0,
            peak_rss_mib: number(&status, "VmHWM:") / 1024.0,
            pss_mib: number(&shared, "Pss:") / 1024.0,
            threads: number(&status, "Threads:") as u64,
        }
    }
}

/// The number after a label at the start of a line.
fn number(text: &str, label: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_its_end_are_seen() {
        let mut child =
            std::process::Command::new("sleep").arg("60").env("ADJUTANT_MARK", "m1").spawn().unwrap();
        let found = Process::of(child.id()).unwrap();
        assert!(tree(std::process::id()).contains(&found));
        wait_until("the mark", crate::LIMIT, || {
            (marked("ADJUTANT_MARK", "m1") == [found.clone()]).then_some(())
        });
        assert!(Usage::of(child.id()).threads >= 1);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_gone("sleep", &[found], Duration::from_secs(5));
    }
}
