//! The way into a session from outside: verbs that never wait, with answers that may be awaited or dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use model::ModelClient;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use vocab::{PromptId, SessionId, SteerId, ThinkingLevel, Usage};

use crate::config::RunLimits;
use crate::event::{Page, PageRequest};
use crate::message::{CustomMessage, DeliverAs, Prompt, SteerRequest};
use crate::progress::{ProgressCell, RunProgress};
use crate::run::RunOutcome;
use crate::toolbox::Toolbox;

/// A session's handle; clones are the same. It works in every state of the session: what it sends is kept until the
/// session serves its inbox, which it does while it runs and while it is idle.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    id: SessionId,
    inbox: mpsc::UnboundedSender<Command>,
    progress: watch::Receiver<RunProgress>,
}

/// The place of a session that is yet to be made. Its handle works at once: what it sends waits for the session, and is
/// dropped with the seat where none comes.
#[derive(Debug)]
pub struct Seat {
    pub(crate) handle: SessionHandle,
    pub(crate) inbox: mpsc::UnboundedReceiver<Command>,
    pub(crate) progress: Arc<ProgressCell>,
}

impl Seat {
    pub fn new(id: SessionId) -> Self {
        let progress = Arc::new(ProgressCell::new(RunProgress::default()));
        let (commands, inbox) = mpsc::unbounded_channel();
        let handle = SessionHandle { id, inbox: commands, progress: progress.subscribe() };
        Self { handle, inbox, progress }
    }

    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }
}

impl SessionHandle {
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Asks for a run. While one is active the prompt is queued and starts its own run afterwards.
    pub fn prompt(&self, prompt: Prompt) -> Reply<PromptAnswer> {
        self.ask(|answer| Command::Prompt(QueuedPrompt { prompt, answer: Some(answer) }))
    }

    /// Takes back one prompt: a queued one is not sent, the run of an active one is aborted. Others stay queued.
    pub fn withdraw_prompt(&self, prompt_id: PromptId) -> Reply<Withdrawal> {
        self.ask(|answer| Command::Withdraw(prompt_id, answer))
    }

    /// Puts a word into the active run at its next turn boundary.
    pub fn steer(&self, steer: SteerRequest) -> Reply<SteerReceipt> {
        self.ask(|answer| Command::Steer(steer, answer))
    }

    /// Takes back a word that has not been delivered yet; the answer is whether it could be.
    pub fn unsteer(&self, steer_id: SteerId) -> Reply<bool> {
        self.ask(|answer| Command::Unsteer(steer_id, answer))
    }

    /// Ends the active run and takes back all queued prompts and steers. The session lives on.
    pub fn abort(&self) -> Reply<AbortReport> {
        self.ask(Command::Abort)
    }

    /// Adds a message to the conversation. While no run is active, `NextTurn` waits for the next prompt, and the others
    /// start a run if `trigger_turn`, else they are appended at once. While one is active, `trigger_turn` says whether the
    /// run goes on for the message's sake; without it the message is appended at the next boundary.
    pub fn send_message(&self, message: CustomMessage, deliver_as: DeliverAs, trigger_turn: bool) {
        self.tell(Command::SendMessage { message, deliver_as, trigger_turn });
    }

    /// Keeps a value in the transcript. It is never sent to a model and wakes nothing.
    pub fn append_entry(&self, custom_type: impl Into<String>, data: Value) {
        self.tell(Command::AppendEntry { custom_type: custom_type.into(), data });
    }

    /// Says that somebody has something to deliver. An idle session asks its `before_turn` hooks and starts a run if they
    /// return anything; an active one asks them at each boundary anyway.
    pub fn wake(&self) {
        self.tell(Command::Wake);
    }

    /// A stretch of the transcript.
    pub fn page(&self, request: PageRequest) -> Reply<Page> {
        self.ask(|answer| Command::Page { request, watch: false, answer })
    }

    /// As [`page`](Self::page), and from the page's `as_of_seq` on the observer gets every event.
    pub fn open(&self, request: PageRequest) -> Reply<Page> {
        self.ask(|answer| Command::Page { request, watch: true, answer })
    }

    /// Whether the observer gets every event.
    pub fn watch(&self, watched: bool) {
        self.tell(Command::Watch(watched));
    }

    /// For the rest of the active run and for all later ones.
    pub fn set_limits(&self, limits: RunLimits) {
        self.tell(Command::SetLimits(limits));
    }

    /// From the next request on.
    pub fn set_model(&self, model: Arc<dyn ModelClient>, thinking: ThinkingLevel) {
        self.tell(Command::SetModel { model, thinking });
    }

    /// From the next request on. The tool policy and the tools of extensions stay in force.
    pub fn set_tools(&self, tools: Arc<Toolbox>) {
        self.tell(Command::SetTools(tools));
    }

    /// From the next run on.
    pub fn set_system_prompt(&self, system_prompt: Arc<str>) {
        self.tell(Command::SetSystemPrompt(system_prompt));
    }

    pub fn info(&self) -> Reply<SessionInfo> {
        self.ask(Command::Info)
    }

    /// Ends the session's `idle`; a run that is active ends first, by itself or by its token.
    pub fn close(&self) {
        self.tell(Command::Close);
    }

    /// How far the run is: the latest value at any time.
    pub fn progress(&self) -> watch::Receiver<RunProgress> {
        self.progress.clone()
    }

    fn tell(&self, command: Command) {
        // A session that is gone has nobody left to act on it; its end was announced.
        let _ = self.inbox.send(command);
    }

    fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Reply<T> {
        let (answer, reply) = oneshot::channel();
        self.tell(command(answer));
        Reply(reply)
    }
}

/// An answer to come. `None`: the session ended without one. Dropping it takes nothing back.
#[derive(Debug)]
pub struct Reply<T>(oneshot::Receiver<T>);

impl<T> Future for Reply<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(Result::ok)
    }
}

/// What became of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptAnswer {
    /// Its run has ended.
    Ended(Arc<RunOutcome>),
    /// It was taken back before it started.
    Withdrawn,
}

/// What became of a prompt that was to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    Withdrawn,
    /// It was running; the run is being aborted.
    Aborting,
    /// No such prompt is queued or active.
    Unknown,
}

/// What became of a steer when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteerReceipt {
    /// It waits for the next turn boundary.
    Queued,
    /// No run is active that could read it.
    TooLate,
}

/// What an abort did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AbortReport {
    /// Whether a run was active.
    pub aborted: bool,
    pub prompts: Vec<Prompt>,
    pub steers: Vec<SteerRequest>,
}

/// A session at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    pub id: SessionId,
    /// The configured one, else the head of the first prompt.
    pub title: Option<Arc<str>>,
    pub model: String,
    pub thinking: ThinkingLevel,
    pub running: bool,
    pub queued_prompts: usize,
    /// Runs so far, the active one included.
    pub run: u32,
    /// Of all its requests, those before it was reopened included.
    pub usage: Usage,
    pub context_percent: Option<f32>,
    pub entry_count: usize,
    /// The last event's number.
    pub as_of_seq: u64,
    pub file: Option<std::path::PathBuf>,
}

/// A prompt with those who wait for it.
#[derive(Debug)]
pub(crate) struct QueuedPrompt {
    pub(crate) prompt: Prompt,
    pub(crate) answer: Option<oneshot::Sender<PromptAnswer>>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Prompt(QueuedPrompt),
    Withdraw(PromptId, oneshot::Sender<Withdrawal>),
    Steer(SteerRequest, oneshot::Sender<SteerReceipt>),
    Unsteer(SteerId, oneshot::Sender<bool>),
    Abort(oneshot::Sender<AbortReport>),
    SendMessage { message: CustomMessage, deliver_as: DeliverAs, trigger_turn: bool },
    AppendEntry { custom_type: String, data: Value },
    Wake,
    Page { request: PageRequest, watch: bool, answer: oneshot::Sender<Page> },
    Watch(bool),
    SetLimits(RunLimits),
    SetModel { model: Arc<dyn ModelClient>, thinking: ThinkingLevel },
    SetTools(Arc<Toolbox>),
    SetSystemPrompt(Arc<str>),
    Info(oneshot::Sender<SessionInfo>),
    Close,
}
