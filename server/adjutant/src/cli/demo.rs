//! `adjutant demo`: delegation at work on this folder, with the embedded offline model, through the real server.

mod fleet;
mod guest;
mod process;
mod screen;
mod story;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use self::guest::{Guest, Shape, Trouble};
use self::process::{Home, ServerProcess};
use self::screen::{Screen, Tone, clean, seconds, tokens};
use super::server::stop_signal;

/// How long the whole may take.
const LIMIT: Duration = Duration::from_mins(2);

/// The exit code of a program that was interrupted.
const INTERRUPTED: u8 = 130;

/// How the demo is run.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The folder that is explored.
    pub folder: PathBuf,
    /// Where the server keeps its state; a temporary folder, removed in the end, where absent.
    pub home: Option<PathBuf>,
    pub no_color: bool,
    /// The server's binary.
    pub binary: PathBuf,
    /// How long the whole may take.
    pub limit: Duration,
}

/// Runs the demo on the current folder.
pub fn start() -> anyhow::Result<ExitCode> {
    let options = DemoOptions {
        folder: std::env::current_dir().context("the current folder cannot be found")?,
        home: None,
        no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        binary: std::env::current_exe().context("this program's own file cannot be found")?,
        limit: LIMIT,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(options))
}

/// How the visit ended.
enum Ending {
    Done(Result<Shape, Trouble>),
    Interrupted,
    TooLong,
}

/// Runs the demo. The exit code is 0 if the parent answered, 130 if a person interrupted it.
pub async fn run(options: DemoOptions) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(options.no_color);
    introduce(&screen, &options)?;
    let home = Home::new(options.home.clone())?;
    let (mut server, client, notifications) =
        ServerProcess::start(&options.binary, &options.folder, home.path())?;
    let mut guest = Guest::new(client, notifications, screen);
    let ending = tokio::select! {
        biased;
        () = stop_signal() => Ending::Interrupted,
        () = tokio::time::sleep(options.limit) => Ending::TooLong,
        done = guest.visit(&options.folder) => Ending::Done(done),
    };
    guest.screen.finish();
    match ending {
        Ending::Done(Ok(shape)) => {
            let said = conclude(&guest, shape);
            leave(guest, &mut server).await;
            said?;
            Ok(if shape.ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Ending::Done(Err(trouble)) => {
            let what = complaint(guest, &mut server, trouble, home).await;
            // Where nobody reads what we say, nobody reads that.
            let _ = writeln!(std::io::stderr().lock(), "The demo broke off: {}", clean(&what));
            Ok(ExitCode::FAILURE)
        }
        Ending::Interrupted => {
            break_off(guest, &mut server, "Interrupted").await?;
            Ok(ExitCode::from(INTERRUPTED))
        }
        Ending::TooLong => {
            let why = format!("Not done after {}", seconds(options.limit));
            break_off(guest, &mut server, &why).await?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn introduce(screen: &Screen, options: &DemoOptions) -> std::io::Result<()> {
    screen.line(Tone::Heading, "Adjutant demo: a parent session delegates to four agents.")?;
    for line in [
        &*format!("Folder: {} (read only: every session runs in mode plan)", options.folder.display()),
        "Model: the embedded offline planner. It is a deterministic program, not a language model: it follows fixed rules \
         and reports what its tools show.",
        "Nothing leaves this machine: no key, no network. Ctrl-C stops everything.",
        "",
    ] {
        screen.line(Tone::Plain, line)?;
    }
    Ok(())
}

/// The summary, and what to do next.
fn conclude(guest: &Guest, shape: Shape) -> std::io::Result<()> {
    let agents = guest.fleet.agents();
    let turns = agents.iter().map(|agent| agent.turns).sum::<u32>() + guest.story.turns;
    let tools: u32 = agents.iter().map(|agent| agent.tool_uses).sum();
    let used: u64 = agents.iter().map(|agent| agent.usage.total).sum();
    let screen = &guest.screen;
    screen.line(Tone::Plain, "")?;
    let mut line = format!(
        "{} agents, {turns} turns, {tools} tool uses by the agents, {} tokens (estimated) of theirs, {} wall time.",
        agents.len(),
        tokens(used),
        seconds(shape.wall)
    );
    if !shape.ended_well {
        // Writing to a String cannot fail.
        let _ = write!(line, " The parent did not come to an answer.");
    }
    screen.line(if shape.ended_well { Tone::Good } else { Tone::Bad }, &line)?;
    for line in [
        "Next:",
        "  - set up your editor: see editor-clients/README.md (VS Code, Neovim; any other with LSP: run `adjutant --stdio`);",
        "  - give it a language model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or describe a provider in models.json;",
        "  - then try `adjutant run \"PROMPT\"`, and `adjutant models` to see what can be used.",
    ] {
        screen.line(Tone::Plain, line)?;
    }
    Ok(())
}

/// Ends the server in good order, or at once when a person asks again. Gives back what can still be written to.
async fn leave(guest: Guest, server: &mut ServerProcess) -> Screen {
    let (client, screen) = guest.into_parts();
    let in_order = match client {
        Some(client) => tokio::select! {
            gone = server.end(client) => gone,
            () = stop_signal() => false,
        },
        None => false,
    };
    if !in_order {
        server.kill().await;
    }
    screen
}

/// Stops everything, and says then what was stopped.
async fn break_off(mut guest: Guest, server: &mut ServerProcess, why: &str) -> std::io::Result<()> {
    let stopped = tokio::select! {
        stopped = guest.stop_all() => Some(stopped),
        () = stop_signal() => None,
    };
    if !matches!(stopped, Some(Ok(_))) {
        // It would not end in order either, or a person has no time for that.
        server.kill().await;
    }
    let screen = leave(guest, server).await;
    let line = match stopped {
        None => format!("{why}, and once more: the server was killed."),
        Some(Err(trouble)) => {
            format!("{why}. Nothing could be stopped one by one ({trouble}): the server was killed.")
        }
        Some(Ok(stopped)) if stopped.is_empty() => {
            format!("{why}. Nothing was at work; the server was ended.")
        }
        Some(Ok(stopped)) => format!("{why}. Stopped: {}. The server was ended.", stopped.join(", ")),
    };
    screen.line(Tone::Bad, &line)
}

/// What went wrong and where to look, once the server is gone.
async fn complaint(guest: Guest, server: &mut ServerProcess, trouble: Trouble, home: Home) -> String {
    let mut what = trouble.to_string();
    if matches!(trouble, Trouble::ServerGone) {
        let words = match guest.fault() {
            Some(fault) => fault.to_owned(),
            None => server.last_words().await,
        };
        // Writing to a String cannot fail.
        let _ = write!(what, ": {words}");
    }
    leave(guest, server).await;
    if matches!(trouble, Trouble::Output(_)) {
        return what;
    }
    let log = home.keep().join("logs").join("adjutant.log");
    format!(
        "{what}. The server's log, if it wrote one, is {}; run again with ADJUTANT_LOG=debug for more.",
        log.display()
    )
}
