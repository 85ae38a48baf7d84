//! A model that says what a test wants, checks what it is sent, and counts its open connections.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    Advance, Api, AssistantBlock, AssistantMessage, FinishReason, InputKind, Message, ModelClient,
    ModelError, ModelInfo, ModelRequest, ModelStream,
};
use tokio::sync::Semaphore;
use vocab::{ToolCallId, Usage};

/// One thing that the model does.
pub(crate) enum Step {
    Text(String),
    Thinking(String),
    Call(&'static str, &'static str, String),
    Wait(Duration),
    /// Until the test opens it.
    Gate(Arc<Semaphore>),
    Usage(Usage),
    Finish(FinishReason),
    Fail(ModelError),
}

pub(crate) fn text(text: &str) -> Step {
    Step::Text(text.to_owned())
}

pub(crate) fn call(id: &'static str, name: &'static str, arguments: &str) -> Step {
    Step::Call(id, name, arguments.to_owned())
}

pub(crate) fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// The request as the model saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) at: tokio::time::Instant,
}

impl Seen {
    /// The texts of user messages, results and answers, in order, with a letter for who speaks.
    pub(crate) fn said(&self) -> Vec<String> {
        self.messages.iter().map(|message| said(message)).collect()
    }
}

pub(crate) fn said(message: &Message) -> String {
    let text = |content: &[model::ContentBlock]| -> String {
        content
            .iter()
            .map(|block| match block {
                model::ContentBlock::Text { text } => text.as_str(),
                model::ContentBlock::Image { .. } => "[image]",
            })
            .collect()
    };
    match message {
        Message::User { content } => format!("u:{}", text(content)),
        Message::Assistant(answer) => {
            let calls: String = answer.tool_calls().map(|(id, ..)| format!("({id})")).collect();
            format!("a:{}{calls}", answer.text())
        }
        Message::ToolResult(result) => {
            let mark = if result.is_error { "!" } else { "" };
            format!("r{mark}:{}:{}", result.tool_call_id, text(&result.content))
        }
    }
}

#[derive(Debug)]
pub(crate) struct Scripted {
    info: ModelInfo,
    script: Mutex<VecDeque<Vec<Step>>>,
    seen: Mutex<Vec<Seen>>,
    open: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Step")
    }
}

impl Scripted {
    /// Answers requests with these turns. One without a finish gets the one that suits it.
    pub(crate) fn new(turns: Vec<Vec<Step>>) -> Arc<Self> {
        let info = ModelInfo {
            provider: "lab".into(),
            id: "scripted".into(),
            name: "Scripted".into(),
            api: Api::Embedded,
            context_window: Some(1_000),
            max_tokens: None,
            reasoning: false,
            input: vec![InputKind::Text],
            price: None,
        };
        Arc::new(Self {
            info,
            script: Mutex::new(turns.into()),
            seen: Mutex::default(),
            open: Arc::default(),
        })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen().pop().expect("a request")
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl ModelClient for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        let messages = request.history.messages().to_vec();
        check(&messages);
        self.seen.lock().unwrap().push(Seen {
            system: request.system.to_string(),
            tools: request.tools.tools().iter().map(|tool| tool.name.clone()).collect(),
            messages,
            at: tokio::time::Instant::now(),
        });
        let steps = self.script.lock().unwrap().pop_front().expect("a scripted turn");
        self.open.fetch_add(1, Ordering::SeqCst);
        Box::new(ScriptedStream {
            steps: steps.into(),
            message: AssistantMessage { model: self.info.full_id(), ..AssistantMessage::default() },
            waiting: None,
            open: Arc::clone(&self.open),
        })
    }
}

/// What every provider insists on.
fn check(messages: &[Arc<Message>]) {
    let mut open: Vec<ToolCallId> = Vec::new();
    for message in messages {
        match &**message {
            Message::ToolResult(result) => {
                let index = open.iter().position(|id| *id == result.tool_call_id);
                open.remove(index.unwrap_or_else(|| panic!("no call for {result:?}")));
            }
            Message::User { .. } | Message::Assistant(_) => {
                assert!(open.is_empty(), "calls without results: {open:?}")
            }
        }
        if let Message::Assistant(answer) = &**message {
            open = answer.tool_calls().map(|(id, ..)| id.clone()).collect();
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
    assert!(!matches!(messages.last().map(|message| &**message), None | Some(Message::Assistant(_))));
}

struct ScriptedStream {
    steps: VecDeque<Step>,
    message: AssistantMessage,
    waiting: Option<BoxFuture<'static, ()>>,
    open: Arc<AtomicUsize>,
}

impl ModelStream for ScriptedStream {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                std::task::ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            let Some(step) = self.steps.pop_front() else {
                let calls = self.message.tool_calls().next().is_some();
                self.message.finish = Some(if calls { FinishReason::ToolUse } else { FinishReason::Stop });
                return Poll::Ready(Ok(Advance::Finished));
            };
            match step {
                Step::Text(more) => {
                    if let Some(AssistantBlock::Text { text }) = self.message.content.last_mut() {
                        text.push_str(&more);
                    } else {
                        self.message.content.push(AssistantBlock::Text { text: more });
                    }
                }
                Step::Thinking(text) => self.message.content.push(AssistantBlock::Thinking {
                    text,
                    signature: None,
                    origin: None,
                    redacted: false,
                }),
                Step::Call(id, name, arguments) => {
                    let name = name.to_owned();
                    self.message.content.push(AssistantBlock::ToolCall { id: id.into(), name, arguments });
                }
                Step::Wait(time) => {
                    self.waiting = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Step::Gate(gate) => {
                    self.waiting = Some(Box::pin(async move { gate.acquire().await.unwrap().forget() }));
                    continue;
                }
                Step::Usage(usage) => self.message.usage = usage,
                Step::Finish(finish) => {
                    self.message.finish = Some(finish);
                    return Poll::Ready(Ok(Advance::Finished));
                }
                Step::Fail(error) => return Poll::Ready(Err(error)),
            }
            return Poll::Ready(Ok(Advance::Delta));
        }
    }

    fn message(&self) -> &AssistantMessage {
        &self.message
    }

    fn into_message(mut self: Box<Self>) -> AssistantMessage {
        std::mem::take(&mut self.message)
    }
}

impl Drop for ScriptedStream {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}
