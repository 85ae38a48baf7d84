//! Setting one key in a settings file, leaving the rest of it as it is.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::keys::{known_keys, put};
use crate::Diagnostic;
use crate::text_file::{read_text, replace_shared};

/// Longest settings file in bytes.
const LIMIT: u64 = 1024 * 1024;

/// Why a key could not be set; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{0} is not a known setting")]
    UnknownKey(String),
    #[error("{key} must be {allowed}")]
    BadValue { key: String, allowed: String },
    #[error("{0}; repair the file by hand, then set the key again")]
    Unreadable(Diagnostic),
    #[error("{path}: cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
}

/// Sets a key in a file, or takes it out where the value is `null`. The file is read again first, so that what a person
/// has just typed there stays; keys are written in alphabetical order. The folder must exist.
pub fn write_key(file: &Path, key: &str, value: &Value) -> Result<(), WriteError> {
    let known = known_keys().get(key).ok_or_else(|| WriteError::UnknownKey(key.into()))?;
    let value = match value {
        Value::Null => None,
        value => {
            let bad = || WriteError::BadValue { key: key.into(), allowed: known.allowed() };
            Some(known.accept(value).ok_or_else(bad)?)
        }
    };
    let mut root = read_root(file)?;
    take_out(&mut root, key);
    if let Some(value) = value {
        put(&mut root, key, value);
    }
    let failed = |source| WriteError::Write { path: file.into(), source };
    let mut text = serde_json::to_string_pretty(&root).map_err(|error| failed(error.into()))?;
    text.push('\n');
    replace_shared(file, &text).map_err(failed)
}

fn read_root(file: &Path) -> Result<Map<String, Value>, WriteError> {
    let Some(text) = read_text(file, LIMIT).map_err(WriteError::Unreadable)? else { return Ok(Map::new()) };
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("not a JSON object ({error})");
        WriteError::Unreadable(Diagnostic::error(file, Some(error.line()), message))
    })
}

/// Removes a key in all its spellings: nested, with dots, and mixed.
fn take_out(root: &mut Map<String, Value>, path: &str) {
    root.remove(path);
    for (at, _) in path.match_indices('.') {
        if let Some(Value::Object(inner)) = root.get_mut(&path[..at]) {
            take_out(inner, &path[at + 1..]);
        }
    }
}
