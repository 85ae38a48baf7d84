//! The process between the server and a command: it owns all that the command starts, and ends it with the server.
//!
//! Its standard input is a socket whose other end only the server holds. A byte on it asks for a polite end; its end,
//! which also comes when the server is killed, asks for an immediate one: no parent-death signal is needed, which would
//! fire when a mere thread of the server ends. As a subreaper the guard becomes the parent of whatever the command
//! detaches, whichever session it moves to, so it uses only process numbers of its own unreaped children. How the
//! command ended goes back through the socket.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use super::processes;
use super::supervise::{GuardReport, POLITE_END};

/// How long what a command left in the background may go on after the shell has ended: `> >(tee log)` needs a moment.
const LINGER: Duration = Duration::from_millis(150);
/// From the polite signal to the other one.
const GRACE: Duration = Duration::from_secs(1);
/// How long killed processes may take to vanish; past it they hang in the kernel and nobody can end them.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Devices that a confined command may still write to, by their own permissions.
const DEVICES: &str = "/dev";

/// The hidden subcommand `exec-guard [--write FOLDER]... -- PROGRAM [ARGUMENT]...`, without its name.
///
/// With `--write`, the command can write only below those folders and to devices, where the kernel has Landlock.
/// Must be called first thing in `main`, before any thread is made. The code is 0 where a report reached the server.
pub fn exec_guard(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let lifeline = rustix::stdio::stdin();
    let is_socket = rustix::fs::fstat(lifeline)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Socket);
    if !is_socket {
        let _ = std::io::stderr().write_all(b"exec-guard is internal: the server runs commands through it\n");
        return ExitCode::from(2);
    }
    let report = match Guard::start(arguments) {
        Ok(guard) => guard.run(),
        Err(reason) => GuardReport::Failed(reason),
    };
    match rustix::io::write(lifeline, report.encode().as_bytes()) {
        Ok(_) => ExitCode::SUCCESS,
        // The server is gone; nobody is left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

#[derive(Debug)]
struct Guard {
    own: Pid,
    shell: Pid,
    /// Readable once the shell has ended; absent on kernels without process handles.
    shell_handle: Option<OwnedFd>,
    shell_end: Option<WaitStatus>,
    phase: Phase,
    /// Whether anything outlived the shell.
    left_running: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The shell has ended, something of it has not.
    Lingering(Instant),
    /// Politely asked to end.
    Ending(Instant),
    Killing(Instant),
}

impl Guard {
    fn start(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let (writable, mut command) = parse(arguments)?;
        // A session of our own: no controlling terminal, and a mark that all descendants carry unless they leave it.
        let own = rustix::process::setsid().map_err(|error| format!("no session of its own: {error}"))?;
        rustix::process::set_child_subreaper(Some(own)).map_err(|error| format!("no subreaper: {error}"))?;
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
            .map_err(|error| format!("no limit on core dumps: {error}"))?;
        if !writable.is_empty() {
            confine(&writable)?;
        }
        let shell = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("`{}`: {error}", command.get_program().display()))?;
        let shell = Pid::from_child(&shell);
        let shell_handle = rustix::process::pidfd_open(shell, PidfdFlags::empty()).ok();
        Ok(Self { own, shell, shell_handle, shell_end: None, phase: Phase::Running, left_running: false })
    }

    /// Until nothing of the command is left.
    fn run(mut self) -> GuardReport {
        while self.reap() {
            let now = Instant::now();
            match self.phase {
                Phase::Running if self.shell_end.is_some() => {
                    self.left_running = true;
                    self.phase = Phase::Lingering(now + LINGER);
                }
                Phase::Lingering(until) | Phase::Ending(until) if until <= now => self.kill(),
                Phase::Killing(until) if until <= now => break,
                Phase::Killing(_) => self.signal(Signal::KILL),
                Phase::Running | Phase::Lingering(_) | Phase::Ending(_) => {}
            }
            self.wait();
        }
        match self.shell_end.map(|end| (end.exit_status(), end.terminating_signal())) {
            Some((Some(code), _)) => GuardReport::Exited { code, left_running: self.left_running },
            Some((_, Some(signal))) => GuardReport::Signalled { signal, left_running: self.left_running },
            _ => GuardReport::Failed("it could not be killed and was left behind".to_owned()),
        }
    }

    /// Collects what has ended. False once there is no child at all, and so no descendant: orphans come to us.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid == self.shell {
                        self.shell_end = Some(status);
                        self.shell_handle = None;
                    }
                }
                Ok(None) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Sleeps until the shell ends, the server asks for something, or it is time to look again.
    fn wait(&mut self) {
        let pause = match self.phase {
            // Orphans that end meanwhile are collected at this pace.
            Phase::Running if self.shell_handle.is_some() => Duration::from_millis(500),
            Phase::Running => Duration::from_millis(10),
            Phase::Lingering(_) | Phase::Ending(_) => Duration::from_millis(3),
            Phase::Killing(_) => Duration::from_millis(1),
        };
        let Ok(timeout) = Timespec::try_from(pause) else { return };
        let lifeline = rustix::stdio::stdin();
        let server_may_ask = !matches!(self.phase, Phase::Killing(_));
        let mut waited: Vec<PollFd<'_>> = Vec::with_capacity(2);
        if let Some(handle) = &self.shell_handle {
            waited.push(PollFd::new(handle, PollFlags::IN));
        }
        if server_may_ask {
            waited.push(PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN));
        }
        if rustix::event::poll(&mut waited, Some(&timeout)).is_err() {
            return;
        }
        let asked = server_may_ask && waited.last().is_some_and(|last| !last.revents().is_empty());
        drop(waited);
        if asked {
            self.listen();
        }
    }

    fn listen(&mut self) {
        let mut byte = [0_u8; 1];
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) if byte[0] == POLITE_END => {
                if matches!(self.phase, Phase::Running | Phase::Lingering(_)) {
                    self.signal(Signal::TERM);
                    // A stopped process takes no other signal.
                    self.signal(Signal::CONT);
                    self.phase = Phase::Ending(Instant::now() + GRACE);
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // The server is gone, or wants it over.
            Ok(_) | Err(_) => self.kill(),
        }
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.phase = Phase::Killing(Instant::now() + KILL_WAIT);
    }

    /// Signals each child's group. A group of an unreaped child is certainly of our session or of one that descends
    /// from it; descendants in other groups become our children, and get their turn, when their parents are gone.
    fn signal(&self, signal: Signal) {
        for child in processes::children_of(self.own) {
            // A failure means that it is gone.
            let _ = match rustix::process::getpgid(Some(child)) {
                Ok(group) if group != self.own => rustix::process::kill_process_group(group, signal),
                _ => rustix::process::kill_process(child, signal),
            };
        }
    }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Vec<OsString>, Command), String> {
    let mut arguments = arguments.into_iter();
    let mut writable = Vec::new();
    loop {
        let argument = arguments.next().ok_or("no program was named")?;
        match argument.to_str() {
            Some("--write") => writable.push(arguments.next().ok_or("`--write` names no folder")?),
            Some("--") => break,
            _ => return Err(format!("unknown argument `{}`", argument.display())),
        }
    }
    let mut command = Command::new(arguments.next().ok_or("no program was named")?);
    command.args(arguments);
    Ok((writable, command))
}

/// Takes the right to write elsewhere from this process and all that come of it. A folder that does not exist is left
/// out; a kernel without Landlock confines nothing, one with an old version what it can.
fn confine(writable: &[OsString]) -> Result<(), String> {
    // Version 3 is the first that knows truncation; later ones add devices, which we allow anyway.
    let access = AccessFs::from_write(ABI::V3);
    let folders = writable.iter().map(OsString::as_os_str).chain([DEVICES.as_ref()]);
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(access)
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(folders, access)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map(|_| ())
        .map_err(|error| format!("its writes could not be confined: {error}"))
}
