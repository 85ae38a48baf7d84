//! Serving the inbox: what each command does, whatever the session is doing.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use model::AssistantMessage;
use tokio_util::sync::CancellationToken;
use vocab::{EntryId, PromptId, WaitingOn};

use crate::deltas::Cursor;
use crate::entry::EntryBody;
use crate::event::{Page, PageRequest, PartialMessage, SessionEvent, SteerEvent};
use crate::extension::{BoundaryKind, TurnBoundary};
use crate::handle::{AbortReport, Command, PromptAnswer, QueuedPrompt, SteerReceipt, Withdrawal};
use crate::message::{CustomMessage, DeliverAs, Delivery, SteerRequest};
use crate::session::Session;
use crate::title::title_of;

/// What enters the conversation at the next boundary.
#[derive(Debug)]
pub(crate) enum Pending {
    Steer(SteerRequest),
    Message {
        message: CustomMessage,
        /// Whether the run goes on for its sake.
        triggers: bool,
    },
}

impl Pending {
    pub(crate) fn into_message(self) -> Option<CustomMessage> {
        match self {
            Self::Message { message, .. } => Some(message),
            Self::Steer(_) => None,
        }
    }

    pub(crate) fn triggers(&self) -> bool {
        match self {
            Self::Steer(_) => true,
            Self::Message { triggers, .. } => *triggers,
        }
    }
}

/// The message that is being written while a command is served.
pub(crate) struct Live<'a> {
    pub(crate) entry_id: &'a EntryId,
    pub(crate) message: &'a AssistantMessage,
    pub(crate) cursor: &'a mut Cursor,
}

impl Session {
    /// Waits for `work` while it serves the inbox. `None`: cancelled first, and the work is dropped.
    pub(crate) async fn attend<T>(
        &mut self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut cancelled = pin!(cancel.cancelled());
        loop {
            let command = tokio::select! {
                biased;
                () = &mut cancelled => return None,
                Some(command) = self.inbox.recv() => command,
                done = &mut work => return Some(done),
            };
            self.serve(command, None);
        }
    }

    /// Asks a hook. `None` also where it panics: an extension's fault is not the run's.
    pub(crate) async fn ask<T>(
        &mut self,
        cancel: &CancellationToken,
        hook: impl FnOnce() -> BoxFuture<'static, T>,
    ) -> Option<T> {
        let asked = AssertUnwindSafe(async move { hook().await }).catch_unwind();
        let answer = self.attend(cancel, asked).await?;
        if answer.is_err() {
            tracing::error!(session = %self.id, "a hook of an extension panicked");
        }
        answer.ok()
    }

    /// What the `before_turn` hooks want in the next request. `None`: cancelled first.
    pub(crate) async fn ask_before_turn(
        &mut self,
        cancel: &CancellationToken,
        turns: u32,
        at: BoundaryKind,
    ) -> Option<Vec<Delivery>> {
        // Before the first question: what arrives while a hook answers is asked for again.
        self.woken = false;
        let hooks = Arc::clone(&self.hooks);
        let mut deliveries = Vec::new();
        let run = if at == BoundaryKind::Wake { self.run + 1 } else { self.run };
        for hook in &hooks.before_turn {
            deliveries
                .extend(self.ask(cancel, || hook(TurnBoundary { run, turns, at })).await.unwrap_or_default());
        }
        // Whatever was handed over is delivered, cancelled or not.
        (!cancel.is_cancelled() || !deliveries.is_empty()).then_some(deliveries)
    }

    /// Whether somebody wants a run that would stop to stay open.
    pub(crate) async fn is_held(&mut self, cancel: &CancellationToken) -> bool {
        let (hooks, run) = (Arc::clone(&self.hooks), self.run);
        for hook in &hooks.would_stop {
            if self.ask(cancel, || hook(run)).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Whether there is a reason to look at the boundary again.
    pub(crate) fn has_arrived(&self) -> bool {
        self.woken || !self.pending.is_empty() || !self.follow_ups.is_empty()
    }

    /// Keeps a run open without a request, until something arrives that is a reason to look again.
    pub(crate) async fn wait_for_command(&mut self, cancel: &CancellationToken) {
        self.progress.update(|progress| {
            progress.waiting_on = Some(WaitingOn::Child);
            progress.tool = None;
        });
        while !self.has_arrived() && !self.closing {
            let command = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                command = self.inbox.recv() => command,
            };
            match command {
                Some(command) => self.serve(command, None),
                // Every handle is gone, so nothing can arrive any more.
                None => return,
            }
        }
    }

    /// Serves what has arrived, without waiting.
    pub(crate) fn drain_inbox(&mut self) {
        while let Ok(command) = self.inbox.try_recv() {
            self.serve(command, None);
        }
    }

    pub(crate) fn serve(&mut self, command: Command, live: Option<Live<'_>>) {
        match command {
            Command::Prompt(prompt) => self.queue_prompt(prompt),
            Command::Withdraw(prompt_id, answer) => {
                let _ = answer.send(self.withdraw_prompt(&prompt_id));
            }
            Command::Steer(steer, answer) => {
                let _ = answer.send(self.take_steer(steer));
            }
            Command::Unsteer(steer_id, answer) => {
                let is_it = |pending: &Pending| matches!(pending, Pending::Steer(steer) if steer.steer_id == steer_id);
                let found = self.pending.iter().position(is_it).and_then(|index| self.pending.remove(index));
                let _ = answer.send(found.is_some());
                if let Some(Pending::Steer(steer)) = found {
                    self.recorder.emit(SessionEvent::SteerWithdrawn(steer_event(&steer)));
                }
            }
            Command::Abort(answer) => {
                let _ = answer.send(self.abort());
            }
            Command::SendMessage { message, deliver_as, trigger_turn } => {
                self.take_message(message, deliver_as, trigger_turn);
            }
            Command::AppendEntry { custom_type, data } => {
                let body = EntryBody::CustomEntry { custom_type, data };
                self.recorder.record(self.run, body, |entry| SessionEvent::EntryAppended { entry });
            }
            Command::Wake => self.woken = !self.hooks.before_turn.is_empty(),
            Command::Page { request, watch, answer } => {
                let page = self.live_page(request, watch, live);
                let _ = answer.send(page);
            }
            Command::Watch(watched) => self.recorder.set_watched(watched),
            Command::SetLimits(limits) => self.limits = limits,
            Command::SetModel { model, thinking } => {
                self.model = model;
                self.thinking = thinking;
                let name: Arc<str> = self.model.info().full_id().into();
                let body = EntryBody::ModelChange { model: name.to_string(), thinking };
                self.recorder.record(self.run, body, |entry| SessionEvent::ModelChanged {
                    entry,
                    model: name,
                    thinking,
                });
            }
            Command::SetTools(tools) => self.set_tools(&tools),
            Command::SetSystemPrompt(system_prompt) => self.system_prompt = system_prompt,
            Command::Info(answer) => {
                let _ = answer.send(self.info());
            }
            Command::Close => {
                self.closing = true;
                self.stop_asking();
            }
        }
    }

    fn queue_prompt(&mut self, queued: QueuedPrompt) {
        // Only one that has to wait is told as queued.
        let waits = self.active.is_some() || !self.prompts.is_empty();
        if let Some(prompt_id) = queued.prompt.prompt_id.clone().filter(|_| waits) {
            self.recorder.emit(SessionEvent::PromptQueued { prompt_id });
        }
        self.prompts.push_back(queued);
        self.stop_asking();
    }

    fn stop_asking(&self) {
        if let Some(asking) = &self.asking {
            asking.cancel();
        }
    }

    fn withdraw_prompt(&mut self, prompt_id: &PromptId) -> Withdrawal {
        let is_it = |queued: &QueuedPrompt| queued.prompt.prompt_id.as_ref() == Some(prompt_id);
        if let Some(queued) = self.prompts.iter().position(is_it).and_then(|index| self.prompts.remove(index))
        {
            self.tell_withdrawn(queued);
            return Withdrawal::Withdrawn;
        }
        match &self.active {
            Some(active) if active.prompt_id.as_ref() == Some(prompt_id) => {
                active.cancel.cancel();
                Withdrawal::Aborting
            }
            _ => Withdrawal::Unknown,
        }
    }

    /// Takes back every queued prompt.
    pub(crate) fn withdraw_prompts(&mut self) -> Vec<crate::message::Prompt> {
        let queued: Vec<_> = self.prompts.drain(..).collect();
        queued.into_iter().map(|queued| self.tell_withdrawn(queued)).collect()
    }

    fn tell_withdrawn(&mut self, queued: QueuedPrompt) -> crate::message::Prompt {
        let QueuedPrompt { prompt, answer } = queued;
        if let Some(prompt_id) = prompt.prompt_id.clone() {
            self.recorder.emit(SessionEvent::PromptWithdrawn { prompt_id });
        }
        if let Some(answer) = answer {
            let _ = answer.send(PromptAnswer::Withdrawn);
        }
        prompt
    }

    fn take_steer(&mut self, steer: SteerRequest) -> SteerReceipt {
        if self.active.is_none() {
            self.recorder.emit(SessionEvent::SteerExpired(steer_event(&steer)));
            return SteerReceipt::TooLate;
        }
        self.recorder.emit(SessionEvent::SteerQueued(steer_event(&steer)));
        self.pending.push_back(Pending::Steer(steer));
        SteerReceipt::Queued
    }

    /// Takes the steers out of what is pending; the rest stays, in order.
    pub(crate) fn take_steers(&mut self) -> Vec<SteerRequest> {
        let mut steers = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Steer(steer) => steers.push(steer),
                message @ Pending::Message { .. } => self.pending.push_back(message),
            }
        }
        steers
    }

    fn abort(&mut self) -> AbortReport {
        let aborted = self.active.as_ref().is_some_and(|active| {
            active.cancel.cancel();
            true
        });
        let steers = self.take_steers();
        for steer in &steers {
            self.recorder.emit(SessionEvent::SteerWithdrawn(steer_event(steer)));
        }
        AbortReport { aborted, prompts: self.withdraw_prompts(), steers }
    }

    fn take_message(&mut self, message: CustomMessage, deliver_as: DeliverAs, triggers: bool) {
        match deliver_as {
            DeliverAs::NextTurn => self.next_turn.push(message),
            DeliverAs::FollowUp if self.active.is_some() && triggers => self.follow_ups.push(message),
            // Appended now, it could come between a call and its result.
            _ if self.active.is_some() || triggers => {
                self.pending.push_back(Pending::Message { message, triggers });
            }
            _ => self.deliver(message.into()),
        }
    }

    fn live_page(&mut self, request: PageRequest, watch: bool, live: Option<Live<'_>>) -> Page {
        let partial = live.map(|live| {
            // The page has the whole message so far, so what follows it must begin after that.
            if self.recorder.watched() {
                live.cursor.flush(live.entry_id, live.message, |event| self.recorder.emit(event));
            } else {
                live.cursor.skip(live.entry_id, live.message);
            }
            PartialMessage { entry_id: live.entry_id.clone(), run: self.run, message: live.message.clone() }
        });
        if watch {
            self.recorder.set_watched(true);
        }
        self.recorder.page(request, partial)
    }

    /// Puts a message into history and transcript, and acknowledges it once its line is written.
    pub(crate) fn deliver(&mut self, delivery: Delivery) {
        let Delivery { message, acknowledge } = delivery;
        let message = Arc::new(message);
        self.history.push(message.message());
        let id = self.recorder.next_id();
        let written = acknowledge.map(|acknowledge| {
            let id = id.clone();
            Box::new(move || acknowledge(id)) as Box<dyn FnOnce() + Send>
        });
        let body = EntryBody::CustomMessage { message };
        self.recorder.record_as(id, self.run, body, |entry| SessionEvent::CustomMessage { entry }, written);
    }

    /// Puts everything pending into history and transcript. Whether a run goes on for its sake.
    pub(crate) fn deliver_pending(&mut self) -> bool {
        let mut triggered = false;
        while let Some(pending) = self.pending.pop_front() {
            triggered |= pending.triggers();
            match pending {
                Pending::Steer(steer) => self.deliver_steer(&steer),
                Pending::Message { message, .. } => self.deliver(message.into()),
            }
        }
        triggered
    }

    pub(crate) fn deliver_steer(&mut self, steer: &SteerRequest) {
        let message = Arc::new(model::Message::user(steer.text.clone()));
        self.history.push(Arc::clone(&message));
        let body = EntryBody::Steer { steer_id: steer.steer_id.clone(), author: steer.author, message };
        self.recorder.record(self.run, body, |entry| SessionEvent::MessageEnd { entry });
        self.recorder.emit(SessionEvent::SteerDelivered(steer_event(steer)));
    }

    /// The first prompt names a session that has no name.
    pub(crate) fn name_after(&mut self, prompt: &str) {
        if self.title.is_none() {
            self.title = title_of(prompt);
        }
    }
}

pub(crate) fn steer_event(steer: &SteerRequest) -> SteerEvent {
    SteerEvent { steer_id: steer.steer_id.clone(), text: steer.text.as_str().into(), author: steer.author }
}
