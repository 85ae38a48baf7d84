//! `adjutant run`: one prompt without an editor. It waits for the agents that the run starts, and for the runs that their
//! completions wake.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use protocol::ClientCapability;
use serde_json::json;
use session::{Prompt, RunOutcome};
use tokio::sync::mpsc;
use vocab::{RunStop, SessionId};

use super::RunArgs;
use super::server::{Place, hide_environment, raise_file_limit, start_log, stop_signal};
use crate::clock::Clock;
use crate::manager::{Heard, Manager, ManagerHandle, OpenSession, Ports, PromptTokens, manager};
use crate::outbox::Outbox;
use crate::workspace::Workspaces;

/// How often we look whether everything has come to rest.
const REST_CHECK: Duration = Duration::from_millis(50);

/// Runs the prompt. The exit code is 0 only if the last run ended well.
pub(super) fn run(place: &Place, args: RunArgs) -> anyhow::Result<ExitCode> {
    if args.prompt.trim().is_empty() {
        writeln!(std::io::stderr().lock(), "adjutant: the prompt is empty; say what is to be done")?;
        return Ok(ExitCode::from(2));
    }
    raise_file_limit();
    hide_environment();
    let dirs = project::StateDirs::from_environment()?;
    let _log = start_log(&dirs);
    let mut sources = place.sources(dirs)?;
    sources.trusted = args.trust.then_some(true);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(async {
        let ports = Ports {
            clock: Clock::system(),
            outbox: Outbox::nowhere(),
            workspaces: Workspaces::new(sources),
            client: ClientCapability::default(),
            work_done: false,
            headless: true,
            events: session::EventBus::new(),
        };
        let (handle, serving) = manager(ports);
        let serving = tokio::spawn(serving);
        let code = tokio::select! {
            done = converse(&handle, args) => done,
            () = stop_signal() => Ok(ExitCode::from(130)),
        };
        handle.post(Manager::shut_down);
        let _ = tokio::time::timeout(Duration::from_secs(3), serving).await;
        code
    });
    runtime.shutdown_background();
    code
}

async fn converse(manager: &ManagerHandle, args: RunArgs) -> anyhow::Result<ExitCode> {
    let (listener, mut heard) = mpsc::unbounded_channel();
    let open = OpenSession {
        model: args.model,
        mode: args.permission_mode.map(Into::into),
        listener: Some(listener),
        ..OpenSession::default()
    };
    let opened = manager.call(move |manager| {
        let session = manager.open_session(open);
        (session, manager.workspaces().take_warnings())
    });
    let (session, warnings) = opened.await?;
    for warning in warnings {
        writeln!(std::io::stderr().lock(), "{warning}")?;
    }
    let session = session?;
    let asked = Some(session.clone());
    manager
        .call(move |manager| {
            manager.prompt(asked, Prompt::new(args.prompt), PromptTokens::default()).map(drop)
        })
        .await??;
    let mut ended_well = false;
    let mut check = tokio::time::interval(REST_CHECK);
    let mut ran = false;
    loop {
        tokio::select! {
            biased;
            Some(heard) = heard.recv() => match heard {
                Heard::Event { seq, event } if args.json => {
                    print_line(&json!({ "sessionId": session, "seq": seq, "event": event }))?;
                }
                Heard::Event { .. } => {}
                Heard::Ran(outcome) => {
                    ran = true;
                    ended_well = print(&session, &outcome, args.json)?;
                }
            },
            _ = check.tick() => {
                let asked = session.clone();
                if ran && manager.call(move |manager| manager.is_at_rest(&asked)).await? {
                    break;
                }
            }
        }
    }
    Ok(if ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what a run came to, and says whether it ended well.
fn print(session: &SessionId, outcome: &RunOutcome, as_json: bool) -> anyhow::Result<bool> {
    let well = outcome.stop == RunStop::EndTurn && outcome.error.is_none();
    if as_json {
        print_line(&json!({
            "sessionId": session,
            "result": {
                "run": outcome.run,
                "stopReason": outcome.stop,
                "text": outcome.text,
                "error": outcome.error.as_deref(),
                "usage": outcome.usage,
            },
        }))?;
        return Ok(well);
    }
    if !outcome.text.trim().is_empty() {
        writeln!(std::io::stdout().lock(), "{}\n", outcome.text.trim())?;
    }
    let said = match (&outcome.error, outcome.stop) {
        (Some(error), _) => Some(error.to_string()),
        (None, RunStop::Length) => Some("the answer was cut at the model's output limit".to_owned()),
        (None, RunStop::Refusal) => Some("the model refused to answer".to_owned()),
        (None, RunStop::Limit) => Some("a limit of the settings ended the run".to_owned()),
        (None, RunStop::Aborted | RunStop::Error | RunStop::EndTurn) => None,
    };
    if let Some(said) = said {
        writeln!(std::io::stderr().lock(), "adjutant: {said}")?;
    }
    Ok(well)
}

fn print_line(value: &serde_json::Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()?;
    Ok(())
}
