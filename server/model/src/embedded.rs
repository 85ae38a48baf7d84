//! Models that live in this process: no sockets, no keys, and their time is tokio's, so that a test can pause it.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::watch;
use vocab::{ToolCallId, Usage};

use crate::history::KnownCalls;
use crate::{
    Advance, Api, AssistantBlock, AssistantMessage, FinishReason, InputKind, ModelClient, ModelError,
    ModelInfo, ModelRequest, ModelStream, Price,
};

/// What an embedded model answers, step by step. Each text, thinking and call arrives as one delta. It ends with
/// `ToolUse` where it calls tools and with `Stop` where not, unless it is told to end otherwise.
#[derive(Debug, Default)]
pub struct Reply {
    steps: VecDeque<Step>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

#[derive(Debug)]
enum Step {
    Text(String),
    Thinking(String),
    Call { id: Option<ToolCallId>, name: String, arguments: String },
    Delay(Duration),
    Wait(Door),
    Fail(ModelError),
    Hang,
}

impl Reply {
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply of one text.
    pub fn say(text: impl Into<String>) -> Self {
        Self::new().text(text)
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    /// Says more; it joins the text before it.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.step(Step::Thinking(text.into()))
    }

    /// Calls a tool, with an id that is free in the history: `call_1`, `call_2`, …
    pub fn call(self, name: impl Into<String>, arguments: &serde_json::Value) -> Self {
        self.raw_call(None, name, arguments.to_string())
    }

    /// Calls a tool with this id and this text as arguments, whatever they are.
    pub fn raw_call(
        self,
        id: Option<ToolCallId>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        self.step(Step::Call { id, name: name.into(), arguments: arguments.into() })
    }

    /// Pauses before the next step.
    pub fn delay(self, time: Duration) -> Self {
        self.step(Step::Delay(time))
    }

    /// Waits until the door is open.
    pub fn wait(self, door: &Door) -> Self {
        self.step(Step::Wait(door.clone()))
    }

    /// Breaks off with an error; what was said before stays in the message.
    pub fn fail(self, error: ModelError) -> Self {
        self.step(Step::Fail(error))
    }

    /// Says nothing any more, for ever.
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// What it is said to have used; an estimate where this is not called.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }
}

/// Something that replies can wait for. Clones are the same door; once open, it stays open.
#[derive(Debug, Clone)]
pub struct Door(Arc<watch::Sender<bool>>);

impl Default for Door {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Door {
    /// A closed door.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn opened(self) {
        // The sender lives in this very door, so that it cannot go away.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// A model whose answers are made by a function.
pub struct EmbeddedModel {
    info: ModelInfo,
    answer: Box<dyn Fn(&ModelRequest) -> Reply + Send + Sync>,
}

impl EmbeddedModel {
    pub fn new(info: ModelInfo, answer: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self { info, answer: Box::new(answer) }
    }

    /// What is known of an embedded model that has nothing special about it.
    pub fn plain_info(provider: &str, id: &str) -> ModelInfo {
        ModelInfo {
            provider: provider.to_owned(),
            id: id.to_owned(),
            name: id.to_owned(),
            api: Api::Embedded,
            context_window: Some(128_000),
            max_tokens: Some(16_384),
            reasoning: false,
            input: vec![InputKind::Text, InputKind::Image],
            price: None,
        }
    }
}

impl ModelClient for EmbeddedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        let reply = match request.history.check() {
            Ok(()) => (self.answer)(&request),
            Err(error) => Reply::new().fail(error.into()),
        };
        Box::new(ReplyStream::new(&self.info, &request, reply))
    }
}

impl fmt::Debug for EmbeddedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedModel").field(&self.info.full_id()).finish()
    }
}

/// A reply as a stream.
pub(crate) struct ReplyStream {
    reply: Reply,
    message: AssistantMessage,
    known: KnownCalls,
    price: Option<Price>,
    input_tokens: u64,
    connected: bool,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl ReplyStream {
    pub(crate) fn new(info: &ModelInfo, request: &ModelRequest, reply: Reply) -> Self {
        let history: u64 = request.history.messages().iter().map(|message| message.estimated_tokens()).sum();
        Self {
            reply,
            message: AssistantMessage { model: info.full_id(), ..AssistantMessage::default() },
            known: request.history.known_calls(),
            price: info.price.clone(),
            input_tokens: history + request.system.len().div_ceil(4) as u64,
            connected: false,
            waiting: None,
        }
    }

    /// Takes one step; `None` where it has to be waited for first.
    fn step(&mut self, step: Step) -> Result<Option<Advance>, ModelError> {
        match step {
            Step::Text(more) => match self.message.content.last_mut() {
                Some(AssistantBlock::Text { text }) => text.push_str(&more),
                _ => self.message.content.push(AssistantBlock::Text { text: more }),
            },
            Step::Thinking(text) => {
                let origin = Some(self.message.model.clone());
                self.message.content.push(AssistantBlock::Thinking {
                    text,
                    signature: None,
                    origin,
                    redacted: false,
                });
            }
            Step::Call { id, name, arguments } => {
                let id = id.unwrap_or_else(|| self.free_id());
                self.message.content.push(AssistantBlock::ToolCall { id, name, arguments });
            }
            Step::Fail(error) => {
                self.use_up(self.reply.usage.unwrap_or_default());
                return Err(error);
            }
            Step::Delay(time) => {
                self.waiting = Some(Box::pin(tokio::time::sleep(time)));
                return Ok(None);
            }
            Step::Wait(door) => {
                self.waiting = Some(Box::pin(door.opened()));
                return Ok(None);
            }
            Step::Hang => {
                self.waiting = Some(Box::pin(pending()));
                return Ok(None);
            }
        }
        Ok(Some(Advance::Delta))
    }

    fn free_id(&self) -> ToolCallId {
        let taken = |id: &str| {
            self.known.contains(id) || self.message.tool_calls().any(|(known, ..)| known.as_str() == id)
        };
        let mut ids = (1_u64..).map(|n| format!("call_{n}"));
        ids.find(|id| !taken(id)).unwrap_or_default().into()
    }

    /// Sets what the request has used, at the model's price.
    fn use_up(&mut self, usage: Usage) {
        let price = self.price.as_ref().filter(|_| !usage.is_empty());
        let cost_usd = usage.cost_usd.or_else(|| price?.cost(&usage));
        self.message.usage = Usage { cost_usd, ..usage };
    }

    fn end(&mut self) -> Advance {
        let output = crate::Message::Assistant(self.message.clone()).estimated_tokens();
        let usage = self.reply.usage.unwrap_or_else(|| Usage::of_tokens(self.input_tokens, output, 0, 0));
        self.use_up(usage);
        let calls = self.message.tool_calls().next().is_some();
        let natural = if calls { FinishReason::ToolUse } else { FinishReason::Stop };
        self.message.finish = Some(self.reply.finish.unwrap_or(natural));
        Advance::Finished
    }
}

impl ModelStream for ReplyStream {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            // A refusal comes before any head of an answer does.
            let fails = matches!(self.reply.steps.front(), Some(Step::Fail(_)));
            let stalls =
                matches!(self.reply.steps.front(), Some(Step::Delay(_) | Step::Wait(_) | Step::Hang));
            if !self.connected && !fails && !stalls {
                self.connected = true;
                return Poll::Ready(Ok(Advance::Connected));
            }
            let Some(step) = self.reply.steps.pop_front() else { return Poll::Ready(Ok(self.end())) };
            match self.step(step) {
                Ok(None) => {}
                Ok(Some(advance)) => return Poll::Ready(Ok(advance)),
                Err(error) => {
                    self.message.error = Some(error.to_string());
                    return Poll::Ready(Err(error));
                }
            }
        }
    }

    fn message(&self) -> &AssistantMessage {
        &self.message
    }

    fn into_message(self: Box<Self>) -> AssistantMessage {
        self.message
    }
}
