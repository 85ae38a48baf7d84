//! Viewers: reading transcripts, and following them as they grow.

use std::sync::atomic::Ordering;

use protocol::{AgentOpenResult, ErrorCode, SessionSubscribeResult, TranscriptPage};
use roster::Owner;
use session::{Page, PageRequest, SessionHandle};
use tokio::sync::oneshot;
use vocab::{AgentId, SessionId};

use super::Manager;
use super::children::ChildState;
use super::handle::Target;
use super::opening::Opening;
use crate::child::Opener;
use crate::failure::Failure;
use crate::projection::transcript;

/// A page that may still have to come from a running session.
pub(crate) enum PendingPage {
    Ready(Page),
    Coming(session::Reply<Page>),
    /// From a session that is being read from its file.
    Opening(oneshot::Receiver<Result<Page, Failure>>),
}

impl PendingPage {
    /// Waits for one turn of the session's loop at most, or until its file has been read.
    pub(crate) async fn page(self) -> Result<Page, Failure> {
        match self {
            Self::Ready(page) => Ok(page),
            Self::Coming(reply) => reply.await.ok_or_else(|| {
                Failure::new(ErrorCode::ContentModified, "the agent's session changed hands")
                    .hint("ask again")
            }),
            Self::Opening(page) => page.await.map_err(|_| Failure::gone())?,
        }
    }
}

impl Manager {
    /// Finds an agent by id, or by handle or alias in a session.
    pub(crate) fn find_agent(
        &self,
        session: Option<&SessionId>,
        reference: &str,
    ) -> Result<AgentId, Failure> {
        let unknown = || Failure::unknown_agent(reference);
        let session = session.or(self.default_session.as_ref());
        let by_name = session.and_then(|session| self.roster.resolve(session, reference));
        by_name
            .or_else(|| self.roster.agent(&AgentId::from(reference)))
            .map(|agent| agent.id.clone())
            .ok_or_else(unknown)
    }

    /// As [`Self::find_agent`], for a model: only the agents that it started itself are there for it.
    pub(crate) fn find_own_agent(
        &self,
        session: &SessionId,
        owner: &Owner,
        reference: &str,
    ) -> Result<AgentId, Failure> {
        let agent = self.find_agent(Some(session), reference)?;
        let owned = self.roster.agent(&agent).is_some_and(|record| record.owner() == *owner);
        owned.then_some(agent).ok_or_else(|| Failure::unknown_agent(reference))
    }

    /// The agent that a request is about.
    pub(super) fn find_target(&self, target: &Target) -> Result<AgentId, Failure> {
        match target {
            Target::Id(id) => Ok(id.clone()),
            Target::Handle { handle, session } => self.find_agent(session.as_ref(), handle),
        }
    }

    /// The same, where it belongs to this server.
    pub(super) fn find_target_here(&mut self, target: &Target) -> Result<AgentId, Failure> {
        let agent = self.find_target(target)?;
        self.check_here(&agent)?;
        Ok(agent)
    }

    pub(super) fn child_handle(&self, agent: &AgentId) -> Option<&SessionHandle> {
        match &self.children.get(agent)?.state {
            ChildState::Running { handle, .. } => Some(handle),
            _ => None,
        }
    }

    pub(super) fn text_tail(&self, agent: &AgentId) -> Option<String> {
        self.child_handle(agent)?.progress().borrow().text_tail.as_deref().map(str::to_owned)
    }

    /// A page of an agent's transcript; with `follow`, its events from that page's end on.
    pub(crate) fn agent_page(
        &mut self,
        agent: &AgentId,
        request: PageRequest,
        follow: bool,
    ) -> Result<PendingPage, Failure> {
        self.check_here(agent)?;
        self.revive(agent)?;
        let path = self.path_of(agent);
        let child = self.children.get_mut(agent).ok_or_else(|| Failure::unknown_agent(agent.as_str()))?;
        if follow {
            child.followed.store(true, Ordering::Release);
        }
        match &mut child.state {
            ChildState::Running { handle, .. } => {
                Ok(PendingPage::Coming(if follow { handle.open(request) } else { handle.page(request) }))
            }
            ChildState::Idle(session) => Ok(PendingPage::Ready(session.page(request))),
            ChildState::Away { file: None } => Ok(PendingPage::Ready(Page::default())),
            ChildState::Opening(opening) => Ok(PendingPage::Opening(opening.page(request))),
            ChildState::Away { file } => {
                let plan = child.plan.as_ref().ok_or_else(|| Failure::unknown_agent(agent.as_str()))?;
                let (file, followed) = (file.clone(), &child.followed);
                let opener = Opener::new(plan, followed, agent, path, file, &self.ports, &self.handle);
                let mut opening = Opening::default();
                let page = opening.page(request);
                self.open_child(agent, opener, opening);
                Ok(PendingPage::Opening(page))
            }
        }
    }

    /// Ends the events of an agent.
    pub(crate) fn unfollow_agent(&mut self, agent: &AgentId) -> Result<(), Failure> {
        self.check_here(agent)?;
        let child = self.children.get(agent).ok_or_else(|| Failure::unknown_agent(agent.as_str()))?;
        child.followed.store(false, Ordering::Release);
        if let ChildState::Running { handle, .. } = &child.state {
            handle.watch(false);
        }
        Ok(())
    }

    /// A page of a session's transcript; with `follow`, its events from that page's end on.
    pub(crate) fn session_page(
        &mut self,
        session: &SessionId,
        request: PageRequest,
        follow: bool,
    ) -> Result<PendingPage, Failure> {
        let parent = self.parent(session)?;
        if !follow {
            return Ok(PendingPage::Coming(parent.handle.page(request)));
        }
        Self::followed(parent, true);
        Ok(PendingPage::Coming(parent.handle.open(request)))
    }

    /// Ends the events of a session.
    pub(crate) fn unfollow_session(&mut self, session: &SessionId) -> Result<(), Failure> {
        let parent = self.parent(session)?;
        Self::followed(parent, false);
        parent.handle.watch(false);
        Ok(())
    }
}

/// The answer to `agent/open`.
pub(crate) fn opened(summary: protocol::AgentSummary, page: &Page, owner: &str) -> AgentOpenResult {
    let page: TranscriptPage = transcript::page(page, owner);
    AgentOpenResult { summary, next_seq: page.as_of_seq + 1, page }
}

/// The answer to `session/subscribe`.
pub(crate) fn subscribed(page: &Page, owner: &str) -> SessionSubscribeResult {
    let page: TranscriptPage = transcript::page(page, owner);
    SessionSubscribeResult { next_seq: page.as_of_seq + 1, page }
}
