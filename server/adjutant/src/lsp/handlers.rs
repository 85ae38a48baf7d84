//! One short function for each method: parse, post to the manager, convert the answer.
//!
//! Every handler posts before its first wait, so that requests take effect in the order of their arrival; and it owns
//! nothing that needs cleaning, since a cancel drops it wherever it waits.

use protocol::{
    AgentCloseParams, AgentOpenParams, AgentOpenResult, AgentResultParams, AgentResultResult,
    AgentResumeParams, AgentResumeResult, AgentSeenParams, AgentSpawnParams, AgentSpawnResult,
    AgentSteerParams, AgentStopAllParams, AgentStopAllResult, AgentStopParams, AgentStopResult,
    AgentTranscriptParams, AgentUnsteerParams, Delivered, DocumentParams, DocumentResult, Empty, ErrorCode,
    FleetListParams, FleetListResult, Method, PingParams, PingResult, PromptDisposition, PromptOrigin,
    PromptResult, SessionAbortParams, SessionAbortResult, SessionCloseParams, SessionInfo, SessionOpenParams,
    SessionPromptParams, SessionSteerParams, SessionSubscribeParams, SessionSubscribeResult,
    SessionUnsteerParams, SessionUnsubscribeParams, SteerResult, StoppedAgent, TranscriptPage, UnsteerResult,
    method,
};
use roster::{Input, Launch, Origin, StopScope};
use serde_json::Value;
use session::{PageRequest, Prompt, SteerReceipt};
use tower_lsp::ls_types::{
    CodeActionParams, CodeActionResponse, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandParams, InitializeParams,
    InitializeResult, InitializedParams, NumberOrString, WorkDoneProgressCancelParams,
};
use tower_lsp::{LanguageServer, LspServiceBuilder, jsonrpc};
use vocab::{EndedBy, RunStop, SessionId, Usage};

use super::Backend;
use crate::attachments;
use crate::failure::Failure;
use crate::manager::{Manager, OpenSession, PromptTicket, PromptTokens, Resume, Target, opened, subscribed};
use crate::outbox::Outgoing;
use crate::projection::transcript;
use crate::work_done::Subject;

/// Entries of a page at most, whatever the client asks for.
const PAGE_ENTRIES: usize = 200;

macro_rules! handlers {
    ($($name:ident = $marker:ident;)*) => {
        /// The functions that the library calls: JSON in, JSON out.
        mod entry {
            use super::*;
            $(
                pub(super) async fn $name(backend: &Backend, params: Value) -> jsonrpc::Result<Value> {
                    let params = protocol::parse::<<method::$marker as Method>::Params>(params).map_err(Failure::from)?;
                    let result: <method::$marker as Method>::Result = super::$name(backend, params).await?;
                    serde_json::to_value(result).map_err(|_| jsonrpc::Error::internal_error())
                }
            )*
        }

        /// Adds our methods to the standard ones.
        pub(super) fn register(builder: LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend> {
            builder
                .custom_method("window/workDoneProgress/cancel", cancel_progress)
                $(.custom_method(<method::$marker as Method>::NAME, entry::$name))*
        }
    };
}

handlers! {
    ping = Ping;
    document = Document;
    session_open = SessionOpen;
    session_close = SessionClose;
    session_prompt = SessionPrompt;
    session_steer = SessionSteer;
    session_unsteer = SessionUnsteer;
    session_abort = SessionAbort;
    session_subscribe = SessionSubscribe;
    session_unsubscribe = SessionUnsubscribe;
    fleet_list = FleetList;
    agent_spawn = AgentSpawn;
    agent_steer = AgentSteer;
    agent_unsteer = AgentUnsteer;
    agent_stop = AgentStop;
    agent_stop_all = AgentStopAll;
    agent_resume = AgentResume;
    agent_result = AgentResult;
    agent_seen = AgentSeen;
    agent_open = AgentOpen;
    agent_close = AgentClose;
    agent_transcript = AgentTranscript;
}

async fn ping(backend: &Backend, _: PingParams) -> Result<PingResult, Failure> {
    backend.ping().await
}

async fn document(backend: &Backend, params: DocumentParams) -> Result<DocumentResult, Failure> {
    let document = crate::projection::documents::Document::parse(&params.uri)
        .ok_or_else(|| Failure::bad_param("uri", format!("\"{}\" is no adjutant: document", params.uri)))?;
    backend.read_document(document).await
}

async fn session_open(backend: &Backend, params: SessionOpenParams) -> Result<SessionInfo, Failure> {
    if let Some(field) = params.unavailable() {
        return Err(Failure::unavailable(field));
    }
    let resume = params.resume.map(|resume| match resume.as_str() {
        "latest" => Resume::Latest,
        id => Resume::Id(SessionId::from(id)),
    });
    let open = OpenSession {
        id: params.session_id,
        resume,
        cwd: params.cwd.map(Into::into),
        ephemeral: params.ephemeral,
        ..OpenSession::default()
    };
    let names_nothing = open.id.is_none() && open.resume.is_none() && open.cwd.is_none() && !open.ephemeral;
    let info = backend.manager.open_once_closed(open.names(), move |manager| {
        let id = if names_nothing {
            manager.session_or_default(None)?
        } else {
            manager.open_session(open.clone())?
        };
        manager.session_info(&id)
    });
    info.await?.await
}

async fn session_close(backend: &Backend, params: SessionCloseParams) -> Result<Empty, Failure> {
    backend.manager.call(move |manager| manager.close_session(&params.session_id)).await??;
    Ok(Empty {})
}

async fn session_prompt(backend: &Backend, params: SessionPromptParams) -> Result<PromptResult, Failure> {
    let tokens = PromptTokens { work_done: params.work_done_token, updates: params.updates_token };
    check_token("workDoneToken", tokens.work_done.as_ref())?;
    check_token("updatesToken", tokens.updates.as_ref())?;
    let handle = backend.manager.clone();
    let started = backend.manager.call(move |manager| {
        let mut prompt = Prompt { prompt_id: params.prompt_id, ..Prompt::new(params.text) };
        if params.origin == PromptOrigin::Command {
            prompt.origin = session::PromptOrigin::Command;
        }
        prompt.content = attachments::content(&params.attachments, &manager.documents)?;
        if prompt.text.trim().is_empty() && prompt.content.is_empty() {
            return Err(Failure::bad_param("text", "must not be empty"));
        }
        Ok(PromptTicket::new(manager.prompt(params.session_id, prompt, tokens)?, handle))
    });
    let ticket = started.await??;
    let run_id = ticket.run().clone();
    let outcome = ticket.ended().await;
    // The tokens end before the answer: their end has been posted, and is on its way after this.
    backend.manager.call(|_| ()).await?;
    backend.outbox.flushed().await;
    Ok(match outcome? {
        Some(outcome) => PromptResult {
            run_id,
            stop_reason: outcome.stop,
            disposition: PromptDisposition::Forwarded,
            routed: None,
            text: (!outcome.text.is_empty()).then(|| outcome.text.clone()),
            error: outcome.error.as_deref().map(str::to_owned),
            usage: outcome.usage,
        },
        None => PromptResult {
            run_id,
            stop_reason: RunStop::Aborted,
            disposition: PromptDisposition::Forwarded,
            routed: None,
            text: None,
            error: None,
            usage: Usage::default(),
        },
    })
}

/// A token must be one that a client can cancel: LSP's integers have 32 bits.
fn check_token(field: &str, token: Option<&protocol::ProgressToken>) -> Result<(), Failure> {
    match token {
        Some(protocol::ProgressToken::Number(number)) if i32::try_from(*number).is_err() => {
            Err(Failure::bad_param(field, "must be a 32-bit integer or a string"))
        }
        _ => Ok(()),
    }
}

async fn session_steer(backend: &Backend, params: SessionSteerParams) -> Result<SteerResult, Failure> {
    if params.text.trim().is_empty() {
        return Err(Failure::bad_param("text", "must not be empty"));
    }
    let sent = backend.manager.call(move |manager| manager.steer_session(params.session_id, params.text));
    let (steer_id, receipt) = sent.await??;
    match receipt.await {
        Some(SteerReceipt::Queued) => Ok(SteerResult { steer_id, delivered: Delivered::Queued }),
        _ => Err(Failure::new(ErrorCode::NotRunning, "the session is idle: no run could read the message")
            .hint("send it as a prompt")),
    }
}

async fn session_unsteer(backend: &Backend, params: SessionUnsteerParams) -> Result<UnsteerResult, Failure> {
    let answer = backend.manager.call(move |manager| manager.unsteer_session(&params.steer_id)).await?;
    let withdrawn = match answer {
        Some(reply) => reply.await.unwrap_or(false),
        None => false,
    };
    Ok(UnsteerResult { withdrawn })
}

async fn session_abort(backend: &Backend, params: SessionAbortParams) -> Result<SessionAbortResult, Failure> {
    Ok(backend.manager.call(move |manager| manager.abort(params.session_id)).await??.await)
}

async fn session_subscribe(
    backend: &Backend,
    params: SessionSubscribeParams,
) -> Result<SessionSubscribeResult, Failure> {
    let request = page_request(None, params.from_seq, params.limit);
    let id = params.session_id.clone();
    let page =
        backend.manager.call(move |manager| manager.session_page(&id, request, true)).await??.page().await?;
    Ok(subscribed(&page, &format!("adjutant://session/{}", params.session_id)))
}

async fn session_unsubscribe(backend: &Backend, params: SessionUnsubscribeParams) -> Result<Empty, Failure> {
    backend.manager.call(move |manager| manager.unfollow_session(&params.session_id)).await??;
    Ok(Empty {})
}

async fn fleet_list(backend: &Backend, params: FleetListParams) -> Result<FleetListResult, Failure> {
    backend.manager.call(move |manager| manager.fleet_list(&params)).await?
}

async fn agent_spawn(backend: &Backend, params: AgentSpawnParams) -> Result<AgentSpawnResult, Failure> {
    if let Some(field) = params.unavailable() {
        return Err(Failure::unavailable(field));
    }
    if params.agent_type.trim().is_empty() {
        return Err(Failure::bad_param("type", "must not be empty"));
    }
    let launched = backend.start_agent(params).await?;
    Ok(AgentSpawnResult {
        agent_id: launched.agent,
        run: launched.run,
        handle: launched.handle,
        status: launched.status,
    })
}

async fn agent_steer(backend: &Backend, params: AgentSteerParams) -> Result<SteerResult, Failure> {
    if params.message.trim().is_empty() {
        return Err(Failure::bad_param("message", "must not be empty"));
    }
    let target = Target::from(params.target()?);
    let (steer_id, now) = backend.manager.steer(target, params.message, EndedBy::User).await?;
    Ok(SteerResult { steer_id, delivered: if now { Delivered::Now } else { Delivered::Queued } })
}

async fn agent_unsteer(backend: &Backend, params: AgentUnsteerParams) -> Result<UnsteerResult, Failure> {
    let withdrawn = backend.manager.unsteer(params.agent_id, params.steer_id).await?;
    Ok(UnsteerResult { withdrawn })
}

async fn agent_stop(backend: &Backend, params: AgentStopParams) -> Result<AgentStopResult, Failure> {
    let scope = match params.scope {
        protocol::StopScope::One => StopScope::One,
        protocol::StopScope::Subtree => StopScope::Subtree,
    };
    let target = Target::from(params.target()?);
    let stopped = backend.manager.stop(target, scope, EndedBy::User).await?;
    let stopped = stopped.into_iter().map(|(agent_id, status)| StoppedAgent { agent_id, status }).collect();
    Ok(AgentStopResult { stopped })
}

async fn agent_stop_all(
    backend: &Backend,
    params: AgentStopAllParams,
) -> Result<AgentStopAllResult, Failure> {
    let stopped = backend.manager.stop_all(params.session_id, EndedBy::User).await?;
    Ok(AgentStopAllResult { stopped: stopped.into_iter().map(|(agent, _)| agent).collect() })
}

async fn agent_resume(backend: &Backend, params: AgentResumeParams) -> Result<AgentResumeResult, Failure> {
    if params.prompt.trim().is_empty() {
        return Err(Failure::bad_param("prompt", "must not be empty"));
    }
    let target = Target::from(params.target()?);
    let launch = Launch {
        prompt: params.prompt,
        background: params.background,
        wake_model: params.wake_model,
        origin: Origin::Person,
        tool_call: None,
        turn: None,
    };
    let launched = backend.manager.resume(target, launch).await?;
    Ok(AgentResumeResult { agent_id: launched.agent, run: launched.run, status: launched.status })
}

async fn agent_result(backend: &Backend, params: AgentResultParams) -> Result<AgentResultResult, Failure> {
    let agent = params.agent_id.clone();
    let asked = backend.manager.call(move |manager| {
        let result = manager.result(&params.agent_id, params.run)?;
        let request = PageRequest { limit: PAGE_ENTRIES, shown_only: true, ..PageRequest::default() };
        let page =
            params.verbose.then(|| manager.agent_page(&params.agent_id, request, false)).transpose()?;
        let file = manager.file_of_cut_text(&params.agent_id, result.run);
        Ok::<_, Failure>((result, page, file))
    });
    let (mut result, page, file) = asked.await??;
    if let Some(file) = file {
        result.text = crate::journal::whole_text(file, result.run).await.unwrap_or(result.text);
    }
    if let Some(page) = page {
        result.text.push_str("\n\n");
        result.text.push_str(&crate::projection::documents::conversation(&page.page().await?.entries));
    }
    Ok(AgentResultResult { transcript: Some(format!("adjutant://agent/{agent}")), ..result })
}

async fn agent_seen(backend: &Backend, params: AgentSeenParams) -> Result<Empty, Failure> {
    let seen = backend.manager.call(move |manager| {
        manager.result(&params.agent_id, Some(params.run))?;
        manager.apply(Input::Seen { agent: params.agent_id, run: params.run });
        Ok::<_, Failure>(Empty {})
    });
    seen.await?
}

async fn agent_open(backend: &Backend, params: AgentOpenParams) -> Result<AgentOpenResult, Failure> {
    let request = page_request(None, params.from_seq, params.limit);
    let id = params.agent_id.clone();
    let asked = backend.manager.call(move |manager| {
        let page = manager.agent_page(&id, request, true)?;
        let summary = manager.summary(&id).ok_or_else(|| Failure::unknown_agent(id.as_str()))?;
        Ok::<_, Failure>((summary, page))
    });
    let (summary, page) = asked.await??;
    Ok(opened(summary, &page.page().await?, &format!("adjutant://agent/{}", params.agent_id)))
}

async fn agent_close(backend: &Backend, params: AgentCloseParams) -> Result<Empty, Failure> {
    backend.manager.call(move |manager| manager.unfollow_agent(&params.agent_id)).await??;
    Ok(Empty {})
}

async fn agent_transcript(
    backend: &Backend,
    params: AgentTranscriptParams,
) -> Result<TranscriptPage, Failure> {
    let request = page_request(params.before, None, Some(params.limit));
    let id = params.agent_id.clone();
    let page =
        backend.manager.call(move |manager| manager.agent_page(&id, request, false)).await??.page().await?;
    Ok(transcript::page(&page, &format!("adjutant://agent/{}", params.agent_id)))
}

fn page_request(before: Option<u64>, from_seq: Option<u64>, limit: Option<u32>) -> PageRequest {
    PageRequest {
        before,
        from_seq,
        limit: limit.map_or(0, |limit| (limit as usize).clamp(1, PAGE_ENTRIES)),
        shown_only: true,
    }
}

/// The client cancelled a work-done token: the prompt's run, or the agent that the token stands for.
async fn cancel_progress(backend: &Backend, params: WorkDoneProgressCancelParams) {
    let token = match params.token {
        NumberOrString::Number(number) => protocol::ProgressToken::Number(number.into()),
        NumberOrString::String(text) => protocol::ProgressToken::Text(text),
    };
    let (reply, subject) = tokio::sync::oneshot::channel();
    backend.outbox.send(Outgoing::WhoseToken(token, reply));
    match subject.await {
        Ok(Some(Subject::Agent(agent, _))) => {
            let _ = backend.manager.stop(agent, StopScope::Subtree, EndedBy::User).await;
        }
        Ok(Some(Subject::Request(token))) => {
            backend.manager.post(move |manager| manager.abort_prompt_of(&token));
        }
        Ok(Some(Subject::Rest) | None) | Err(_) => {}
    }
}

impl Backend {
    /// Starts an agent for a person: everything is checked before it exists.
    pub(super) async fn start_agent(
        &self,
        params: AgentSpawnParams,
    ) -> Result<crate::manager::Launched, Failure> {
        let launched = self.manager.launch(move |manager| manager.prepare_asked(params, Origin::Person));
        launched.await
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        self.on_initialize(params)
    }

    async fn initialized(&self, _: InitializedParams) {
        self.on_initialized().await;
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        self.on_shutdown().await
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.manager.post(move |manager| manager.documents.open(document.uri.to_string(), document.text));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri.to_string();
        self.manager.post(move |manager| manager.documents.change(&uri, params.content_changes));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.manager.post(move |manager| manager.documents.close(&params.text_document.uri.to_string()));
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {}

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match params.settings.get("adjutant") {
            Some(section) => self.settings_changed(section.clone()),
            None => self.pull_settings().await,
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let added = params
            .event
            .added
            .first()
            .and_then(|folder| folder.uri.to_file_path().map(std::borrow::Cow::into_owned));
        self.manager.post(move |manager| manager.workspaces().introduce(added, None, None));
    }

    async fn did_change_watched_files(&self, _: DidChangeWatchedFilesParams) {
        self.manager.post(Manager::files_changed);
    }

    async fn code_action(&self, params: CodeActionParams) -> jsonrpc::Result<Option<CodeActionResponse>> {
        Ok(Some(self.code_actions(params).await?))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> jsonrpc::Result<Option<Value>> {
        Ok(Some(self.run_command(&params.command, params.arguments).await?))
    }
}
