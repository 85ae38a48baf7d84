//! The language server: stdin and stdout become messages, and messages become posts to the manager.
//!
//! This folder and [`crate::outbox`] are the only places that know the LSP library.

mod commands;
mod compose;
mod documents;
mod frames;
mod guard;
mod handlers;
mod lifecycle;
mod output;
mod questions;
mod text_sync;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_lsp::{Client, LspService, Server};

pub(crate) use self::commands::headline;
use self::guard::Guard;
pub(crate) use self::output::OutputLevel;
pub(crate) use self::text_sync::OpenDocuments;
use crate::clock::Clock;
use crate::manager::{Manager, ManagerHandle, Ports, manager};
use crate::outbox::{Outbox, outbox};
use crate::workspace::{Sources, Workspaces};

/// Handlers that may run at one time; each runs on its own task, so this only has to be more than there ever are.
const CONCURRENT_HANDLERS: usize = 4_096;

/// After the end of the client everything is gone within 2 s: what ends by itself has this long, the rest is dropped.
const END_GRACE: Duration = Duration::from_millis(1_500);

/// How often we look whether the process that started us still lives.
const PARENT_CHECK: Duration = Duration::from_millis(500);

/// How the server was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By `exit` after `shutdown`.
    Orderly,
    /// By `exit` without `shutdown`, the end of the input, a signal, or the end of the process that started it.
    Otherwise,
}

/// What a server needs from its process.
#[derive(Debug)]
pub struct ServerConfig {
    /// All state on disk.
    pub dirs: project::StateDirs,
    /// In place of the configuration's `models.json`.
    pub models_file: Option<PathBuf>,
    /// The folder where the client names none.
    pub folder: PathBuf,
    /// The program whose `exec-guard` guards commands.
    pub exec_guard: Option<PathBuf>,
    /// Models that live in this process.
    pub embedded: Vec<Arc<dyn model::ModelClient>>,
    pub clock: Clock,
}

/// What the handlers share: ways to those who own something, and nothing of their own that changes but the life cycle.
#[derive(Debug, Clone)]
struct Backend {
    manager: ManagerHandle,
    outbox: Outbox,
    client: Client,
    clock: Clock,
    dirs: project::StateDirs,
    life: Life,
}

/// Where the connection stands.
#[derive(Debug, Clone)]
struct Life {
    /// The process that started us, once it has said so.
    parent: watch::Sender<Option<u32>>,
    /// Whether `shutdown` has been asked for.
    shut_down: watch::Sender<bool>,
    introduction: watch::Sender<Arc<lifecycle::Introduction>>,
}

/// Serves one client until it is gone, and everything that was started for it too. `stop` ends it from outside.
pub async fn serve<R, W>(config: ServerConfig, input: R, output: W, stop: impl Future<Output = ()>) -> Ended
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (buffered, level, pump) = output::buffered(output);
    let life = Life {
        parent: watch::Sender::new(None),
        shut_down: watch::Sender::new(false),
        introduction: watch::Sender::default(),
    };
    let mut tasks = JoinSet::new();
    let mut handle = None;
    let (service, socket) = handlers::register(LspService::build(|client| {
        let backend = backend(config, client, level, life.clone(), &mut tasks);
        handle = Some(backend.manager.clone());
        backend
    }))
    .finish();
    let (frames_out, frames_in) = tokio::io::duplex(1 << 20);
    let mut pump = tokio::spawn(pump);
    let serving = Server::new(frames_in, buffered, socket)
        .concurrency_level(CONCURRENT_HANDLERS)
        .serve(Guard { inner: service });
    tokio::select! {
        () = serving => {}
        // The client takes nothing any more.
        _ = &mut pump => {}
        () = frames::sift(input, frames_out) => {}
        () = stop => {}
        () = parent_gone(life.parent.subscribe()) => {}
    }
    let _ = tokio::time::timeout(END_GRACE, async {
        if let Some(manager) = handle {
            manager.post(Manager::shut_down);
        }
        while tasks.join_next().await.is_some() {}
    })
    .await;
    pump.abort();
    if *life.shut_down.borrow() { Ended::Orderly } else { Ended::Otherwise }
}

fn backend(
    config: ServerConfig,
    client: Client,
    level: OutputLevel,
    life: Life,
    tasks: &mut JoinSet<()>,
) -> Backend {
    let clock = config.clock;
    let dirs = config.dirs.clone();
    let workspaces = Workspaces::new(Sources {
        dirs: config.dirs,
        models_file: config.models_file,
        folder: config.folder,
        trusted: None,
        exec_guard: config.exec_guard,
        model: None,
        embedded: config.embedded,
    });
    let (outbox, serve_outbox) = outbox(client.clone(), level, clock);
    let ports = Ports {
        clock,
        outbox: outbox.clone(),
        workspaces,
        client: protocol::ClientCapability::default(),
        work_done: false,
        headless: false,
        events: session::EventBus::new(),
    };
    let (manager, serve_manager) = manager(ports);
    tasks.spawn(async move {
        // The outbox has no end of its own: it lives as long as there is somebody who has something to tell.
        tokio::select! { () = serve_manager => {}, () = serve_outbox => {} }
    });
    Backend { manager, outbox, client, clock, dirs, life }
}

/// Waits until the process that started us is gone; for ever where it never said which it is.
async fn parent_gone(mut parent: watch::Receiver<Option<u32>>) {
    let Ok(pid) = parent.wait_for(Option::is_some).await.map(|pid| *pid) else {
        return std::future::pending().await;
    };
    let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw)
    else {
        return std::future::pending().await;
    };
    while rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH) {
        tokio::time::sleep(PARENT_CHECK).await;
    }
}
