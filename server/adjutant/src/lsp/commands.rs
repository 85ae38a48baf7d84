//! The commands that any editor can call. Each answers at once, whatever it starts; what it starts ends in a message and in
//! a document.

use protocol::{
    AbortArgs, AgentSpawnParams, Command, DelegateArgs, DelegateSelectionArgs, ErrorCode, NewSessionArgs,
    PromptArgs, ResumeArgs, ResumeSessionArgs, ShowAgentArgs, ShowFleetArgs, ShowSessionArgs, SteerArgs,
    StopAllArgs, StopArgs, StopScope, SummaryArgs, command,
};
use roster::{Launch, Origin};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session::Prompt;
use tower_lsp::ls_types::MessageType;
use vocab::{AgentId, EndedBy, SessionId};

use super::Backend;
use crate::attachments::lsp_range;
use crate::delegation::text::one_line;
use crate::failure::Failure;
use crate::manager::{Manager, OpenSession, PromptTicket, PromptTokens, Resume};
use crate::outbox::Outgoing;
use crate::projection::documents::{self, Document};

/// Characters of an answer's first line in a message.
const MESSAGE_CHARS: usize = 200;

/// What a person asks of a selection where the command does not say.
const ABOUT_SELECTION: &str =
    "Look at this selection and do what it calls for; report what you found or changed.";

impl Backend {
    /// Runs a command by its name.
    pub(super) async fn run_command(&self, name: &str, arguments: Vec<Value>) -> Result<Value, Failure> {
        let arguments = arguments.into_iter().next().unwrap_or(Value::Null);
        let composed = self.composed(&arguments);
        let answer = self.command(name, arguments).await;
        if let (Ok(_), Some(file)) = (&answer, composed) {
            self.clear_composed(file);
        }
        answer
    }

    async fn command(&self, name: &str, arguments: Value) -> Result<Value, Failure> {
        match name {
            command::Prompt::NAME => self.command_prompt(read::<command::Prompt>(arguments)?).await,
            command::Delegate::NAME => self.command_delegate(read::<command::Delegate>(arguments)?).await,
            command::DelegateSelection::NAME => {
                self.command_delegate_selection(read::<command::DelegateSelection>(arguments)?).await
            }
            command::Stop::NAME => self.command_stop(read::<command::Stop>(arguments)?).await,
            command::StopAll::NAME => self.command_stop_all(read::<command::StopAll>(arguments)?).await,
            command::Steer::NAME => self.command_steer(read::<command::Steer>(arguments)?).await,
            command::Resume::NAME => self.command_resume(read::<command::Resume>(arguments)?).await,
            command::Abort::NAME => self.command_abort(read::<command::Abort>(arguments)?).await,
            command::NewSession::NAME => {
                self.command_new_session(read::<command::NewSession>(arguments)?).await
            }
            command::ResumeSession::NAME => {
                self.command_resume_session(read::<command::ResumeSession>(arguments)?).await
            }
            command::ShowSession::NAME => {
                self.command_show_session(read::<command::ShowSession>(arguments)?).await
            }
            command::ShowAgent::NAME => self.command_show_agent(read::<command::ShowAgent>(arguments)?).await,
            command::ShowFleet::NAME => self.command_show_fleet(read::<command::ShowFleet>(arguments)?).await,
            command::Summary::NAME => self.command_summary(read::<command::Summary>(arguments)?).await,
            unknown => Err(Failure::new(ErrorCode::BadParams, format!("there is no command \"{unknown}\""))
                .hint("see executeCommandProvider.commands")),
        }
    }

    async fn command_prompt(&self, args: PromptArgs) -> Result<Value, Failure> {
        let (uri, range) = (args.uri.clone(), args.range);
        let selection = self.manager.call(move |manager| selected(manager, uri.as_deref(), range)).await?;
        let Some(text) = args.text.clone().filter(|text| !text.trim().is_empty()).or(selection) else {
            let known = json!({ "sessionId": args.session_id });
            return self.compose(command::Prompt::NAME, known, "text").await;
        };
        let backend = self.clone();
        let started = self.manager.call(move |manager| {
            let prompt = Prompt { origin: session::PromptOrigin::Command, ..Prompt::new(text) };
            let started = manager.prompt(args.session_id, prompt, PromptTokens::default())?;
            manager.tell_warnings();
            let answer = json!({ "sessionId": started.session, "promptId": started.prompt });
            let ticket = PromptTicket::new(started, backend.manager.clone());
            manager.errand(async move { backend.report_prompt(ticket).await });
            Ok::<_, Failure>(answer)
        });
        started.await?
    }

    /// Says how a prompt that a command sent has ended, and brings its session's document up to date.
    async fn report_prompt(&self, ticket: PromptTicket) {
        let session = ticket.session().to_string();
        let Ok(Some(outcome)) = ticket.ended().await else { return };
        let (kind, text) = match &outcome.error {
            Some(error) => (MessageType::ERROR, format!("Adjutant: {error}")),
            None => (MessageType::INFO, format!("Adjutant: {}", headline(&outcome.text))),
        };
        if let Err(failure) = self.write_document(Document::Session(session)).await {
            tracing::warn!(%failure, "a session's document was not brought up to date");
        }
        self.outbox.send(Outgoing::Message(kind, text));
    }

    async fn command_delegate(&self, args: DelegateArgs) -> Result<Value, Failure> {
        let chosen = self.choose_type(args.agent_type.clone(), args.session_id.clone()).await?;
        let then = async move |backend: Self, agent_type: String| {
            let Some(prompt) = args.prompt.filter(|prompt| !prompt.trim().is_empty()) else {
                let known = json!({ "type": agent_type, "sessionId": args.session_id, "description": args.description });
                return backend.compose(command::Delegate::NAME, known, "prompt").await;
            };
            backend.started(spawn(agent_type, prompt, args.description, args.session_id)).await
        };
        self.with_choice(chosen, then).await
    }

    async fn command_delegate_selection(&self, args: DelegateSelectionArgs) -> Result<Value, Failure> {
        let (Some(uri), Some(range)) = (args.uri.clone(), args.range) else {
            return Err(Failure::bad_param("range", "name the selection by `uri` and `range`"));
        };
        let asked = uri.clone();
        let selection =
            self.manager.call(move |manager| selected(manager, Some(&asked), Some(range))).await?;
        let Some(selection) = selection else {
            return Err(Failure::bad_param("range", "the selection is empty, or its document is not open"));
        };
        let chosen = self.choose_type(args.agent_type, args.session_id.clone()).await?;
        let task = args
            .prompt
            .filter(|prompt| !prompt.trim().is_empty())
            .unwrap_or_else(|| ABOUT_SELECTION.to_owned());
        let attached = protocol::Attachment::Selection { uri, range, text: Some(selection) };
        let then = async move |backend: Self, agent_type: String| {
            let spawn = spawn(agent_type, task, None, args.session_id);
            backend.started(AgentSpawnParams { attachments: vec![attached], ..spawn }).await
        };
        self.with_choice(chosen, then).await
    }

    async fn started(&self, params: AgentSpawnParams) -> Result<Value, Failure> {
        let launched = self.start_agent(params).await?;
        let (agent, run) = (launched.agent.clone(), launched.run);
        let ticket = self.manager.wait(agent, Some(run), false);
        self.manager.post(move |manager| manager.tell_when_settled(ticket));
        Ok(json!({ "agentId": launched.agent, "handle": launched.handle, "status": launched.status }))
    }

    async fn command_stop(&self, args: StopArgs) -> Result<Value, Failure> {
        let scope = match args.scope {
            StopScope::One => roster::StopScope::One,
            StopScope::Subtree => roster::StopScope::Subtree,
        };
        let agent = self
            .choose_agent(args.agent_id, args.handle, args.session_id, "Stop which agent?", |agent| {
                !agent.status.is_final()
            })
            .await?;
        let then = async move |backend: Self, agent: AgentId| {
            let stopped = backend.manager.stop(agent, scope, EndedBy::User).await?;
            Ok(json!({ "stopped": stopped.iter().map(|(agent, _)| agent).collect::<Vec<_>>() }))
        };
        self.with_choice(agent, then).await
    }

    async fn command_stop_all(&self, args: StopAllArgs) -> Result<Value, Failure> {
        let stopped = self.manager.stop_all(args.session_id, EndedBy::User).await?;
        Ok(json!({ "stopped": stopped.iter().map(|(agent, _)| agent).collect::<Vec<_>>() }))
    }

    async fn command_steer(&self, args: SteerArgs) -> Result<Value, Failure> {
        let agent = self
            .choose_agent(
                args.agent_id,
                args.handle,
                args.session_id,
                "Send a message to which agent?",
                |agent| !agent.status.is_final(),
            )
            .await?;
        let then = async move |backend: Self, agent: AgentId| {
            let Some(message) = args.message.filter(|message| !message.trim().is_empty()) else {
                let known = json!({ "agentId": agent });
                return backend.compose(command::Steer::NAME, known, "message").await;
            };
            let (steer, _) = backend.manager.steer(agent, message, EndedBy::User).await?;
            Ok(json!({ "steerId": steer }))
        };
        self.with_choice(agent, then).await
    }

    async fn command_resume(&self, args: ResumeArgs) -> Result<Value, Failure> {
        let agent = self
            .choose_agent(args.agent_id, args.handle, args.session_id, "Resume which agent?", |agent| {
                agent.status.is_final()
            })
            .await?;
        let then = async move |backend: Self, agent: AgentId| {
            let Some(prompt) = args.prompt.filter(|prompt| !prompt.trim().is_empty()) else {
                return backend.compose(command::Resume::NAME, json!({ "agentId": agent }), "prompt").await;
            };
            backend.resumed(agent, prompt).await
        };
        self.with_choice(agent, then).await
    }

    async fn resumed(&self, agent: AgentId, prompt: String) -> Result<Value, Failure> {
        let launch = Launch {
            prompt,
            background: true,
            wake_model: false,
            origin: Origin::Person,
            tool_call: None,
            turn: None,
        };
        let launched = self.manager.resume(agent, launch).await?;
        let ticket = self.manager.wait(launched.agent.clone(), Some(launched.run), false);
        self.manager.post(move |manager| manager.tell_when_settled(ticket));
        Ok(json!({ "agentId": launched.agent, "run": launched.run, "status": launched.status }))
    }

    async fn command_abort(&self, args: AbortArgs) -> Result<Value, Failure> {
        let report = self.manager.call(move |manager| manager.abort(args.session_id)).await??.await;
        Ok(serde_json::to_value(report).unwrap_or_default())
    }

    async fn command_new_session(&self, _: NewSessionArgs) -> Result<Value, Failure> {
        self.open_session(OpenSession::default()).await
    }

    async fn command_resume_session(&self, args: ResumeSessionArgs) -> Result<Value, Failure> {
        let resume = Some(args.session_id.map_or(Resume::Latest, Resume::Id));
        self.open_session(OpenSession { resume, ..OpenSession::default() }).await
    }

    /// Answers when the session is there.
    async fn open_session(&self, open: OpenSession) -> Result<Value, Failure> {
        let opening = self.manager.open_once_closed(open.names(), move |manager| {
            let id = manager.open_session(open.clone())?;
            let opened = manager.opened(&id)?;
            Ok((id, opened))
        });
        let (id, opened) = opening.await?;
        opened.await?;
        Ok(json!({ "sessionId": id }))
    }

    async fn command_show_session(&self, args: ShowSessionArgs) -> Result<Value, Failure> {
        let id = self.manager.call(move |manager| manager.session_or_default(args.session_id)).await??;
        Ok(json!({ "uri": self.show(Document::Session(id.to_string())).await? }))
    }

    async fn command_show_agent(&self, args: ShowAgentArgs) -> Result<Value, Failure> {
        let agent = self
            .choose_agent(args.agent_id, args.handle, args.session_id, "Show which agent?", |_| true)
            .await?;
        let then = async move |backend: Self, agent: AgentId| {
            Ok(json!({ "uri": backend.show(Document::Agent(agent.to_string())).await? }))
        };
        self.with_choice(agent, then).await
    }

    async fn command_show_fleet(&self, _: ShowFleetArgs) -> Result<Value, Failure> {
        Ok(json!({ "uri": self.show(Document::Fleet).await? }))
    }

    async fn command_summary(&self, _: SummaryArgs) -> Result<Value, Failure> {
        let sentence = self.manager.call(|manager| documents::sentence(&manager.summaries())).await?;
        self.outbox.send(Outgoing::Message(MessageType::INFO, sentence.clone()));
        Ok(json!({ "text": sentence }))
    }
}

fn read<C: Command>(arguments: Value) -> Result<C::Args, Failure>
where
    C::Args: DeserializeOwned,
{
    Ok(protocol::parse(arguments)?)
}

fn selected(manager: &Manager, uri: Option<&str>, range: Option<protocol::Range>) -> Option<String> {
    manager.documents.selection(uri?, lsp_range(range?)).map(str::to_owned)
}

fn spawn(
    agent_type: String,
    prompt: String,
    description: Option<String>,
    session_id: Option<SessionId>,
) -> AgentSpawnParams {
    AgentSpawnParams {
        session_id,
        agent_type,
        prompt,
        description,
        name: None,
        model: None,
        thinking: None,
        max_turns: None,
        isolation: None,
        isolated: None,
        inherit_context: None,
        budget: None,
        background: true,
        wake_model: false,
        attachments: Vec::new(),
    }
}

/// The first line of an answer, for a message.
pub(crate) fn headline(text: &str) -> String {
    one_line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no answer)"), MESSAGE_CHARS)
}
