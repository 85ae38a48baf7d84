//! The one thread that appends to files. Whatever waits for a file goes out in one write.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::writing::WriterThread;

/// Bytes that may wait for a disk that does not answer; what comes beyond them is lost, and reported.
const WAITING_BYTES: usize = 256 << 20;
/// Bytes that are kept of files that refuse them, all files together; what comes beyond them is lost, and marked.
const HELD_BYTES: usize = 64 << 20;

pub(super) type Done = Box<dyn FnOnce(bool) + Send>;
type OnNews = Arc<dyn Fn(DiskNews) + Send + Sync>;
type MarkGap = Box<dyn Fn(Gap<'_>) -> Vec<u8> + Send + Sync>;

/// What has to have happened when an append is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The system has it: it survives the process.
    Written,
    /// The disk has it: it survives the machine.
    Synced,
}

/// How a file fares, told once for each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskNews {
    /// It refuses lines. They are kept and tried again, as long as there is room for them.
    Refused { path: PathBuf, message: String },
    /// It takes lines again, and has those that were kept. `lost` lines found no room.
    Recovered { path: PathBuf, lost: u64 },
    /// Somebody removed it. What follows goes into a new one.
    Removed { path: PathBuf },
}

/// What a file lacks. Its owner says how that is marked, in lines of the file's own kind.
#[derive(Debug)]
pub enum Gap<'a> {
    /// Lines that were lost; `first` is the first of them.
    Lost { lines: u64, first: &'a [u8] },
    /// Everything before `next`, the first line of a new file.
    Removed { next: &'a [u8] },
}

/// The writer of a process. Clones are the same; its thread starts with the first append and ends with the last clone.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: OnceLock<Sender<Job>>,
    waiting: Arc<AtomicUsize>,
    next_file: AtomicU64,
    held: usize,
    on_news: OnNews,
}

pub(super) enum Job {
    Append {
        file: Arc<FileKey>,
        line: Vec<u8>,
        durability: Durability,
        done: Option<Done>,
    },
    /// Lines of the file found no room in the queue, the first of them this one.
    Lost {
        file: Arc<FileKey>,
        first: Vec<u8>,
    },
    Close(Arc<FileKey>),
    Flush(Done),
}

pub(super) struct FileKey {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    /// Whether it has a line, as far as this writer knows.
    pub(super) begun: AtomicBool,
    /// Lines that were lost before they reached the writer's thread.
    pub(super) lost: AtomicU64,
    mark: OnceLock<MarkGap>,
}

impl FileKey {
    /// What goes into the file in place of what it lacks.
    pub(super) fn mark(&self, gap: Gap<'_>) -> Vec<u8> {
        self.mark.get().map(|mark| mark(gap)).unwrap_or_default()
    }
}

impl Writer {
    /// `on_news` is called in the writer's thread, or in that of an append that finds no room.
    pub fn new(on_news: impl Fn(DiskNews) + Send + Sync + 'static) -> Self {
        Self::holding(HELD_BYTES, on_news)
    }

    /// As [`new`](Self::new), with room for so many bytes of files that refuse them.
    pub(super) fn holding(held: usize, on_news: impl Fn(DiskNews) + Send + Sync + 'static) -> Self {
        let shared = Shared {
            jobs: OnceLock::new(),
            waiting: Arc::default(),
            next_file: AtomicU64::new(1),
            held,
            on_news: Arc::new(on_news),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A file to append to. Nothing is touched yet: it and its folder are made by the first append.
    pub fn file(&self, path: impl Into<PathBuf>) -> AppendFile {
        let number = self.shared.next_file.fetch_add(1, Ordering::Relaxed);
        let key = FileKey {
            number,
            path: path.into(),
            begun: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            mark: OnceLock::new(),
        };
        AppendFile { key: Arc::new(key), writer: self.clone() }
    }

    /// Waits until everything that was appended before has been written, or refused. What was refused before is tried again.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.shared.jobs.get().is_some() {
            self.send(Job::Flush(Box::new(move |_| {
                let _ = done.send(());
            })));
            // An error means that the thread is gone, and with it everything that waited.
            let _ = flushed.await;
        }
    }

    /// As [`flush`](Self::flush), for a thread that may wait; at most this long. Nothing where nothing was ever appended.
    pub fn flush_within(&self, limit: Duration) {
        if self.shared.jobs.get().is_some() {
            let (done, flushed) = channel();
            self.send(Job::Flush(Box::new(move |_| {
                let _ = done.send(());
            })));
            let _ = flushed.recv_timeout(limit);
        }
    }

    fn send(&self, job: Job) {
        let jobs = self.shared.jobs.get_or_init(|| {
            let (sender, receiver) = channel();
            let on_news = Arc::clone(&self.shared.on_news);
            let thread = WriterThread::new(Arc::clone(&self.shared.waiting), self.shared.held, on_news);
            let spawned =
                thread::Builder::new().name("session-writer".into()).spawn(move || thread.run(&receiver));
            if let Err(error) = spawned {
                tracing::error!(%error, "cannot start the writer; nothing is kept");
            }
            sender
        });
        // Where the thread could not be started, the job is dropped with its answer: that is how its sender learns.
        let _ = jobs.send(job);
    }
}

/// A writer whose news is only logged.
impl Default for Writer {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

/// A file that lines are appended to, in the order of the calls. Clones are the same file.
#[derive(Clone)]
pub struct AppendFile {
    key: Arc<FileKey>,
    writer: Writer,
}

impl AppendFile {
    pub fn path(&self) -> &Path {
        &self.key.path
    }

    /// Says how lines that the file lacks are marked in it; `exists`: it has lines already. The first call counts.
    pub fn mark_gaps(&self, exists: bool, mark: impl Fn(Gap<'_>) -> Vec<u8> + Send + Sync + 'static) {
        if self.key.mark.set(Box::new(mark)).is_ok() && exists {
            self.key.begun.store(true, Ordering::Release);
        }
    }

    /// Appends `line`, which must end with its line feed. Never waits.
    pub fn append(&self, line: Vec<u8>) {
        self.submit(line, Durability::Written, None);
    }

    /// As [`append`](Self::append); `done` is called in the writer's thread, with whether the disk took it. A line that it
    /// refused is kept all the same, and written once the disk takes lines again; nobody is told of that.
    pub fn append_then(
        &self,
        line: Vec<u8>,
        durability: Durability,
        done: impl FnOnce(bool) + Send + 'static,
    ) {
        self.submit(line, durability, Some(Box::new(done)));
    }

    /// Waits until everything that was appended before has been written, or refused.
    pub async fn flush(&self) {
        self.writer.flush().await;
    }

    /// Gives the descriptor back; a later append opens the file again.
    pub fn close(&self) {
        if self.writer.shared.jobs.get().is_some() {
            self.writer.send(Job::Close(Arc::clone(&self.key)));
        }
    }

    fn submit(&self, line: Vec<u8>, durability: Durability, done: Option<Done>) {
        let shared = &self.writer.shared;
        let waiting = shared.waiting.fetch_add(line.len(), Ordering::AcqRel);
        // Once one line is lost, those after it are too, until the gap has its place in the file.
        if waiting > WAITING_BYTES || self.key.lost.load(Ordering::Acquire) > 0 {
            shared.waiting.fetch_sub(line.len(), Ordering::AcqRel);
            if self.key.lost.fetch_add(1, Ordering::AcqRel) == 0 {
                let message = "the disk does not answer".to_owned();
                (shared.on_news)(DiskNews::Refused { path: self.key.path.clone(), message });
                self.writer.send(Job::Lost { file: Arc::clone(&self.key), first: line });
            }
            if let Some(done) = done {
                done(false);
            }
            return;
        }
        self.writer.send(Job::Append { file: Arc::clone(&self.key), line, durability, done });
    }
}

impl fmt::Debug for AppendFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AppendFile").field(&self.key.path).finish()
    }
}
