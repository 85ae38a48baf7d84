//! What can go wrong with files and processes, told so that a model or a person knows what to do next.

use std::io;
use std::path::{Path, PathBuf};

use super::READ_CAP;

/// Why a file or a process could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    #[error("the path is empty; give a path, `.` for the working folder")]
    EmptyPath,
    #[error("the path holds a NUL character, which no file name can")]
    NulInPath,
    #[error("`{0}` is not a file of this machine; use a plain path or a `file:///` URI")]
    ForeignUri(String),
    #[error("`{}` does not exist", .0.display())]
    NotFound(PathBuf),
    #[error("`{}` is a folder, not a file; list it with `ls`", .0.display())]
    IsFolder(PathBuf),
    #[error("`{}` is not a folder", .0.display())]
    NotFolder(PathBuf),
    #[error("`{}` is a device, a pipe or a socket; only regular files are read and written", .0.display())]
    NotRegular(PathBuf),
    #[error("`{}` may not be accessed: permission denied", .0.display())]
    Denied(PathBuf),
    #[error("`{}` has {size} bytes, more than the {} that are handled whole; look for parts with `grep`, or \
             cut them out with a command", .path.display(), READ_CAP)]
    TooLarge { path: PathBuf, size: u64 },
    #[error("`{}` was changed by someone else meanwhile, nothing was written; read it again", .0.display())]
    Conflict(PathBuf),
    /// A [`Change`](super::Change) refused; the text is its own.
    #[error("{0}")]
    Refused(String),
    #[error("the pattern is not valid: {0}")]
    Pattern(String),
    #[error("the command could not be started: {0}")]
    Start(String),
    #[error("Operation aborted")]
    Cancelled,
    #[error("`{}`: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl EnvironmentError {
    /// Gives an I/O error its path and, where there is one, its own word.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            io::ErrorKind::IsADirectory => Self::IsFolder(path),
            io::ErrorKind::NotADirectory => Self::NotFolder(path),
            _ => Self::Io { path, source },
        }
    }
}
