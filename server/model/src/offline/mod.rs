//! The offline planner: a program that answers like a model, for a first look and for tests without key or network.
//!
//! It reads the history of a request and works out the next turn by rules. A parent delegates exploration to agents and
//! puts their reports together; an agent looks around with the read-only tools, each step chosen by what the steps
//! before brought, and reports what they said. The same history always gives the same turn.

mod child;
mod conversation;
mod entry_points;
mod facts;
mod layout;
mod markers;
mod modules;
mod notice;
mod output;
mod overview;
mod parent;
mod plan;
mod search;
mod topic;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{Api, EmbeddedModel, InputKind, ModelClient, ModelInfo, ModelRequest, ModelStream, Price, Reply};
use conversation::Conversation;
use plan::Turn;

/// What it says of itself wherever it could be taken for more.
pub const SELF_DESCRIPTION: &str =
    "Adjutant's offline planner: a deterministic program, not a language model";

const PROVIDER: &str = "offline";
const ID: &str = "planner";

/// A text comes in so many pieces at most, so that who watches sees it grow.
const PIECES: usize = 5;
/// The pause before each piece: together they stay below what anybody would wait for.
const PAUSE: Duration = Duration::from_millis(8);

/// The planner as a model, `offline/planner`.
#[derive(Debug)]
pub struct OfflineModel(EmbeddedModel);

impl OfflineModel {
    pub fn new() -> Self {
        Self(EmbeddedModel::new(info(), |request| reply(&next(request))))
    }
}

impl Default for OfflineModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelClient for OfflineModel {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        self.0.start(request)
    }
}

fn info() -> ModelInfo {
    // It runs here and costs nothing: a known price of nothing, not an unknown one.
    let free = Some(0.0);
    ModelInfo {
        provider: PROVIDER.to_owned(),
        id: ID.to_owned(),
        name: "Offline planner".to_owned(),
        api: Api::Embedded,
        context_window: None,
        max_tokens: None,
        reasoning: false,
        input: vec![InputKind::Text],
        price: Some(Price {
            input: free,
            output: free,
            cache_read: free,
            cache_write: free,
            tiers: Vec::new(),
        }),
    }
}

/// The next turn of a conversation.
fn next(request: &ModelRequest) -> Turn {
    let conversation = Conversation::of(request.history.messages());
    let offered: Vec<&str> = request.tools.tools().iter().map(|tool| tool.name.as_str()).collect();
    if offered.contains(&parent::AGENT) {
        parent::turn(&conversation, &offered)
    } else {
        child::turn(&conversation, &offered)
    }
}

fn reply(turn: &Turn) -> Reply {
    let mut reply = Reply::new();
    for piece in pieces(&turn.text) {
        reply = reply.delay(PAUSE).text(piece);
    }
    if turn.text.is_empty() {
        reply = reply.delay(PAUSE);
    }
    for call in &turn.calls {
        reply = reply.call(call.tool, &call.arguments);
    }
    reply
}

/// The text in pieces of about equal length, cut between characters.
fn pieces(text: &str) -> Vec<&str> {
    let length = text.len().div_ceil(PIECES).max(1);
    let mut pieces = Vec::with_capacity(PIECES);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
