//! The loop of a run: boundary, request, tool calls, and again, until nobody has anything to add.

use std::sync::Arc;

use model::{AssistantBlock, AssistantMessage, FinishReason, Message};
use vocab::{EntryId, RunStop, SteerId};

use crate::config::SessionKind;
use crate::entry::{EntryBody, ToolOutcome};
use crate::event::SessionEvent;
use crate::extension::BoundaryKind;
use crate::history::{context_tokens, is_sendable};
use crate::limits::{Guard, WRAP_UP, limit_text};
use crate::message::{SteerAuthor, SteerRequest};
use crate::request::Answer;
use crate::run::{RunState, Stop};
use crate::session::Session;

/// Answers in a row whose calls may be cut by the output limit before the run is given up.
const CUT_CALLS: u32 = 3;

/// What a boundary came to.
enum Boundary {
    Request,
    Stop,
    Cancelled,
}

/// What an answer came to, once its calls have results.
enum TurnEnd {
    /// The model is owed another request.
    Owed,
    /// The run stops so, unless somebody has something to add.
    Content(Stop),
    /// The run stops so.
    Final(Stop),
}

impl Session {
    pub(crate) async fn turns(&mut self, run: &mut RunState) -> Stop {
        let mut last = TurnEnd::Owed;
        let mut kind = BoundaryKind::Start;
        loop {
            let owed = matches!(last, TurnEnd::Owed);
            match (self.boundary(run, kind, owed).await, last) {
                (Boundary::Cancelled, _) => return Stop::aborted(),
                (Boundary::Stop, TurnEnd::Content(stop) | TurnEnd::Final(stop)) => return stop,
                // A boundary never stops a run that owes a request.
                (Boundary::Stop, TurnEnd::Owed) | (Boundary::Request, _) => {}
            }
            if let Some(reason) = run.guard.exceeded(&self.limits, run.turns) {
                return Stop::limit(reason, limit_text(reason, &self.limits));
            }
            if let Some(stop) = self.overspent(run) {
                return stop;
            }
            if run.turns == 0 && self.kind == SessionKind::Parent {
                // The prompt is on disk before a request can cost anything.
                if let Some(file) = self.recorder.file().cloned()
                    && self.attend(&run.cancel, file.flush()).await.is_none()
                {
                    return Stop::aborted();
                }
            }
            let turn = run.turns + 1;
            self.recorder.emit(SessionEvent::TurnStart { turn });
            let answer = match self.request(run).await {
                Ok(answer) => answer,
                Err(stop) => return stop,
            };
            let end = self.take_answer(run, answer).await;
            run.guard.end_turn();
            self.recorder.emit(SessionEvent::TurnEnd { turn });
            kind = match end {
                TurnEnd::Final(stop) => return stop,
                TurnEnd::Content(_) => BoundaryKind::WouldStop,
                TurnEnd::Owed => BoundaryKind::Between,
            };
            last = end;
        }
    }

    /// Takes in what others have for the next request: steers and messages in the order of arrival, then what the
    /// `before_turn` hooks hand over. The run goes on for their sake even where it would stop.
    async fn boundary(&mut self, run: &RunState, kind: BoundaryKind, owed: bool) -> Boundary {
        loop {
            self.drain_inbox();
            if run.cancel.is_cancelled() {
                return Boundary::Cancelled;
            }
            let mut added = self.deliver_pending();
            let Some(deliveries) = self.ask_before_turn(&run.cancel, run.turns, kind).await else {
                return Boundary::Cancelled;
            };
            for delivery in deliveries {
                self.deliver(delivery);
                added = true;
            }
            if run.cancel.is_cancelled() {
                return Boundary::Cancelled;
            }
            if added || owed {
                return Boundary::Request;
            }
            // Once more, without waiting: nothing that arrived while the hooks answered may be left behind.
            self.drain_inbox();
            if self.woken || !self.pending.is_empty() {
                continue;
            }
            if self.follow_ups.is_empty() {
                if !self.closing && !run.cancel.is_cancelled() && self.is_held(&run.cancel).await {
                    self.wait_for_command(&run.cancel).await;
                    continue;
                }
                // Something may have arrived while that was asked.
                if self.has_arrived() && !run.cancel.is_cancelled() {
                    continue;
                }
                return if run.cancel.is_cancelled() { Boundary::Cancelled } else { Boundary::Stop };
            }
            for message in std::mem::take(&mut self.follow_ups) {
                self.deliver(message.into());
            }
            return Boundary::Request;
        }
    }

    async fn take_answer(&mut self, run: &mut RunState, answer: Answer) -> TurnEnd {
        let Answer { message, entry_id } = answer;
        run.turns += 1;
        let has_text = has_text(&message);
        run.guard.answer(has_text);
        let message = self.record_answer(run, message, entry_id, has_text);
        let Message::Assistant(answer) = &*message else { return TurnEnd::Owed };
        let has_calls = answer.tool_calls().next().is_some();
        match answer.finish {
            Some(FinishReason::Length) if has_calls => {
                self.close_open_calls(
                    "Not run: your message was cut at the output limit, so the arguments may be incomplete. \
                     Call the tool again, with less in one message.",
                    ToolOutcome::Error,
                );
                run.cut_calls += 1;
                if run.cut_calls >= CUT_CALLS {
                    return TurnEnd::Final(Stop::failed(
                        "the model's tool calls were cut at its output limit again and again",
                    ));
                }
            }
            Some(FinishReason::Refusal) => {
                self.close_open_calls("Not run: the message was declined.", ToolOutcome::Error);
                return TurnEnd::Content(Stop::of(RunStop::Refusal));
            }
            Some(FinishReason::Length) if has_text => return TurnEnd::Content(Stop::of(RunStop::Length)),
            Some(FinishReason::Length) => {
                let text = "the model reached its output limit before it wrote any text";
                return TurnEnd::Content(Stop::failed(text));
            }
            _ if !has_calls => return TurnEnd::Content(Stop::of(RunStop::EndTurn)),
            _ => {
                run.cut_calls = 0;
                let batch = self.run_tools(run, answer).await;
                if batch.cancelled {
                    return TurnEnd::Final(Stop::aborted());
                }
                if batch.terminate {
                    return TurnEnd::Content(Stop::of(RunStop::EndTurn));
                }
            }
        }
        if !run.wrapped_up && Guard::should_wrap_up(&self.limits, run.turns) {
            run.wrapped_up = true;
            self.deliver_steer(&SteerRequest {
                steer_id: SteerId::new(format!("wrap-up-{}", run.number)),
                text: WRAP_UP.to_owned(),
                author: SteerAuthor::Host,
            });
        }
        TurnEnd::Owed
    }

    fn record_answer(
        &mut self,
        run: &mut RunState,
        message: AssistantMessage,
        entry_id: EntryId,
        has_text: bool,
    ) -> Arc<Message> {
        self.context_tokens = context_tokens(&message.usage);
        let sendable = is_sendable(&message);
        let message = Arc::new(Message::Assistant(message));
        if sendable {
            self.history.push(Arc::clone(&message));
        }
        if has_text {
            run.last_text = Some(Arc::clone(&message));
        }
        let body = EntryBody::Assistant { message: Arc::clone(&message), discarded: false };
        self.recorder.record_as(entry_id, run.number, body, |entry| SessionEvent::MessageEnd { entry }, None);
        let (usage, session, context_percent) = (run.usage, self.usage, self.context_percent());
        self.recorder.emit(SessionEvent::Usage { run: usage, session, context_percent });
        let (turns, at) = (run.turns, self.recorder.now());
        self.show_text(&message, |progress| {
            progress.turns = turns;
            progress.usage = usage;
            progress.context_percent = context_percent;
            progress.last_activity_at = at;
        });
        message
    }
}

pub(crate) fn has_text(message: &AssistantMessage) -> bool {
    message.content.iter().any(|block| match block {
        AssistantBlock::Text { text } => !text.trim().is_empty(),
        _ => false,
    })
}
