//! How far a run has come: one latest-wins value that anybody may look at, at any time, without a message.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::watch;
use vocab::{Timestamp, ToolKind, Usage, WaitingOn};

/// Files that a run's progress keeps by name.
pub(crate) const FILES_KEPT: usize = 20;
/// Characters of an activity.
pub(crate) const ACTIVITY_CHARS: usize = 120;
/// Bytes of the tail of the text that is being written.
pub(crate) const TAIL_BYTES: usize = 400;

/// A run at one moment. Of the current run, or of the last where none is active.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunProgress {
    /// The run's number, from 1; 0 before the first.
    pub run: u32,
    pub active: bool,
    /// Model requests that were answered.
    pub turns: u32,
    pub tool_uses: u32,
    /// Of the run.
    pub usage: Usage,
    /// What it does, in at most 120 characters.
    pub activity: Option<Arc<str>>,
    /// The tool call that runs; the first of several.
    pub tool: Option<CurrentTool>,
    pub waiting_on: Option<WaitingOn>,
    /// The end of the last text.
    pub text_tail: Option<Arc<str>>,
    /// How full the model's window was at the last answer, where its size is known.
    pub context_percent: Option<f32>,
    /// The last files that tools touched, newest last.
    pub files: VecDeque<TouchedFile>,
    /// Distinct files touched in the session.
    pub files_total: u32,
    pub last_activity_at: Timestamp,
}

/// A tool call that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentTool {
    pub kind: ToolKind,
    pub title: Arc<str>,
    pub path: Option<PathBuf>,
    pub line: Option<u32>,
    pub started_at: Timestamp,
}

/// A file that a tool read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedFile {
    /// Absolute.
    pub path: PathBuf,
    pub edited: bool,
    pub line: Option<u32>,
    pub at: Timestamp,
}

/// The progress of a session, and what its calls wait for.
pub(crate) struct ProgressCell {
    sender: watch::Sender<RunProgress>,
    approvals: AtomicU32,
    children: AtomicU32,
}

impl ProgressCell {
    pub(crate) fn new(initial: RunProgress) -> Self {
        Self {
            sender: watch::Sender::new(initial),
            approvals: AtomicU32::new(0),
            children: AtomicU32::new(0),
        }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<RunProgress> {
        self.sender.subscribe()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut RunProgress)) {
        self.sender.send_modify(change);
    }

    pub(crate) fn wait(self: &Arc<Self>, on: WaitingOn) -> WaitingGuard {
        if let Some(count) = self.count(on) {
            count.fetch_add(1, Ordering::AcqRel);
        }
        self.show_wait();
        WaitingGuard { cell: Arc::clone(self), on }
    }

    fn count(&self, on: WaitingOn) -> Option<&AtomicU32> {
        match on {
            WaitingOn::Approval => Some(&self.approvals),
            WaitingOn::Child => Some(&self.children),
            _ => None,
        }
    }

    /// Shows what the tool calls wait for. Only while tools run, so that nothing else is hidden by it.
    pub(crate) fn show_wait(&self) {
        let on = if self.approvals.load(Ordering::Acquire) > 0 {
            WaitingOn::Approval
        } else if self.children.load(Ordering::Acquire) > 0 {
            WaitingOn::Child
        } else {
            WaitingOn::Tool
        };
        self.sender.send_if_modified(|progress| {
            let tools_run =
                matches!(progress.waiting_on, Some(WaitingOn::Tool | WaitingOn::Approval | WaitingOn::Child));
            let changed = tools_run && progress.waiting_on != Some(on);
            if changed {
                progress.waiting_on = Some(on);
            }
            changed
        });
    }
}

impl fmt::Debug for ProgressCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressCell").finish_non_exhaustive()
    }
}

/// A wait that is shown while this lives.
#[derive(Debug)]
pub struct WaitingGuard {
    cell: Arc<ProgressCell>,
    on: WaitingOn,
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        if let Some(count) = self.cell.count(self.on) {
            count.fetch_sub(1, Ordering::AcqRel);
        }
        self.cell.show_wait();
    }
}
