//! The seam: what an extension can add to a session, and what it is asked.
//!
//! Hooks are asked in the order of registration, one after another. Each is a function that returns a future; the
//! future is dropped when the run is cancelled, so a hook that waits for a person needs no cancellation of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use model::{ContentBlock, Message};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::{SessionId, ToolCallId, ToolKind, Usage};

use crate::config::SessionKind;
use crate::event_bus::EventBus;
use crate::handle::SessionHandle;
use crate::message::{CustomMessage, DeliverAs, Delivery};
use crate::render::{Card, MessageRenderer, Renderers};
use crate::tool::{ToolCallTitle, ToolContext, ToolDefinition, ToolOutput};

/// Builds an extension for one session.
pub type ExtensionFactory = Arc<dyn Fn(&mut ExtensionApi) + Send + Sync>;

/// A hook: a question and a future that answers it.
pub type Hook<Question, Answer> = Arc<dyn Fn(Question) -> BoxFuture<'static, Answer> + Send + Sync>;

/// The messages of a request.
pub type Messages = Vec<Arc<Message>>;

/// What an extension gets when its session is built.
pub struct ExtensionApi {
    handle: SessionHandle,
    kind: SessionKind,
    events: EventBus,
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) hooks: Hooks,
    pub(crate) renderers: HashMap<String, MessageRenderer>,
}

impl ExtensionApi {
    pub(crate) fn new(handle: SessionHandle, kind: SessionKind, events: EventBus) -> Self {
        Self { handle, kind, events, tools: Vec::new(), hooks: Hooks::default(), renderers: HashMap::new() }
    }

    pub fn session_id(&self) -> &SessionId {
        self.handle.id()
    }

    pub fn kind(&self) -> SessionKind {
        self.kind
    }

    /// The session's handle, to keep for later.
    pub fn handle(&self) -> SessionHandle {
        self.handle.clone()
    }

    /// The bus that the sessions of this process share.
    pub fn events(&self) -> &EventBus {
        &self.events
    }

    /// Offers a tool. Of two with one name the first stays; built-ins come before extensions.
    pub fn register_tool(&mut self, tool: ToolDefinition) {
        self.tools.push(tool);
    }

    /// Called before the session first serves its inbox.
    pub fn on_session_start(
        &mut self,
        hook: impl Fn(StartReason) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        self.hooks.session_start.push(Arc::new(hook));
    }

    /// Asked before another session takes this one's place in front of the user.
    pub fn on_session_before_switch(
        &mut self,
        hook: impl Fn(SwitchEvent) -> BoxFuture<'static, SwitchDecision> + Send + Sync + 'static,
    ) {
        self.hooks.session_before_switch.push(Arc::new(hook));
    }

    /// Called when the session is closed; at most two seconds.
    pub fn on_session_shutdown(
        &mut self,
        hook: impl Fn(ShutdownReason) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        self.hooks.session_shutdown.push(Arc::new(hook));
    }

    /// Asked once for each run that a prompt starts; may replace the system prompt for that run and add messages.
    pub fn on_before_agent_start(
        &mut self,
        hook: impl Fn(BeforeStartEvent) -> BoxFuture<'static, BeforeStartAnswer> + Send + Sync + 'static,
    ) {
        self.hooks.before_agent_start.push(Arc::new(hook));
    }

    /// Asked before each request; what it returns is sent in place of the history, this once. It costs a copy of the
    /// list and a new encoding of all messages, so it is for those who need it.
    pub fn on_context(
        &mut self,
        hook: impl Fn(Messages) -> BoxFuture<'static, Messages> + Send + Sync + 'static,
    ) {
        self.hooks.context.push(Arc::new(hook));
    }

    /// Asked before a tool runs, after its arguments were validated. Arguments that it changes are not validated again.
    /// A hook that panics blocks the call.
    pub fn on_tool_call(
        &mut self,
        hook: impl Fn(ToolCallEvent) -> BoxFuture<'static, ToolCallDecision> + Send + Sync + 'static,
    ) {
        self.hooks.tool_call.push(Arc::new(hook));
    }

    /// Asked after a tool ran, well or not.
    pub fn on_tool_result(
        &mut self,
        hook: impl Fn(ToolResultEvent) -> BoxFuture<'static, ToolResultPatch> + Send + Sync + 'static,
    ) {
        self.hooks.tool_result.push(Arc::new(hook));
    }

    /// Asked at each turn boundary, when a run would stop, and when an idle session is woken: what it returns is in the
    /// next request, and a run goes on, or starts, for its sake.
    pub fn on_before_turn(
        &mut self,
        hook: impl Fn(TurnBoundary) -> BoxFuture<'static, Vec<Delivery>> + Send + Sync + 'static,
    ) {
        self.hooks.before_turn.push(Arc::new(hook));
    }

    /// Asked when a run would stop and nobody has anything for it: "yes" keeps it open, without a request, until the session
    /// is woken or is sent something. Then its boundary begins anew.
    pub fn on_would_stop(&mut self, hook: impl Fn(u32) -> BoxFuture<'static, bool> + Send + Sync + 'static) {
        self.hooks.would_stop.push(Arc::new(hook));
    }

    /// See [`SessionHandle::send_message`].
    pub fn send_message(&self, message: CustomMessage, deliver_as: DeliverAs, trigger_turn: bool) {
        self.handle.send_message(message, deliver_as, trigger_turn);
    }

    /// See [`SessionHandle::append_entry`].
    pub fn append_entry(&self, custom_type: impl Into<String>, data: Value) {
        self.handle.append_entry(custom_type, data);
    }

    /// Makes cards of custom messages of this type, and of tool results where `custom_type` is a tool's name.
    pub fn register_message_renderer(
        &mut self,
        custom_type: impl Into<String>,
        renderer: impl Fn(&CustomMessage) -> Card + Send + Sync + 'static,
    ) {
        self.renderers.entry(custom_type.into()).or_insert_with(|| Arc::new(renderer));
    }

    pub(crate) fn into_parts(self) -> (Vec<ToolDefinition>, Arc<Hooks>, Arc<Renderers>) {
        (self.tools, Arc::new(self.hooks), Arc::new(Renderers::new(self.renderers)))
    }
}

impl fmt::Debug for ExtensionApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionApi").field("session", self.handle.id()).finish_non_exhaustive()
    }
}

/// The hooks of a session.
#[derive(Default)]
pub struct Hooks {
    pub(crate) session_start: Vec<Hook<StartReason, ()>>,
    session_before_switch: Vec<Hook<SwitchEvent, SwitchDecision>>,
    pub(crate) session_shutdown: Vec<Hook<ShutdownReason, ()>>,
    pub(crate) before_agent_start: Vec<Hook<BeforeStartEvent, BeforeStartAnswer>>,
    pub(crate) context: Vec<Hook<Messages, Messages>>,
    pub(crate) tool_call: Vec<Hook<ToolCallEvent, ToolCallDecision>>,
    pub(crate) tool_result: Vec<Hook<ToolResultEvent, ToolResultPatch>>,
    pub(crate) before_turn: Vec<Hook<TurnBoundary, Vec<Delivery>>>,
    /// With the number of the run.
    pub(crate) would_stop: Vec<Hook<u32, bool>>,
}

impl Hooks {
    /// Asks whether another session may take this one's place; the first "no" counts.
    pub async fn before_switch(&self, event: SwitchEvent) -> SwitchDecision {
        for hook in &self.session_before_switch {
            if let SwitchDecision::Refuse { reason } = hook(event.clone()).await {
                return SwitchDecision::Refuse { reason };
            }
        }
        SwitchDecision::Allow
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// Why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReason {
    New,
    /// From its file.
    Reopened,
}

/// Another session is about to take this one's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchEvent {
    /// The other one; none for a new one.
    pub target: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchDecision {
    Allow,
    Refuse { reason: String },
}

/// Why a session is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownReason {
    /// The server ends.
    Quit,
    /// Another session takes its place.
    Switched,
    /// A person closed it, or its owner is done with it.
    Closed,
}

/// A prompt is about to start a run.
#[derive(Debug, Clone)]
pub struct BeforeStartEvent {
    pub run: u32,
    pub prompt: Arc<str>,
    /// As the hooks before this one left it.
    pub system_prompt: Arc<str>,
}

#[derive(Debug, Default)]
pub struct BeforeStartAnswer {
    /// For this run, in place of what was.
    pub system_prompt: Option<Arc<str>>,
    /// Added after the prompt.
    pub messages: Vec<Delivery>,
}

/// The moment before a request, or before a run would stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnBoundary {
    /// The run that goes on, or that would start.
    pub run: u32,
    /// Turns that have ended.
    pub turns: u32,
    pub at: BoundaryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryKind {
    /// A prompt starts a run.
    Start,
    /// Another request follows anyway.
    Between,
    /// The run would stop.
    WouldStop,
    /// The session is idle and was woken.
    Wake,
}

/// A tool is about to run.
#[derive(Debug, Clone)]
pub struct ToolCallEvent {
    pub tool_call_id: ToolCallId,
    pub tool_name: Arc<str>,
    pub kind: ToolKind,
    pub title: Arc<ToolCallTitle>,
    pub arguments: Value,
    pub cancel: CancellationToken,
    pub context: ToolContext,
}

/// What a hook says to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallDecision {
    /// With these arguments.
    Proceed { arguments: Value },
    /// The model gets the reason as an error; `terminate` is the call's vote to end the run.
    Block { reason: String, terminate: bool },
}

/// A tool has run.
#[derive(Debug, Clone)]
pub struct ToolResultEvent {
    pub tool_call_id: ToolCallId,
    pub tool_name: Arc<str>,
    pub arguments: Arc<Value>,
    pub output: ToolOutput,
    pub is_error: bool,
    pub context: ToolContext,
}

/// Changes to a result, field by field; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResultPatch {
    pub content: Option<Vec<ContentBlock>>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
    pub terminate: Option<bool>,
}
