//! Sessions that are being read from their files: in tasks of their own, since a long one takes seconds.

use protocol::ErrorCode;
use roster::{Input, Steer};
use session::{Page, PageRequest, Session};
use tokio::sync::oneshot;
use vocab::{AgentId, AgentStatus, EndReason, EndedBy, Outcome, SteerId};

use super::Manager;
use super::children::ChildState;
use crate::child::Opener;
use crate::failure::Failure;

/// What waits for the session of an agent to be there. One task reads it, whoever asks.
#[derive(Default)]
pub(super) struct Opening {
    run: Option<WaitingRun>,
    pages: Vec<WaitingPage>,
}

/// A run that the core has started and that has no session yet.
pub(super) struct WaitingRun {
    pub(super) run: u32,
    pub(super) prompt: String,
    pub(super) steers: Vec<Steer>,
}

struct WaitingPage {
    request: PageRequest,
    answer: oneshot::Sender<Result<Page, Failure>>,
}

impl Opening {
    /// For a run.
    pub(super) fn run(run: WaitingRun) -> Self {
        Self { run: Some(run), pages: Vec::new() }
    }

    /// Also for a run; the core starts one at a time.
    pub(super) fn set_run(&mut self, run: WaitingRun) {
        self.run = Some(run);
    }

    /// Also for a page.
    pub(super) fn page(&mut self, request: PageRequest) -> oneshot::Receiver<Result<Page, Failure>> {
        let (answer, page) = oneshot::channel();
        self.pages.push(WaitingPage { request, answer });
        page
    }

    /// Keeps a steer for the run that waits; gives it back where none does.
    pub(super) fn steer(&mut self, run: u32, steer: Steer) -> Option<Steer> {
        match self.run.as_mut().filter(|waiting| waiting.run == run) {
            Some(waiting) => {
                waiting.steers.push(steer);
                None
            }
            None => Some(steer),
        }
    }

    /// Takes a steer back; whether it was still here.
    pub(super) fn unsteer(&mut self, steer: &SteerId) -> bool {
        let Some(waiting) = &mut self.run else { return false };
        let before = waiting.steers.len();
        waiting.steers.retain(|kept| kept.id != *steer);
        waiting.steers.len() < before
    }

    /// The run that waited, which is not to start any more.
    pub(super) fn take_run(&mut self) -> Option<WaitingRun> {
        self.run.take()
    }
}

impl Manager {
    /// Reads an agent's session from its file, in a task of its own.
    pub(super) fn open_child(&mut self, agent: &AgentId, opener: Opener, opening: Opening) {
        let Some(child) = self.children.get_mut(agent) else { return };
        child.state = ChildState::Opening(opening);
        let (manager, agent) = (self.handle.clone(), agent.clone());
        self.errand(async move {
            let opened = opener.open().await;
            manager.post(move |manager| manager.child_opened(&agent, opened));
        });
    }

    /// An agent's session is there, or cannot be read.
    fn child_opened(&mut self, agent: &AgentId, opened: Result<Box<Session>, Failure>) {
        let Some(child) = self.children.get_mut(agent) else { return };
        if !matches!(child.state, ChildState::Opening(_)) {
            return;
        }
        let away = ChildState::Away { file: child.file() };
        let ChildState::Opening(Opening { run, pages }) = std::mem::replace(&mut child.state, away) else {
            return;
        };
        let session = match opened {
            Ok(session) => session,
            Err(failure) => {
                for page in pages {
                    let _ = page.answer.send(Err(failure.clone()));
                }
                if let Some(waiting) = run {
                    self.not_started(agent, waiting, failed_setup(&failure));
                }
                return;
            }
        };
        for page in pages {
            // A caller that has gone meanwhile needs no answer.
            let _ = page.answer.send(Ok(session.page(page.request)));
        }
        if let Some(waiting) = run {
            self.begin_run(agent, *session, waiting);
        } else {
            child.state = ChildState::Idle(session);
            self.idle_order.push_back(agent.clone());
            self.let_old_sessions_go();
        }
    }

    /// Settles a run that never got a session. The steers that it would have read come back to their senders first.
    pub(super) fn not_started(&mut self, agent: &AgentId, waiting: WaitingRun, outcome: Outcome) {
        let WaitingRun { run, prompt: _, steers } = waiting;
        // Posted, not applied: this is said while the core's effects are carried out, and they go first.
        if !steers.is_empty() {
            let agent = agent.clone();
            self.handle.tell(move |_| Input::SteersExpired { agent, run, steers });
        }
        let agent = agent.clone();
        self.handle.tell(move |_| Input::Settled {
            agent,
            run,
            outcome,
            progress: roster::Progress::default(),
        });
    }
}

/// The outcome of a run whose session could not be made.
pub(super) fn failed_setup(failure: &Failure) -> Outcome {
    Outcome {
        reason: Some(EndReason::Setup),
        error: Some(failure.to_string()),
        ..Outcome::without_text(AgentStatus::Error, EndedBy::Itself)
    }
}

/// The outcome of a run that was cancelled before it had a session. Who cancelled it is known to the core.
pub(super) fn cancelled() -> Outcome {
    Outcome::without_text(AgentStatus::Stopped, EndedBy::Parent)
}

/// What a run is told whose predecessor has not ended.
pub(super) fn still_running() -> Failure {
    Failure::new(ErrorCode::Internal, "the agent's run before this one has not ended")
}
