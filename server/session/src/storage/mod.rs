//! Files of a session: lines appended by one writer, read back after a crash, under a lock, in a private folder.

mod layout;
mod list;
mod load;
mod lock;
mod writer;
mod writing;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use layout::{SessionPaths, SessionsDir, open_to_append};
pub use list::{SessionSummary, list};
pub(crate) use load::parse_entry;
pub use load::{LoadReport, LoadedSession, load_lines, load_session};
pub use lock::SessionLock;
pub use writer::{AppendFile, DiskNews, Durability, Gap, Writer};

/// Why state on disk cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    #[error(
        "the session in {} is open in another Adjutant{}; close it there, or open another session",
        folder.display(),
        process.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Locked { folder: PathBuf, process: Option<u32> },
    #[error("{} is not a session file of Adjutant; it was left as it is", .0.display())]
    NotASession(PathBuf),
    #[error(
        "\"{0}\" cannot name a file: use letters, digits, '-', '_' and '.', beginning with a letter or digit"
    )]
    InvalidName(String),
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl StorageError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
