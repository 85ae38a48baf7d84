//! Watching a few folders for changes. An event is only a hint to read them again; what has changed is for the reader to
//! find out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A save by an editor is several events in a row; the callback runs this long after the last.
const QUIET: Duration = Duration::from_millis(200);
/// A folder that never falls quiet is told of after this long all the same.
const AT_MOST: Duration = Duration::from_secs(2);
/// Events that wait; more are told of as "everything may have changed".
const QUEUE: usize = 1024;
/// How often one change of folders is followed by another look.
const ARM_ROUNDS: usize = 4;

/// Something in a folder, or the folder itself, has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// As it was given to [`Watcher::watch`].
    pub folder: PathBuf,
}

/// Why nothing can be watched. The server works on; people reload by hand.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the system's file watching cannot be used: {0}")]
    System(#[from] notify::Error),
    #[error("no thread could be started for file watching: {0}")]
    Thread(#[from] io::Error),
}

/// Watches folders, not what is below them, until it is dropped. One thread, asleep while nothing happens.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    messages: SyncSender<Message>,
}

/// What both sides of the queue see; none of it is lost when the queue is full.
#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    /// Events did not fit into the queue.
    overrun: AtomicBool,
    folders: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Debug)]
enum Message {
    Event(notify::Result<Event>),
    /// Something in [`Shared`] is new.
    Look,
}

impl Watcher {
    /// Starts with no folder. `on_change` runs on the watcher's own thread: hand the news on and return.
    pub fn start(on_change: impl Fn(Changed) + Send + 'static) -> Result<Self, WatchError> {
        let shared = Arc::new(Shared::default());
        let (messages, received) = sync_channel(QUEUE);
        let (events, of_handler) = (messages.clone(), shared.clone());
        let handler = move |event: notify::Result<Event>| {
            // Our own reading of the files must not count as a change.
            if event.as_ref().is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                return;
            }
            if events.try_send(Message::Event(event)).is_err() {
                of_handler.overrun.store(true, Ordering::Release);
            }
        };
        let system = RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false))?;
        let worker = Worker {
            system,
            on_change: Box::new(on_change),
            shared: shared.clone(),
            folders: BTreeSet::new(),
            armed: BTreeSet::new(),
            pending: BTreeMap::new(),
        };
        thread::Builder::new().name("watch".into()).spawn(move || worker.run(&received))?;
        Ok(Self { shared, messages })
    }

    /// Watches a folder from now on, also one that does not exist yet. It needs an absolute path. Call it before the
    /// folder is read, so that little can fall between the two; the watch itself is put up a moment later.
    pub fn watch(&self, folder: impl Into<PathBuf>) {
        self.folders().insert(folder.into());
        self.wake();
    }

    /// Watches a folder no longer.
    pub fn unwatch(&self, folder: impl AsRef<Path>) {
        self.folders().remove(folder.as_ref());
        self.wake();
    }

    fn folders(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.shared.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A full queue needs no waking: its reader looks at what is shared after each message.
    fn wake(&self) {
        let _ = self.messages.try_send(Message::Look);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.wake();
    }
}

/// The first and the last event of a burst.
#[derive(Clone, Copy)]
struct Burst {
    first: Instant,
    last: Instant,
}

impl Burst {
    fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + AT_MOST)
    }
}

struct Worker {
    system: RecommendedWatcher,
    on_change: Box<dyn Fn(Changed) + Send>,
    shared: Arc<Shared>,
    folders: BTreeSet<PathBuf>,
    /// What the system watches for us: the folders that exist, and for each the nearest folder above it that does, which
    /// tells when it appears, goes or is exchanged.
    armed: BTreeSet<PathBuf>,
    pending: BTreeMap<PathBuf, Burst>,
}

impl Worker {
    fn run(mut self, received: &Receiver<Message>) {
        loop {
            let next = self.pending.values().map(Burst::due).min();
            let message = match next {
                None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => received.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            if self.shared.stopped.load(Ordering::Acquire) {
                return;
            }
            match message {
                Ok(Message::Event(event)) => self.take_event(event),
                Ok(Message::Look) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.shared.overrun.swap(false, Ordering::AcqRel) {
                self.start_over();
            }
            self.take_over_folders();
            self.tell_what_is_due();
        }
    }

    fn take_over_folders(&mut self) {
        let folders = {
            let wanted = self.shared.folders.lock().unwrap_or_else(PoisonError::into_inner);
            if *wanted == self.folders {
                return;
            }
            wanted.clone()
        };
        self.pending.retain(|folder, _| folders.contains(folder));
        self.folders = folders;
        self.arm();
    }

    fn take_event(&mut self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) if event.need_rescan() => return self.start_over(),
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "file watching failed for a moment");
                return self.start_over();
            }
        };
        let mut structure = false;
        let now = Instant::now();
        for folder in &self.folders {
            for path in &event.paths {
                let itself_or_above = folder.starts_with(path);
                structure |= itself_or_above;
                if itself_or_above || path.parent() == Some(folder) {
                    let burst = self.pending.entry(folder.clone()).or_insert(Burst { first: now, last: now });
                    burst.last = now;
                }
            }
        }
        if structure {
            // The folder at this path may be another one now; a watch on the old one would stay silent.
            let paths = event.paths;
            self.rearm(|armed| paths.iter().any(|path| armed.starts_with(path)));
        }
    }

    /// Events were lost: everything may have changed.
    fn start_over(&mut self) {
        let now = Instant::now();
        for folder in &self.folders {
            self.pending.entry(folder.clone()).or_insert(Burst { first: now, last: now });
        }
        self.rearm(|_| true);
    }

    fn tell_what_is_due(&mut self) {
        let now = Instant::now();
        let due: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, burst)| burst.due() <= now)
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in due {
            self.pending.remove(&folder);
            if self.shared.stopped.load(Ordering::Acquire) {
                return;
            }
            (self.on_change)(Changed { folder });
        }
    }

    /// Takes watches down and puts up those that are wanted now.
    fn rearm(&mut self, affected: impl Fn(&Path) -> bool) {
        let affected: Vec<_> = self.armed.iter().filter(|path| affected(path)).cloned().collect();
        for path in affected {
            // The system has dropped it by itself where the folder is gone.
            let _ = self.system.unwatch(&path);
            self.armed.remove(&path);
        }
        self.arm();
    }

    fn arm(&mut self) {
        // A folder that appears after it was looked for and before the one above it is watched would be missed: look
        // again until nothing is new. Bounded, since somebody may make and remove folders all the time.
        for _ in 0..ARM_ROUNDS {
            let wanted: BTreeSet<PathBuf> =
                self.folders.iter().flat_map(|folder| points_of(folder)).collect();
            let unwanted: Vec<_> = self.armed.difference(&wanted).cloned().collect();
            for path in unwanted {
                let _ = self.system.unwatch(&path);
                self.armed.remove(&path);
            }
            let new: Vec<_> = wanted.difference(&self.armed).cloned().collect();
            if new.is_empty() {
                return;
            }
            for path in new {
                match self.system.watch(&path, RecursiveMode::NonRecursive) {
                    Ok(()) => {
                        self.armed.insert(path);
                    }
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "a folder cannot be watched");
                    }
                }
            }
        }
    }
}

/// The folder, if it exists, and the nearest one above it that does.
fn points_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let itself = folder.is_dir().then(|| folder.to_owned());
    let above = folder.ancestors().skip(1).find(|path| path.is_dir()).map(Path::to_owned);
    itself.into_iter().chain(above)
}

#[cfg(test)]
mod tests;
