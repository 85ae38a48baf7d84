//! A child's session: from a plan, or from its file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{ModelClient, RetryPolicy};
use project::agent_types::{AgentType, SubagentGrant};
use project::settings::Settings;
use protocol::{AgentEventParams, ErrorCode};
use session::storage::SessionPaths;
use session::{
    EventBus, RunLimits, Session, SessionConfig, SessionEvent, SessionKind, Storage, ToolPolicy,
    in_child_context_sync,
};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use vocab::{AgentId, PermissionMode, SessionId, ThinkingLevel};

use crate::delegation;
use crate::failure::Failure;
use crate::launch::{AgentOwner, LaunchContext};
use crate::manager::{ManagerHandle, Ports};
use crate::outbox::{Outbox, Outgoing};
use crate::output_transcript;
use crate::permission;
use crate::projection::transcript::Events;
use crate::workspace::Workspace;

/// Everything that a child is made from; fixed when it is launched.
#[derive(Debug)]
pub(crate) struct ChildPlan {
    pub(crate) session: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) agent_type: Arc<AgentType>,
    pub(crate) model: Arc<dyn ModelClient>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) tool_policy: ToolPolicy,
    /// 1 for an agent of the session itself.
    pub(crate) depth: u32,
    /// The deepest agent of its branch: at it, no agent may start others.
    pub(crate) max_depth: u32,
    /// Without tools of extensions and without agents of its own.
    pub(crate) isolated: bool,
    /// The widest mode that it runs in; its session's may be narrower by now.
    pub(crate) mode: PermissionMode,
    /// What its session may do, as it is at each call. Known once it is under the manager's control.
    pub(crate) rights: Option<watch::Receiver<Arc<LaunchContext>>>,
    pub(crate) limits: RunLimits,
    /// Where its transcript goes; nowhere in an ephemeral session.
    pub(crate) file: Option<PathBuf>,
    /// The files of its session, for the transcripts of its runs.
    pub(crate) files: Option<SessionPaths>,
}

/// Builds the session of an agent, or opens it again where it has run before.
#[derive(Debug)]
pub(crate) struct Opener {
    plan: Arc<ChildPlan>,
    agent: AgentId,
    /// Handles from the root to the agent.
    path: Vec<String>,
    /// The file that its session is read from.
    existing: Option<PathBuf>,
    followed: Arc<AtomicBool>,
    outbox: Outbox,
    headless: bool,
    events: EventBus,
    manager: ManagerHandle,
}

impl Opener {
    /// Of an agent whose session is in `existing`, or in no file yet.
    pub(crate) fn new(
        plan: &Arc<ChildPlan>,
        followed: &Arc<AtomicBool>,
        agent: &AgentId,
        path: Vec<String>,
        existing: Option<PathBuf>,
        ports: &Ports,
        manager: &ManagerHandle,
    ) -> Self {
        Self {
            plan: Arc::clone(plan),
            agent: agent.clone(),
            path,
            existing,
            followed: Arc::clone(followed),
            outbox: ports.outbox.clone(),
            headless: ports.headless,
            events: ports.events.clone(),
            manager: manager.clone(),
        }
    }

    /// Reads the session beside everything else, once all that was written of it is in its file.
    pub(crate) async fn open(self) -> Result<Box<Session>, Failure> {
        self.plan.workspace.writer.flush().await;
        let opened = tokio::task::spawn_blocking(move || self.build().map(Box::new)).await;
        opened.unwrap_or_else(|failure| {
            tracing::error!(%failure, "a session could not be opened");
            Err(Failure::new(
                ErrorCode::Internal,
                "an internal fault kept the agent's session from being opened",
            ))
        })
    }

    /// Builds the session here. With a file it is read whole, which may take seconds.
    pub(crate) fn build(self) -> Result<Session, Failure> {
        let plan = &self.plan;
        let workspace = &plan.workspace;
        let storage = match self.existing.as_ref().or(plan.file.as_ref()) {
            Some(file) => Storage::File(workspace.writer.file(file)),
            None => Storage::Ephemeral,
        };
        let gate = permission::Gate {
            session: plan.rights.clone().ok_or_else(|| Failure::unknown_session(plan.session.as_str()))?,
            at_most: Some(plan.mode),
            environment: Arc::clone(&workspace.environment),
            path: self.path,
            outbox: self.outbox.clone(),
            headless: self.headless,
        };
        let settings = &workspace.settings;
        let ledger = gate.session.borrow().ledger.clone();
        let entries = plan.files.clone().map(|files| {
            output_transcript::sink(files, &self.agent, &workspace.folder, workspace.writer.clone())
        });
        let owner = owner_of(plan, &self.agent).map(Arc::new);
        let tool_policy = match &owner {
            Some(_) => with_delegation(&plan.tool_policy),
            None => plan.tool_policy.clone(),
        };
        let owner = owner.map(|owner| (owner, gate.session.clone()));
        let delegation = delegation::extension(self.manager, owner);
        let config = SessionConfig {
            kind: SessionKind::Child,
            depth: plan.depth,
            parent: Some(plan.session.clone()),
            title: Some(plan.agent_type.label().into()),
            thinking: plan.thinking,
            system_prompt: Arc::clone(&plan.system_prompt),
            tools: Arc::clone(&workspace.tools),
            tool_policy,
            extensions: vec![permission::extension(gate), delegation],
            events: self.events,
            storage,
            retry: retry_policy(settings),
            limits: plan.limits,
            ledger,
            entries,
            observer: observer(&self.agent, self.outbox, &self.followed),
            ..SessionConfig::new(
                SessionId::new(self.agent.as_str()),
                &workspace.folder,
                Arc::clone(&plan.model),
            )
        };
        let built = in_child_context_sync(|| match self.existing {
            Some(_) => Session::reopen(config),
            None => Session::new(config),
        });
        let (session, _) = built.map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))?;
        Ok(session)
    }
}

/// What an agent may start itself, if anything: its definition grants it, and it is not the deepest of its branch.
fn owner_of(plan: &ChildPlan, agent: &AgentId) -> Option<AgentOwner> {
    let grant = plan.agent_type.allowed_subagents.clone();
    if grant == SubagentGrant::None || plan.depth >= plan.max_depth || plan.isolated {
        return None;
    }
    Some(AgentOwner {
        agent: agent.clone(),
        depth: plan.depth,
        max_depth: plan.max_depth,
        grant,
        model: Arc::clone(&plan.model),
        thinking: plan.thinking,
        system_prompt: Arc::clone(&plan.system_prompt),
        mode: plan.mode,
    })
}

/// A list of tools does not name those for delegation: they are granted apart, and only a denial takes one away.
fn with_delegation(policy: &ToolPolicy) -> ToolPolicy {
    let mut policy = policy.clone();
    if let Some(allow) = &mut policy.allow {
        allow.extend(delegation::TOOLS.iter().map(|name| (*name).to_owned()));
    }
    policy
}

/// The settings' retry rules.
pub(crate) fn retry_policy(settings: &Settings) -> RetryPolicy {
    RetryPolicy {
        enabled: settings.retry.enabled,
        max_retries: settings.retry.max_retries,
        base_delay: Duration::from_millis(settings.retry.base_delay_ms),
        ..RetryPolicy::default()
    }
}

/// Passes an agent's events on while the client follows it.
fn observer(agent: &AgentId, outbox: Outbox, followed: &Arc<AtomicBool>) -> Box<dyn session::Observer> {
    let mut events = Events::of(format!("adjutant://agent/{agent}"));
    let agent_id = agent.clone();
    let followed = Arc::clone(followed);
    Box::new(move |seq: u64, event: SessionEvent| {
        if followed.load(Ordering::Acquire) {
            let event = events.project(event);
            outbox.send(Outgoing::AgentEvent(AgentEventParams { agent_id: agent_id.clone(), seq, event }));
        }
    })
}
