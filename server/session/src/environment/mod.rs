//! How tools reach files and processes: one seam, so that a tool never knows where its workspace lives.
//!
//! [`LocalDisk`] is a folder of this machine; a worktree is another folder. An overlay that prefers the editor's open
//! documents, or a container, implements [`Environment`] and no tool changes.

mod command;
mod error;
#[cfg(target_os = "linux")]
mod exec_guard;
mod files;
mod find;
mod local_disk;
mod mutation;
mod output;
mod paths;
mod processes;
mod scrub;
mod search;
mod supervise;
mod walk;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

pub use error::EnvironmentError;
#[cfg(target_os = "linux")]
pub use exec_guard::exec_guard;
pub use local_disk::LocalDisk;
pub use output::{CapturedOutput, Spill};
pub use scrub::is_credential;

/// Most bytes of a file that are read or rewritten whole; larger ones answer [`EnvironmentError::TooLarge`].
pub const READ_CAP: u64 = 16 * 1024 * 1024;
/// Most time a search or a find takes; what was found until then is answered.
pub const SEARCH_TIME: Duration = Duration::from_mins(1);
/// Most entries of a folder that are listed.
pub const LIST_CAP: usize = 50_000;

/// A boxed future, which keeps [`Environment`] usable as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Computes the new bytes of a file from what it holds; an error text leaves the file as it is.
pub type Change = Box<dyn FnOnce(&FileContent) -> Result<Bytes, String> + Send>;

/// Takes output of a running command while it comes; it must not block.
pub type OutputSink = Arc<dyn Fn(OutputDelta) + Send + Sync>;

/// The files and processes of one workspace.
///
/// Paths given to the methods other than [`resolve`](Self::resolve) are absolute, as `resolve` made them. Nothing here
/// confines a path to the workspace: the permission layer decides, on [`real_path`](Self::real_path).
pub trait Environment: Send + Sync + Debug {
    /// The working folder, absolute.
    fn root(&self) -> &Path;

    /// Turns what a model wrote into an absolute path without `.` and `..`: relative to the root, with `~` and `file:`
    /// URIs understood. Empty text, NUL and URIs of other machines are refused.
    fn resolve(&self, path: &str) -> Result<PathBuf, EnvironmentError>;

    /// The text of a path for a model or a person, short where it lies in the workspace; [`resolve`](Self::resolve)
    /// turns it back. A name that is no clean text becomes a `file:` URI.
    fn display(&self, path: &Path) -> String;

    /// The path with links followed, also one that leads to nothing yet: a file made through it is made there. Two paths of
    /// one file give the same answer.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// Reads a regular file of at most [`READ_CAP`] bytes.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<FileContent, EnvironmentError>>;

    /// Replaces a file whole, or makes it with its folders. Never leaves half a file, keeps the mode; writes to one
    /// file run one after another in the order of the calls.
    fn write<'a>(
        &'a self,
        path: &'a Path,
        bytes: Bytes,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Written, EnvironmentError>>;

    /// Reads a file, computes its new bytes and writes them, with no other write of ours in between; a change from
    /// outside meanwhile is [`EnvironmentError::Conflict`], never overwritten.
    fn update<'a>(
        &'a self,
        path: &'a Path,
        change: Change,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Written, EnvironmentError>>;

    /// What a folder holds, unsorted, at most [`LIST_CAP`] entries.
    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Listing, EnvironmentError>>;

    /// Finds lines in files, with ignore files honoured; ordered by path and line.
    fn search<'a>(
        &'a self,
        request: SearchRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SearchOutcome, EnvironmentError>>;

    /// Finds files and folders by name, with ignore files honoured; ordered by path.
    fn find<'a>(
        &'a self,
        request: FindRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<FindOutcome, EnvironmentError>>;

    /// Runs a shell command to its end. Cancel, timeout and dropping the future end everything that it started; the
    /// answer comes when that is gone. Errors are only those of starting it, or of a cancel before that.
    fn spawn<'a>(
        &'a self,
        request: CommandRequest,
        cancel: &'a CancellationToken,
        on_output: OutputSink,
    ) -> BoxFuture<'a, Result<CommandOutcome, EnvironmentError>>;
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Bytes,
    /// Whether this is the text of an open document that is not saved: commands do not see it.
    pub unsaved: bool,
}

/// What writing a file did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Whether the file did not exist before.
    pub created: bool,
    /// Whether the new text is only in an open document, so that commands do not see it.
    pub unsaved: bool,
}

/// What a name in a folder is; links count as what they lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    /// A device, a socket, a pipe or a link that leads nowhere.
    Other,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: EntryKind,
}

/// The names in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<FolderEntry>,
    /// Whether [`LIST_CAP`] left some out.
    pub complete: bool,
}

/// Why a search or a find ended before it had seen all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The requested number was reached, and there is more.
    Limit,
    /// The answer grew past the byte cap.
    Bytes,
    /// [`SEARCH_TIME`] ran out.
    Time,
}

/// What lines to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// A regular expression in the syntax of the `regex` crate, or plain text where `literal`.
    pub pattern: String,
    pub literal: bool,
    pub ignore_case: bool,
    /// A file or a folder.
    pub path: PathBuf,
    /// Only files that match, in the manner of a `.gitignore` line; `!` in front excludes.
    pub glob: Option<String>,
    /// Lines shown before and after each match.
    pub context: usize,
    /// Most matches.
    pub limit: usize,
}

/// One line that a search shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchLine {
    pub path: Arc<Path>,
    /// From 1.
    pub number: u64,
    /// False for a line of context.
    pub is_match: bool,
    /// Without its line end, decoded with replacement, shortened around the match.
    pub text: String,
    pub shortened: bool,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchOutcome {
    pub lines: Vec<SearchLine>,
    pub matches: usize,
    pub cut: Option<Cut>,
    /// Files and folders that could not be read.
    pub unreadable: usize,
}

/// What names to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// A glob; with a slash in it, it is matched against the end of the path, else against the name.
    pub pattern: String,
    /// A folder.
    pub path: PathBuf,
    /// Most results.
    pub limit: usize,
}

/// What a find found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindOutcome {
    /// Paths, each with whether it is a folder.
    pub paths: Vec<(PathBuf, bool)>,
    pub cut: Option<Cut>,
    /// Folders that could not be read.
    pub unreadable: usize,
}

/// A shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    pub command: String,
    /// Where it runs; must exist.
    pub cwd: PathBuf,
    /// How long it may run until it is ended.
    pub timeout: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// We ended it: its time ran out.
    TimedOut,
    /// We ended it: the call was cancelled.
    Cancelled,
    /// Nobody can tell; why, in a sentence.
    Lost(String),
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub end: CommandEnd,
    /// Standard output and error in the order they came.
    pub output: CapturedOutput,
    /// Whether processes that it left running were ended with it.
    pub left_running: bool,
    pub duration: Duration,
}

/// Output of a running command since the last delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDelta {
    /// Where `text` begins, in bytes of the output; a gap to the last delta means that a flood was skipped.
    pub offset: u64,
    pub text: String,
}
