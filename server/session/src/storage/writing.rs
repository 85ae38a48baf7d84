//! The thread behind the writer: what it gathers, writes, keeps for later and tells.
//!
//! A disk that refuses gets its lines again: they are kept, bounded, and go out before newer ones of their file. What finds
//! no room leaves a gap, which the file's owner marks.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::layout::open_to_append;
use super::writer::{DiskNews, Done, Durability, FileKey, Gap, Job};

/// Files that are open at one time: children and their sockets may be 10,000, descriptors are not.
const OPEN_FILES: usize = 64;
/// Bytes gathered before they are written.
const BATCH_BYTES: usize = 4 << 20;
/// How often a file that refuses lines is tried again.
const RETRY_EVERY: Duration = Duration::from_secs(1);

pub(super) struct WriterThread {
    /// The last used is last.
    open: Vec<OpenFile>,
    /// Files that refuse lines, by number.
    refusing: BTreeMap<u64, Refusing>,
    /// Bytes that are kept for them, and how many may be.
    held: usize,
    most_held: usize,
    waiting: Arc<AtomicUsize>,
    on_news: Arc<dyn Fn(DiskNews) + Send + Sync>,
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

/// What is kept for a file that refuses it.
struct Refusing {
    file: Arc<FileKey>,
    bytes: Vec<u8>,
    durability: Durability,
    /// What found no room after those bytes.
    lost: Option<Lost>,
    retry_at: Instant,
}

struct Lost {
    lines: u64,
    first: Vec<u8>,
}

/// What was gathered for one round.
#[derive(Default)]
struct Round {
    batches: Vec<Batch>,
    by_number: HashMap<u64, usize>,
    flushed: Vec<Done>,
    closed: Vec<u64>,
    gathered: usize,
}

impl Round {
    fn append(&mut self, file: Arc<FileKey>, line: Vec<u8>, durability: Durability, done: Option<Done>) {
        self.gathered += line.len();
        let index = *self.by_number.entry(file.number).or_insert(self.batches.len());
        if index == self.batches.len() {
            self.batches.push(Batch { file, bytes: line, durability, done: Vec::new() });
        } else {
            self.batches[index].bytes.extend_from_slice(&line);
        }
        let batch = &mut self.batches[index];
        batch.durability = batch.durability.max(durability);
        batch.done.extend(done);
    }
}

impl WriterThread {
    pub(super) fn new(
        waiting: Arc<AtomicUsize>,
        most_held: usize,
        on_news: Arc<dyn Fn(DiskNews) + Send + Sync>,
    ) -> Self {
        Self { open: Vec::new(), refusing: BTreeMap::new(), held: 0, most_held, waiting, on_news }
    }

    /// Serves until the last writer is gone; what is refused then is lost with the process.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let first = if self.refusing.is_empty() {
                jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                jobs.recv_timeout(RETRY_EVERY)
            };
            match first {
                Ok(first) => self.round(first, jobs),
                Err(RecvTimeoutError::Timeout) => self.retry(false),
                Err(RecvTimeoutError::Disconnected) => return self.retry(true),
            }
        }
    }

    fn round(&mut self, first: Job, jobs: &Receiver<Job>) {
        let mut round = Round::default();
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Append { file, line, durability, done } => round.append(file, line, durability, done),
                Job::Lost { file, first } => {
                    // Its place is after what was gathered of the file so far.
                    self.write_all(std::mem::take(&mut round));
                    self.mark_lost(&file, &first);
                }
                Job::Close(file) => round.closed.push(file.number),
                Job::Flush(done) => round.flushed.push(done),
            }
            next = if round.gathered < BATCH_BYTES { jobs.try_recv().ok() } else { None };
        }
        self.write_all(round);
    }

    fn write_all(&mut self, round: Round) {
        let Round { batches, flushed, closed, .. } = round;
        for batch in batches {
            self.write(batch);
        }
        self.open.retain(|open| !closed.contains(&open.number));
        if !flushed.is_empty() {
            self.retry(true);
        }
        for done in flushed {
            done(true);
        }
    }

    /// Tries files again that refused their lines; those of which it is time, or `all`.
    fn retry(&mut self, all: bool) {
        let now = Instant::now();
        let due = |refusing: &Refusing| all || refusing.retry_at <= now;
        let due: Vec<_> =
            self.refusing.iter().filter(|(_, refusing)| due(refusing)).map(|(number, _)| *number).collect();
        for number in due {
            self.retry_one(number);
        }
    }

    fn retry_one(&mut self, number: u64) {
        let Some(mut refusing) = self.refusing.remove(&number) else { return };
        let lost = refusing.lost.as_ref();
        let marked = lost.map(|lost| refusing.file.mark(Gap::Lost { lines: lost.lines, first: &lost.first }));
        let kept = refusing.bytes.len();
        refusing.bytes.extend(marked.unwrap_or_default());
        if self.try_write(&refusing.file, &refusing.bytes, refusing.durability).is_err() {
            refusing.bytes.truncate(kept);
            refusing.retry_at = Instant::now() + RETRY_EVERY;
            self.refusing.insert(number, refusing);
            return;
        }
        self.held -= kept;
        let (path, lost) = (refusing.file.path.clone(), refusing.lost.map_or(0, |lost| lost.lines));
        (self.on_news)(DiskNews::Recovered { path, lost });
    }

    fn write(&mut self, batch: Batch) {
        self.waiting.fetch_sub(batch.bytes.len(), Ordering::AcqRel);
        let number = batch.file.number;
        if self.refusing.get(&number).is_some_and(|refusing| refusing.retry_at <= Instant::now()) {
            self.retry_one(number);
        }
        let taken = if self.refusing.contains_key(&number) {
            self.hold(&batch);
            false
        } else {
            match self.try_write(&batch.file, &batch.bytes, batch.durability) {
                Ok(()) => true,
                Err(error) => {
                    self.refused(&batch.file, &error);
                    self.hold(&batch);
                    false
                }
            }
        };
        for done in batch.done {
            done(taken);
        }
    }

    fn refused(&mut self, file: &Arc<FileKey>, error: &io::Error) {
        tracing::warn!(path = %file.path.display(), %error, "an append failed; its lines are kept for later");
        let refusing = Refusing {
            file: Arc::clone(file),
            bytes: Vec::new(),
            durability: Durability::Written,
            lost: None,
            retry_at: Instant::now() + RETRY_EVERY,
        };
        self.refusing.insert(file.number, refusing);
        (self.on_news)(DiskNews::Refused { path: file.path.clone(), message: error.to_string() });
    }

    /// Keeps lines for a file that refuses them, or counts them as lost: all of them after the first that found no room.
    fn hold(&mut self, batch: &Batch) {
        let Some(refusing) = self.refusing.get_mut(&batch.file.number) else { return };
        for line in batch.bytes.split_inclusive(|byte| *byte == b'\n') {
            match &mut refusing.lost {
                Some(lost) => lost.lines += 1,
                None if self.held + line.len() <= self.most_held => {
                    self.held += line.len();
                    refusing.bytes.extend_from_slice(line);
                }
                none => *none = Some(Lost { lines: 1, first: line.to_vec() }),
            }
        }
        refusing.durability = refusing.durability.max(batch.durability);
    }

    /// Lines were lost before they got here; the file is told so in their place.
    fn mark_lost(&mut self, file: &Arc<FileKey>, first: &[u8]) {
        let lines = file.lost.swap(0, Ordering::AcqRel);
        if let Some(refusing) = self.refusing.get_mut(&file.number) {
            match &mut refusing.lost {
                Some(lost) => lost.lines += lines,
                none => *none = Some(Lost { lines, first: first.to_vec() }),
            }
            return;
        }
        let bytes = file.mark(Gap::Lost { lines, first });
        match self.try_write(file, &bytes, Durability::Written) {
            Ok(()) => (self.on_news)(DiskNews::Recovered { path: file.path.clone(), lost: lines }),
            Err(error) => {
                self.refused(file, &error);
                if let Some(refusing) = self.refusing.get_mut(&file.number) {
                    refusing.lost = Some(Lost { lines, first: first.to_vec() });
                }
            }
        }
    }

    fn try_write(&mut self, key: &Arc<FileKey>, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let open_file = self.open.iter().position(|open| open.number == key.number);
        let mut open = match open_file.map(|index| self.open.remove(index)) {
            Some(open) if !is_removed(&open.file) => open,
            _ => open(key)?,
        };
        let mut marked = Vec::new();
        let removed = open.len == 0 && key.begun.load(Ordering::Acquire);
        if removed {
            let next = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            marked = key.mark(Gap::Removed { next });
        }
        let written = open.file.write_all(&marked).and_then(|()| open.file.write_all(bytes)).and_then(|()| {
            match durability {
                Durability::Written => Ok(()),
                Durability::Synced => open.file.sync_data(),
            }
        });
        match written {
            Ok(()) => open.len += (marked.len() + bytes.len()) as u64,
            // A part of a line must not be glued to the next one. The file is opened anew for that one.
            Err(error) => {
                let _ = open.file.set_len(open.len);
                return Err(error);
            }
        }
        if open.len > 0 {
            key.begun.store(true, Ordering::Release);
        }
        if removed {
            tracing::warn!(path = %key.path.display(), "a file was removed while it was written");
            (self.on_news)(DiskNews::Removed { path: key.path.clone() });
        }
        if self.open.len() >= OPEN_FILES {
            self.open.remove(0);
        }
        self.open.push(open);
        Ok(())
    }
}

/// Whether nobody will find the file any more: its name is gone.
fn is_removed(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

fn open(key: &FileKey) -> io::Result<OpenFile> {
    let file = open_to_append(&key.path)?;
    let len = file.metadata()?.len();
    Ok(OpenFile { number: key.number, file, len })
}
