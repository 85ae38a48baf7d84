//! The one thread that appends to files. Whatever waits for a file goes out in one write.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::oneshot;

use super::layout::private_dir;

/// Files that are open at one time: children and their sockets may be 10,000, descriptors are not.
const OPEN_FILES: usize = 64;
/// Bytes that may wait for a disk that does not answer; what comes beyond them is lost, and reported.
const WAITING_BYTES: usize = 256 << 20;
/// Bytes gathered before they are written.
const BATCH_BYTES: usize = 4 << 20;

type Done = Box<dyn FnOnce(bool) + Send>;
type OnError = Arc<dyn Fn(&WriteError) + Send + Sync>;

/// What has to have happened when an append is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The system has it: it survives the process.
    Written,
    /// The disk has it: it survives the machine.
    Synced,
}

/// Lines that a disk refused. Reported once for each file until it takes lines again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot write {}: {message}; its history is not kept for now", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    pub message: String,
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
    on_error: OnError,
}

enum Job {
    Append { file: Arc<FileKey>, line: Vec<u8>, durability: Durability, done: Option<Done> },
    Close(Arc<FileKey>),
    Flush(Done),
}

struct FileKey {
    number: u64,
    path: PathBuf,
}

impl Writer {
    /// `on_error` is called in the writer's thread.
    pub fn new(on_error: impl Fn(&WriteError) + Send + Sync + 'static) -> Self {
        let shared = Shared {
            jobs: OnceLock::new(),
            waiting: Arc::default(),
            next_file: AtomicU64::new(1),
            on_error: Arc::new(on_error),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A file to append to. Nothing is touched yet: it and its folder are made by the first append.
    pub fn file(&self, path: impl Into<PathBuf>) -> AppendFile {
        let number = self.shared.next_file.fetch_add(1, Ordering::Relaxed);
        AppendFile { key: Arc::new(FileKey { number, path: path.into() }), writer: self.clone() }
    }

    /// Waits until everything that was appended before has been written, or refused.
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
            let thread = WriterThread {
                open: Vec::new(),
                refused: HashSet::new(),
                waiting: Arc::clone(&self.shared.waiting),
                on_error: Arc::clone(&self.shared.on_error),
            };
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

/// A writer whose errors are only logged.
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

    /// Appends `line`, which must end with its line feed. Never waits.
    pub fn append(&self, line: Vec<u8>) {
        self.submit(line, Durability::Written, None);
    }

    /// As [`append`](Self::append); `done` is called in the writer's thread, with whether the disk took it.
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
        if waiting > WAITING_BYTES {
            shared.waiting.fetch_sub(line.len(), Ordering::AcqRel);
            let message = "the disk does not answer".to_owned();
            (shared.on_error)(&WriteError { path: self.key.path.clone(), message });
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

struct WriterThread {
    /// The last used is last.
    open: Vec<OpenFile>,
    /// Files that refused their last write.
    refused: HashSet<u64>,
    waiting: Arc<AtomicUsize>,
    on_error: OnError,
}

struct OpenFile {
    number: u64,
    file: File,
    len: u64,
}

/// What waits for one file.
struct Batch {
    file: Arc<FileKey>,
    bytes: Vec<u8>,
    durability: Durability,
    done: Vec<Done>,
}

impl WriterThread {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut batches: Vec<Batch> = Vec::new();
            let mut by_number: HashMap<u64, usize> = HashMap::new();
            let mut flushed = Vec::new();
            let mut closed = Vec::new();
            let mut gathered = 0;
            let mut next = Some(first);
            while let Some(job) = next {
                match job {
                    Job::Append { file, line, durability, done } => {
                        gathered += line.len();
                        let index = *by_number.entry(file.number).or_insert(batches.len());
                        if index == batches.len() {
                            batches.push(Batch { file, bytes: line, durability, done: Vec::new() });
                        } else {
                            batches[index].bytes.extend_from_slice(&line);
                        }
                        let batch = &mut batches[index];
                        batch.durability = batch.durability.max(durability);
                        batch.done.extend(done);
                    }
                    Job::Close(file) => closed.push(file.number),
                    Job::Flush(done) => flushed.push(done),
                }
                next = if gathered < BATCH_BYTES { jobs.try_recv().ok() } else { None };
            }
            for batch in batches {
                self.write(batch);
            }
            self.open.retain(|open| !closed.contains(&open.number));
            for done in flushed {
                done(true);
            }
        }
    }

    fn write(&mut self, batch: Batch) {
        let result = self.try_write(&batch);
        self.waiting.fetch_sub(batch.bytes.len(), Ordering::AcqRel);
        let number = batch.file.number;
        if let Err(error) = &result {
            tracing::warn!(path = %batch.file.path.display(), %error, "an append failed");
            if self.refused.insert(number) {
                (self.on_error)(&WriteError { path: batch.file.path.clone(), message: error.to_string() });
            }
        } else {
            self.refused.remove(&number);
        }
        for done in batch.done {
            done(result.is_ok());
        }
    }

    fn try_write(&mut self, batch: &Batch) -> io::Result<()> {
        let mut open = match self.open.iter().position(|open| open.number == batch.file.number) {
            Some(index) => self.open.remove(index),
            None => open(&batch.file)?,
        };
        let written = open.file.write_all(&batch.bytes).and_then(|()| match batch.durability {
            Durability::Written => Ok(()),
            Durability::Synced => open.file.sync_data(),
        });
        match written {
            Ok(()) => open.len += batch.bytes.len() as u64,
            // A part of a line must not be glued to the next one. The file is opened anew for that one.
            Err(error) => {
                let _ = open.file.set_len(open.len);
                return Err(error);
            }
        }
        if self.open.len() >= OPEN_FILES {
            self.open.remove(0);
        }
        self.open.push(open);
        Ok(())
    }
}

fn open(key: &FileKey) -> io::Result<OpenFile> {
    let options = || {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        options
    };
    let file = match options().open(&key.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = key.path.parent() {
                private_dir(folder)?;
            }
            options().open(&key.path)?
        }
        opened => opened?,
    };
    let len = file.metadata()?.len();
    Ok(OpenFile { number: key.number, file, len })
}
