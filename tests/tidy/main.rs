//! The rules that keep the layout true. Each failure names the file, and what to do.

mod clients;
mod crates;
mod files;
mod methods;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use support::root;

/// Folders that hold nothing of ours.
const FOREIGN: &[&str] = &["target", "node_modules", "dist", "out", ".git"];

/// Every file of ours in a folder and below it, as paths from the root, in order.
fn files_under(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_foreign = entry.file_name().to_str().is_some_and(|name| FOREIGN.contains(&name));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_foreign => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    found.push(path.strip_prefix(root()).unwrap_or(&path).to_path_buf());
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Those of them that are Rust.
fn rust_under(folder: &str) -> Vec<PathBuf> {
    files_under(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

/// A file's text; empty for one that is no text.
fn text(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// A test by its place: `tests.rs`, or below a folder `tests`, `examples` or `benches`.
fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path
            .components()
            .any(|part| ["tests", "examples", "benches"].iter().any(|test| part.as_os_str() == *test))
}

/// A file's own code: without the comments, and without the tests at its end.
fn code(path: &Path) -> String {
    let text = text(path);
    let own = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = own.lines().map(|line| match line.find("//") {
        Some(at) if !line[..at].contains('"') => &line[..at],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether `word` occurs in `text` as a word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// Fails with all that was found.
fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}
