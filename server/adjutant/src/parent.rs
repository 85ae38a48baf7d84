//! A parent session: the conversation that a person has, with the `Agent` tool in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use project::{GitFacts, ParentPrompt, PlaceFacts, ToolNote, load_context_files};
use protocol::{ErrorCode, SessionEventParams};
use session::storage::{SessionLock, SessionPaths, StorageError};
use session::{Ledger, Seat, Session, SessionConfig, SessionEvent, SessionHandle, SessionKind, Storage};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use vocab::{Budget, PermissionMode, SessionId};

use crate::child::retry_policy;
use crate::delegation;
use crate::failure::Failure;
use crate::launch::{LaunchContext, run_limits};
use crate::manager::{DEFAULT_THINKING, Heard, ManagerHandle, Ports};
use crate::outbox::Outgoing;
use crate::permission;
use crate::projection::transcript::Events;
use crate::workspace::Workspace;

/// What a parent session is made from.
pub(crate) struct ParentPlan<'a> {
    pub(crate) id: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    /// Whether it has to be on disk already.
    pub(crate) must_exist: bool,
    /// The right to write its files, where this server has it already.
    pub(crate) held: Option<SessionLock>,
    pub(crate) ephemeral: bool,
    /// In place of the settings' model.
    pub(crate) model: Option<String>,
    /// In place of the settings' mode.
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) ports: &'a Ports,
    pub(crate) manager: ManagerHandle,
    pub(crate) followed: Arc<AtomicBool>,
    pub(crate) listener: Option<mpsc::UnboundedSender<Heard>>,
}

/// A parent session that is ready to be driven.
pub(crate) struct Built {
    pub(crate) driver: Driver,
    pub(crate) handle: SessionHandle,
    /// When its session is there.
    pub(crate) opened: Opened,
    pub(crate) context: watch::Sender<Arc<LaunchContext>>,
    /// Whether it is kept in files, under their lock.
    pub(crate) persisted: bool,
    /// Why its history is not kept although it should be.
    pub(crate) trouble: Option<String>,
}

/// A parent session that may still have to be read from its file, with all that keeps it going.
pub(crate) struct Driver {
    config: SessionConfig,
    /// Whether it is read from its file.
    exists: bool,
    opened: watch::Sender<Option<Result<(), Failure>>>,
    listener: Option<mpsc::UnboundedSender<Heard>>,
    /// The right to write the session's files; none for one that is kept nowhere.
    lock: Option<SessionLock>,
    manager: ManagerHandle,
}

/// The end of a session's opening, for all who wait for it.
#[derive(Debug, Clone)]
pub(crate) struct Opened(watch::Receiver<Option<Result<(), Failure>>>);

impl Opened {
    /// Waits until the session is there, or cannot be had.
    pub(crate) async fn wait(&self) -> Result<(), Failure> {
        match self.0.clone().wait_for(Option::is_some).await {
            Ok(opened) => opened.clone().unwrap_or_else(|| Err(Failure::gone())),
            Err(_) => Err(Failure::gone()),
        }
    }
}

/// Prepares a new session, or one in a file, which gets its lock here and is read by its driver.
pub(crate) fn build(mut plan: ParentPlan<'_>) -> Result<Built, Failure> {
    let held = plan.held.take();
    let plan = &plan;
    let workspace = &plan.workspace;
    let model = workspace
        .registry
        .default_model(plan.model.as_deref().or(workspace.settings.model.as_deref()))
        .map_err(|error| match &workspace.models_fault {
            Some(fault) => Failure::from(&error).hint(format!("models.json has a fault: {fault}")),
            None => Failure::from(&error),
        })?;
    let Place { storage, files, lock, exists, trouble } = place(plan, held)?;
    let context = LaunchContext {
        session: plan.id.clone(),
        workspace: Arc::clone(workspace),
        model: Arc::clone(&model),
        thinking: DEFAULT_THINKING,
        system_prompt: system_prompt(workspace).into(),
        mode: plan.mode,
        default_mode: if plan.ports.headless { PermissionMode::Plan } else { PermissionMode::Ask },
        files,
        ledger: Ledger::default(),
    };
    context.set_ledger();
    let ledger = context.ledger.clone();
    let system_prompt = Arc::clone(&context.system_prompt);
    let (context, contexts) = watch::channel(Arc::new(context));
    let gate = permission::Gate {
        session: contexts.clone(),
        at_most: None,
        environment: Arc::clone(&workspace.environment),
        path: Vec::new(),
        outbox: plan.ports.outbox.clone(),
        headless: plan.ports.headless,
    };
    let config = SessionConfig {
        kind: SessionKind::Parent,
        thinking: DEFAULT_THINKING,
        system_prompt,
        tools: Arc::clone(&workspace.tools),
        extensions: vec![
            permission::extension(gate),
            delegation::parent_extension(plan.manager.clone(), contexts),
        ],
        events: plan.ports.events.clone(),
        storage,
        retry: retry_policy(&workspace.settings),
        limits: run_limits(&workspace.settings, 0, Budget::default()),
        ledger,
        observer: observer(plan),
        ..SessionConfig::seated(Seat::new(plan.id.clone()), &workspace.folder, model)
    };
    let handle = config.seat.handle().clone();
    let (opened, opening) = watch::channel(None);
    let persisted = lock.is_some();
    let driver = Driver {
        config,
        exists,
        opened,
        listener: plan.listener.clone(),
        lock,
        manager: plan.manager.clone(),
    };
    Ok(Built { driver, handle, opened: Opened(opening), context, persisted, trouble })
}

impl Driver {
    /// Opens the session and serves it until it is closed. What it is sent meanwhile waits for it.
    pub(crate) async fn drive(self, cancel: CancellationToken) -> (SessionId, Option<SessionLock>) {
        let Self { config, exists, opened, listener, lock, manager } = self;
        let id = config.seat.handle().id().clone();
        match open(config, exists).await {
            Ok(mut session) => {
                opened.send_replace(Some(Ok(())));
                while let Some(next) = session.idle().await {
                    let outcome = session.run(next, cancel.child_token()).await;
                    if let Some(listener) = &listener {
                        let _ = listener.send(Heard::Ran(Box::new(outcome)));
                    }
                }
                session.close(session::ShutdownReason::Closed).await;
            }
            Err(failure) => {
                tracing::warn!(session = %id, %failure, "a session could not be opened");
                opened.send_replace(Some(Err(failure)));
                let session = id.clone();
                manager.post(move |manager| {
                    let _ = manager.close_session(&session);
                });
            }
        }
        (id, lock)
    }
}

/// Makes the session, or reads it from its file beside everything else.
async fn open(config: SessionConfig, exists: bool) -> Result<Session, Failure> {
    let opened = if exists {
        tokio::task::spawn_blocking(move || Session::reopen(config)).await.map_err(|failure| {
            tracing::error!(%failure, "a session could not be read");
            Failure::new(ErrorCode::Internal, "an internal fault kept the session from being opened")
        })?
    } else {
        Session::new(config)
    };
    opened.map(|(session, _)| session).map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))
}

/// Where a session is kept.
struct Place {
    storage: Storage,
    files: Option<SessionPaths>,
    lock: Option<SessionLock>,
    exists: bool,
    /// Why it is kept nowhere although it should be.
    trouble: Option<String>,
}

impl Place {
    fn nowhere() -> Self {
        Self { storage: Storage::Ephemeral, files: None, lock: None, exists: false, trouble: None }
    }
}

fn place(plan: &ParentPlan<'_>, held: Option<SessionLock>) -> Result<Place, Failure> {
    if plan.ephemeral {
        return Ok(Place::nowhere());
    }
    let workspace = &plan.workspace;
    let failed = |error: StorageError| {
        let code = match &error {
            StorageError::Locked { .. } => ErrorCode::Conflict,
            StorageError::InvalidName(_) => return Failure::bad_param("sessionId", error),
            _ => ErrorCode::Failed,
        };
        Failure::new(code, error.to_string())
    };
    let paths = workspace.sessions.session(&workspace.folder, plan.id.as_str()).map_err(failed)?;
    let exists = paths.session_file().exists();
    // A session whose agents were started by a person alone has a journal and nothing else.
    if plan.must_exist && !exists && !paths.journal_file().exists() {
        return Err(Failure::unknown_session(plan.id.as_str()));
    }
    let lock = match held.map_or_else(|| SessionLock::acquire(&paths), Ok) {
        Ok(lock) => lock,
        // Outcome and delivery stand without a history; the person is told that there is none.
        Err(error @ StorageError::Io { .. }) if !exists => {
            return Ok(Place { trouble: Some(error.to_string()), ..Place::nowhere() });
        }
        Err(error) => return Err(failed(error)),
    };
    let storage = Storage::File(workspace.writer.file(paths.session_file()));
    Ok(Place { storage, files: Some(paths), lock: Some(lock), exists, trouble: None })
}

fn system_prompt(workspace: &Workspace) -> String {
    let notes: Vec<(String, Option<String>, Vec<String>)> = workspace
        .tools
        .definitions()
        .map(|tool| {
            let guidelines = tool.prompt_guidelines.iter().map(ToString::to_string).collect();
            (tool.name.to_string(), tool.prompt_snippet.as_ref().map(ToString::to_string), guidelines)
        })
        .collect();
    let mut tools: Vec<_> = notes
        .iter()
        .map(|(name, snippet, guidelines)| ToolNote { name, snippet: snippet.as_deref(), guidelines })
        .collect();
    let own: Vec<String> = delegation::GUIDELINES.iter().map(|line| (*line).to_owned()).collect();
    tools.push(ToolNote {
        name: delegation::AGENT_TOOL,
        snippet: Some(delegation::SNIPPET),
        guidelines: &own,
    });
    let (context, found) = load_context_files(&workspace.folder, workspace.trusted);
    for diagnostic in found {
        tracing::warn!(%diagnostic, "context file");
    }
    let date = today();
    let place = PlaceFacts {
        cwd: &workspace.folder,
        platform: std::env::consts::OS,
        date: &date,
        git: GitFacts::None,
    };
    ParentPrompt { tools: &tools, context: &context, place }.assemble()
}

/// Today in UTC, as `2026-01-31`.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Passes a session's events on while the client follows it.
fn observer(plan: &ParentPlan<'_>) -> Box<dyn session::Observer> {
    let mut events = Events::of(format!("adjutant://session/{}", plan.id));
    let session_id = plan.id.clone();
    let outbox = plan.ports.outbox.clone();
    let followed = Arc::clone(&plan.followed);
    let listener = plan.listener.clone();
    let manager = plan.manager.clone();
    Box::new(move |seq: u64, event: SessionEvent| {
        if let SessionEvent::PromptStarted { prompt_id } = &event {
            let prompt = prompt_id.clone();
            manager.post(move |manager| manager.prompt_started(&prompt));
        }
        if let Some(listener) = &listener {
            let event = events.project(event);
            let _ = listener.send(Heard::Event { seq, event });
        } else if followed.load(Ordering::Acquire) {
            let event = events.project(event);
            outbox.send(Outgoing::SessionEvent(SessionEventParams {
                session_id: session_id.clone(),
                seq,
                event,
            }));
        }
    })
}
