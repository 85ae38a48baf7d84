//! A session as a value: made, reopened, driven, looked at and closed by its owner.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use model::{History, Message, ModelClient, RetryPolicy};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use vocab::{PromptId, SessionId, ThinkingLevel, ToolKind, Usage};

use crate::child_context::in_child_context_sync;
use crate::config::{RunLimits, SessionConfig, SessionError, SessionKind, Storage};
use crate::entry::{Entry, EntryBody, FORMAT_VERSION, Header, ToolOutcome, ToolResultEntry};
use crate::event::{Page, PageRequest, SessionEvent};
use crate::extension::{BoundaryKind, ExtensionApi, Hooks, ShutdownReason, StartReason};
use crate::handle::{Command, QueuedPrompt, Seat, SessionHandle, SessionInfo};
use crate::history::{INTERRUPTED, OpenCall, open_calls, rebuild};
use crate::inbox::Pending;
use crate::ledger::Ledger;
use crate::message::CustomMessage;
use crate::progress::ProgressCell;
use crate::recorder::Recorder;
use crate::render::Renderers;
use crate::run::{Cause, NextRun};
use crate::storage::{StorageError, load_session};
use crate::tool::ToolDefinition;
use crate::toolbox::{ToolPolicy, Toolbox};

/// What an extension gets at the start of a session.
const START_LIMIT: Duration = Duration::from_secs(10);
/// What extensions get at the end of a session, all together.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// One conversation.
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) kind: SessionKind,
    pub(crate) depth: u32,
    pub(crate) cwd: Arc<Path>,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) model: Arc<dyn ModelClient>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    /// What the session may call: the given tools, those of extensions after them, narrowed by the policy.
    pub(crate) tools: Arc<Toolbox>,
    extension_tools: Vec<ToolDefinition>,
    tool_policy: ToolPolicy,
    pub(crate) hooks: Arc<Hooks>,
    renderers: Arc<Renderers>,
    pub(crate) retry: RetryPolicy,
    pub(crate) limits: RunLimits,
    pub(crate) ledger: Ledger,
    pub(crate) handle: SessionHandle,
    pub(crate) inbox: UnboundedReceiver<Command>,
    pub(crate) prompts: VecDeque<QueuedPrompt>,
    /// What enters the conversation at the next boundary, in the order of arrival.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) follow_ups: Vec<CustomMessage>,
    pub(crate) next_turn: Vec<CustomMessage>,
    /// Somebody said that a `before_turn` hook has something, since the hooks were last asked.
    pub(crate) woken: bool,
    pub(crate) closing: bool,
    /// Ends the question of an idle session to its hooks: a prompt does not wait for them.
    pub(crate) asking: Option<CancellationToken>,
    /// Why the session starts, until its extensions were told.
    start: Option<StartReason>,
    pub(crate) recorder: Recorder,
    pub(crate) history: History,
    pub(crate) progress: Arc<ProgressCell>,
    pub(crate) usage: Usage,
    /// Tokens that the last request and its answer took of the model's window.
    pub(crate) context_tokens: u64,
    pub(crate) run: u32,
    pub(crate) active: Option<Active>,
    /// Hashes of the files that tools have touched.
    pub(crate) files: HashSet<u64>,
}

/// What those outside can reach of a run.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) cancel: CancellationToken,
    pub(crate) prompt_id: Option<PromptId>,
}

impl Session {
    /// A new session. Nothing is written before its first entry.
    pub fn new(config: SessionConfig) -> Result<(Self, SessionHandle), SessionError> {
        let header = Header {
            version: FORMAT_VERSION,
            session_id: config.seat.handle.id().clone(),
            cwd: config.cwd.to_string_lossy().into(),
            model: config.model.info().full_id(),
            thinking: config.thinking,
            parent: config.parent.clone(),
            title: config.title.clone(),
        };
        let (mut session, handle) = Self::build(config, StartReason::New)?;
        session.recorder.set_header(header);
        Ok((session, handle))
    }

    /// A session from its file, which must be locked by the caller: repairs a torn tail, closes tool calls without a result
    /// as interrupted, goes on with the numbering. Reads the whole file, so it belongs on a blocking thread. Model, prompt
    /// and tools are those of `config`; what the file says of them is in [`load_session`].
    pub fn reopen(config: SessionConfig) -> Result<(Self, SessionHandle), SessionError> {
        let Storage::File(file) = &config.storage else { return Err(SessionError::NoFile) };
        let loaded = load_session(file.path(), true)?;
        if loaded.header.session_id != *config.seat.handle.id() {
            return Err(StorageError::NotASession(file.path().to_owned()).into());
        }
        let (mut session, handle) = Self::build(config, StartReason::Reopened)?;
        session.title = session.title.or_else(|| loaded.title());
        session.recorder.mark_gaps(loaded.header.clone(), true);
        let entries: Vec<_> =
            loaded.entries.into_iter().filter(|entry| !matches!(entry.body, EntryBody::Header(_))).collect();
        session.restore(entries);
        Ok((session, handle))
    }

    fn build(config: SessionConfig, start: StartReason) -> Result<(Self, SessionHandle), SessionError> {
        if !config.cwd.is_absolute() {
            return Err(SessionError::RelativeFolder(config.cwd));
        }
        let Seat { handle, inbox, progress } = config.seat;
        let mut api = ExtensionApi::new(handle.clone(), config.kind, config.events);
        let mut extend = || config.extensions.iter().for_each(|factory| factory(&mut api));
        match config.kind {
            SessionKind::Parent => extend(),
            SessionKind::Child => in_child_context_sync(extend),
        }
        let (extension_tools, hooks, renderers) = api.into_parts();
        let session = Self {
            id: handle.id().clone(),
            kind: config.kind,
            depth: config.depth,
            cwd: config.cwd.into(),
            title: config.title,
            model: config.model,
            thinking: config.thinking,
            system_prompt: config.system_prompt,
            tools: config.tools.with(&extension_tools).narrow(&config.tool_policy),
            extension_tools,
            tool_policy: config.tool_policy,
            hooks,
            renderers,
            retry: config.retry,
            limits: config.limits,
            ledger: config.ledger,
            handle: handle.clone(),
            inbox,
            prompts: VecDeque::new(),
            pending: VecDeque::new(),
            follow_ups: Vec::new(),
            next_turn: Vec::new(),
            woken: false,
            closing: false,
            asking: None,
            start: Some(start),
            recorder: Recorder::new(config.clock, config.storage, config.observer, config.entries),
            history: History::new(),
            progress,
            usage: Usage::default(),
            context_tokens: 0,
            run: 0,
            active: None,
            files: HashSet::new(),
        };
        Ok((session, handle))
    }

    fn restore(&mut self, entries: Vec<Arc<Entry>>) {
        let rebuilt = rebuild(&entries);
        self.recorder.restore(entries);
        self.history = rebuilt.history;
        self.usage = rebuilt.usage;
        if self.kind == SessionKind::Parent {
            // An agent's own file is opened again and again, and its record remembers for it.
            self.ledger.remember(rebuilt.spent);
        }
        self.context_tokens = rebuilt.context_tokens;
        self.run = rebuilt.run;
        self.close_calls(&rebuilt.open, INTERRUPTED, ToolOutcome::Interrupted);
        if rebuilt.unfinished {
            let body = EntryBody::Notice { text: "The server ended before this run did.".into() };
            self.recorder.record(self.run, body, |entry| SessionEvent::EntryAppended { entry });
        }
    }

    /// Serves the inbox until there is a reason to run: a prompt, a message that wants an answer, or a wake that found
    /// something to deliver. `None`: the session was closed. A reason that is dropped is lost.
    pub async fn idle(&mut self) -> Option<NextRun> {
        self.ensure_started().await;
        loop {
            self.drain_inbox();
            if self.closing {
                self.withdraw_prompts();
                return None;
            }
            if let Some(prompt) = self.prompts.pop_front() {
                return Some(NextRun(Cause::Prompt(prompt)));
            }
            if !self.pending.is_empty() {
                let messages = self.pending.drain(..).filter_map(Pending::into_message);
                return Some(NextRun(Cause::Messages(messages.map(Into::into).collect())));
            }
            if self.woken {
                let interrupt = CancellationToken::new();
                self.asking = Some(interrupt.clone());
                let deliveries = self.ask_before_turn(&interrupt, 0, BoundaryKind::Wake).await;
                self.asking = None;
                match deliveries {
                    Some(deliveries) if !deliveries.is_empty() => {
                        return Some(NextRun(Cause::Messages(deliveries)));
                    }
                    Some(_) => {}
                    None => self.woken = true,
                }
                continue;
            }
            let command = self.inbox.recv().await?;
            self.serve(command, None);
        }
    }

    /// Answers what waits in the inbox of a session that is not driven any more; steers are too late.
    pub fn serve_waiting(&mut self) {
        self.drain_inbox();
    }

    /// A stretch of the transcript.
    pub fn page(&self, request: PageRequest) -> Page {
        self.recorder.page(request, None)
    }

    /// The keys of custom messages in the conversation: what was delivered, whatever the owners remember.
    pub fn delivered_keys(&self) -> impl Iterator<Item = &str> {
        self.recorder.entries().iter().filter_map(|entry| match &entry.body {
            EntryBody::CustomMessage { message } => message.key.as_deref(),
            _ => None,
        })
    }

    pub fn info(&self) -> SessionInfo {
        SessionInfo {
            id: self.id.clone(),
            title: self.title.clone(),
            model: self.model.info().full_id(),
            thinking: self.thinking,
            running: self.active.is_some(),
            queued_prompts: self.prompts.len(),
            run: self.run,
            usage: self.usage,
            context_percent: self.context_percent(),
            entry_count: self.recorder.entries().len(),
            as_of_seq: self.recorder.seq(),
            file: self.recorder.file().map(|file| file.path().to_owned()),
        }
    }

    /// Whether the observer gets every event, from the next one on. For those who hold the session itself: the handle's
    /// [`watch`](SessionHandle::watch) is heard only once a run looks at its inbox.
    pub fn set_watched(&mut self, watched: bool) {
        self.recorder.set_watched(watched);
    }

    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    pub fn hooks(&self) -> &Arc<Hooks> {
        &self.hooks
    }

    pub fn renderers(&self) -> &Arc<Renderers> {
        &self.renderers
    }

    /// The tools that its model is offered.
    pub fn tools(&self) -> &Arc<Toolbox> {
        &self.tools
    }

    /// What its model is sent, as messages: for a child that is to know the conversation.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.messages()
    }

    /// Changes the limits of an idle session; through the handle it works at any time.
    pub fn set_limits(&mut self, limits: RunLimits) {
        self.limits = limits;
    }

    /// Ends the session: extensions are told and get two seconds, queued prompts are withdrawn, the file is written.
    pub async fn close(mut self, reason: ShutdownReason) {
        self.drain_inbox();
        self.withdraw_prompts();
        let hooks = Arc::clone(&self.hooks);
        let told = async {
            for hook in &hooks.session_shutdown {
                let asked = std::panic::AssertUnwindSafe(async { hook(reason).await }).catch_unwind();
                if asked.await.is_err() {
                    tracing::error!("a shutdown hook panicked");
                }
            }
        };
        if tokio::time::timeout(SHUTDOWN_LIMIT, told).await.is_err() {
            tracing::warn!(session = %self.id, "an extension was not done in time at the end of its session");
        }
        if let Some(file) = self.recorder.file().cloned() {
            file.flush().await;
            file.close();
        }
    }

    pub(crate) async fn ensure_started(&mut self) {
        let Some(reason) = self.start.take() else { return };
        let hooks = Arc::clone(&self.hooks);
        for hook in &hooks.session_start {
            let never = CancellationToken::new();
            let told = tokio::time::timeout(START_LIMIT, self.ask(&never, || hook(reason))).await;
            if told.is_err() {
                tracing::warn!(session = %self.id, "an extension was not done in time at the start of its session");
            }
        }
    }

    pub(crate) fn set_tools(&mut self, tools: &Arc<Toolbox>) {
        self.tools = tools.with(&self.extension_tools).narrow(&self.tool_policy);
    }

    pub(crate) fn context_percent(&self) -> Option<f32> {
        let window = self.model.info().context_window.filter(|window| *window > 0)?;
        (self.context_tokens > 0).then(|| (self.context_tokens as f64 * 100.0 / f64::from(window)) as f32)
    }

    /// Gives each call of the last message that has none a result, so that the next request is valid.
    pub(crate) fn close_open_calls(&mut self, text: &str, outcome: ToolOutcome) {
        let open = open_calls(&self.history);
        self.close_calls(&open, text, outcome);
    }

    fn close_calls(&mut self, open: &[OpenCall], text: &str, outcome: ToolOutcome) {
        for call in open {
            let message = Arc::new(call.result(text));
            self.history.push(Arc::clone(&message));
            let kind = self.tools.get(&call.name).map_or(ToolKind::Other, |tool| tool.kind);
            let body = EntryBody::ToolResult(ToolResultEntry {
                message,
                tool_call_id: call.id.clone(),
                tool_kind: kind,
                title: call.name.as_str().into(),
                locations: Vec::new(),
                outcome,
                details: serde_json::Value::Null,
                usage: None,
                duration_ms: 0,
            });
            self.recorder.record(self.run, body, |entry| SessionEvent::ToolResult { entry });
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("run", &self.run).finish_non_exhaustive()
    }
}
