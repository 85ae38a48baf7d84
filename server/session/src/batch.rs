//! The tool calls of one answer: prepared, run side by side, recorded in the order of the calls.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use model::{AssistantMessage, Message, ToolResultMessage};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use vocab::{Timestamp, ToolCallId, ToolKind, WaitingOn};

use crate::activity;
use crate::arguments::{peek, prepare};
use crate::call::{CallEnd, PreparedCall, run_call};
use crate::deltas::Pacer;
use crate::entry::{EntryBody, ToolOutcome, ToolResultEntry};
use crate::event::SessionEvent;
use crate::handle::Command;
use crate::history::ABORTED;
use crate::progress::{CurrentTool, FILES_KEPT, TouchedFile};
use crate::run::RunState;
use crate::session::Session;
use crate::tool::{ToolCallTitle, ToolContext, ToolOutput};
use crate::toolbox::Tool;
use crate::updates::UpdateBoard;

/// Characters of a tool's name that are repeated to a model that made it up.
const NAME_CHARS: usize = 80;

/// What a tool gets to end by itself once its run is cancelled: less than the three seconds in which a stop has to be
/// over.
const CANCEL_GRACE: Duration = Duration::from_millis(2_500);

/// What a batch came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchEnd {
    /// Every call voted to end the run.
    pub(crate) terminate: bool,
    pub(crate) cancelled: bool,
}

struct Batch {
    calls: Vec<Call>,
    board: Arc<UpdateBoard>,
    running: FuturesUnordered<BoxFuture<'static, CallEnd>>,
    context: ToolContext,
}

struct Call {
    id: ToolCallId,
    name: Arc<str>,
    kind: ToolKind,
    title: Arc<ToolCallTitle>,
    started_at: Timestamp,
    duration_ms: u64,
    state: CallState,
}

enum CallState {
    Ready {
        tool: Arc<Tool>,
        arguments: Value,
    },
    /// It cannot run; why, for the model.
    Faulty(String),
    Running,
    Ended(CallEnd),
}

impl Session {
    /// Runs the calls of an answer. Afterwards each has its result in the history, whatever happened.
    pub(crate) async fn run_tools(&mut self, run: &mut RunState, answer: &AssistantMessage) -> BatchEnd {
        let mut batch = self.plan(run, answer);
        let count = batch.calls.len();
        run.tool_uses += u32::try_from(count).unwrap_or(u32::MAX);
        self.progress.update(|progress| progress.waiting_on = Some(WaitingOn::Tool));
        let sequential = batch.calls.iter().any(Call::is_sequential);
        for index in 0..count {
            self.start(run, &mut batch, index);
            if sequential {
                self.drive(run, &mut batch).await;
                if run.cancel.is_cancelled() {
                    break;
                }
            }
        }
        self.drive(run, &mut batch).await;
        let terminate = self.record_results(run, batch, answer);
        BatchEnd { terminate, cancelled: run.cancel.is_cancelled() }
    }

    fn plan(&self, run: &RunState, answer: &AssistantMessage) -> Batch {
        let calls: Vec<_> =
            answer.tool_calls().map(|(id, name, raw)| self.plan_call(id, name, raw)).collect();
        let context = ToolContext {
            session_id: self.id.clone(),
            run: run.number,
            depth: self.depth,
            cwd: Arc::clone(&self.cwd),
            model: Arc::clone(&self.model),
            thinking: self.thinking,
            session: self.handle.clone(),
            progress: Arc::clone(&self.progress),
        };
        let board = Arc::new(UpdateBoard::new(calls.len()));
        Batch { calls, board, running: FuturesUnordered::new(), context }
    }

    fn plan_call(&self, id: &ToolCallId, name: &str, raw: &str) -> Call {
        let mut call = Call {
            id: id.clone(),
            name: name.into(),
            kind: ToolKind::Other,
            title: Arc::new(ToolCallTitle { title: name.to_owned(), locations: Vec::new() }),
            started_at: Timestamp::default(),
            duration_ms: 0,
            state: CallState::Faulty(String::new()),
        };
        let Some(tool) = self.tools.find(name) else {
            let known: Vec<_> = self.tools.definitions().map(|tool| &*tool.name).collect();
            // A name can be as long as an answer; the model knows what it wrote.
            let shown: String = name.chars().take(NAME_CHARS).collect();
            call.title = Arc::new(ToolCallTitle { title: shown.clone(), locations: Vec::new() });
            let text = format!("There is no tool named \"{shown}\". You have: {}.", known.join(", "));
            call.state = CallState::Faulty(text);
            return call;
        };
        call.kind = tool.definition.kind;
        let prepared = prepare(tool, raw);
        let describe = tool.definition.describe;
        let described = catch_unwind(AssertUnwindSafe(|| match &prepared {
            Ok(arguments) => describe(arguments),
            Err(_) => describe(&peek(raw)),
        }));
        if let Ok(title) = described {
            call.title = Arc::new(title);
        }
        call.state = match prepared {
            Ok(arguments) => CallState::Ready { tool: Arc::clone(tool), arguments },
            Err(text) => CallState::Faulty(text),
        };
        call
    }

    fn start(&mut self, run: &RunState, batch: &mut Batch, index: usize) {
        let Batch { calls, board, running, context } = batch;
        let call = &mut calls[index];
        call.started_at = self.recorder.now();
        self.recorder.emit_watched(|| SessionEvent::ToolStart {
            tool_call_id: call.id.clone(),
            name: Arc::clone(&call.name),
            kind: call.kind,
            title: Arc::clone(&call.title),
        });
        match std::mem::replace(&mut call.state, CallState::Running) {
            CallState::Ready { tool, arguments } => running.push(Box::pin(run_call(PreparedCall {
                index,
                id: call.id.clone(),
                name: Arc::clone(&call.name),
                title: Arc::clone(&call.title),
                tool,
                arguments,
                hooks: Arc::clone(&self.hooks),
                context: context.clone(),
                cancel: run.cancel.child_token(),
                updates: board.sink(index),
            }))),
            CallState::Faulty(text) => self.finish(batch, CallEnd::failed(index, text, ToolOutcome::Error)),
            state @ (CallState::Running | CallState::Ended(_)) => call.state = state,
        }
    }

    /// Waits until the calls that run have ended, or until their grace after a cancel is over.
    async fn drive(&mut self, run: &RunState, batch: &mut Batch) {
        enum Step {
            Cancelled,
            GraceOver,
            Ended(CallEnd),
            Command(Command),
            Updated,
            Flush,
        }
        let mut deadline: Option<Instant> = None;
        let mut pacer = Pacer::new();
        self.show_calls(run, batch);
        while !batch.running.is_empty() {
            let step = tokio::select! {
                biased;
                () = run.cancel.cancelled(), if deadline.is_none() => Step::Cancelled,
                Some(end) = batch.running.next() => Step::Ended(end),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Step::GraceOver,
                Some(command) = self.inbox.recv() => Step::Command(command),
                () = batch.board.changed(), if self.recorder.watched() => Step::Updated,
                () = pacer.wait(), if pacer.armed => Step::Flush,
            };
            match step {
                Step::Cancelled => deadline = Some(Instant::now() + CANCEL_GRACE),
                Step::GraceOver => {
                    tracing::warn!(session = %self.id, "tools that did not end when told were dropped");
                    batch.running.clear();
                }
                Step::Ended(end) => {
                    self.finish(batch, end);
                    self.show_calls(run, batch);
                }
                Step::Command(command) => self.serve(command, None),
                Step::Updated | Step::Flush => {
                    if pacer.due() {
                        self.tell_updates(batch);
                    }
                }
            }
        }
    }

    fn tell_updates(&mut self, batch: &Batch) {
        for (index, partial) in batch.board.take() {
            let call = &batch.calls[index];
            self.recorder.emit(SessionEvent::ToolUpdate {
                tool_call_id: call.id.clone(),
                name: Arc::clone(&call.name),
                partial: Arc::new(partial),
            });
        }
    }

    fn finish(&mut self, batch: &mut Batch, end: CallEnd) {
        batch.board.close(end.index);
        let call = &mut batch.calls[end.index];
        let now = self.recorder.now();
        call.duration_ms = now.ms_since(call.started_at);
        self.recorder.emit_watched(|| SessionEvent::ToolEnd {
            tool_call_id: call.id.clone(),
            name: Arc::clone(&call.name),
            outcome: end.outcome,
            output: Arc::new(end.output.clone()),
        });
        if end.outcome == ToolOutcome::Ok {
            self.touch(call.kind, &call.title, now);
        }
        call.state = CallState::Ended(end);
    }

    /// Remembers the files that a call touched.
    fn touch(&mut self, kind: ToolKind, title: &ToolCallTitle, at: Timestamp) {
        let edited = matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        if title.locations.is_empty() || !(edited || kind == ToolKind::Read) {
            return;
        }
        let files = &mut self.files;
        let cwd = &self.cwd;
        self.progress.update(|progress| {
            for location in &title.locations {
                let path = cwd.join(&location.path);
                let mut hasher = DefaultHasher::new();
                path.hash(&mut hasher);
                files.insert(hasher.finish());
                let known = progress.files.iter().position(|file| file.path == path);
                let edited = edited
                    || known.and_then(|index| progress.files.remove(index)).is_some_and(|file| file.edited);
                progress.files.retain(|file| file.path != path);
                progress.files.push_back(TouchedFile { path, edited, line: location.line, at });
                if progress.files.len() > FILES_KEPT {
                    progress.files.pop_front();
                }
            }
            progress.files_total = u32::try_from(files.len()).unwrap_or(u32::MAX);
        });
    }

    fn show_calls(&mut self, run: &RunState, batch: &Batch) {
        let running = || batch.calls.iter().filter(|call| matches!(call.state, CallState::Running));
        let activity = activity::of_tools(running().map(|call| (&*call.name, call.kind)));
        let tool = running().next().map(|call| CurrentTool {
            kind: call.kind,
            title: call.title.title.as_str().into(),
            path: call.title.locations.first().map(|location| self.cwd.join(&location.path)),
            line: call.title.locations.first().and_then(|location| location.line),
            started_at: call.started_at,
        });
        let at = self.recorder.now();
        self.progress.update(|progress| {
            progress.tool_uses = run.tool_uses;
            progress.tool = tool;
            progress.last_activity_at = at;
            if activity.is_some() {
                progress.activity = activity;
            }
        });
    }

    /// Puts the results into history and transcript, in the order of the calls. Whether all vote to end the run.
    fn record_results(&mut self, run: &mut RunState, batch: Batch, answer: &AssistantMessage) -> bool {
        let mut terminate = true;
        for (call, (_, name, raw)) in batch.calls.into_iter().zip(answer.tool_calls()) {
            let (output, outcome) = match call.state {
                CallState::Ended(end) => (end.output, end.outcome),
                // Dropped after its grace, or never begun.
                _ => (ToolOutput::text(ABORTED), ToolOutcome::Aborted),
            };
            let ToolOutput { content, details, usage, terminate: vote } = output;
            terminate &= vote;
            if let Some(usage) = usage {
                self.take_report(run, usage);
            }
            run.guard.call(name, raw, &content);
            let message = Arc::new(Message::ToolResult(ToolResultMessage {
                tool_call_id: call.id.clone(),
                tool_name: name.to_owned(),
                content,
                is_error: outcome != ToolOutcome::Ok,
            }));
            self.history.push(Arc::clone(&message));
            let body = EntryBody::ToolResult(ToolResultEntry {
                message,
                tool_call_id: call.id,
                tool_kind: call.kind,
                title: call.title.title.as_str().into(),
                locations: call.title.locations.clone(),
                outcome,
                details,
                usage,
                duration_ms: call.duration_ms,
            });
            self.recorder.record(run.number, body, |entry| SessionEvent::ToolResult { entry });
        }
        terminate
    }
}

impl Call {
    fn is_sequential(&self) -> bool {
        matches!(&self.state, CallState::Ready { tool, .. } if tool.definition.sequential)
    }
}
