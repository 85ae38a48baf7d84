//! `read`: a text file in parts, or an image.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::ContentBlock;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{BYTES, CutBy, head, line_count, size, truncation, with_notes};
use super::{Builtin, Invocation, arguments, path_title, schema};
use crate::environment::BoxFuture;
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

/// Providers take base64 of less than 4.5 MiB.
const IMAGE_BYTES: usize = 3 * 1024 * 1024;
/// How far a NUL, which no text holds, is looked for.
const BINARY_PROBE: usize = 8 * 1024;

pub(super) const TOOL: Builtin = Builtin {
    name: "read",
    label: "Read",
    kind: ToolKind::Read,
    description: "Read a file. Text is shown up to 2000 lines or 50 KB, whichever comes first; continue with `offset`. \
                  JPEG, PNG, GIF and WebP images are shown as images.",
    snippet: "Read files, whole or in parts",
    guidelines: &["Use read to look at files, not cat or sed through bash."],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `read` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// The file: relative to the working folder, or absolute.
    path: String,
    /// The line to begin at, from 1.
    offset: Option<u64>,
    /// Most lines to show.
    limit: Option<u64>,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    let line = arguments.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    path_title("Read", arguments, line.filter(|line| *line > 0))
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { path, offset, limit } = arguments(call.arguments)?;
        let path = call.environment.resolve(&path)?;
        let content = call.environment.read(&path).await?;
        let bytes = &content.bytes;
        let shown = call.environment.display(&path);
        if let Some(mime_type) = image_type(bytes) {
            return image(&shown, mime_type, bytes);
        }
        if bytes[..bytes.len().min(BINARY_PROBE)].contains(&0) {
            return Err(ToolError(format!(
                "`{shown}` is a binary file of {}; it is not shown. Look into it with a command (`file`, `xxd`).",
                size(bytes.len() as u64)
            )));
        }
        if bytes.is_empty() {
            return Ok(ToolOutput::text("(empty file)"));
        }
        let text = String::from_utf8_lossy(bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        let mut output =
            text_part(&text, offset.unwrap_or(1).max(1) as usize, limit.map(|limit| limit as usize))?;
        if lossy {
            output
                .notes
                .push("The file is not valid UTF-8; � stands for each part that could not be decoded".into());
        }
        if content.unsaved {
            output
                .notes
                .push("This is the editor's unsaved text; commands see the file as it was saved".into());
        }
        Ok(ToolOutput { details: output.details, ..ToolOutput::text(with_notes(output.text, &output.notes)) })
    })
}

struct Part {
    text: String,
    notes: Vec<String>,
    details: Value,
}

/// The lines from `offset` on, and how to go on from there.
fn text_part(text: &str, offset: usize, limit: Option<usize>) -> Result<Part, ToolError> {
    let total = line_count(text);
    if offset > total {
        return Err(ToolError(format!("Offset {offset} is past the end: the file has {total} lines.")));
    }
    let start = nth_line(text, offset - 1);
    let wanted = &text[start..];
    let wanted = limit.map_or(wanted, |limit| &wanted[..nth_line(wanted, limit.max(1))]);
    let shown = head(wanted);
    let last = (offset + shown.lines).saturating_sub(1);
    let mut part = Part { text: shown.text.to_owned(), notes: Vec::new(), details: Value::Null };
    match shown.cut_by {
        Some(CutBy::Bytes) if shown.lines == 1 && !shown.text.ends_with('\n') => part.notes.push(format!(
            "Line {offset} is longer than {} and only begun here; see more of it with a command such as \
             `sed -n {offset}p FILE | cut -b {}-`{}",
            size(BYTES as u64),
            shown.text.len() + 1,
            if offset < total {
                format!("; use offset={} for the next line", offset + 1)
            } else {
                String::new()
            }
        )),
        Some(_) => {
            part.notes.push(format!("Lines {offset}-{last} of {total}; use offset={} to continue", last + 1));
        }
        None if last < total => {
            part.notes.push(format!("{} more lines; use offset={} to continue", total - last, last + 1));
        }
        None => {}
    }
    if let Some(cut_by) = shown.cut_by {
        let record = truncation(cut_by, shown.lines, shown.text.len(), total, text.len() as u64);
        part.details = json!({ "truncation": record });
    }
    Ok(part)
}

/// Where line `index`, from 0, begins; the end of the text where there are fewer.
fn nth_line(text: &str, index: usize) -> usize {
    match index.checked_sub(1) {
        None => 0,
        Some(before) => {
            memchr::memchr_iter(b'\n', text.as_bytes()).nth(before).map_or(text.len(), |at| at + 1)
        }
    }
}

fn image(shown: &str, mime_type: &str, bytes: &[u8]) -> Result<ToolOutput, ToolError> {
    let bytes_text = size(bytes.len() as u64);
    if bytes.len() > IMAGE_BYTES {
        return Err(ToolError(format!(
            "`{shown}` is an image of {bytes_text}, more than the {} that models take. Make a smaller copy first.",
            size(IMAGE_BYTES as u64)
        )));
    }
    let note = ContentBlock::text(format!("Image `{shown}` ({mime_type}, {bytes_text})"));
    let picture = ContentBlock::Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes) };
    Ok(ToolOutput { content: vec![note, picture], ..ToolOutput::default() })
}

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        // The fourth byte tells lossless JPEG, which nobody shows.
        [0xFF, 0xD8, 0xFF, kind, ..] if *kind != 0xF7 => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
