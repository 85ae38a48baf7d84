//! Choices that a command leaves open, asked of the person. A command answers before the question does: an editor that
//! waits for it could not show the question.

use serde_json::{Value, json};
use tower_lsp::ls_types::MessageType;
use vocab::{AgentId, SessionId};

use super::Backend;
use crate::failure::Failure;
use crate::outbox::{Answer, Outgoing};
use protocol::{AgentSummary, ErrorCode};

/// Buttons of one question; more choices than this cannot be shown well.
const BUTTONS: usize = 12;

/// What a command needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice<T> {
    Made(T),
    /// A person has to choose between these, each under its button.
    Open {
        question: &'static str,
        options: Vec<(String, T)>,
    },
}

impl Backend {
    /// Does `then` with what was chosen, at once or when the person has answered. In the second case the command's answer
    /// is `{ "asked": true }`, and what fails is told by a message; a question that is closed starts nothing.
    pub(super) async fn with_choice<T, F>(
        &self,
        choice: Choice<T>,
        then: impl FnOnce(Self, T) -> F + Send + 'static,
    ) -> Result<Value, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let (question, options) = match choice {
            Choice::Made(chosen) => return then(self.clone(), chosen).await,
            Choice::Open { question, options } => (question, options),
        };
        let backend = self.clone();
        let asked = async move {
            let outbox = backend.outbox.clone();
            let buttons = options.iter().map(|(button, _)| button.clone()).collect();
            let done = match outbox.ask(question.to_owned(), buttons).await {
                Answer::Button(button) => match options.into_iter().find(|(known, _)| *known == button) {
                    Some((_, chosen)) => then(backend, chosen).await.map(drop),
                    None => Err(Failure::bad_param("choice", format!("there is no \"{button}\""))),
                },
                Answer::Dismissed => Ok(()),
                Answer::Nobody => Err(Failure::new(ErrorCode::BadParams, "the command leaves a choice open")
                    .hint("name the agent by `agentId` or `handle`, the type by `type`")),
            };
            if let Err(failure) = done {
                outbox.send(Outgoing::Message(MessageType::ERROR, format!("Adjutant: {failure}")));
            }
        };
        self.manager.post(move |manager| manager.errand(asked));
        Ok(json!({ "asked": true }))
    }

    /// The agent that a command means: the named one, the only one that fits, or one of several.
    pub(super) async fn choose_agent(
        &self,
        id: Option<AgentId>,
        handle: Option<String>,
        session: Option<SessionId>,
        question: &'static str,
        fits: fn(&AgentSummary) -> bool,
    ) -> Result<Choice<AgentId>, Failure> {
        if let Some(id) = id {
            return Ok(Choice::Made(id));
        }
        if let Some(handle) = handle {
            let found = self.manager.call(move |manager| manager.find_agent(session.as_ref(), &handle));
            return found.await?.map(Choice::Made);
        }
        let mut fitting: Vec<_> = self.manager.call(|manager| manager.summaries()).await?;
        fitting.retain(|agent| {
            fits(agent) && session.as_ref().is_none_or(|session| agent.session_id == *session)
        });
        match fitting.as_slice() {
            [] => {
                Err(Failure::new(ErrorCode::UnknownAgent, "there is no agent that this could be done with"))
            }
            [only] => Ok(Choice::Made(only.agent_id.clone())),
            several => {
                let shown = &several[several.len().saturating_sub(BUTTONS)..];
                let option = |agent: &AgentSummary| (agent.handle.clone(), agent.agent_id.clone());
                Ok(Choice::Open { question, options: shown.iter().map(option).collect() })
            }
        }
    }

    /// The type of agent that a command means, or those that a person can choose from.
    pub(super) async fn choose_type(
        &self,
        given: Option<String>,
        session: Option<SessionId>,
    ) -> Result<Choice<String>, Failure> {
        if let Some(given) = given.filter(|given| !given.trim().is_empty()) {
            return Ok(Choice::Made(given));
        }
        let context = self.manager.call(move |manager| manager.launch_context(session)).await??;
        let types = context.agent_types();
        let names = types.enabled().map(|agent_type| agent_type.name.clone()).take(BUTTONS);
        let options = names.map(|name| (name.clone(), name)).collect();
        Ok(Choice::Open { question: "Which type of agent?", options })
    }
}
