//! Looking up processes that we did not start ourselves but that came of one that we did.

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, Signal};

/// Where a process stands: its parent and its session.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kinship {
    parent: i32,
    session: i32,
}

/// The children of a single-threaded process, zombies among them.
#[cfg(target_os = "linux")]
pub(super) fn children_of(parent: Pid) -> Vec<Pid> {
    let pid = parent.as_raw_nonzero();
    match std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|text| Pid::from_raw(text.parse().ok()?)).collect(),
        // A kernel without that file: ask each process.
        Err(_) => all().filter(|(_, kin)| kin.parent == pid.get()).map(|(pid, _)| pid).collect(),
    }
}

/// Kills what is in a session, its leader apart. The caller holds the leader unreaped, so that its number is not
/// anyone else's; the members are told apart from later processes of their number by a second look through a handle.
#[cfg(target_os = "linux")]
pub(super) fn kill_session(leader: Pid) {
    let session = leader.as_raw_nonzero().get();
    // What forks while we look is found by the next look.
    for _ in 0..20 {
        let mut found = false;
        for (pid, _) in all().filter(|(pid, kin)| kin.session == session && *pid != leader) {
            let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if kinship(pid).is_some_and(|kin| kin.session == session) {
                found = true;
                // Gone meanwhile is as good.
                let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
            }
        }
        if !found {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    tracing::warn!(session, "processes of an ended command could not be killed");
}

/// Elsewhere there is no guard, and so nothing to do.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_session(_leader: Pid) {}

#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = (Pid, Kinship)> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        Some((pid, kinship(pid)?))
    })
}

/// `None` for a process that is gone or a zombie, which a signal no longer reaches.
#[cfg(target_os = "linux")]
fn kinship(pid: Pid) -> Option<Kinship> {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name in parentheses may hold anything, also parentheses and spaces.
    let after_name = &stat[memchr::memrchr(b')', &stat)? + 1..];
    let mut fields = std::str::from_utf8(after_name).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Kinship { parent, session })
}
