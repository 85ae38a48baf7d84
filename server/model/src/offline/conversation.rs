//! A history as the planner reads it: what others said, and its own turns with the results of their calls.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use vocab::ToolCallId;

use crate::{AssistantMessage, ContentBlock, Message, parse_arguments};

/// All of a history, in order.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    pub(super) items: Vec<Item<'a>>,
}

/// One thing in it.
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// A prompt, a steering message or news: whatever is not the planner's own.
    Said(Cow<'a, str>),
    Turn(PastTurn<'a>),
}

/// A turn that was taken, by the planner or by a model before it.
#[derive(Debug)]
pub(super) struct PastTurn<'a> {
    pub(super) calls: Vec<PastCall<'a>>,
}

/// A call that was made.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: Map<String, Value>,
    /// Empty where the history has none.
    pub(super) result: Cow<'a, str>,
    pub(super) failed: bool,
}

impl PastCall<'_> {
    /// A text argument, empty where it is absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.arguments.get(name).and_then(Value::as_u64)
    }
}

/// What was asked last, and what has happened since.
#[derive(Debug)]
pub(super) struct Task<'c, 'a> {
    pub(super) prompt: &'c str,
    /// What was said to it meanwhile.
    pub(super) steers: Vec<&'c str>,
    /// The turns since that called tools.
    pub(super) turns: Vec<&'c PastTurn<'a>>,
    /// Earlier prompts, the newest first.
    pub(super) before: Vec<&'c str>,
}

impl<'a> Conversation<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut items = Vec::with_capacity(messages.len());
        let mut open: HashMap<&ToolCallId, usize> = HashMap::new();
        for message in messages {
            match &**message {
                Message::User { content } => items.push(Item::Said(text_of(content))),
                Message::Assistant(message) => {
                    open = message.tool_calls().map(|(id, ..)| id).zip(0..).collect();
                    items.push(Item::Turn(turn(message)));
                }
                Message::ToolResult(result) => {
                    if let Some(Item::Turn(turn)) = items.last_mut()
                        && let Some(call) =
                            open.get(&result.tool_call_id).and_then(|at| turn.calls.get_mut(*at))
                    {
                        call.result = text_of(&result.content);
                        call.failed = result.is_error;
                    }
                }
            }
        }
        Self { items }
    }

    /// The last prompt and what followed. A prompt is what is said first, or after a turn that called nothing; all else
    /// that is said comes in between.
    pub(super) fn task(&self) -> Task<'_, 'a> {
        let mut task = Task { prompt: "", steers: Vec::new(), turns: Vec::new(), before: Vec::new() };
        let mut idle = true;
        for item in &self.items {
            match item {
                Item::Said(text) if idle => {
                    task.before.insert(0, task.prompt);
                    task = Task { prompt: text, before: task.before, steers: Vec::new(), turns: Vec::new() };
                    idle = false;
                }
                Item::Said(text) => task.steers.push(text),
                Item::Turn(turn) => {
                    idle = turn.calls.is_empty();
                    if !idle {
                        task.turns.push(turn);
                    }
                }
            }
        }
        task
    }
}

fn turn(message: &AssistantMessage) -> PastTurn<'_> {
    let calls = message
        .tool_calls()
        .map(|(_, tool, raw)| PastCall {
            tool,
            arguments: parse_arguments(raw).unwrap_or_default(),
            result: Cow::Borrowed(""),
            failed: false,
        })
        .collect();
    PastTurn { calls }
}

fn text_of(content: &[ContentBlock]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Image { .. } => None,
    });
    let first = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.fold(first, |all, more| Cow::Owned(format!("{all}\n{more}")))
}
