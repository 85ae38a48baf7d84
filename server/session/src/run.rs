//! A run: from a prompt, a wake or a resume until the session is idle.

use std::sync::Arc;

use vocab::{EndReason, RunStop, Usage};

use crate::handle::QueuedPrompt;
use crate::message::{Delivery, Prompt, SteerRequest};

/// What starts a run.
#[derive(Debug)]
pub struct NextRun(pub(crate) Cause);

#[derive(Debug)]
pub(crate) enum Cause {
    Prompt(QueuedPrompt),
    /// Messages whose owners want them answered.
    Messages(Vec<Delivery>),
}

impl From<Prompt> for NextRun {
    fn from(prompt: Prompt) -> Self {
        Self(Cause::Prompt(QueuedPrompt { prompt, answer: None }))
    }
}

impl NextRun {
    /// The prompt, where one starts the run.
    pub fn prompt(&self) -> Option<&Prompt> {
        match &self.0 {
            Cause::Prompt(queued) => Some(&queued.prompt),
            Cause::Messages(_) => None,
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub run: u32,
    pub stop: RunStop,
    /// Where `stop` alone does not say: the limit that ended it, or `provider` for an error of the model's provider.
    pub reason: Option<EndReason>,
    /// Whether the model was told to wrap up at its turn limit.
    pub wrapped_up: bool,
    /// The last text that the model wrote in this run; empty where it wrote none.
    pub text: String,
    pub error: Option<Arc<str>>,
    /// Of this run, failed attempts included.
    pub usage: Usage,
    /// Requests that were answered.
    pub turns: u32,
    pub tool_uses: u32,
    /// Steers that came too late to be read.
    pub undelivered_steers: Vec<SteerRequest>,
}
