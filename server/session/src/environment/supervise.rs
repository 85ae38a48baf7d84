//! A started command as the server holds it: under a guard, or as a mere process group where there is none.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::processes;

/// What the server writes to the guard to have the command ended politely.
pub(super) const POLITE_END: u8 = b'T';
/// Most bytes of a guard's report.
const REPORT_CAP: usize = 4096;
/// How often a mere group is looked at, should a signal of the system be lost.
const LOOK: Duration = Duration::from_millis(250);
/// How long an ended process may take to be collected.
const REAP: Duration = Duration::from_secs(2);

/// How a command ended, as its guard tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GuardReport {
    Exited { code: i32, left_running: bool },
    Signalled { signal: i32, left_running: bool },
    Failed(String),
}

impl GuardReport {
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Exited { code, left_running } => format!("exited {code} {left_running}\n"),
            Self::Signalled { signal, left_running } => format!("signalled {signal} {left_running}\n"),
            Self::Failed(reason) => format!("failed {}\n", reason.replace('\n', " ")),
        }
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ')?;
        let numbers = || {
            let (number, flag) = rest.split_once(' ')?;
            Some((number.parse().ok()?, flag.parse().ok()?))
        };
        match word {
            "exited" => numbers().map(|(code, left_running)| Self::Exited { code, left_running }),
            "signalled" => numbers().map(|(signal, left_running)| Self::Signalled { signal, left_running }),
            "failed" => Some(Self::Failed(rest.to_owned())),
            _ => None,
        }
    }
}

/// A running command. Dropped, it is killed.
#[derive(Debug)]
pub(super) enum Running {
    Guarded(Guarded),
    Group(Group),
}

impl Running {
    /// Starts `command` behind a guard; `command` is the guard's own, all but its standard input.
    pub(super) fn guarded(mut command: Command) -> io::Result<Self> {
        let (ours, guards) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let lifeline = UnixStream::from_std(ours)?;
        command.stdin(Stdio::from(OwnedFd::from(guards)));
        // Not `process_group`: the guard makes a session, which the leader of a group cannot.
        let child = command.spawn()?;
        Ok(Self::Guarded(Guarded { child, lifeline, report: Vec::new() }))
    }

    /// Starts `command` as a group of its own. What leaves the group is out of reach.
    pub(super) fn group(mut command: Command) -> io::Result<Self> {
        let signals = signal(SignalKind::child())?;
        let child = command.stdin(Stdio::null()).process_group(0).spawn()?;
        Ok(Self::Group(Group { child, signals }))
    }

    /// Waits until the command and, under a guard, all that came of it has ended. May be dropped and called again.
    pub(super) async fn ended(&mut self) -> Option<GuardReport> {
        match self {
            Self::Guarded(guarded) => guarded.ended().await,
            Self::Group(group) => group.ended().await,
        }
    }

    /// Asks it to end; the guard itself kills after a second.
    pub(super) fn ask_to_end(&self) {
        match self {
            // A failure means that the guard is gone, which `ended` tells.
            Self::Guarded(guarded) => drop(guarded.lifeline.try_write(&[POLITE_END])),
            Self::Group(group) => group.signal(Signal::TERM),
        }
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        match self {
            // Half closed: the guard sees the end of the line and can still report.
            Self::Guarded(guarded) => drop(guarded.shut_down()),
            Self::Group(group) => group.signal(Signal::KILL),
        }
    }

    /// Collects the process, after whatever its guard has failed to end was killed.
    pub(super) async fn reap(mut self, told: bool) {
        let child = match &mut self {
            Self::Guarded(guarded) => {
                if !told && let Some(pid) = pid_of(&guarded.child) {
                    let _ = guarded.child.start_kill();
                    let swept = tokio::task::spawn_blocking(move || processes::kill_session(pid));
                    let _ = tokio::time::timeout(REAP, swept).await;
                }
                &mut guarded.child
            }
            Self::Group(group) => {
                // While its leader is not collected the group's number is nobody else's.
                group.signal(Signal::KILL);
                &mut group.child
            }
        };
        if tokio::time::timeout(REAP, child.wait()).await.is_err() {
            tracing::warn!("an ended command was not collected in time; it is collected later");
        }
    }
}

/// A command under a guard.
#[derive(Debug)]
pub(super) struct Guarded {
    child: Child,
    lifeline: UnixStream,
    report: Vec<u8>,
}

impl Guarded {
    async fn ended(&mut self) -> Option<GuardReport> {
        let mut chunk = [0; 512];
        loop {
            if self.lifeline.ready(Interest::READABLE).await.is_err() {
                break;
            }
            match self.lifeline.try_read(&mut chunk) {
                Ok(0) => break,
                Ok(count) if self.report.len() + count <= REPORT_CAP => {
                    self.report.extend_from_slice(&chunk[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => break,
            }
        }
        GuardReport::parse(&self.report)
    }

    fn shut_down(&self) -> io::Result<()> {
        rustix::net::shutdown(&self.lifeline, rustix::net::Shutdown::Write).map_err(io::Error::from)
    }
}

/// A command without a guard.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    signals: Signals,
}

impl Group {
    async fn ended(&mut self) -> Option<GuardReport> {
        let pid = pid_of(&self.child)?;
        loop {
            // Not collected by this, so that the group can still be killed under its number.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match rustix::process::waitid(WaitId::Pid(pid), options) {
                Ok(Some(end)) => {
                    return match (end.exit_status(), end.terminating_signal()) {
                        (Some(code), _) => Some(GuardReport::Exited { code, left_running: false }),
                        (_, Some(signal)) => Some(GuardReport::Signalled { signal, left_running: false }),
                        _ => None,
                    };
                }
                Ok(None) => {}
                Err(_) => return None,
            }
            // Either way: look again.
            let _ = tokio::time::timeout(LOOK, self.signals.recv()).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = pid_of(&self.child) {
            // A failure means that nobody is left in it.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// `None` once it is collected, so that no signal goes to a stranger, and never 0, which is our own group.
fn pid_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
}
