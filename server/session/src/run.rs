//! A run: from a prompt, a wake or a resume until the session is idle.

use std::sync::Arc;

use model::Message;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use vocab::{EndReason, RunStop, Usage, WaitingOn};

use crate::entry::{EntryBody, RunEndEntry, ToolOutcome};
use crate::event::SessionEvent;
use crate::extension::BeforeStartEvent;
use crate::handle::{PromptAnswer, QueuedPrompt};
use crate::history::ABORTED;
use crate::inbox::{Pending, steer_event};
use crate::ledger::Tally;
use crate::limits::Guard;
use crate::message::{Delivery, Prompt, PromptOrigin, SteerRequest};
use crate::progress::RunProgress;
use crate::session::{Active, Session};

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
    /// Of this run, failed attempts included, and what its tools have reported.
    pub usage: Usage,
    /// Requests that were answered.
    pub turns: u32,
    pub tool_uses: u32,
    /// Steers that came too late to be read.
    pub undelivered_steers: Vec<SteerRequest>,
}

/// A run while it is active.
#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) number: u32,
    pub(crate) cancel: CancellationToken,
    pub(crate) answer: Option<oneshot::Sender<PromptAnswer>>,
    pub(crate) system_prompt: Arc<str>,
    /// What its own requests have used.
    pub(crate) spent: Tally,
    /// The same, with what was reported to it of others.
    pub(crate) usage: Usage,
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
    /// The last message that has text.
    pub(crate) last_text: Option<Arc<Message>>,
    pub(crate) wrapped_up: bool,
    pub(crate) guard: Guard,
    /// Answers in a row whose calls were cut by the output limit.
    pub(crate) cut_calls: u32,
}

/// Why a run stops.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) how: RunStop,
    pub(crate) reason: Option<EndReason>,
    pub(crate) error: Option<Arc<str>>,
}

impl Stop {
    pub(crate) fn of(how: RunStop) -> Self {
        Self { how, reason: None, error: None }
    }

    pub(crate) fn aborted() -> Self {
        Self::of(RunStop::Aborted)
    }

    pub(crate) fn failed(error: impl Into<Arc<str>>) -> Self {
        Self { how: RunStop::Error, reason: Some(EndReason::Provider), error: Some(error.into()) }
    }

    pub(crate) fn limit(reason: EndReason, text: impl Into<Arc<str>>) -> Self {
        Self { how: RunStop::Limit, reason: Some(reason), error: Some(text.into()) }
    }
}

impl Session {
    /// Runs until the session is idle again, serving the inbox meanwhile. Cancelling the token ends it within seconds, with
    /// a history that can be continued; a future that is dropped instead leaves the tidying to the next run.
    pub async fn run(&mut self, next: impl Into<NextRun>, cancel: CancellationToken) -> RunOutcome {
        let cause = next.into().0;
        self.ensure_started().await;
        let mut run = self.begin(cause, cancel.child_token()).await;
        let stop = self.turns(&mut run).await;
        self.end(run, stop)
    }

    async fn begin(&mut self, cause: Cause, cancel: CancellationToken) -> RunState {
        self.close_open_calls(ABORTED, ToolOutcome::Aborted);
        let prompt = match &cause {
            Cause::Prompt(queued) => Some(&queued.prompt),
            Cause::Messages(_) => None,
        };
        let prompt_id = prompt.and_then(|prompt| prompt.prompt_id.clone());
        self.run = prompt.and_then(|prompt| prompt.run).unwrap_or(self.run + 1);
        self.active = Some(Active { cancel: cancel.clone(), prompt_id: prompt_id.clone() });
        // What was sent while nobody served the inbox belongs to this run.
        self.drain_inbox();
        let (number, at) = (self.run, self.recorder.now());
        self.progress.update(|progress| {
            *progress = RunProgress {
                run: number,
                active: true,
                waiting_on: Some(WaitingOn::Setup),
                context_percent: progress.context_percent,
                files: std::mem::take(&mut progress.files),
                files_total: progress.files_total,
                last_activity_at: at,
                ..RunProgress::default()
            };
        });
        // What is delivered to an idle session starts a run too; nobody prompted it then.
        let origin = prompt.map_or(PromptOrigin::Extension, |prompt| prompt.origin);
        let body = EntryBody::RunStart { prompt_id: prompt_id.clone(), origin };
        self.recorder.record(number, body, |entry| SessionEvent::RunStart { entry });
        let mut run = RunState {
            number,
            cancel,
            answer: None,
            system_prompt: Arc::clone(&self.system_prompt),
            spent: Tally::default(),
            usage: Usage::default(),
            turns: 0,
            tool_uses: 0,
            last_text: None,
            wrapped_up: false,
            guard: Guard::default(),
            cut_calls: 0,
        };
        match cause {
            Cause::Prompt(QueuedPrompt { prompt, answer }) => {
                run.answer = answer;
                self.take_prompt(&mut run, &prompt).await;
            }
            Cause::Messages(deliveries) => {
                for delivery in deliveries {
                    self.deliver(delivery);
                }
            }
        }
        run
    }

    async fn take_prompt(&mut self, run: &mut RunState, prompt: &Prompt) {
        if let Some(prompt_id) = prompt.prompt_id.clone() {
            self.recorder.emit(SessionEvent::PromptStarted { prompt_id });
        }
        self.name_after(&prompt.text);
        let message = Arc::new(prompt.message());
        self.history.push(Arc::clone(&message));
        let body = EntryBody::Prompt { prompt_id: prompt.prompt_id.clone(), origin: prompt.origin, message };
        self.recorder.record(run.number, body, |entry| SessionEvent::MessageEnd { entry });
        for message in std::mem::take(&mut self.next_turn) {
            self.deliver(message.into());
        }
        let hooks = Arc::clone(&self.hooks);
        for hook in &hooks.before_agent_start {
            let event = BeforeStartEvent {
                run: run.number,
                prompt: prompt.text.as_str().into(),
                system_prompt: Arc::clone(&run.system_prompt),
            };
            let answer = self.ask(&run.cancel, || hook(event)).await.unwrap_or_default();
            if let Some(system_prompt) = answer.system_prompt {
                run.system_prompt = system_prompt;
            }
            for delivery in answer.messages {
                self.deliver(delivery);
            }
        }
    }

    fn end(&mut self, run: RunState, stop: Stop) -> RunOutcome {
        let undelivered_steers = self.take_steers();
        for steer in &undelivered_steers {
            self.recorder.emit(SessionEvent::SteerExpired(steer_event(steer)));
        }
        // What came too late for this run is kept for the next; it must not start one by itself after an abort.
        let left = self.pending.drain(..).filter_map(Pending::into_message);
        let left: Vec<_> = left.chain(self.follow_ups.drain(..)).collect();
        for message in left {
            self.deliver(message.into());
        }
        self.active = None;
        let text = match run.last_text.as_deref() {
            Some(Message::Assistant(message)) => message.text(),
            _ => String::new(),
        };
        let outcome = RunOutcome {
            run: run.number,
            stop: stop.how,
            reason: stop.reason,
            wrapped_up: run.wrapped_up,
            text,
            error: stop.error,
            usage: run.usage,
            turns: run.turns,
            tool_uses: run.tool_uses,
            undelivered_steers,
        };
        let body = EntryBody::RunEnd(RunEndEntry {
            stop: outcome.stop,
            reason: outcome.reason,
            error: outcome.error.clone(),
            usage: outcome.usage,
            turns: outcome.turns,
            tool_uses: outcome.tool_uses,
        });
        self.recorder.record(run.number, body, |entry| SessionEvent::RunEnd { entry });
        let at = self.recorder.now();
        self.progress.update(|progress| {
            progress.active = false;
            progress.waiting_on = None;
            progress.tool = None;
            progress.usage = outcome.usage;
            progress.last_activity_at = at;
        });
        if let Some(answer) = run.answer {
            let _ = answer.send(PromptAnswer::Ended(Arc::new(outcome.clone())));
        }
        outcome
    }
}
