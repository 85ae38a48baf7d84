//! The output of a command: all of it while it is small; else its head, its tail and a file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::OutputDelta;

/// Past either of these the middle is left out.
const WHOLE_BYTES: usize = 50 * 1024;
const WHOLE_LINES: u64 = 2_000;
/// What is kept of the beginning: the first error often stands there.
const HEAD_BYTES: usize = 10 * 1024;
const HEAD_LINES: usize = 400;
/// What is kept of the end.
const TAIL_BYTES: usize = WHOLE_BYTES - HEAD_BYTES;
const TAIL_LINES: usize = WHOLE_LINES as usize - HEAD_LINES;
/// Most bytes of one output that go to disk.
const SPILL_CAP: u64 = 64 * 1024 * 1024;
/// Most bytes of one delta; of a flood between two deltas only the newest are shown.
const DELTA_BYTES: usize = 8 * 1024;

/// What a command wrote, at most 2,000 lines and 50 KiB of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// All of it, or whole lines of its beginning.
    pub head: String,
    /// Empty unless the middle is missing.
    pub tail: String,
    pub total_bytes: u64,
    pub total_lines: u64,
    /// Lines between `head` and `tail` that are not here; `None` where nothing is missing.
    pub omitted_lines: Option<u64>,
    /// Where all of it is, if there is a spill folder.
    pub spill: Option<Spill>,
}

/// The file that holds a long output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    pub path: PathBuf,
    /// Whether the file's own cap of 64 MiB, or the disk, cut it.
    pub cut: bool,
}

/// Takes output as it comes.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    folder: Option<PathBuf>,
    total_bytes: u64,
    newlines: u64,
    ends_in_newline: bool,
    /// All output until it is too much, then its head.
    head: Vec<u8>,
    /// Once the output is too much: its end, at least `TAIL_BYTES` of it if there are as many.
    tail: Option<Vec<u8>>,
    spill: Option<SpillFile>,
    delta: Vec<u8>,
}

#[derive(Debug)]
struct SpillFile {
    path: PathBuf,
    file: File,
    written: u64,
    cut: bool,
}

impl OutputBuffer {
    /// `folder` is where long outputs go; without one their middle is lost.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            total_bytes: 0,
            newlines: 0,
            ends_in_newline: true,
            head: Vec::new(),
            tail: None,
            spill: None,
            delta: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.total_bytes += bytes.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.ends_in_newline = *last == b'\n';
        self.push_delta(bytes);
        if let Some(tail) = &mut self.tail {
            push_capped(tail, bytes, TAIL_BYTES);
            if let Some(spill) = &mut self.spill {
                spill.write(bytes);
            }
            return;
        }
        self.head.extend_from_slice(bytes);
        if self.head.len() > WHOLE_BYTES || self.total_lines() > WHOLE_LINES {
            self.overflow();
        }
    }

    pub(super) fn has_delta(&self) -> bool {
        !self.delta.is_empty()
    }

    /// What came since the last call, but for the beginning of a character that is not whole yet.
    pub(super) fn take_delta(&mut self) -> Option<OutputDelta> {
        let whole = complete_prefix(&self.delta);
        if whole == 0 {
            return None;
        }
        let offset = self.total_bytes - self.delta.len() as u64;
        let text = String::from_utf8_lossy(&self.delta[..whole]).into_owned();
        self.delta.drain(..whole);
        Some(OutputDelta { offset, text })
    }

    pub(super) fn finish(self) -> CapturedOutput {
        let total_lines = self.total_lines();
        let mut captured = CapturedOutput {
            total_bytes: self.total_bytes,
            total_lines,
            spill: self.spill.map(|spill| Spill { path: spill.path, cut: spill.cut }),
            ..CapturedOutput::default()
        };
        if let Some(tail) = &self.tail {
            let tail = last_lines(tail);
            let line_count = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
            let tail_lines = line_count(tail) + u64::from(!self.ends_in_newline);
            captured.omitted_lines = Some(total_lines.saturating_sub(line_count(&self.head) + tail_lines));
            captured.tail = String::from_utf8_lossy(tail).into_owned();
        }
        captured.head = String::from_utf8_lossy(&self.head).into_owned();
        captured
    }

    fn total_lines(&self) -> u64 {
        self.newlines + u64::from(!self.ends_in_newline)
    }

    fn push_delta(&mut self, bytes: &[u8]) {
        push_capped(&mut self.delta, bytes, DELTA_BYTES);
        if self.delta.len() > DELTA_BYTES {
            let mut skip = self.delta.len() - DELTA_BYTES;
            // Begin at a character.
            while skip < self.delta.len() && self.delta[skip] & 0xC0 == 0x80 {
                skip += 1;
            }
            self.delta.drain(..skip);
        }
    }

    /// Divides what was kept whole until now into head and tail, and begins the file.
    fn overflow(&mut self) {
        self.spill = self.folder.as_deref().and_then(|folder| match SpillFile::create(folder) {
            Ok(spill) => Some(spill),
            Err(error) => {
                tracing::warn!(%error, "the folder for long command outputs cannot be used; their middle is lost");
                None
            }
        });
        if let Some(spill) = &mut self.spill {
            spill.write(&self.head);
        }
        let at = first_lines(&self.head).len();
        self.tail = Some(self.head.split_off(at));
        self.head.shrink_to_fit();
    }
}

impl SpillFile {
    fn create(folder: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("command-{}-{number}.log", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file, written: 0, cut: false }),
                // Left by an earlier process of this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let room = (SPILL_CAP - self.written).min(bytes.len() as u64) as usize;
        self.cut = room < bytes.len();
        match self.file.write_all(&bytes[..room]) {
            Ok(()) => self.written += room as u64,
            Err(error) => {
                tracing::warn!(%error, "a long command output could not be kept whole");
                self.cut = true;
            }
        }
    }
}

/// Appends, and drops the oldest bytes once twice `keep` are there, so that each byte moves at most about once.
fn push_capped(buffer: &mut Vec<u8>, bytes: &[u8], keep: usize) {
    if bytes.len() >= keep {
        buffer.clear();
        buffer.extend_from_slice(&bytes[bytes.len() - keep..]);
        return;
    }
    if buffer.len() + bytes.len() > 2 * keep {
        buffer.drain(..buffer.len() + bytes.len() - keep);
    }
    buffer.extend_from_slice(bytes);
}

/// Whole lines of the beginning; none where the first one alone is too long.
fn first_lines(bytes: &[u8]) -> &[u8] {
    let within = &bytes[..bytes.len().min(HEAD_BYTES)];
    let end = memchr::memchr_iter(b'\n', within).take(HEAD_LINES).last().map_or(0, |at| at + 1);
    &bytes[..end]
}

/// Whole lines of the end; a piece of the last one where it alone is too long.
fn last_lines(bytes: &[u8]) -> &[u8] {
    let cut = bytes.len().saturating_sub(TAIL_BYTES);
    let within = &bytes[cut..];
    let body = within.strip_suffix(b"\n").unwrap_or(within);
    let by_lines = memchr::memrchr_iter(b'\n', body).nth(TAIL_LINES - 1).map(|at| at + 1);
    let by_bytes = (cut > 0).then(|| memchr::memchr(b'\n', body).map(|at| at + 1)).flatten();
    let mut start = by_lines.or(by_bytes).unwrap_or(0);
    while start < within.len() && within[start] & 0xC0 == 0x80 {
        start += 1;
    }
    &within[start..]
}

/// The length without the beginning of a character at the end.
fn complete_prefix(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needed = match bytes[at] {
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}
