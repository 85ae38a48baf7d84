//! Running one shell command from start to end.

use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::local_disk::LocalDisk;
use super::output::OutputBuffer;
use super::scrub::command_environment;
use super::supervise::{GuardReport, Running};
use super::{CommandEnd, CommandOutcome, CommandRequest, EnvironmentError, OutputSink};

/// From asking a command to end to killing it; a guard's own second is over by then.
const GRACE: Duration = Duration::from_millis(1_200);
/// From killing it to answering without it.
const GIVE_UP: Duration = Duration::from_millis(2_500);
/// After the end, how long output that is still in the pipe is read; something out of reach may hold it open.
const DRAIN: Duration = Duration::from_millis(250);
/// Deltas are at least this far apart.
const DELTA_PAUSE: Duration = Duration::from_millis(100);
/// Starts at one time, over the whole process: more only take the processors from each other.
static STARTS: Semaphore = Semaphore::const_new(4);
/// One read; a thousand commands hold as many of these.
const CHUNK: usize = 16 * 1024;

/// See [`Environment::spawn`](super::Environment::spawn).
pub(super) async fn run(
    disk: &LocalDisk,
    request: CommandRequest,
    cancel: &CancellationToken,
    on_output: OutputSink,
) -> Result<CommandOutcome, EnvironmentError> {
    if cancel.is_cancelled() {
        return Err(EnvironmentError::Cancelled);
    }
    let started = Instant::now();
    let timeout = request.timeout;
    let (running, pipe) = started_aside(disk, request, cancel).await?;
    let output = OutputBuffer::new(disk.spill_folder().map(Path::to_owned));
    let chunk = vec![0; CHUNK].into_boxed_slice();
    let mut watch = Watch { running, pipe: Some(pipe), chunk, output, on_output, end: None };
    let report = watch.until_ended(started + timeout, cancel).await;
    watch.drain().await;
    let told = report.is_some();
    let (end, left_running) = match report {
        Some(GuardReport::Exited { code, left_running }) => (CommandEnd::Exited(code), left_running),
        Some(GuardReport::Signalled { signal, left_running }) => {
            (CommandEnd::Signalled(signal), left_running)
        }
        Some(GuardReport::Failed(reason)) if watch.end.is_none() => {
            watch.running.reap(true).await;
            return Err(EnvironmentError::Start(reason));
        }
        Some(GuardReport::Failed(reason)) => (CommandEnd::Lost(reason), false),
        None => (CommandEnd::Lost("its guard ended before it".to_owned()), false),
    };
    let end = watch.end.unwrap_or(end);
    watch.running.reap(told).await;
    Ok(CommandOutcome { end, output: watch.output.finish(), left_running, duration: started.elapsed() })
}

/// A start lasts until the new process has been given a processor, so it happens on a thread that only starts commands: many
/// at a time must not hold up whoever talks to people. What is started after our end is dropped, and ended by that.
async fn started_aside(
    disk: &LocalDisk,
    request: CommandRequest,
    cancel: &CancellationToken,
) -> Result<(Running, Receiver), EnvironmentError> {
    let _place = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(EnvironmentError::Cancelled),
        place = STARTS.acquire() => place.map_err(|_| EnvironmentError::Cancelled)?,
    };
    let disk = disk.clone();
    match tokio::task::spawn_blocking(move || start(&disk, &request)).await {
        Ok(started) => started,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(EnvironmentError::Cancelled),
    }
}

fn start(disk: &LocalDisk, request: &CommandRequest) -> Result<(Running, Receiver), EnvironmentError> {
    // Told apart from a missing shell, which the system names alike.
    match std::fs::metadata(&request.cwd) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(EnvironmentError::NotFolder(request.cwd.clone())),
        Err(error) => return Err(EnvironmentError::io(&request.cwd, error)),
    }
    let fault = |error: std::io::Error| EnvironmentError::Start(error.to_string());
    let (reader, writer): (PipeReader, _) = std::io::pipe().map_err(fault)?;
    let pipe = Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(fault)?;
    let mut command = match disk.exec_guard() {
        Some(guard) => {
            let mut command = Command::new(guard);
            command.arg("exec-guard");
            for folder in disk.writable_folders() {
                command.arg("--write").arg(folder);
            }
            command.arg("--").arg(disk.shell());
            command
        }
        None => Command::new(disk.shell()),
    };
    command
        .arg("-c")
        .arg(&request.command)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(command_environment(std::env::vars_os(), disk.scrubbed()))
        // One pipe for both keeps their order.
        .stderr(Stdio::from(OwnedFd::from(writer.try_clone().map_err(fault)?)))
        .stdout(Stdio::from(OwnedFd::from(writer)));
    // The command is consumed, and with it our ends for writing: else the pipe would never end.
    let running = match disk.exec_guard() {
        Some(_) => Running::guarded(command),
        None => Running::group(command),
    };
    Ok((running.map_err(fault)?, pipe))
}

struct Watch {
    running: Running,
    /// `None` once it has ended.
    pipe: Option<Receiver>,
    chunk: Box<[u8]>,
    output: OutputBuffer,
    on_output: OutputSink,
    /// Set where we ended the command.
    end: Option<CommandEnd>,
}

impl Watch {
    /// Reads output until the command has ended, by itself or by us. `None` where nobody can tell how.
    async fn until_ended(&mut self, deadline: Instant, cancel: &CancellationToken) -> Option<GuardReport> {
        let mut deltas = interval_at(Instant::now() + DELTA_PAUSE, DELTA_PAUSE);
        deltas.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next_step = pin!(sleep_until(deadline));
        let mut killed = false;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if self.end.is_none() => {
                    self.end = Some(CommandEnd::Cancelled);
                    self.running.ask_to_end();
                    next_step.as_mut().reset(Instant::now() + GRACE);
                }
                () = next_step.as_mut() => {
                    if self.end.is_none() {
                        self.end = Some(CommandEnd::TimedOut);
                        self.running.ask_to_end();
                        next_step.as_mut().reset(Instant::now() + GRACE);
                    } else if killed {
                        return None;
                    } else {
                        killed = true;
                        self.running.kill();
                        next_step.as_mut().reset(Instant::now() + GIVE_UP);
                    }
                }
                // Only with something to send: a thousand silent commands wake nobody.
                _ = deltas.tick(), if self.output.has_delta() => self.send_delta(),
                report = self.running.ended() => return report,
                () = read_some(&mut self.pipe, &mut self.chunk, &mut self.output), if self.pipe.is_some() => {}
            }
        }
    }

    async fn drain(&mut self) {
        let until = Instant::now() + DRAIN;
        // The clock is asked too: a writer that never pauses never lets the timer win.
        while self.pipe.is_some() && Instant::now() < until {
            let read = read_some(&mut self.pipe, &mut self.chunk, &mut self.output);
            if timeout_at(until, read).await.is_err() {
                break;
            }
        }
        self.pipe = None;
        self.send_delta();
    }

    fn send_delta(&mut self) {
        if let Some(delta) = self.output.take_delta() {
            (self.on_output)(delta);
        }
    }
}

async fn read_some(pipe: &mut Option<Receiver>, chunk: &mut [u8], output: &mut OutputBuffer) {
    let Some(open) = pipe else { return };
    match open.read(chunk).await {
        Ok(count) if count > 0 => output.push(&chunk[..count]),
        _ => *pipe = None,
    }
}
