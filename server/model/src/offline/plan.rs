//! What the planner decides: a turn, and the calls in it.

use serde_json::{Value, json};

/// What is said and called in one turn. Without calls it is an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) text: String,
    pub(super) calls: Vec<PlannedCall>,
}

impl Turn {
    pub(super) fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Lists a folder.
pub(super) fn ls(path: &str) -> PlannedCall {
    PlannedCall { tool: "ls", arguments: json!({ "path": path }) }
}

/// Finds names below the working folder.
pub(super) fn find(pattern: &str) -> PlannedCall {
    // More lines than this the tool does not show.
    PlannedCall { tool: "find", arguments: json!({ "pattern": pattern, "limit": 2_000 }) }
}

/// Searches the text of all files, or of those that match a glob.
pub(super) fn grep(pattern: &str, glob: Option<&str>, limit: u64) -> PlannedCall {
    let mut arguments = json!({ "pattern": pattern, "limit": limit });
    if let Some(glob) = glob {
        arguments["glob"] = glob.into();
    }
    PlannedCall { tool: "grep", arguments }
}

/// Reads `limit` lines of a file from line `offset`, counted from 1.
pub(super) fn read(path: &str, offset: u64, limit: u64) -> PlannedCall {
    let mut arguments = json!({ "path": path, "limit": limit });
    if offset > 1 {
        arguments["offset"] = offset.into();
    }
    PlannedCall { tool: "read", arguments }
}
