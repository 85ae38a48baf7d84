//! Choices that a command leaves open, asked of the person.

use vocab::{AgentId, SessionId};

use super::Backend;
use crate::failure::Failure;
use crate::outbox::Answer;
use protocol::{AgentSummary, ErrorCode};

/// Buttons of one question; more choices than this cannot be shown well.
const BUTTONS: usize = 12;

impl Backend {
    /// The agent that a command means: the named one, the only one that fits, or the one that a person chooses.
    pub(super) async fn choose_agent(
        &self,
        id: Option<AgentId>,
        handle: Option<String>,
        session: Option<SessionId>,
        question: &str,
        fits: fn(&AgentSummary) -> bool,
    ) -> Result<AgentId, Failure> {
        if let Some(id) = id {
            return Ok(id);
        }
        if let Some(handle) = handle {
            return self.manager.call(move |manager| manager.find_agent(session.as_ref(), &handle)).await?;
        }
        let mut fitting: Vec<_> = self.manager.call(|manager| manager.summaries()).await?;
        fitting.retain(|agent| {
            fits(agent) && session.as_ref().is_none_or(|session| agent.session_id == *session)
        });
        match fitting.as_slice() {
            [] => {
                Err(Failure::new(ErrorCode::UnknownAgent, "there is no agent that this could be done with"))
            }
            [only] => Ok(only.agent_id.clone()),
            several => {
                let shown = &several[several.len().saturating_sub(BUTTONS)..];
                let buttons = shown.iter().map(|agent| agent.handle.clone()).collect();
                let chosen = self.choose(question.to_owned(), buttons).await?;
                shown
                    .iter()
                    .find(|agent| agent.handle == chosen)
                    .map(|agent| agent.agent_id.clone())
                    .ok_or_else(|| Failure::unknown_agent(&chosen))
            }
        }
    }

    /// The type of agent that a command means, or that a person chooses.
    pub(super) async fn choose_type(
        &self,
        given: Option<String>,
        session: Option<SessionId>,
    ) -> Result<String, Failure> {
        if let Some(given) = given.filter(|given| !given.trim().is_empty()) {
            return Ok(given);
        }
        let context = self.manager.call(move |manager| manager.launch_context(session)).await??;
        let types: Vec<_> =
            context.agent_types().enabled().map(|agent_type| agent_type.name.clone()).collect();
        self.choose("Which type of agent?".to_owned(), types.into_iter().take(BUTTONS).collect()).await
    }

    async fn choose(&self, question: String, buttons: Vec<String>) -> Result<String, Failure> {
        match self.outbox.ask(question, buttons).await {
            Answer::Button(button) => Ok(button),
            Answer::Dismissed => Err(Failure::new(ErrorCode::Cancelled, "nothing was chosen")),
            Answer::Nobody => Err(Failure::new(ErrorCode::BadParams, "the command leaves a choice open")
                .hint("name the agent by `agentId` or `handle`, the type by `type`")),
        }
    }
}
