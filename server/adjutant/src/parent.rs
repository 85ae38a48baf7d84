//! A parent session: the conversation that a person has, with the `Agent` tool in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use project::{GitFacts, ParentPrompt, PlaceFacts, ToolNote, load_context_files};
use protocol::{ErrorCode, SessionEventParams};
use session::storage::{SessionLock, SessionPaths, StorageError};
use session::{Ledger, Session, SessionConfig, SessionEvent, SessionKind, Storage};
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

/// A parent session that has been built.
pub(crate) struct Built {
    pub(crate) session: Session,
    pub(crate) context: watch::Sender<Arc<LaunchContext>>,
    /// The right to write the session's files; none for one that is kept nowhere.
    pub(crate) lock: Option<SessionLock>,
    /// Why its history is not kept although it should be.
    pub(crate) trouble: Option<String>,
}

/// Builds a new session, or opens one from its file under its lock.
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
        storage,
        retry: retry_policy(&workspace.settings),
        limits: run_limits(&workspace.settings, 0, Budget::default()),
        ledger,
        observer: observer(plan),
        ..SessionConfig::new(plan.id.clone(), &workspace.folder, model)
    };
    let built = if exists { Session::reopen(config) } else { Session::new(config) };
    let (session, _) = built.map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))?;
    Ok(Built { session, context, lock, trouble })
}

/// Serves a parent session until it is closed.
pub(crate) async fn drive(
    mut session: Session,
    cancel: CancellationToken,
    listener: Option<mpsc::UnboundedSender<Heard>>,
    lock: Option<SessionLock>,
) -> (SessionId, Option<SessionLock>) {
    let id = session.handle().id().clone();
    while let Some(next) = session.idle().await {
        let outcome = session.run(next, cancel.child_token()).await;
        if let Some(listener) = &listener {
            let _ = listener.send(Heard::Ran(Box::new(outcome)));
        }
    }
    session.close(session::ShutdownReason::Closed).await;
    (id, lock)
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
