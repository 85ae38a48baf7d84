//! One queue a file: changes to the same file by any session of this process run one after another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use super::{EnvironmentError, paths};

/// Process-wide on purpose: two sessions, each with its own [`LocalDisk`](super::LocalDisk), may share a folder.
static QUEUES: Mutex<BTreeMap<PathBuf, Arc<Queue<()>>>> = Mutex::new(BTreeMap::new());

/// A place in the queue of a file; whoever holds one with its turn come may write.
#[derive(Debug)]
pub(super) struct Turn {
    file: PathBuf,
    /// Released before `queue`, see `Drop`.
    guard: Option<OwnedMutexGuard<()>>,
    queue: Option<Arc<Queue<()>>>,
}

impl Turn {
    /// Waits for the turn at a file. The place is taken at the first poll, so in the order of the calls.
    pub(super) async fn wait(path: &Path, cancel: &CancellationToken) -> Result<Self, EnvironmentError> {
        let file = paths::real_path(path);
        let queue = {
            let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(queues.entry(file.clone()).or_default())
        };
        let mut turn = Self { file, guard: None, queue: Some(Arc::clone(&queue)) };
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(EnvironmentError::Cancelled),
            guard = queue.lock_owned() => turn.guard = Some(guard),
        }
        Ok(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.guard.take());
        let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.queue.take());
        // Only the map itself still knows this queue: nobody waits.
        if queues.get(&self.file).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            queues.remove(&self.file);
        }
    }
}
