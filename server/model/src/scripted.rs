//! The model that tests run against: it answers from a script, keeps every request, and is strict about histories.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::embedded::ReplyStream;
use crate::{
    Advance, AssistantMessage, EmbeddedModel, HistoryError, ModelClient, ModelError, ModelInfo, ModelRequest,
    ModelStream, Reply,
};

/// A scripted model. A history that a provider would refuse fails its request, and also the test: the model panics
/// when it is dropped with a fault that nobody took.
pub struct ScriptedModel {
    info: ModelInfo,
    script: Mutex<Script>,
    counts: Arc<Counts>,
}

type Answer = Box<dyn FnMut(&ModelRequest) -> Reply + Send>;

#[derive(Default)]
struct Script {
    turns: VecDeque<Reply>,
    answer: Option<Answer>,
    requests: Vec<ModelRequest>,
    faults: Vec<HistoryError>,
}

#[derive(Debug, Default)]
struct Counts {
    live: AtomicUsize,
    aborted: AtomicUsize,
}

impl ScriptedModel {
    /// A model named `scripted/model` that answers one request after the other from `turns`; then it fails.
    pub fn new(turns: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Self::with_info(EmbeddedModel::plain_info("scripted", "model"), turns)
    }

    /// A model that is something else than plain: with a price, a small window or another name.
    pub fn with_info(info: ModelInfo, turns: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let script = Script { turns: turns.into_iter().collect(), ..Script::default() };
        Arc::new(Self { info, script: Mutex::new(script), counts: Arc::default() })
    }

    /// A model named `scripted/model` whose answers a function makes; turns that are pushed come first.
    pub fn answering(answer: impl FnMut(&ModelRequest) -> Reply + Send + 'static) -> Arc<Self> {
        let model = Self::new([]);
        model.script().answer = Some(Box::new(answer));
        model
    }

    /// Adds a turn to the end of the script.
    pub fn push(&self, turn: Reply) {
        self.script().turns.push_back(turn);
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.script().requests.clone()
    }

    /// Turns that no request has used yet.
    pub fn turns_left(&self) -> usize {
        self.script().turns.len()
    }

    /// Answers under way now.
    pub fn live(&self) -> usize {
        self.counts.live.load(Ordering::SeqCst)
    }

    /// Answers that were dropped before they ended.
    pub fn aborted(&self) -> usize {
        self.counts.aborted.load(Ordering::SeqCst)
    }

    /// Takes the faults of the histories it was given, which then no longer fail the test.
    pub fn take_faults(&self) -> Vec<HistoryError> {
        std::mem::take(&mut self.script().faults)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &ModelRequest) -> Reply {
        let mut script = self.script();
        script.requests.push(request.clone());
        if let Err(fault) = request.history.check() {
            script.faults.push(fault.clone());
            return Reply::new().fail(fault.into());
        }
        if let Some(turn) = script.turns.pop_front() {
            return turn;
        }
        match &mut script.answer {
            Some(answer) => answer(request),
            None => Reply::new().fail(ModelError::Unavailable {
                model: self.info.full_id(),
                reason: "its script has no more turns".to_owned(),
            }),
        }
    }
}

impl ModelClient for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        let stream = ReplyStream::new(&self.info, &request, self.next(&request));
        self.counts.live.fetch_add(1, Ordering::SeqCst);
        Box::new(Counted { stream, under_way: true, counts: Arc::clone(&self.counts) })
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let faults = &self.script().faults;
        assert!(
            faults.is_empty() || std::thread::panicking(),
            "histories that a provider refuses: {faults:?}"
        );
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScriptedModel").field(&self.info.full_id()).finish()
    }
}

/// A stream that is counted until it ends or is dropped.
struct Counted {
    stream: ReplyStream,
    under_way: bool,
    counts: Arc<Counts>,
}

impl Counted {
    fn ended(&mut self, aborted: bool) {
        if std::mem::take(&mut self.under_way) {
            self.counts.live.fetch_sub(1, Ordering::SeqCst);
            self.counts.aborted.fetch_add(usize::from(aborted), Ordering::SeqCst);
        }
    }
}

impl ModelStream for Counted {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>> {
        let polled = self.stream.poll_advance(cx);
        if matches!(polled, Poll::Ready(Ok(Advance::Finished) | Err(_))) {
            self.ended(false);
        }
        polled
    }

    fn message(&self) -> &AssistantMessage {
        self.stream.message()
    }

    fn into_message(mut self: Box<Self>) -> AssistantMessage {
        self.ended(true);
        let message = self.stream.message().clone();
        drop(self);
        message
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ended(true);
    }
}

#[cfg(test)]
mod tests;
