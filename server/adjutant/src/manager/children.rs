//! Children: from the core's "start" to the join of their task.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::AgentSpawnParams;
use roster::{CallId, Input, Launch, Origin, Refusal, Reply, ResumeRequest, Steer};
use session::{
    Prompt, PromptOrigin, RunOutcome, RunProgress, Session, SessionHandle, SteerAuthor, SteerRequest,
};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, Id, JoinError};
use tokio_util::sync::CancellationToken;
use vocab::{AgentId, AgentStatus, EndReason, EndedBy, Outcome, RunStop, SteerId};

use super::Manager;
use super::opening::{Opening, WaitingRun, cancelled, failed_setup, still_running};
use super::parents::ParentSession;
use super::restore::Revival;
use crate::attachments;
use crate::child::{ChildPlan, Opener};
use crate::failure::Failure;
use crate::launch::{LaunchRequest, Prepared};
use crate::output_transcript;
use crate::projection;

/// Settled sessions kept in memory, so that reading and resuming the latest costs no disk. Older ones are read from
/// their files.
const IDLE_SESSIONS: usize = 64;

/// The shell's side of an agent.
pub(super) struct Child {
    /// None for one of an earlier server that nobody has needed yet.
    pub(super) plan: Option<Arc<ChildPlan>>,
    /// How that one gets its plan.
    pub(super) revival: Option<Revival>,
    pub(super) state: ChildState,
    /// Whether the client follows its transcript.
    pub(super) followed: Arc<AtomicBool>,
}

pub(super) enum ChildState {
    /// It has not run yet, or its session is only on disk.
    Away {
        file: Option<PathBuf>,
    },
    Running {
        run: u32,
        handle: SessionHandle,
        progress: watch::Receiver<RunProgress>,
        cancel: CancellationToken,
        task: AbortHandle,
    },
    /// Its session is being read from its file.
    Opening(Opening),
    Idle(Box<Session>),
}

impl Child {
    /// Where its transcript is, also of an agent of an earlier server that has no plan yet.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let planned = self.plan.as_ref().and_then(|plan| plan.file.clone());
        planned.or_else(|| match &self.state {
            ChildState::Away { file } => file.clone(),
            _ => None,
        })
    }

    /// Whether this run of it is the one that is running.
    fn runs(&self, run: u32) -> bool {
        matches!(self.state, ChildState::Running { run: running, .. } if running == run)
    }
}

/// What a child's task returns: the session lives on.
pub(super) struct ChildExit {
    pub(super) agent: AgentId,
    pub(super) run: u32,
    pub(super) session: Box<Session>,
    pub(super) outcome: RunOutcome,
}

impl Manager {
    /// Prepares an agent that a person or a program asks for: everything is checked before it exists.
    pub(crate) fn prepare_asked(
        &mut self,
        params: AgentSpawnParams,
        origin: Origin,
    ) -> Result<Prepared, Failure> {
        let context = self.launch_context(params.session_id)?;
        let attached = attachments::text(&params.attachments, &self.documents)?;
        let request = LaunchRequest {
            agent_type: params.agent_type,
            prompt: format!("{}{attached}", params.prompt),
            description: params.description,
            name: params.name,
            model: params.model,
            thinking: params.thinking,
            max_turns: params.max_turns,
            budget: params.budget.unwrap_or_default(),
            isolated: params.isolated,
            worktree: params.isolation == Some(protocol::Isolation::Worktree),
            background: Some(params.background),
            tool_call: None,
            turn: None,
        };
        let mut prepared = context.prepare_for_person(request, params.wake_model)?;
        prepared.request.launch.origin = origin;
        Ok(prepared)
    }

    /// Puts an agent that has been prepared under the core's control.
    pub(super) fn spawn(&mut self, call: CallId, prepared: Prepared, reply: oneshot::Sender<Reply>) {
        let Prepared { request, mut plan, notes: _ } = prepared;
        plan.rights = self.sessions.get(&plan.session).map(|session| session.context.subscribe());
        let agent = request.agent.clone();
        let child = Child {
            plan: Some(Arc::new(plan)),
            revival: None,
            state: ChildState::Away { file: None },
            followed: Arc::new(AtomicBool::new(false)),
        };
        self.children.insert(agent.clone(), child);
        let transcript = self.prepare_transcript(&agent, 1);
        self.ask(call, Input::Spawn { call, request }, reply);
        if self.roster.agent(&agent).is_none() {
            self.children.remove(&agent);
            forget(transcript);
        }
    }

    /// Gives a settled agent another run, unless its session has spent what it may.
    pub(super) fn resume(
        &mut self,
        call: CallId,
        agent: AgentId,
        launch: Launch,
        reply: oneshot::Sender<Reply>,
    ) -> Result<(), Failure> {
        let launch = self.launch_again(&agent, launch)?;
        let Some(record) = self.roster.agent(&agent) else {
            return Err(Refusal::UnknownAgent(agent).into());
        };
        let (run, session) = (record.run_number() + 1, record.session.clone());
        if let Ok(parent) = self.parent(&session) {
            parent.context.borrow().check_spending()?;
        }
        let transcript = if record.status().is_final() { self.prepare_transcript(&agent, run) } else { None };
        self.ask(
            call,
            Input::Resume { call, request: ResumeRequest { agent: agent.clone(), launch } },
            reply,
        );
        if self.roster.agent(&agent).is_none_or(|record| record.run_number() < run) {
            forget(transcript);
        }
        Ok(())
    }

    /// Makes the transcript file of the next run, where its definition or the settings want one.
    fn prepare_transcript(&self, agent: &AgentId, run: u32) -> Option<PathBuf> {
        let plan = self.children.get(agent)?.plan.as_ref()?;
        let wanted = plan.rights.as_ref()?.borrow().wants_transcript(&plan.agent_type);
        let files = plan.files.as_ref().filter(|_| wanted)?;
        output_transcript::prepare(files, agent, run)
    }

    /// Carries out [`roster::Effect::Start`]. A session that is on disk is read first, which takes its time; what comes
    /// for the run meanwhile waits with it.
    pub(super) fn start_child(&mut self, agent: &AgentId, run: u32, prompt: String, steers: Vec<Steer>) {
        let waiting = WaitingRun { run, prompt, steers };
        let path = self.path_of(agent);
        let Some(child) = self.children.get_mut(agent) else { return };
        let Some(plan) = child.plan.clone() else { return };
        child.revival = None;
        let state = std::mem::replace(&mut child.state, ChildState::Away { file: plan.file.clone() });
        match state {
            ChildState::Idle(_) | ChildState::Away { .. } if !plan.workspace.folder.is_dir() => {
                child.state = state;
                let gone = format!("its folder {} is not there any more", plan.workspace.folder.display());
                self.not_started(
                    agent,
                    waiting,
                    failed_setup(&Failure::new(protocol::ErrorCode::Failed, gone)),
                );
            }
            ChildState::Idle(session) => self.begin_run(agent, *session, waiting),
            ChildState::Away { file: None } => {
                let opener =
                    Opener::new(&plan, &child.followed, agent, path, None, &self.ports, &self.handle);
                match opener.build() {
                    Ok(session) => self.begin_run(agent, session, waiting),
                    Err(failure) => self.not_started(agent, waiting, failed_setup(&failure)),
                }
            }
            ChildState::Away { file } => {
                let opener =
                    Opener::new(&plan, &child.followed, agent, path, file, &self.ports, &self.handle);
                self.open_child(agent, opener, Opening::run(waiting));
            }
            ChildState::Opening(mut opening) => {
                opening.set_run(waiting);
                child.state = ChildState::Opening(opening);
            }
            running @ ChildState::Running { .. } => {
                child.state = running;
                self.not_started(agent, waiting, failed_setup(&still_running()));
            }
        }
    }

    /// Runs an agent whose session is there.
    pub(super) fn begin_run(&mut self, agent: &AgentId, mut session: Session, waiting: WaitingRun) {
        let WaitingRun { run, prompt, steers } = waiting;
        let Some(child) = self.children.get_mut(agent) else { return };
        let handle = session.handle().clone();
        for steer in steers {
            handle.steer(steer_request(steer));
        }
        session.set_watched(child.followed.load(Ordering::Acquire));
        let cancel = self.process.child_token();
        let id = agent.clone();
        let prompt = Prompt { origin: PromptOrigin::Parent, run: Some(run), ..Prompt::new(prompt) };
        let token = cancel.clone();
        let task = self.runs.spawn(async move {
            let outcome = session.run(prompt, token).await;
            ChildExit { agent: id, run, session: Box::new(session), outcome }
        });
        self.running.insert(task.id(), (agent.clone(), run));
        let progress = handle.progress();
        child.state = ChildState::Running { run, handle, progress, cancel, task };
        self.apply(Input::Started { agent: agent.clone(), run });
    }

    pub(super) fn steer_child(&mut self, agent: &AgentId, run: u32, steer: Steer) {
        let expired = match self.children.get_mut(agent).map(|child| &mut child.state) {
            Some(ChildState::Running { handle, .. }) => {
                handle.steer(steer_request(steer));
                None
            }
            Some(ChildState::Opening(opening)) => opening.steer(run, steer),
            _ => Some(steer),
        };
        if let Some(steer) = expired {
            self.apply(Input::SteersExpired { agent: agent.clone(), run, steers: vec![steer] });
        }
    }

    pub(super) fn unsteer_child(&mut self, call: CallId, agent: &AgentId, steer: SteerId) {
        let handle = match self.children.get_mut(agent).map(|child| &mut child.state) {
            Some(ChildState::Running { handle, .. }) => handle,
            Some(ChildState::Opening(opening)) => {
                let withdrawn = opening.unsteer(&steer);
                self.reply(call, Reply::Unsteered { withdrawn });
                return;
            }
            _ => {
                self.reply(call, Reply::Unsteered { withdrawn: false });
                return;
            }
        };
        let Some(caller) = self.calls.remove(&call) else { return };
        let answer = handle.unsteer(steer);
        // Bounded by the session's life; the task owns nothing but the two ends.
        self.errands.spawn(async move {
            let withdrawn = answer.await.unwrap_or(false);
            let _ = caller.send(Reply::Unsteered { withdrawn });
        });
    }

    pub(super) fn cancel_child(&mut self, agent: &AgentId) {
        match self.children.get_mut(agent).map(|child| &mut child.state) {
            Some(ChildState::Running { cancel, run, progress, .. }) => {
                cancel.cancel();
                // Should it never be joined, this is the last that is known of it.
                let (run, progress) = (*run, projection::progress(&progress.borrow()));
                self.apply(Input::Progress { agent: agent.clone(), run, progress });
            }
            // The reading goes on for those who look at it, and for the next run; this one is over.
            Some(ChildState::Opening(opening)) => {
                if let Some(waiting) = opening.take_run() {
                    self.not_started(agent, waiting, cancelled());
                }
            }
            _ => {}
        }
    }

    /// The task did not end within its grace: it is dropped, which kills what its tools started.
    pub(super) fn detach_child(&mut self, agent: &AgentId) {
        let Some(child) = self.children.get_mut(agent) else { return };
        if let ChildState::Running { task, cancel, .. } = &child.state {
            cancel.cancel();
            task.abort();
            child.state = ChildState::Away { file: child.file() };
        }
    }

    /// A child's task has ended, by whatever way: the one place where a started run settles.
    pub(super) fn run_joined(&mut self, joined: Result<(Id, ChildExit), JoinError>) {
        match joined {
            Ok((task, exit)) => {
                self.running.remove(&task);
                self.child_exited(exit);
            }
            Err(failure) => {
                let Some((agent, run)) = self.running.remove(&failure.id()) else { return };
                let (error, reason) = if failure.is_panic() {
                    ("an internal fault ended the agent; the log has the details", EndReason::Panic)
                } else {
                    ("the agent was dropped", EndReason::Lost)
                };
                tracing::error!(%agent, run, %failure, "a child's task failed");
                let progress = self.last_progress(&agent, run);
                if let Some(child) = self.children.get_mut(&agent).filter(|child| child.runs(run)) {
                    child.state = ChildState::Away { file: child.file() };
                }
                let outcome = Outcome {
                    reason: Some(reason),
                    error: Some(error.to_owned()),
                    // What it has used is paid for, whatever became of it.
                    usage: progress.usage,
                    ..Outcome::without_text(AgentStatus::Error, EndedBy::Itself)
                };
                self.apply(Input::Settled { agent, run, outcome, progress });
            }
        }
    }

    /// How far a run had come: what its session said last, else what the core was told.
    fn last_progress(&self, agent: &AgentId, run: u32) -> roster::Progress {
        match self.children.get(agent).map(|child| &child.state) {
            Some(ChildState::Running { run: running, progress, .. }) if *running == run => {
                projection::progress(&progress.borrow())
            }
            _ => self.roster.agent(agent).map(|record| record.progress().clone()).unwrap_or_default(),
        }
    }

    fn child_exited(&mut self, exit: ChildExit) {
        let ChildExit { agent, run, session, outcome } = exit;
        let progress = projection::final_progress(&outcome, &session.handle().progress().borrow());
        if !outcome.undelivered_steers.is_empty() {
            let steers = outcome.undelivered_steers.iter().map(roster_steer).collect();
            self.apply(Input::SteersExpired { agent: agent.clone(), run, steers });
        }
        // A run that was dropped may end after the next one has begun: its session is not the agent's any more.
        if let Some(child) = self.children.get_mut(&agent).filter(|child| child.runs(run)) {
            child.state = ChildState::Idle(session);
        }
        self.apply(Input::Settled {
            agent: agent.clone(),
            run,
            outcome: settled_outcome(&outcome),
            progress,
        });
        self.idle_order.push_back(agent);
        self.let_old_sessions_go();
    }

    /// Keeps the latest settled sessions in memory and lets older ones live on disk, where they have a file.
    pub(super) fn let_old_sessions_go(&mut self) {
        while self.idle_order.len() > IDLE_SESSIONS {
            let Some(agent) = self.idle_order.pop_front() else { return };
            if self.idle_order.contains(&agent) {
                continue;
            }
            if let Some(child) = self.children.get_mut(&agent)
                && let ChildState::Idle(_) = child.state
                && !child.followed.load(Ordering::Acquire)
                && let Some(file) = child.file()
            {
                let idle = std::mem::replace(&mut child.state, ChildState::Away { file: Some(file) });
                // A long conversation takes a while to be freed.
                tokio::task::spawn_blocking(move || drop(idle));
            }
        }
    }

    pub(super) fn is_sampling(&self) -> bool {
        // A clock that stands still while a person is asked has to learn that somebody is.
        let timed =
            |session: &ParentSession| session.context.borrow().workspace.settings.limits.wall_clock_ms > 0;
        !self.running.is_empty()
            && (self.fleet.is_watched() || self.wants_updates() || self.sessions.values().any(timed))
    }

    /// Gives the core the latest progress of each running child that has moved.
    pub(super) fn sample_progress(&mut self) {
        let moved = |(agent, run): &(AgentId, u32)| {
            let ChildState::Running { progress, .. } = &self.children.get(agent)?.state else { return None };
            if !progress.has_changed().unwrap_or(false) {
                return None;
            }
            Some((agent.clone(), *run))
        };
        let moved: Vec<_> = self.running.values().filter_map(moved).collect();
        let mut samples = Vec::with_capacity(moved.len());
        for (agent, run) in moved {
            if let Some(ChildState::Running { progress, .. }) =
                self.children.get_mut(&agent).map(|child| &mut child.state)
            {
                let progress = projection::progress(&progress.borrow_and_update());
                samples.push((agent, run, progress));
            }
        }
        for (agent, run, progress) in samples {
            self.apply(Input::Progress { agent, run, progress });
        }
        self.send_updates();
    }

    /// Handles from the root to the agent: how a person finds who asks.
    pub(crate) fn path_of(&self, agent: &AgentId) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = self.roster.agent(agent);
        while let Some(record) = next {
            path.push(record.handle.clone());
            next = record.parent.as_ref().and_then(|parent| self.roster.agent(parent));
        }
        path.reverse();
        path
    }
}

/// Removes the transcript of a run that was refused.
fn forget(transcript: Option<PathBuf>) {
    if let Some(path) = transcript {
        let _ = std::fs::remove_file(path);
    }
}

fn steer_request(steer: Steer) -> SteerRequest {
    let author = match steer.author {
        EndedBy::User => SteerAuthor::User,
        EndedBy::Host | EndedBy::Limit => SteerAuthor::Host,
        EndedBy::Parent | EndedBy::Itself => SteerAuthor::Parent,
    };
    SteerRequest { steer_id: steer.id, text: steer.text, author }
}

fn roster_steer(steer: &SteerRequest) -> Steer {
    let author = match steer.author {
        SteerAuthor::User => EndedBy::User,
        SteerAuthor::Parent => EndedBy::Parent,
        SteerAuthor::Host => EndedBy::Host,
    };
    Steer { id: steer.steer_id.clone(), text: steer.text.clone(), author }
}

/// What a session's run means for its agent. Who cancelled a cancelled run is known to the core, not here.
fn settled_outcome(outcome: &RunOutcome) -> Outcome {
    let text = outcome.text.clone();
    let error = outcome.error.as_deref().map(str::to_owned);
    let (status, ended_by, reason, error) = match outcome.stop {
        RunStop::EndTurn if outcome.wrapped_up => (AgentStatus::Steered, EndedBy::Itself, None, None),
        RunStop::Length if text.trim().is_empty() => (
            AgentStatus::Error,
            EndedBy::Itself,
            Some(EndReason::Provider),
            Some("the model reached its output limit before it wrote anything".to_owned()),
        ),
        RunStop::EndTurn | RunStop::Length => (AgentStatus::Completed, EndedBy::Itself, None, None),
        RunStop::Refusal => (
            AgentStatus::Error,
            EndedBy::Itself,
            Some(EndReason::Provider),
            Some(error.unwrap_or_else(|| "the model refused to answer".to_owned())),
        ),
        RunStop::Limit => (AgentStatus::Aborted, EndedBy::Limit, outcome.reason, error),
        RunStop::Aborted => (AgentStatus::Stopped, EndedBy::Parent, None, None),
        RunStop::Error => (
            AgentStatus::Error,
            EndedBy::Itself,
            Some(outcome.reason.unwrap_or(EndReason::Provider)),
            Some(error.unwrap_or_else(|| "the model's provider gave no reason".to_owned())),
        ),
    };
    Outcome { status, ended_by, reason, text, error, usage: outcome.usage }
}
