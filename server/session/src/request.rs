//! One question to the model, with its retries: what arrives is told piece by piece, and is kept only if it is whole.

use std::sync::Arc;
use std::time::Duration;

use model::{
    Advance, AssistantBlock, AssistantMessage, History, HistorySnapshot, Message, ModelError, ModelRequest,
    ModelStream,
};
use tokio::time::Instant;
use vocab::{EndReason, EntryId, WaitingOn};

use crate::activity;
use crate::deltas::{Cursor, Pacer};
use crate::entry::EntryBody;
use crate::event::{RetryEvent, SessionEvent};
use crate::history::{ABORTED, is_sendable};
use crate::inbox::Live;
use crate::progress::{RunProgress, TAIL_BYTES};
use crate::run::{RunState, Stop};
use crate::session::Session;
use crate::title::tail;
use crate::turn::has_text;

/// Between two looks at a message that is being written: ten a second.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) message: AssistantMessage,
    pub(crate) entry_id: EntryId,
}

/// How an attempt ended, with what had arrived.
struct Attempt {
    message: AssistantMessage,
    /// Present as soon as anything of the message had arrived.
    entry_id: Option<EntryId>,
    end: AttemptEnd,
}

enum AttemptEnd {
    Finished,
    Cancelled,
    Failed(ModelError),
}

impl Session {
    /// Asks until there is a whole answer, or the run has to stop.
    pub(crate) async fn request(&mut self, run: &mut RunState) -> Result<Answer, Stop> {
        let mut retries = 0;
        loop {
            let history = self.outgoing(run).await?;
            self.progress.update(|progress| {
                progress.waiting_on = Some(WaitingOn::Model);
                progress.tool = None;
            });
            let stream = self.model.start(ModelRequest {
                system: Arc::clone(&run.system_prompt),
                tools: self.tools.specs(),
                history,
                thinking: self.thinking,
                max_tokens: None,
                session: self.id.clone(),
            });
            let Attempt { message, entry_id, end } = self.pump(stream, run).await;
            self.charge(run, message.usage);
            let error = match end {
                AttemptEnd::Finished => {
                    let entry_id = entry_id.unwrap_or_else(|| self.announce());
                    return Ok(Answer { message, entry_id });
                }
                AttemptEnd::Cancelled => {
                    self.keep_partial(run, message, entry_id);
                    return Err(Stop::aborted());
                }
                AttemptEnd::Failed(error) => error,
            };
            let entry_id = self.discard(run, message, entry_id, &error);
            retries += 1;
            let Some(delay) = self.retry.next_delay(retries, &error) else {
                return Err(match error {
                    ModelError::Idle { .. } => Stop::limit(EndReason::Idle, error.to_string()),
                    _ => Stop::failed(error.to_string()),
                });
            };
            // A failed attempt may have used the last of the budget.
            if let Some(stop) = self.overspent(run) {
                return Err(stop);
            }
            self.wait_to_retry(run, retries, delay, &error, entry_id).await?;
        }
    }

    /// What is sent: the history, or what the `context` hooks make of it for this once.
    async fn outgoing(&mut self, run: &RunState) -> Result<HistorySnapshot, Stop> {
        if self.hooks.context.is_empty() {
            return Ok(self.history.snapshot());
        }
        let hooks = Arc::clone(&self.hooks);
        let mut messages = self.history.messages().to_vec();
        for hook in &hooks.context {
            let given = messages.clone();
            if let Some(changed) = self.ask(&run.cancel, || hook(given)).await {
                messages = changed;
            } else if run.cancel.is_cancelled() {
                return Err(Stop::aborted());
            }
        }
        let mut history = History::new();
        for message in messages {
            history.push(message);
        }
        Ok(history.snapshot())
    }

    /// Follows one attempt to its end. Per network chunk and nobody watching it does no more than the parser does.
    async fn pump(&mut self, mut stream: Box<dyn ModelStream>, run: &RunState) -> Attempt {
        enum Step {
            Cancelled,
            Command(crate::handle::Command),
            Advance(Result<Advance, ModelError>),
            Flush,
        }
        let mut entry_id: Option<EntryId> = None;
        let mut cursor = Cursor::default();
        let mut pacer = Pacer::new();
        let mut shown = Instant::now();
        let mut cancelled = std::pin::pin!(run.cancel.cancelled());
        let end = loop {
            let step = tokio::select! {
                biased;
                () = &mut cancelled => Step::Cancelled,
                Some(command) = self.inbox.recv() => Step::Command(command),
                advanced = model::advance(&mut *stream) => Step::Advance(advanced),
                () = pacer.wait(), if pacer.armed => Step::Flush,
            };
            let mut flush = false;
            match step {
                Step::Cancelled => break AttemptEnd::Cancelled,
                Step::Command(command) => {
                    let message = stream.message();
                    let live =
                        entry_id.as_ref().map(|entry_id| Live { entry_id, message, cursor: &mut cursor });
                    self.serve(command, live);
                }
                Step::Advance(Err(error)) => break AttemptEnd::Failed(error),
                Step::Advance(Ok(Advance::Connected)) => {}
                Step::Advance(Ok(Advance::Finished)) => {
                    if entry_id.is_some() && self.recorder.watched() {
                        self.flush(&mut cursor, entry_id.as_ref(), stream.message());
                    }
                    break AttemptEnd::Finished;
                }
                Step::Advance(Ok(Advance::Delta)) => {
                    if entry_id.is_none() {
                        entry_id = Some(self.announce());
                    }
                    flush = self.recorder.watched() && pacer.due();
                    let now = Instant::now();
                    if now - shown >= PROGRESS_EVERY {
                        shown = now;
                        self.show_stream(stream.message());
                    }
                }
                Step::Flush => flush = pacer.due(),
            }
            if flush {
                self.flush(&mut cursor, entry_id.as_ref(), stream.message());
            }
        };
        if matches!(end, AttemptEnd::Cancelled | AttemptEnd::Failed(_)) && self.recorder.watched() {
            self.flush(&mut cursor, entry_id.as_ref(), stream.message());
        }
        Attempt { message: stream.into_message(), entry_id, end }
    }

    fn announce(&mut self) -> EntryId {
        self.recorder.announce(|entry_id| SessionEvent::MessageStart { entry_id })
    }

    fn flush(&mut self, cursor: &mut Cursor, entry_id: Option<&EntryId>, message: &AssistantMessage) {
        if let Some(entry_id) = entry_id {
            cursor.flush(entry_id, message, |event| self.recorder.emit(event));
        }
    }

    /// An aborted answer keeps its text. Its calls may be half written, so they are left out: nothing ran.
    fn keep_partial(&mut self, run: &mut RunState, message: AssistantMessage, entry_id: Option<EntryId>) {
        let Some(entry_id) = self.kept_id(entry_id, &message) else { return };
        let mut kept = AssistantMessage { finish: None, error: Some(ABORTED.to_owned()), ..message };
        let discarded = !has_text(&kept);
        if !discarded {
            kept.content.retain(|block| matches!(block, AssistantBlock::Text { .. }));
        }
        let sendable = !discarded && is_sendable(&kept);
        let message = Arc::new(Message::Assistant(kept));
        if sendable {
            self.history.push(Arc::clone(&message));
            run.last_text = Some(Arc::clone(&message));
        }
        let body = EntryBody::Assistant { message, discarded };
        self.recorder.record_as(entry_id, run.number, body, |entry| SessionEvent::MessageEnd { entry }, None);
    }

    /// A failed attempt is shown, but it is not part of the history and none of its calls runs.
    fn discard(
        &mut self,
        run: &RunState,
        message: AssistantMessage,
        entry_id: Option<EntryId>,
        error: &ModelError,
    ) -> Option<EntryId> {
        let entry_id = self.kept_id(entry_id, &message)?;
        let message = AssistantMessage { finish: None, error: Some(error.to_string()), ..message };
        let body = EntryBody::Assistant { message: Arc::new(Message::Assistant(message)), discarded: true };
        let id = entry_id.clone();
        self.recorder.record_as(id, run.number, body, |entry| SessionEvent::MessageEnd { entry }, None);
        Some(entry_id)
    }

    /// The entry of an attempt that did not end well: one that brought nothing has none, unless it was paid for.
    fn kept_id(&mut self, entry_id: Option<EntryId>, message: &AssistantMessage) -> Option<EntryId> {
        entry_id.or_else(|| (!message.usage.is_empty()).then(|| self.announce()))
    }

    async fn wait_to_retry(
        &mut self,
        run: &RunState,
        attempt: u32,
        delay: Duration,
        error: &ModelError,
        discarded: Option<EntryId>,
    ) -> Result<(), Stop> {
        let event = RetryEvent {
            attempt,
            max_attempts: self.retry.max_retries,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error: error.to_string().into(),
            discarded,
        };
        self.recorder.emit(SessionEvent::Retry(event));
        let at = self.recorder.now();
        self.progress.update(|progress| {
            progress.waiting_on = Some(WaitingOn::Retry);
            progress.last_activity_at = at;
        });
        let slept = self.attend(&run.cancel, tokio::time::sleep(delay)).await;
        slept.ok_or_else(Stop::aborted)
    }

    fn show_stream(&mut self, message: &AssistantMessage) {
        let at = self.recorder.now();
        self.progress.update(|progress| {
            show(message, progress);
            progress.last_activity_at = at;
        });
    }

    pub(crate) fn show_text(&mut self, message: &Message, change: impl FnOnce(&mut RunProgress)) {
        self.progress.update(|progress| {
            if let Message::Assistant(message) = message {
                show(message, progress);
            }
            change(progress);
        });
    }
}

fn show(message: &AssistantMessage, progress: &mut RunProgress) {
    let last = message.content.iter().rev().find_map(|block| match block {
        AssistantBlock::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    if let Some(text) = last {
        progress.activity = activity::of_text(text);
        progress.text_tail = Some(tail(text, TAIL_BYTES).into());
    }
}
