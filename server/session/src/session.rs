//! A session as a value: made, reopened, driven, looked at and closed by its owner.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use model::{History, ModelClient, RetryPolicy};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use vocab::{RunStop, SessionId, ThinkingLevel, Usage};

use crate::config::{RunLimits, SessionConfig, SessionError, SessionKind};
use crate::event::{Page, PageRequest};
use crate::extension::{Hooks, ShutdownReason, StartReason};
use crate::handle::{Command, QueuedPrompt, SessionHandle, SessionInfo};
use crate::progress::ProgressCell;
use crate::recorder::Recorder;
use crate::render::Renderers;
use crate::run::{NextRun, RunOutcome};
use crate::toolbox::{ToolPolicy, Toolbox};

/// One conversation.
#[derive(Debug)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) recorder: Recorder,
    pub(crate) handle: SessionHandle,
    pub(crate) inbox: UnboundedReceiver<Command>,
    pub(crate) prompts: VecDeque<QueuedPrompt>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) renderers: Arc<Renderers>,
}

impl Session {
    /// A new session. Nothing is written before its first entry.
    pub fn new(config: SessionConfig) -> Result<(Self, SessionHandle), SessionError> {
        Err(SessionError::RelativeFolder(config.cwd))
    }

    /// A session from its file, which must be locked by the caller: repairs a torn tail, closes tool calls without a result
    /// as interrupted, goes on with the numbering. Reads the whole file, so it belongs on a blocking thread.
    pub fn reopen(config: SessionConfig) -> Result<(Self, SessionHandle), SessionError> {
        Err(SessionError::RelativeFolder(config.cwd))
    }

    /// Serves the inbox until there is a reason to run: a prompt, a message that wants an answer, or a wake that found
    /// something to deliver. `None`: the session was closed. The reason is lost if it is dropped.
    pub async fn idle(&mut self) -> Option<NextRun> {
        self.inbox.recv().await;
        None
    }

    /// Runs until the session is idle again, serving the inbox meanwhile. Cancelling the token ends it within seconds, with
    /// a history that can be continued; dropping the future leaves that to the next run.
    pub async fn run(&mut self, next: impl Into<NextRun>, cancel: CancellationToken) -> RunOutcome {
        let _ = next.into();
        cancel.cancelled().await;
        RunOutcome {
            run: 0,
            stop: RunStop::Aborted,
            reason: None,
            wrapped_up: false,
            text: String::new(),
            error: None,
            usage: Usage::default(),
            turns: 0,
            tool_uses: 0,
            undelivered_steers: Vec::new(),
        }
    }

    /// Answers what waits in the inbox of a session that is not driven any more; steers are too late.
    pub fn serve_waiting(&mut self) {
        while self.inbox.try_recv().is_ok() {}
    }

    /// A stretch of the transcript.
    pub fn page(&self, request: PageRequest) -> Page {
        self.recorder.page(request, None)
    }

    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    pub fn hooks(&self) -> &Arc<Hooks> {
        &self.hooks
    }

    pub fn renderers(&self) -> &Arc<Renderers> {
        &self.renderers
    }

    /// Ends the session: extensions are told and get two seconds, queued prompts are withdrawn, the file is written.
    pub async fn close(self, _reason: ShutdownReason) {
        self.recorder.flush().await;
    }
}
