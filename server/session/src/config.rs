//! What a session is made from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{ModelClient, RetryPolicy};
use vocab::{Budget, SessionId, ThinkingLevel, Timestamp};

use crate::entry::Entry;
use crate::event::Observer;
use crate::event_bus::EventBus;
use crate::extension::ExtensionFactory;
use crate::handle::Seat;
use crate::ledger::Ledger;
use crate::storage::AppendFile;
use crate::toolbox::{ToolPolicy, Toolbox};

/// Gets each entry that a session adds, once, in order; those that a file already had are not told again.
pub type EntrySink = Box<dyn FnMut(&Arc<Entry>) + Send>;

/// Everything that a session needs; nothing is read from the surroundings.
pub struct SessionConfig {
    /// Where its handle is, and its name.
    pub seat: Seat,
    pub kind: SessionKind,
    /// 0 for a parent, 1 for its children, and so on.
    pub depth: u32,
    /// The session that started this one.
    pub parent: Option<SessionId>,
    /// Absolute.
    pub cwd: PathBuf,
    /// What people call it, where that is not its first prompt.
    pub title: Option<Arc<str>>,
    pub model: Arc<dyn ModelClient>,
    pub thinking: ThinkingLevel,
    pub system_prompt: Arc<str>,
    /// Shared by all sessions that offer the same tools.
    pub tools: Arc<Toolbox>,
    pub tool_policy: ToolPolicy,
    pub extensions: Vec<ExtensionFactory>,
    pub events: EventBus,
    pub storage: Storage,
    pub retry: RetryPolicy,
    pub limits: RunLimits,
    /// Of the root session; shared by all sessions under it.
    pub ledger: Ledger,
    pub entries: Option<EntrySink>,
    pub observer: Box<dyn Observer>,
    pub clock: Clock,
}

impl SessionConfig {
    /// A session without tools, extensions, file, limits or observer; set what it should have.
    pub fn new(id: SessionId, cwd: impl Into<PathBuf>, model: Arc<dyn ModelClient>) -> Self {
        Self::seated(Seat::new(id), cwd, model)
    }

    /// As [`new`](Self::new), for a session whose handle is in use already.
    pub fn seated(seat: Seat, cwd: impl Into<PathBuf>, model: Arc<dyn ModelClient>) -> Self {
        Self {
            seat,
            kind: SessionKind::Parent,
            depth: 0,
            parent: None,
            cwd: cwd.into(),
            title: None,
            model,
            thinking: ThinkingLevel::Off,
            system_prompt: "".into(),
            tools: Toolbox::empty(),
            tool_policy: ToolPolicy::default(),
            extensions: Vec::new(),
            events: EventBus::new(),
            storage: Storage::Ephemeral,
            retry: RetryPolicy::default(),
            limits: RunLimits::default(),
            ledger: Ledger::default(),
            entries: None,
            observer: Box::new(crate::event::NoObserver),
            clock: Clock::system(),
        }
    }
}

impl fmt::Debug for SessionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionConfig")
            .field("id", self.seat.handle.id())
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Whom a session answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// People. Its first request waits until its file is on disk.
    Parent,
    /// Another session. Extensions are built in a child context; its file is written without waiting, since the
    /// fleet's journal already says that it was started.
    Child,
}

/// Where a transcript is kept.
#[derive(Debug, Clone)]
pub enum Storage {
    /// Nowhere but in memory.
    Ephemeral,
    File(AppendFile),
}

/// When a run is ended although its model would go on. 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimits {
    /// After so many turns the model is told to wrap up, if it still wants to call tools.
    pub max_turns: u32,
    /// Turns that it has for that.
    pub grace_turns: u32,
    /// What its own requests may use. It ends before the first request after that.
    pub budget: Budget,
    /// The same tool, arguments and result in a row.
    pub identical_calls: u32,
    /// Turns in a row with no text and no call or result that the run has not had.
    pub no_progress_turns: u32,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_turns: 0,
            grace_turns: 5,
            budget: Budget::default(),
            identical_calls: 10,
            no_progress_turns: 25,
        }
    }
}

/// The source of "now".
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        })
    }

    /// Any other.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Why a session cannot be made or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    #[error("the session's folder \"{0}\" is not an absolute path")]
    RelativeFolder(PathBuf),
    #[error("a session without a file cannot be reopened")]
    NoFile,
    #[error(transparent)]
    Storage(#[from] crate::storage::StorageError),
}
