//! Reading back what a crash may have cut: bad lines are skipped and counted, a torn tail is set aside.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use vocab::{EntryId, ThinkingLevel, Timestamp};

use super::StorageError;
use crate::entry::{Entry, EntryBody, Header};
use crate::title::title_of_message;

/// The longest line that is read; a longer one is skipped like any other bad line.
const LINE_BYTES: u64 = 64 << 20;

/// What reading a file came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Lines that were taken.
    pub taken: usize,
    /// Lines that were not: no record of ours, or not whole.
    pub skipped: usize,
    /// Bytes after the last line feed that were no record; with `repair` they are in the file's `.torn` neighbour now.
    pub torn_bytes: u64,
}

/// Calls `take` for each line, without its line feed; it answers whether the line is a record. With `repair`, which
/// needs the session's lock, the file ends with a whole line afterwards, so that the next append is not glued to a rest.
pub fn load_lines(
    path: &Path,
    repair: bool,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<LoadReport, StorageError> {
    let file = File::open(path).map_err(StorageError::io("open", path))?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut report = LoadReport::default();
    let mut line = Vec::new();
    let mut offset = 0;
    loop {
        line.clear();
        let read = (&mut reader)
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(StorageError::io("read", path))?;
        if read == 0 {
            return Ok(report);
        }
        let start = offset;
        offset += read as u64;
        if line.last() == Some(&b'\n') {
            line.pop();
            count(&mut report, line.trim_ascii(), &mut take);
        } else if read as u64 == LINE_BYTES {
            offset += skip_line(&mut reader).map_err(StorageError::io("read", path))?;
            report.skipped += 1;
        } else {
            let whole = take(&line);
            if whole {
                report.taken += 1;
            } else {
                report.torn_bytes = line.len() as u64;
            }
            if repair {
                mend_tail(path, start, &line, whole).map_err(StorageError::io("repair", path))?;
            }
            return Ok(report);
        }
    }
}

fn count(report: &mut LoadReport, line: &[u8], take: &mut impl FnMut(&[u8]) -> bool) {
    if line.is_empty() {
        return;
    }
    if take(line) {
        report.taken += 1;
    } else {
        report.skipped += 1;
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (used, found) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(index) => (index + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(used);
        skipped += used as u64;
        if found {
            return Ok(skipped);
        }
    }
}

/// A whole record that lacks only its line feed gets it; anything else goes to the neighbour file.
fn mend_tail(path: &Path, start: u64, tail: &[u8], whole: bool) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    if whole {
        file.seek(SeekFrom::End(0))?;
        return file.write_all(b"\n");
    }
    let mut aside = OpenOptions::new().append(true).create(true).mode(0o600).open(torn_path(path))?;
    aside.write_all(tail)?;
    aside.write_all(b"\n")?;
    file.set_len(start)
}

fn torn_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}

/// A session as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSession {
    pub header: Header,
    /// The header's entry first.
    pub entries: Vec<Arc<Entry>>,
    pub report: LoadReport,
}

impl LoadedSession {
    /// What people call it: its own title, else the head of its first prompt.
    pub fn title(&self) -> Option<Arc<str>> {
        self.header.title.clone().or_else(|| {
            self.entries.iter().find_map(|entry| match &entry.body {
                EntryBody::Prompt { message, .. } => title_of_message(message),
                _ => None,
            })
        })
    }

    /// The model and thinking level that it had last.
    pub fn model(&self) -> (&str, ThinkingLevel) {
        let changed = self.entries.iter().rev().find_map(|entry| match &entry.body {
            EntryBody::ModelChange { model, thinking } => Some((model.as_str(), *thinking)),
            _ => None,
        });
        changed.unwrap_or((&self.header.model, self.header.thinking))
    }
}

/// Reads a session file. See [`load_lines`] for `repair`.
pub fn load_session(path: &Path, repair: bool) -> Result<LoadedSession, StorageError> {
    // Looked at before anything is repaired: a file that is not ours is left as it is.
    let header = read_header(path)?.ok_or_else(|| StorageError::NotASession(path.to_owned()))?;
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    let report = load_lines(path, repair, |line| match parse_entry(line) {
        Some(entry) => {
            entries.push(Arc::new(entry));
            true
        }
        None => false,
    })?;
    if report.skipped > 0 || report.torn_bytes > 0 {
        tracing::warn!(path = %path.display(), ?report, "a session file was damaged; what is whole was read");
    }
    Ok(LoadedSession { header, entries, report })
}

/// The header of a session file; `None` where the first line is none.
pub(super) fn read_header(path: &Path) -> Result<Option<Header>, StorageError> {
    let file = File::open(path).map_err(StorageError::io("open", path))?;
    let mut line = Vec::new();
    BufReader::new(file)
        .take(LINE_BYTES)
        .read_until(b'\n', &mut line)
        .map_err(StorageError::io("read", path))?;
    Ok(match parse_entry(&line) {
        Some(Entry { body: EntryBody::Header(header), .. }) => Some(header),
        _ => None,
    })
}

/// An entry; of an unknown kind where only the common fields fit.
pub(crate) fn parse_entry(line: &[u8]) -> Option<Entry> {
    #[derive(Deserialize)]
    struct Common {
        id: EntryId,
        seq: u64,
        at: Timestamp,
        run: u32,
        kind: String,
    }
    if let Ok(entry) = serde_json::from_slice(line) {
        return Some(entry);
    }
    let Common { id, seq, at, run, kind } = serde_json::from_slice(line).ok()?;
    Some(Entry { id, seq, at, run, body: EntryBody::Unknown { kind } })
}
