//! Cutting what a tool shows, and saying so.

use serde_json::{Value, json};

/// Most lines that a tool shows.
pub(super) const LINES: usize = 2_000;
/// Most bytes of text that a tool shows.
pub(super) const BYTES: usize = 50 * 1024;

/// The beginning of a text, in whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) text: &'a str,
    /// Lines shown.
    pub(super) lines: usize,
    /// What stopped it.
    pub(super) cut_by: Option<CutBy>,
}

/// Which cap cut a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutBy {
    Lines,
    Bytes,
}

/// As many whole lines as the caps allow; where the first one alone is too long, its beginning.
pub(super) fn head(text: &str) -> Head<'_> {
    let mut end = 0;
    for (lines, line) in text.split_inclusive('\n').enumerate() {
        if lines == LINES {
            return Head { text: &text[..end], lines, cut_by: Some(CutBy::Lines) };
        }
        if end + line.len() > BYTES {
            let end = if lines == 0 { text.floor_char_boundary(BYTES) } else { end };
            return Head { text: &text[..end], lines: lines.max(1), cut_by: Some(CutBy::Bytes) };
        }
        end += line.len();
    }
    Head { text, lines: line_count(text), cut_by: None }
}

/// Lines of a text; what follows a final line end is none.
pub(super) fn line_count(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
        + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// A size as people read it.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes}B"),
        1_024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1_024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

/// Appends notes to a text, each in brackets after a blank line.
pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        while text.ends_with('\n') {
            text.pop();
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push('[');
        text.push_str(note);
        text.push(']');
    }
    text
}

/// What was cut, for renderers. Without the text itself, which they have.
pub(super) fn truncation(
    cut_by: CutBy,
    lines: usize,
    bytes: usize,
    total_lines: usize,
    total_bytes: u64,
) -> Value {
    json!({
        "truncatedBy": match cut_by { CutBy::Lines => "lines", CutBy::Bytes => "bytes" },
        "outputLines": lines,
        "outputBytes": bytes,
        "totalLines": total_lines,
        "totalBytes": total_bytes,
    })
}
