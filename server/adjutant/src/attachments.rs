//! What a person attaches to a prompt, as content for a model.

use std::fmt::Write as _;

use model::ContentBlock;
use protocol::{Attachment, Range};
use tower_lsp::ls_types as lsp;

use crate::delegation::text::{clip, escape};
use crate::lsp::OpenDocuments;

/// Characters of an attached text.
const ATTACHED_CHARS: usize = 60_000;

/// Attachments as content: texts and places in one text block, images as they are.
pub(crate) fn content(attachments: &[Attachment], documents: &OpenDocuments) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    let text = text(attachments, documents);
    if !text.is_empty() {
        content.push(ContentBlock::text(text));
    }
    for attachment in attachments {
        if let Attachment::Image { mime_type, data } = attachment {
            content.push(ContentBlock::Image { mime_type: mime_type.clone(), data: data.clone() });
        }
    }
    content
}

/// Attachments as text; images are left out.
pub(crate) fn text(attachments: &[Attachment], documents: &OpenDocuments) -> String {
    let mut text = String::new();
    for attachment in attachments {
        match attachment {
            Attachment::File { uri } => {
                let _ = write!(text, "\n\n<attached-file>{}</attached-file>", escape(&path(uri)));
            }
            Attachment::Selection { uri, range, text: given } => {
                let selected = given
                    .as_deref()
                    .or_else(|| documents.selection(uri, lsp_range(*range)))
                    .unwrap_or_default();
                let lines = format!("{}-{}", range.start.line + 1, range.end.line + 1);
                let _ = write!(
                    text,
                    "\n\n<attached-selection file=\"{}\" lines=\"{lines}\">\n{}\n</attached-selection>",
                    escape(&path(uri)),
                    escape(clip(selected, ATTACHED_CHARS).0)
                );
            }
            Attachment::Diagnostic { uri, diagnostic } => {
                let line = diagnostic["range"]["start"]["line"].as_u64().map_or(0, |line| line + 1);
                let message = diagnostic["message"].as_str().unwrap_or_default();
                let _ = write!(
                    text,
                    "\n\n<attached-diagnostic file=\"{}\" line=\"{line}\">{}</attached-diagnostic>",
                    escape(&path(uri)),
                    escape(clip(message, 2_000).0)
                );
            }
            Attachment::Image { .. } => {}
        }
    }
    text
}

/// The path of a `file:` URI; another URI stays as it is.
fn path(uri: &str) -> String {
    let parsed: Option<lsp::Uri> = uri.parse().ok();
    let path = parsed.as_ref().filter(|_| uri.starts_with("file:")).and_then(lsp::Uri::to_file_path);
    path.map_or_else(|| uri.to_owned(), |path| path.to_string_lossy().into_owned())
}

pub(crate) fn lsp_range(range: Range) -> lsp::Range {
    lsp::Range {
        start: lsp::Position::new(range.start.line, range.start.character),
        end: lsp::Position::new(range.end.line, range.end.character),
    }
}
