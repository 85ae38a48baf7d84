//! `edit`: exact replacements in a text file.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use vocab::ToolKind;

use super::matching::{MOST_PLACES, Span, View};
use super::notes::with_notes;
use super::write::UNSAVED;
use super::{Builtin, Invocation, arguments, path_title, schema};
use crate::environment::{BoxFuture, FileContent};
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

/// Longer diffs are cut for renderers.
const DIFF_BYTES: usize = 64 * 1024;
/// Past it a diff gets coarse instead of exact.
const DIFF_TIME: Duration = Duration::from_millis(200);
const BOM: &str = "\u{FEFF}";

pub(super) const TOOL: Builtin = Builtin {
    name: "edit",
    label: "Edit",
    kind: ToolKind::Edit,
    description: "Change a text file by replacing exact pieces of it. Each `oldText` must occur exactly once in the file \
                  as it is now; give enough lines around it to make it unique. Several edits of one file go in one call: \
                  all are found in the original text and must not overlap.",
    snippet: "Change files by exact replacement",
    guidelines: &[
        "Use edit for changes to existing files, after reading them; put all changes of one file into one edit call.",
    ],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `edit` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// The file: relative to the working folder, or absolute.
    path: String,
    /// The replacements.
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Edit {
    /// Text of the file, exactly, and found there once.
    old_text: String,
    /// What stands there instead.
    new_text: String,
}

/// What a file looked like before and after.
type Versions = Arc<Mutex<Option<(String, String)>>>;

fn describe(arguments: &Value) -> ToolCallTitle {
    path_title("Edit", arguments, None)
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { path, edits } = arguments(call.arguments)?;
        if edits.is_empty() {
            return Err(ToolError::new("`edits` is empty; name at least one replacement."));
        }
        let count = edits.len();
        let path = call.environment.resolve(&path)?;
        let shown = call.environment.display(&path);
        let versions = Versions::default();
        let change = {
            let (shown, versions) = (shown.clone(), Arc::clone(&versions));
            move |content: &FileContent| {
                let (before, after) = apply(&shown, &content.bytes, &edits)?;
                let bytes = Bytes::copy_from_slice(after.as_bytes());
                *versions.lock().unwrap_or_else(PoisonError::into_inner) = Some((before, after));
                Ok(bytes)
            }
        };
        let written = call.environment.update(&path, Box::new(change), &call.cancel).await?;
        let versions = versions.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let pieces = if count == 1 { "1 piece".to_owned() } else { format!("{count} pieces") };
        let notes: Vec<String> = written.unsaved.then(|| UNSAVED.to_owned()).into_iter().collect();
        let text = with_notes(format!("Replaced {pieces} in `{shown}`"), &notes);
        Ok(ToolOutput { details: diff(&shown, &versions.0, &versions.1), ..ToolOutput::text(text) })
    })
}

/// The text before and after all edits, or why they cannot be made; then none is.
fn apply(shown: &str, bytes: &[u8], edits: &[Edit]) -> Result<(String, String), String> {
    let Ok(original) = std::str::from_utf8(bytes) else {
        return Err(format!("`{shown}` is not valid UTF-8, so it cannot be edited as text; use a command."));
    };
    // A mark at the very beginning is no text: it stays, whatever is replaced.
    let body_at = if original.starts_with(BOM) { BOM.len() } else { 0 };
    let body = &original[body_at..];
    let exact = View::exact(body);
    let mut lenient = None;
    let mut replacements: Vec<(Span, usize)> = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let name =
            if edits.len() == 1 { "`oldText`".to_owned() } else { format!("`edits[{index}].oldText`") };
        let span = locate(&name, shown, body, edit, &exact, &mut lenient)?;
        replacements.push((span, index));
    }
    replacements.sort_unstable();
    if let Some(pair) = replacements.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
        let (first, second) = (pair[0].1, pair[1].1);
        return Err(format!(
            "`edits[{first}]` and `edits[{second}]` overlap; make one edit of them. Nothing was changed."
        ));
    }
    let ending = if uses_crlf(body) { "\r\n" } else { "\n" };
    let mut after = String::with_capacity(original.len());
    let mut from = 0;
    for (span, index) in replacements {
        after.push_str(&body[from..span.start]);
        after.push_str(&with_endings(&edits[index].new_text, ending));
        from = span.end;
    }
    after.push_str(&body[from..]);
    if after == body {
        return Err(format!("The edits leave `{shown}` as it is: old and new text are the same."));
    }
    after.insert_str(0, &original[..body_at]);
    Ok((original.to_owned(), after))
}

/// The one place of an edit: exact where there is any, else as [`View::lenient`] compares.
fn locate(
    name: &str,
    shown: &str,
    body: &str,
    edit: &Edit,
    exact: &View,
    lenient: &mut Option<View>,
) -> Result<Span, String> {
    if edit.old_text.is_empty() {
        return Err(format!("{name} is empty; to make a file or to replace all of it, use write."));
    }
    let wanted = edit.old_text.strip_prefix(BOM).unwrap_or(&edit.old_text).replace("\r\n", "\n");
    let mut places = exact.places(&wanted);
    if places.is_empty() {
        let wanted = View::lenient(&wanted);
        places = lenient.get_or_insert_with(|| View::lenient(body)).places(wanted.text());
    }
    match places.as_slice() {
        [place] => Ok(*place),
        [] => Err(format!(
            "{name} does not occur in `{shown}`; nothing was changed. It must match the file exactly, blanks and line \
             breaks too: read the file again and copy the text."
        )),
        many => {
            let line = |span: &Span| 1 + body[..span.start].matches('\n').count();
            let lines: Vec<String> = many.iter().take(5).map(|span| line(span).to_string()).collect();
            let count = if many.len() == MOST_PLACES {
                format!("at least {MOST_PLACES}")
            } else {
                many.len().to_string()
            };
            Err(format!(
                "{name} occurs {count} times in `{shown}` (lines {}{}); nothing was changed. Add lines around it until \
                 it is unique.",
                lines.join(", "),
                if many.len() > 5 { ", …" } else { "" }
            ))
        }
    }
}

/// By the first line end, as editors tell.
fn uses_crlf(text: &str) -> bool {
    text.find('\n').is_some_and(|at| text[..at].ends_with('\r'))
}

fn with_endings(text: &str, ending: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if ending == "\n" { text } else { text.replace('\n', ending) }
}

fn diff(shown: &str, before: &str, after: &str) -> Value {
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(before, after);
    let (mut added, mut removed, mut first) = (0_u64, 0_u64, None);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
        }
        first = first.or(change.new_index().or(change.old_index()).map(|index| index + 1));
    }
    let mut text = diff.unified_diff().context_radius(4).header(shown, shown).to_string();
    let cut = text.len() > DIFF_BYTES;
    if cut {
        text.truncate(text.floor_char_boundary(DIFF_BYTES));
        text.push_str("\n… (cut)\n");
    }
    json!({ "diff": text, "firstChangedLine": first, "additions": added, "deletions": removed })
}
