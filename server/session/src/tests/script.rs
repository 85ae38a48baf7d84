//! Scripts for the scripted model, short enough to be read at a glance, and what it was sent in the same manner.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::{
    ContentBlock, Door, FinishReason, Message, ModelClient, ModelError, ModelInfo, ModelRequest, ModelStream,
    Reply, ScriptedModel,
};
use tokio::time::Instant;
use vocab::Usage;

/// One thing that the model does.
pub(crate) enum Step {
    Text(String),
    Thinking(String),
    Call(&'static str, &'static str, String),
    Wait(Duration),
    /// Until the test opens it.
    Gate(Door),
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

pub(crate) fn gate() -> Door {
    Door::new()
}

/// The request as the model saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) at: Instant,
}

impl Seen {
    /// The texts of user messages, results and answers, in order, with a letter for who speaks.
    pub(crate) fn said(&self) -> Vec<String> {
        self.messages.iter().map(|message| said(message)).collect()
    }
}

pub(crate) fn said(message: &Message) -> String {
    let text = |content: &[ContentBlock]| -> String {
        content
            .iter()
            .map(|block| match block {
                ContentBlock::Text { text } => text.as_str(),
                ContentBlock::Image { .. } => "[image]",
            })
            .collect()
    };
    match message {
        Message::User { content } => format!("u:{}", text(content)),
        Message::Assistant(answer) => {
            let calls: Vec<_> = answer.tool_calls().map(|(id, ..)| id.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!("({})", calls.join(")(")) };
            format!("a:{}{calls}", answer.text())
        }
        Message::ToolResult(result) => {
            let mark = if result.is_error { "!" } else { "" };
            format!("r{mark}:{}:{}", result.tool_call_id, text(&result.content))
        }
    }
}

/// The scripted model, strict about histories, that also knows when it was asked.
#[derive(Debug)]
pub(crate) struct Scripted {
    model: Arc<ScriptedModel>,
    times: Mutex<Vec<Instant>>,
}

impl Scripted {
    /// Answers requests with these turns, one after the other.
    pub(crate) fn new(turns: Vec<Vec<Step>>) -> Arc<Self> {
        let info =
            ModelInfo { context_window: Some(1_000), ..model::EmbeddedModel::plain_info("lab", "scripted") };
        let turns = turns.into_iter().map(|steps| steps.into_iter().fold(Reply::new(), then));
        Arc::new(Self { model: ScriptedModel::with_info(info, turns), times: Mutex::default() })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        let times = self.times.lock().unwrap();
        let seen = self.model.requests().into_iter().zip(times.iter()).map(|(request, at)| Seen {
            system: request.system.to_string(),
            tools: request.tools.tools().iter().map(|tool| tool.name.clone()).collect(),
            messages: request.history.messages().to_vec(),
            at: *at,
        });
        seen.collect()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen().pop().expect("a request")
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.model.live()
    }
}

fn then(reply: Reply, step: Step) -> Reply {
    match step {
        Step::Text(text) => reply.text(text),
        Step::Thinking(text) => reply.thinking(text),
        Step::Call(id, name, arguments) => reply.raw_call(Some(id.into()), name, arguments),
        Step::Wait(time) => reply.delay(time),
        Step::Gate(door) => reply.wait(&door),
        Step::Usage(usage) => reply.usage(usage),
        Step::Finish(finish) => reply.finish(finish),
        Step::Fail(error) => reply.fail(error),
    }
}

impl ModelClient for Scripted {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        self.times.lock().unwrap().push(Instant::now());
        self.model.start(request)
    }
}
