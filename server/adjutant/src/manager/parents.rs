//! Parent sessions: opening, prompting, steering, aborting and closing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protocol::{ErrorCode, SessionAbortResult, SessionInfo, WithdrawnText};
use roster::{AgentRecord, Input, Owner};
use session::storage::SessionPaths;
use session::{
    Prompt, PromptAnswer, RunOutcome, SessionHandle, SteerAuthor, SteerReceipt, SteerRequest, Withdrawal,
};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError};
use tokio_util::sync::CancellationToken;
use vocab::{Budget, PermissionMode, PromptId, RunId, SessionId, SteerId, ThinkingLevel};

use super::{ClosedSession, Manager};
use crate::delegation::text::one_line;
use crate::failure::Failure;
use crate::ids;
use crate::launch::{LaunchContext, run_limits};
use crate::parent::{self, Opened};

/// How long a journal that is read waits for what is still to be written.
const WRITER_LIMIT: Duration = Duration::from_secs(1);
/// How long the opening of a session waits until this server has let go of it.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);

/// The shell's side of a parent session.
pub(super) struct ParentSession {
    pub(super) handle: SessionHandle,
    /// When it is there; what it is sent before that waits for it.
    pub(super) opened: Opened,
    /// What its agents are launched with; replaced when settings change.
    pub(super) context: watch::Sender<Arc<LaunchContext>>,
    pub(super) cancel: CancellationToken,
    pub(super) followed: Arc<AtomicBool>,
    pub(super) persisted: bool,
    /// Where updates of its foreground agents go: the token of the prompt that runs.
    pub(super) updates: Option<protocol::ProgressToken>,
}

/// Which session to open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenSession {
    /// The id of a new session, or of one that is open or on disk.
    pub(crate) id: Option<SessionId>,
    pub(crate) resume: Option<Resume>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) ephemeral: bool,
    /// In place of the settings' model.
    pub(crate) model: Option<String>,
    /// In place of the settings' mode.
    pub(crate) mode: Option<PermissionMode>,
    /// Who hears the session's events and ends of runs in this process.
    pub(crate) listener: Option<mpsc::UnboundedSender<Heard>>,
}

/// What a listener hears of a session.
#[derive(Debug)]
pub(crate) enum Heard {
    Event { seq: u64, event: protocol::SessionEvent },
    Ran(Box<RunOutcome>),
}

#[derive(Debug, Clone)]
pub(crate) enum Resume {
    Latest,
    Id(SessionId),
}

/// The tokens that came with a prompt.
#[derive(Debug, Default)]
pub(crate) struct PromptTokens {
    pub(crate) work_done: Option<protocol::ProgressToken>,
    pub(crate) updates: Option<protocol::ProgressToken>,
}

/// A prompt that a session has taken.
#[derive(Debug)]
pub(crate) struct StartedPrompt {
    pub(crate) session: SessionId,
    pub(crate) prompt: PromptId,
    pub(crate) run: RunId,
    pub(crate) answer: session::Reply<PromptAnswer>,
    /// Says why there is no answer where the session could not be opened.
    opened: Opened,
}

/// A prompt's answer to come. Dropping it takes the prompt back: a queued one is not sent, an active run is aborted.
#[derive(Debug)]
pub(crate) struct PromptTicket {
    started: StartedPrompt,
    manager: super::ManagerHandle,
    answered: bool,
}

impl PromptTicket {
    pub(crate) fn new(started: StartedPrompt, manager: super::ManagerHandle) -> Self {
        Self { started, manager, answered: false }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.started.session
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.started.run
    }

    /// Waits for the end of the prompt's run; nothing where it was withdrawn.
    pub(crate) async fn ended(mut self) -> Result<Option<Arc<RunOutcome>>, Failure> {
        let answer = (&mut self.started.answer).await;
        self.answered = true;
        match answer {
            Some(PromptAnswer::Ended(outcome)) => Ok(Some(outcome)),
            Some(PromptAnswer::Withdrawn) => Ok(None),
            None => {
                self.started.opened.wait().await?;
                Err(Failure::new(ErrorCode::Failed, "the session ended before the prompt was answered")
                    .hint("open it again; if this repeats, the log has the reason"))
            }
        }
    }
}

impl Drop for PromptTicket {
    fn drop(&mut self) {
        let (session, prompt, answered) =
            (self.started.session.clone(), self.started.prompt.clone(), self.answered);
        self.manager.post(move |manager| {
            manager.prompt_ended(&prompt);
            if !answered {
                manager.withdraw_prompt(&session, prompt);
            }
        });
    }
}

impl super::ManagerHandle {
    /// Does `open`, which opens the session that is wanted: at once, or when this server has let go of its files, where it
    /// was closed a moment ago.
    pub(crate) async fn open_once_closed<T: Send + 'static>(
        &self,
        wanted: Option<SessionId>,
        open: impl Fn(&mut Manager) -> Result<T, Failure> + Clone + Send + 'static,
    ) -> Result<T, Failure> {
        let until = tokio::time::Instant::now() + CLOSING_LIMIT;
        loop {
            let (wanted, open) = (wanted.clone(), open.clone());
            let patient = tokio::time::Instant::now() < until;
            let asked = self.call(move |manager| {
                let closing = wanted.filter(|_| patient).and_then(|wanted| manager.still_closing(&wanted));
                closing.map_or_else(|| Ok(open(manager)), Err)
            });
            match asked.await? {
                Ok(opened) => return opened,
                // Another session may have gone, or the time is over: look again.
                Err(left) => drop(tokio::time::timeout_at(until, left).await),
            }
        }
    }
}

impl OpenSession {
    /// The session that it names, if it does.
    pub(crate) fn names(&self) -> Option<SessionId> {
        match &self.resume {
            Some(Resume::Id(id)) => Some(id.clone()),
            Some(Resume::Latest) => None,
            None => self.id.clone(),
        }
    }
}

impl Manager {
    /// Opens a session, or finds the open one. What fails is told with its reason; a session that is read from its file is
    /// there only when [`Self::opened`] says so, and may fail until then.
    pub(crate) fn open_session(&mut self, open: OpenSession) -> Result<SessionId, Failure> {
        if let Some(id) = open.id.as_ref().filter(|id| self.sessions.contains_key(*id)) {
            self.default_session = Some(id.clone());
            return Ok(id.clone());
        }
        let workspace = self.ports.workspaces.of(open.cwd.as_deref());
        if !self.ports.headless {
            self.tell_warnings();
        }
        let workspace = workspace?;
        let wanted = match &open.resume {
            Some(Resume::Id(id)) => Some(id.clone()),
            Some(Resume::Latest) => {
                let open = |id: &SessionId| self.sessions.contains_key(id);
                self.ports.workspaces.latest_session(&workspace.folder, open)
            }
            None => open.id.clone(),
        };
        if let Some(id) = wanted.as_ref().filter(|id| self.sessions.contains_key(*id)) {
            self.default_session = Some(id.clone());
            return Ok(id.clone());
        }
        let must_exist = matches!(open.resume, Some(Resume::Id(_)));
        let named = wanted.is_some();
        let id = wanted.unwrap_or_else(|| SessionId::new(ids::unique("s")));
        let (known, held) = (self.roster.limits(&id).is_some(), self.restored.lock_of(&id));
        let cancel = self.process.child_token();
        let followed = Arc::new(AtomicBool::new(false));
        let built = parent::build(parent::ParentPlan {
            id: id.clone(),
            workspace,
            must_exist,
            held,
            ephemeral: open.ephemeral,
            model: open.model,
            mode: open.mode,
            ports: &self.ports,
            manager: self.handle.clone(),
            followed: Arc::clone(&followed),
            listener: open.listener.clone(),
        })?;
        if let Some(trouble) = &built.trouble {
            self.ports.workspaces.warn(format!(
                "This session's history is not kept: {trouble}. Set ADJUTANT_HOME to a folder that can be written."
            ));
            if !self.ports.headless {
                self.tell_warnings();
            }
        }
        let (limits, files, settings) = {
            let context = built.context.borrow();
            (context.limits(), context.files.clone(), context.workspace.settings.clone())
        };
        if let Some(files) = files.filter(|_| !known) {
            self.take_agents(&id, &files, named);
        }
        self.apply(Input::OpenSession { session: id.clone(), limits });
        // What its agents used under an earlier server counts towards its limit, as what it used itself does.
        let ledger = built.context.borrow().ledger.clone();
        self.roster.agents_of(&id).for_each(|agent| ledger.remember(agent.usage()));
        let handle = built.handle;
        if open.listener.is_some() {
            handle.watch(true);
        }
        let driver = self.drivers.spawn(built.driver.drive(cancel.clone()));
        self.driven.insert(driver.id(), id.clone());
        self.watch_more();
        let session = ParentSession {
            handle,
            opened: built.opened,
            context: built.context,
            cancel,
            followed,
            persisted: built.persisted,
            updates: None,
        };
        self.sessions.insert(id.clone(), session);
        self.default_session = Some(id.clone());
        if self.hear_requests() {
            self.lifecycle.loaded(&settings);
        }
        Ok(id)
    }

    /// Keeps what becomes of a session's agents, and takes over those that it has had: only a `named` one can have any.
    fn take_agents(&mut self, session: &SessionId, files: &SessionPaths, named: bool) {
        if named {
            // What this server has written of a session that it closed must be there to be read.
            self.ports.workspaces.writer().flush_within(WRITER_LIMIT);
            self.restore_agents(session, files);
        }
        self.open_journal(session, files);
    }

    /// Waits until a session is there, or cannot be had.
    pub(crate) fn opened(
        &self,
        session: &SessionId,
    ) -> Result<impl Future<Output = Result<(), Failure>> + Send + use<>, Failure> {
        let opened = self.parent(session)?.opened.clone();
        Ok(async move { opened.wait().await })
    }

    /// The session that a request means: the named one, else the one last used, else one that is opened now.
    pub(crate) fn session_or_default(&mut self, session: Option<SessionId>) -> Result<SessionId, Failure> {
        match session {
            Some(id) if self.sessions.contains_key(&id) => {
                self.default_session = Some(id.clone());
                Ok(id)
            }
            Some(id) => Err(Failure::unknown_session(id.as_str())),
            None => match &self.default_session {
                Some(id) => Ok(id.clone()),
                None => {
                    self.open_session(OpenSession { resume: Some(Resume::Latest), ..OpenSession::default() })
                }
            },
        }
    }

    pub(super) fn parent(&self, session: &SessionId) -> Result<&ParentSession, Failure> {
        self.sessions.get(session).ok_or_else(|| Failure::unknown_session(session.as_str()))
    }

    /// What the agents of a session are launched with.
    pub(crate) fn launch_context(
        &mut self,
        session: Option<SessionId>,
    ) -> Result<Arc<LaunchContext>, Failure> {
        let id = self.session_or_default(session)?;
        Ok(Arc::clone(&self.parent(&id)?.context.borrow()))
    }

    /// Gives a session a prompt; it runs now, or after the runs before it.
    pub(crate) fn prompt(
        &mut self,
        session: Option<SessionId>,
        mut prompt: Prompt,
        tokens: PromptTokens,
    ) -> Result<StartedPrompt, Failure> {
        let id = self.session_or_default(session)?;
        if let Some(taken) =
            prompt.prompt_id.as_ref().filter(|prompt| !self.prompt_ids.insert((*prompt).clone()))
        {
            let message = format!("\"{}\" has been used for another prompt", one_line(taken.as_str(), 80));
            return Err(Failure::bad_param("promptId", message));
        }
        let name = prompt.prompt_id.get_or_insert_with(|| PromptId::new(ids::unique("p"))).clone();
        let parent = self.parent(&id)?;
        let (answer, opened) = (parent.handle.prompt(prompt), parent.opened.clone());
        let run = RunId::new(format!("run-{name}"));
        let started = StartedPrompt { session: id, run, prompt: name, answer, opened };
        self.follow_prompt(&started, tokens.work_done, tokens.updates);
        Ok(started)
    }

    /// Takes a prompt back. Others of the session stay queued.
    pub(crate) fn withdraw_prompt(&mut self, session: &SessionId, prompt: PromptId) {
        if let Some(session) = self.sessions.get(session) {
            let withdrawal = session.handle.withdraw_prompt(prompt);
            self.errands.spawn(async move {
                if withdrawal.await == Some(Withdrawal::Unknown) {
                    tracing::debug!("a prompt that was taken back had already ended");
                }
            });
        }
    }

    /// Puts a message into the active run of a session. The answer is whether a run was there to read it.
    pub(crate) fn steer_session(
        &mut self,
        session: Option<SessionId>,
        text: String,
    ) -> Result<(SteerId, session::Reply<SteerReceipt>), Failure> {
        let id = self.session_or_default(session)?;
        let steer_id = SteerId::new(ids::unique("steer"));
        self.steers.push_back((steer_id.clone(), id.clone()));
        if self.steers.len() > super::STEERS_REMEMBERED {
            self.steers.pop_front();
        }
        let request = SteerRequest { steer_id: steer_id.clone(), text, author: SteerAuthor::User };
        Ok((steer_id, self.parent(&id)?.handle.steer(request)))
    }

    /// Takes back a message to a session; nothing where no such message is known.
    pub(crate) fn unsteer_session(&mut self, steer: &SteerId) -> Option<session::Reply<bool>> {
        let (_, session) = self.steers.iter().find(|(id, _)| id == steer)?;
        Some(self.sessions.get(session)?.handle.unsteer(steer.clone()))
    }

    /// Ends a session's active run and hands back what was queued.
    pub(crate) fn abort(
        &mut self,
        session: Option<SessionId>,
    ) -> Result<impl Future<Output = SessionAbortResult> + Send + use<>, Failure> {
        let id = match session {
            Some(id) => id,
            None => self.default_session.clone().ok_or_else(|| {
                Failure::new(ErrorCode::UnknownSession, "no session is open")
                    .hint("nothing runs that could be aborted")
            })?,
        };
        let report = self.parent(&id)?.handle.abort();
        let background = self.background_running(&id);
        Ok(async move {
            let report = report.await.unwrap_or_default();
            let prompts = report.prompts.into_iter().map(|prompt| WithdrawnText {
                prompt_id: prompt.prompt_id,
                steer_id: None,
                text: prompt.text,
            });
            let steers = report.steers.into_iter().map(|steer| WithdrawnText {
                prompt_id: None,
                steer_id: Some(steer.steer_id),
                text: steer.text,
            });
            SessionAbortResult {
                aborted: report.aborted,
                background_running: background,
                withdrawn: prompts.chain(steers).collect(),
            }
        })
    }

    fn background_running(&self, session: &SessionId) -> u32 {
        let counts = self.roster.counts(Some(session));
        if counts.queued + counts.running + counts.stopping == 0 {
            return 0;
        }
        let live = |agent: &&AgentRecord| agent.is_background() && !agent.status().is_final();
        self.roster.agents_of(session).filter(live).count() as u32
    }

    /// Closes a session and stops its agents. Its file stays.
    pub(crate) fn close_session(&mut self, session: &SessionId) -> Result<(), Failure> {
        let parent = self.parent(session)?;
        parent.handle.close();
        parent.cancel.cancel();
        self.sessions.remove(session);
        if self.default_session.as_ref() == Some(session) {
            self.default_session = self.sessions.keys().next_back().cloned();
        }
        self.apply(Input::CloseSession { session: session.clone() });
        Ok(())
    }

    /// The driver of a session has ended: it was closed, or it failed.
    pub(super) fn session_ended(&mut self, joined: Result<(Id, ClosedSession), JoinError>) {
        match joined {
            Ok((task, (session, lock))) => {
                self.driven.remove(&task);
                self.restored.leaving.insert(session.clone(), lock);
                self.let_closed_sessions_go();
                tracing::debug!(%session, "session closed");
            }
            Err(failure) => {
                tracing::error!(%failure, "a session's task failed");
                let Some(session) = self.driven.remove(&failure.id()) else { return };
                let _ = self.close_session(&session);
            }
        }
    }

    /// Carries out [`roster::Effect::Wake`].
    pub(super) fn wake(&mut self, owner: &Owner) {
        match owner {
            Owner::Session(session) => {
                if let Some(parent) = self.sessions.get(session) {
                    parent.handle.wake();
                }
            }
            Owner::Agent(agent) => {
                if let Some(handle) = self.child_handle(agent) {
                    handle.wake();
                }
            }
        }
    }

    /// Whether a session has nothing left to do: no run, no live agent, no news that would wake it.
    pub(crate) fn is_at_rest(&self, session: &SessionId) -> bool {
        let Some(parent) = self.sessions.get(session) else { return true };
        let idle = !parent.handle.progress().borrow().active;
        let counts = self.roster.counts(Some(session));
        let live = counts.queued + counts.running + counts.stopping;
        idle && live == 0 && !self.roster.outstanding(&Owner::Session(session.clone()))
    }

    /// What a client is told of a session; the numbers come from the session itself.
    pub(crate) fn session_info(
        &self,
        id: &SessionId,
    ) -> Result<impl Future<Output = Result<SessionInfo, Failure>> + Send + use<>, Failure> {
        let parent = self.parent(id)?;
        let (info, opened) = (parent.handle.info(), parent.opened.clone());
        let context = Arc::clone(&parent.context.borrow());
        let persisted = parent.persisted;
        Ok(async move {
            opened.wait().await?;
            let info = info.await.ok_or_else(Failure::gone)?;
            // The file is made by the first prompt or agent.
            let file = info.file.filter(|file| persisted && file.exists());
            Ok(SessionInfo {
                session_id: info.id,
                title: info.title.map_or_else(|| "New session".to_owned(), |title| title.to_string()),
                cwd: context.workspace.folder.display().to_string(),
                model: info.model,
                thinking: info.thinking,
                permission_mode: context.mode(),
                persisted: file.is_some(),
                file: file.map(|file| file.display().to_string()),
                usage: info.usage,
                entry_count: info.entry_count as u64,
                running: info.running,
            })
        })
    }

    /// Settings, trust or models have changed: sessions see them from now on.
    pub(crate) fn reconfigure(&mut self) {
        let (mut limits, mut narrowed) = (Vec::new(), Vec::new());
        for (id, parent) in &self.sessions {
            let old = Arc::clone(&parent.context.borrow());
            let Ok(workspace) = self.ports.workspaces.of(Some(&old.workspace.folder)) else { continue };
            let context = Arc::new(old.with_workspace(workspace));
            if !Arc::ptr_eq(&old.model, &context.model) {
                parent.handle.set_model(Arc::clone(&context.model), context.thinking);
            }
            parent.handle.set_limits(run_limits(&context.workspace.settings, 0, Budget::default()));
            context.set_ledger();
            if old.mode() != context.mode() {
                narrowed.push(id.clone());
            }
            if old.workspace.settings != context.workspace.settings {
                self.lifecycle.settings_changed(id, &context.workspace.settings);
            }
            limits.push((id.clone(), context.limits()));
            parent.context.send_replace(context);
        }
        for (session, limits) in limits {
            self.apply(Input::SetLimits { session, limits });
        }
        for session in narrowed {
            self.mode_changed(&session);
        }
    }

    pub(super) fn followed(parent: &ParentSession, on: bool) {
        parent.followed.store(on, Ordering::Release);
    }
}

/// Defaults of a session that the settings do not decide.
pub(crate) const DEFAULT_THINKING: ThinkingLevel = ThinkingLevel::Off;

/// Whether a path is absolute and a folder; what a session's `cwd` must be.
pub(crate) fn checked_folder(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_absolute() {
        return Err(Failure::bad_param("cwd", format!("\"{}\" is not an absolute path", path.display())));
    }
    let folder = path.canonicalize().map_err(|error| {
        Failure::bad_param("cwd", format!("\"{}\" cannot be opened: {error}", path.display()))
    })?;
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(Failure::bad_param("cwd", format!("\"{}\" is not a folder", path.display())))
    }
}
