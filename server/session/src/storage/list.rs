//! The sessions of a folder, found by their heads alone.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use vocab::{SessionId, Timestamp};

use super::load::parse_entry;
use super::{SessionPaths, StorageError};
use crate::entry::{EntryBody, Header};
use crate::title::title_of_message;

/// Bytes of a file that are read for its title.
const HEAD_BYTES: u64 = 64 << 10;
/// Lines among which the first prompt is looked for.
const HEAD_LINES: usize = 16;

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: SessionId,
    pub paths: SessionPaths,
    pub title: Option<Arc<str>>,
    pub cwd: Arc<str>,
    pub model: String,
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
    /// Bytes of its file.
    pub size: u64,
}

/// The sessions in `folder` (see [`SessionsDir::folder`](super::SessionsDir::folder)), newest first. What cannot be read
/// is left out; a folder that does not exist has none.
pub fn list(folder: &Path) -> Result<Vec<SessionSummary>, StorageError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StorageError::io("list", folder)(error)),
    };
    let mut sessions: Vec<_> = entries.flatten().filter_map(|entry| summary(&entry.path())).collect();
    sessions.sort_by(|a, b| b.modified_at.cmp(&a.modified_at).then_with(|| b.id.cmp(&a.id)));
    Ok(sessions)
}

fn summary(folder: &Path) -> Option<SessionSummary> {
    let paths = SessionPaths::of_folder(folder);
    let file = File::open(paths.session_file()).ok()?;
    let metadata = file.metadata().ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut lines = BufReader::new(file.take(HEAD_BYTES)).split(b'\n');
    let first = parse_entry(&lines.next()?.ok()?)?;
    let created_at = first.at;
    let EntryBody::Header(header) = first.body else { return None };
    let Header { session_id, cwd, model, title, .. } = header;
    let title = title.or_else(|| {
        lines.take(HEAD_LINES).flatten().find_map(|line| match parse_entry(&line)?.body {
            EntryBody::Prompt { message, .. } => title_of_message(&message),
            _ => None,
        })
    });
    Some(SessionSummary {
        id: session_id,
        paths,
        title,
        cwd,
        model,
        created_at,
        modified_at: Timestamp(u64::try_from(modified.as_millis()).unwrap_or(u64::MAX)),
        size: metadata.len(),
    })
}
