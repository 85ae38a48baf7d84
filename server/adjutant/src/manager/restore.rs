//! The fleet of earlier servers: taken over where nobody else has it, only read where somebody does.
//!
//! A session's journal is taken over with the session's lock. Its agents are in the roster from then on, settled all of
//! them, and run again only when somebody resumes them: then their session is opened, and their plan is read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use protocol::{AgentSummary, ErrorCode};
use roster::{Input, Launch, RestoredAgent, Roster};
use session::storage::{SessionLock, SessionPaths, StorageError};
use tokio::sync::oneshot;
use vocab::{AgentId, AgentStatus, SessionId};

use super::children::{Child, ChildState};
use super::{Manager, OpenSession, Resume};
use crate::failure::Failure;
use crate::journal;
use crate::kept_plan::KeptPlan;
use crate::projection;

/// Journals that are looked at when a server starts, the newest: each that is taken over holds a descriptor.
const MOST_JOURNALS: usize = 500;

/// Sessions of earlier servers, and of other ones.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Taken over and not opened yet.
    taken: BTreeMap<SessionId, TakenSession>,
    /// Another server has them.
    elsewhere: BTreeMap<SessionId, SessionElsewhere>,
    /// Closed here, while agents of theirs still end.
    pub(super) leaving: BTreeMap<SessionId, Option<SessionLock>>,
    /// Who wants to open a session that is still being closed; told whenever one has gone.
    wanting: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct TakenSession {
    lock: SessionLock,
    /// The working folder.
    cwd: PathBuf,
}

#[derive(Debug)]
struct SessionElsewhere {
    paths: SessionPaths,
    cwd: PathBuf,
    /// Of its journal when that was read.
    stamp: Option<(SystemTime, u64)>,
    agents: Vec<AgentSummary>,
}

/// What makes an agent of an earlier server run again.
#[derive(Debug, Clone)]
pub(super) struct Revival {
    paths: SessionPaths,
    /// Names its plan; an agent of a server that could not keep it has none.
    plan: Option<String>,
    /// A task that it has never been given: it was queued when its server ended.
    pub(super) untold: Option<String>,
}

impl Restored {
    /// The lock of a session that was taken over: who opens it goes on with it.
    pub(super) fn lock_of(&mut self, session: &SessionId) -> Option<SessionLock> {
        self.taken.remove(session).map(|taken| taken.lock)
    }

    /// Whether a session was taken over and has not been opened.
    pub(super) fn is_taken(&self, session: &SessionId) -> bool {
        self.taken.contains_key(session)
    }

    /// A row of an agent that another server has.
    pub(super) fn elsewhere(&self, agent: &AgentId) -> Option<&AgentSummary> {
        self.rows_elsewhere().find(|row| row.agent_id == *agent)
    }

    /// All rows of agents that other servers have.
    pub(super) fn rows_elsewhere(&self) -> impl Iterator<Item = &AgentSummary> {
        self.elsewhere.values().flat_map(|session| &session.agents)
    }
}

impl Manager {
    /// Takes over what earlier servers left in this folder. Nothing is read where there is nothing, and no model starts.
    pub(crate) fn restore_fleet(&mut self) {
        let Some((cwd, folder)) = self.ports.workspaces.sessions_folder() else { return };
        let Ok(entries) = fs::read_dir(&folder) else { return };
        let mut journals: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let paths = SessionPaths::of_folder(entry.path());
                let modified = fs::metadata(paths.journal_file()).ok()?.modified().ok()?;
                Some((modified, paths))
            })
            .collect();
        journals.sort_unstable_by_key(|(modified, _)| std::cmp::Reverse(*modified));
        for (_, paths) in journals.into_iter().take(MOST_JOURNALS) {
            self.restore_journal(&paths, &cwd);
        }
    }

    fn restore_journal(&mut self, paths: &SessionPaths, cwd: &std::path::Path) {
        let Some(name) = paths.folder().file_name().and_then(|name| name.to_str()) else { return };
        let session = SessionId::from(name);
        if self.sessions.contains_key(&session) || self.restored.is_taken(&session) {
            return;
        }
        match SessionLock::acquire(paths) {
            Ok(lock) => {
                self.restored.elsewhere.remove(&session);
                if self.restore_agents(&session, paths) > 0 {
                    let taken = TakenSession { lock, cwd: cwd.to_owned() };
                    self.restored.taken.insert(session, taken);
                }
            }
            Err(StorageError::Locked { .. }) => self.read_elsewhere(session, paths, cwd),
            Err(error) => self.ports.workspaces.warn(format!("Earlier agents cannot be shown: {error}")),
        }
    }

    /// Puts the agents of a session's journal, whose lock this server has, into the roster; how many there are.
    pub(super) fn restore_agents(&mut self, session: &SessionId, paths: &SessionPaths) -> usize {
        let read = match journal::take_over(paths, self.ports.clock.now()) {
            Ok(Some(read)) => read,
            Ok(None) => return 0,
            Err(error) => {
                self.ports.workspaces.warn(format!("Earlier agents cannot be shown: {error}"));
                return 0;
            }
        };
        self.open_journal(session, paths);
        for fact in &read.missing {
            self.keep(session, fact);
        }
        let count = read.agents.len();
        for agent in read.agents {
            // A name that is no file name was never one of ours.
            let fits = agent.request.session == *session
                && paths.agent_file(agent.request.agent.as_str()).is_ok()
                && self.roster.agent(&agent.request.agent).is_none();
            if fits {
                self.restore_agent(agent, paths);
            }
        }
        count
    }

    fn restore_agent(&mut self, agent: RestoredAgent, paths: &SessionPaths) {
        let id = agent.request.agent.clone();
        let file = paths.agent_file(id.as_str()).ok().filter(|file| file.exists());
        let last = agent.runs.last().map(|run| &run.completion);
        let never_told = last.is_some_and(|done| {
            done.status() == AgentStatus::Interrupted && (done.started_at.is_none() || file.is_none())
        });
        let revival = Revival {
            paths: paths.clone(),
            plan: agent.request.plan.clone(),
            untold: never_told.then(|| agent.request.launch.prompt.clone()),
        };
        let child = Child {
            plan: None,
            revival: Some(revival),
            state: ChildState::Away { file },
            followed: Arc::new(AtomicBool::new(false)),
        };
        self.children.insert(id, child);
        self.apply(Input::Restore { agent: Box::new(agent) });
    }

    /// Makes sure that an agent can run or be looked at: one of an earlier server gets its session and its plan back.
    pub(crate) fn revive(&mut self, agent: &AgentId) -> Result<(), Failure> {
        let Some(child) = self.children.get(agent).filter(|child| child.plan.is_none()) else {
            return Ok(());
        };
        let Some(revival) = child.revival.clone() else { return Ok(()) };
        let record = self.roster.agent(agent).ok_or_else(|| Failure::unknown_agent(agent.as_str()))?;
        let (session, depth) = (record.session.clone(), record.depth);
        let lost = |why: String| {
            Failure::new(ErrorCode::Failed, format!("agent {agent} cannot go on: {why}"))
                .hint("start a new agent with the same task")
        };
        let plan = revival.plan.as_deref().ok_or_else(|| lost("its definition was not kept".into()))?;
        let kept = KeptPlan::read(&revival.paths, plan).map_err(lost)?;
        self.open_for_agents(&session)?;
        let context = self.sessions.get(&session).map(|parent| parent.context.subscribe());
        let context = context.ok_or_else(|| Failure::unknown_session(session.as_str()))?;
        let mut plan = context.borrow().revive(kept, agent, depth)?;
        plan.rights = Some(context);
        if let Some(child) = self.children.get_mut(agent) {
            child.plan = Some(Arc::new(plan));
        }
        Ok(())
    }

    /// What an agent that is resumed is launched with: one of an earlier server may have a task that it was never given.
    pub(super) fn launch_again(&mut self, agent: &AgentId, mut launch: Launch) -> Result<Launch, Failure> {
        self.revive(agent)?;
        let revival = self.children.get(agent).and_then(|child| child.revival.as_ref());
        if let Some(untold) = revival.and_then(|revival| revival.untold.as_deref()) {
            launch.prompt = format!("{untold}\n\n{}", launch.prompt);
        }
        Ok(launch)
    }

    /// Sessions that were closed are another server's to open once the last of their agents has ended.
    pub(super) fn let_closed_sessions_go(&mut self) {
        if self.restored.leaving.is_empty() {
            return;
        }
        let gone =
            |session: &SessionId| self.roster.limits(session).is_none() && !self.journals.waits_for(session);
        let leaving: Vec<_> = self.restored.leaving.keys().filter(|session| gone(session)).cloned().collect();
        for session in leaving {
            self.restored.leaving.remove(&session);
            self.close_journal(&session);
            self.restored.wanting.clear();
        }
    }

    /// Something to wait for, where a session was closed here and its files are still being written; it ends when a session
    /// has gone, this one or another.
    pub(super) fn still_closing(&mut self, session: &SessionId) -> Option<oneshot::Receiver<()>> {
        let driven = || self.driven.values().any(|driven| driven == session);
        if self.sessions.contains_key(session) || !(self.restored.leaving.contains_key(session) || driven()) {
            return None;
        }
        let (gone, left) = oneshot::channel();
        self.restored.wanting.push(gone);
        Some(left)
    }

    /// Opens the session of agents that were taken over; it is not the default one by that.
    fn open_for_agents(&mut self, session: &SessionId) -> Result<(), Failure> {
        if self.sessions.contains_key(session) {
            return Ok(());
        }
        let default = self.default_session.clone();
        let cwd = self.restored.taken.get(session).map(|taken| taken.cwd.clone());
        let resume = Some(Resume::Id(session.clone()));
        self.open_session(OpenSession { resume, cwd, ..OpenSession::default() })?;
        self.default_session = default;
        Ok(())
    }

    /// Whether another server has an agent: then it can only be seen here.
    pub(crate) fn check_here(&mut self, agent: &AgentId) -> Result<(), Failure> {
        if self.restored.elsewhere(agent).is_none() {
            return Ok(());
        }
        self.look_elsewhere();
        if self.restored.elsewhere(agent).is_none() {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::Conflict, format!("agent {agent} belongs to another Adjutant server"))
            .hint("use the editor window that it runs in, or close that window first"))
    }

    /// Looks again at sessions of other servers: what has become free is taken over, what has grown is read.
    pub(super) fn look_elsewhere(&mut self) {
        let known: Vec<_> = self
            .restored
            .elsewhere
            .values()
            .map(|session| (session.paths.clone(), session.cwd.clone()))
            .collect();
        for (paths, cwd) in known {
            self.restore_journal(&paths, &cwd);
        }
    }

    fn read_elsewhere(&mut self, session: SessionId, paths: &SessionPaths, cwd: &std::path::Path) {
        let stamp =
            fs::metadata(paths.journal_file()).and_then(|found| Ok((found.modified()?, found.len()))).ok();
        if self.restored.elsewhere.get(&session).is_some_and(|known| known.stamp == stamp && stamp.is_some())
        {
            return;
        }
        let agents = match journal::read(paths, false) {
            Ok(Some((replay, _))) => rows_of(replay, self.ports.clock.now()),
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the journal of another server cannot be read");
                Vec::new()
            }
        };
        for row in &agents {
            self.row_changed(&row.agent_id);
        }
        let (paths, cwd) = (paths.clone(), cwd.to_owned());
        self.restored.elsewhere.insert(session, SessionElsewhere { paths, cwd, stamp, agents });
    }
}

/// The rows of a journal that another server writes. What has no end there has none here.
fn rows_of(replay: roster::Replay, now: vocab::Timestamp) -> Vec<AgentSummary> {
    let mut live = BTreeMap::new();
    let (agents, _) = replay.finish(now, |run| {
        live.insert((run.request.agent.clone(), run.run), run.started_at);
        (String::new(), roster::Progress::default())
    });
    let mut fleet = Roster::new();
    for agent in agents {
        fleet.apply(now, Input::Restore { agent: Box::new(agent) });
    }
    let rows = fleet.agents().map(|record| {
        let mut row = projection::summary(&fleet, record);
        row.read_only = Some(true);
        row.resumable = false;
        if let Some(started_at) = live.get(&(row.agent_id.clone(), row.run)) {
            row.status = if started_at.is_some() { AgentStatus::Running } else { AgentStatus::Queued };
            row.started_at = *started_at;
            (row.completed_at, row.ended_by, row.delivery) = (None, None, None);
            row.unread = false;
        }
        row
    });
    rows.collect()
}
