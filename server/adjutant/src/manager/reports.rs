//! What people are told without having a pane for it: progress of prompts, ends of what a command started, warnings.

use std::path::PathBuf;

use protocol::{AgentResultResult, AgentSummary};
use roster::{Owner, Refusal};
use tower_lsp::ls_types::MessageType;
use vocab::{AgentId, AgentStatus, SessionId, Timestamp};

use super::{Manager, Ticket};
use crate::delegation::text::one_line;
use crate::failure::Failure;
use crate::lsp::headline;
use crate::outbox::Outgoing;
use crate::projection;
use crate::workspace::Workspaces;

impl Manager {
    pub(crate) fn workspaces(&mut self) -> &mut Workspaces {
        &mut self.ports.workspaces
    }

    /// Tells a person of faulty files and settings, once each.
    pub(crate) fn tell_warnings(&mut self) {
        for warning in self.ports.workspaces.take_warnings() {
            self.ports.outbox.send(Outgoing::Message(MessageType::WARNING, warning));
        }
    }

    /// Does something that waits, beside everything else; it ends with the server.
    pub(crate) fn errand(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.errands.spawn(work);
    }

    /// Says how an agent that a command started has ended.
    pub(crate) fn tell_when_settled(&mut self, ticket: Ticket) {
        let outbox = self.ports.outbox.clone();
        self.errands.spawn(async move {
            let Ok(done) = ticket.settled().await else { return };
            let (kind, said) = match done.status() {
                AgentStatus::Completed | AgentStatus::Steered => {
                    (MessageType::INFO, headline(&done.outcome.text))
                }
                AgentStatus::Stopped | AgentStatus::Interrupted => {
                    (MessageType::INFO, done.status().as_str().to_owned())
                }
                _ => (MessageType::ERROR, one_line(done.outcome.error.as_deref().unwrap_or("failed"), 200)),
            };
            outbox.send(Outgoing::Message(kind, format!("{}: {said}", done.handle)));
        });
    }

    /// All rows, in the order in which the agents were made.
    pub(crate) fn summaries(&self) -> Vec<AgentSummary> {
        self.roster.agents().map(|agent| self.row(agent)).collect()
    }

    /// The rows of what one owner has started, in the order in which they were made.
    pub(crate) fn summaries_of(&self, session: &SessionId, owner: &Owner) -> Vec<AgentSummary> {
        let own = self.roster.agents_of(session).filter(|agent| agent.owner() == *owner);
        own.map(|agent| projection::summary(&self.roster, agent)).collect()
    }

    /// Whether an owner has live background agents, or news of them that it has not had.
    pub(crate) fn has_more_to_come(&self, owner: &Owner) -> bool {
        self.roster.outstanding(owner)
    }

    /// The manager's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// The file with the whole text of a run of which only the beginning is in memory.
    pub(crate) fn file_of_cut_text(&self, agent: &AgentId, run: u32) -> Option<PathBuf> {
        let record = self.roster.agent(agent)?;
        let cut = record.completion_of(run).is_some_and(|done| done.text_cut);
        self.children.get(agent).filter(|_| cut)?.file()
    }

    /// Grows with every change of any agent.
    pub(crate) fn revision(&self) -> u64 {
        self.roster.revision()
    }

    /// A run as a person reads it: its text so far while it is live. Nothing is consumed by that.
    pub(crate) fn result(&mut self, agent: &AgentId, run: Option<u32>) -> Result<AgentResultResult, Failure> {
        self.check_here(agent)?;
        let record = self.roster.agent(agent).ok_or_else(|| Failure::unknown_agent(agent.as_str()))?;
        let run = run.unwrap_or_else(|| record.run_number());
        if let Some(done) = record.completion_of(run) {
            return Ok(AgentResultResult {
                run,
                status: done.status(),
                text: done.outcome.text.clone(),
                usage: done.outcome.usage,
                partial: !matches!(done.status(), AgentStatus::Completed | AgentStatus::Steered),
                transcript: None,
            });
        }
        if run != record.run_number() {
            return Err(Refusal::UnknownRun { agent: agent.clone(), run }.into());
        }
        Ok(AgentResultResult {
            run,
            status: record.status(),
            text: self.text_tail(agent).unwrap_or_default(),
            usage: record.progress().usage,
            partial: true,
            transcript: None,
        })
    }
}
