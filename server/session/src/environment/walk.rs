//! Going through a folder as people expect: ignore files honoured, hidden names seen, `.git` not.

use std::path::Path;
use std::time::Instant;

use ignore::{Walk, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::{Cut, EnvironmentError, SEARCH_TIME};

/// When a walk must end early.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    cancel: CancellationToken,
    until: Instant,
}

impl Bounds {
    fn new(cancel: CancellationToken) -> Self {
        Self { cancel, until: Instant::now() + SEARCH_TIME }
    }

    /// What ends the walk now, if anything does. Asked at each step, also within one file.
    pub(super) fn check(&self) -> Result<Option<Cut>, EnvironmentError> {
        if self.cancel.is_cancelled() {
            return Err(EnvironmentError::Cancelled);
        }
        Ok((Instant::now() >= self.until).then_some(Cut::Time))
    }
}

/// Runs `work` on a thread for blocking work, within bounds that also end it when this future is dropped.
pub(super) async fn bounded<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&Bounds) -> Result<T, EnvironmentError> + Send + 'static,
) -> Result<T, EnvironmentError> {
    let stop = cancel.child_token();
    let _stop_if_dropped = stop.clone().drop_guard();
    let task = tokio::task::spawn_blocking(move || work(&Bounds::new(stop)));
    tokio::select! {
        biased;
        // A folder on a dead network never answers; the thread is left to it, the caller is not.
        () = cancel.cancelled() => Err(EnvironmentError::Cancelled),
        joined = task => match joined {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(EnvironmentError::Cancelled),
        },
    }
}

/// All below `path`, in the order of names, links not followed. A file gives itself, ignored or not.
pub(super) fn walk(path: &Path) -> Walk {
    WalkBuilder::new(path)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build()
}
