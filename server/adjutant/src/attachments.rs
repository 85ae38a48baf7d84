//! What a person attaches to a prompt, as content for a model.

use std::fmt::Write as _;

use model::ContentBlock;
use protocol::{Attachment, Range};
use tower_lsp::ls_types as lsp;

use crate::delegation::text::{clip, escape};
use crate::failure::Failure;
use crate::lsp::OpenDocuments;

/// Characters of an attached text.
const ATTACHED_CHARS: usize = 60_000;
/// Bytes of a file that is read for a selection.
const FILE_BYTES: u64 = 16 << 20;

/// Attachments as content: texts and places in one text block, images as they are. What cannot be attached is refused by
/// its place in the list.
pub(crate) fn content(
    attachments: &[Attachment],
    documents: &OpenDocuments,
) -> Result<Vec<ContentBlock>, Failure> {
    let mut content = Vec::new();
    let text = text(attachments, documents)?;
    if !text.is_empty() {
        content.push(ContentBlock::text(text));
    }
    for (index, attachment) in attachments.iter().enumerate() {
        if let Attachment::Image { mime_type, data } = attachment {
            check_image(mime_type, data)
                .map_err(|fault| Failure::bad_param(&format!("attachments[{index}]"), fault))?;
            content.push(ContentBlock::Image { mime_type: mime_type.clone(), data: data.clone() });
        }
    }
    Ok(content)
}

/// Attachments as text; images are left out.
pub(crate) fn text(attachments: &[Attachment], documents: &OpenDocuments) -> Result<String, Failure> {
    let mut text = String::new();
    for (index, attachment) in attachments.iter().enumerate() {
        match attachment {
            Attachment::File { uri } => {
                let _ = write!(text, "\n\n<attached-file>{}</attached-file>", escape(&path(uri)));
            }
            Attachment::Selection { uri, range, text: given } => {
                let selected = match given {
                    Some(given) => given.clone(),
                    None => selection(uri, *range, documents)
                        .map_err(|fault| Failure::bad_param(&format!("attachments[{index}]"), fault))?,
                };
                let (first, last) =
                    (range.start.line.min(range.end.line), range.start.line.max(range.end.line));
                let _ = write!(
                    text,
                    "\n\n<attached-selection file=\"{}\" lines=\"{}-{}\">\n{}\n</attached-selection>",
                    escape(&path(uri)),
                    first + 1,
                    last + 1,
                    escape(clip(&selected, ATTACHED_CHARS).0)
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
    Ok(text)
}

/// The text of a selection: of the open document, else of the file.
fn selection(uri: &str, range: Range, documents: &OpenDocuments) -> Result<String, String> {
    if documents.text(uri).is_some() {
        let selected = documents.selection(uri, lsp_range(range)).map(str::to_owned);
        return selected.ok_or_else(|| "the selection is empty".to_owned());
    }
    let file = path(uri);
    let size = std::fs::metadata(&file).map_or(0, |found| found.len());
    if size > FILE_BYTES {
        return Err(format!("{file} is too large to be read for a selection; send its text"));
    }
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("{file} is not open and cannot be read ({error}); send its text"))?;
    let selected = documents.slice(&text, lsp_range(range)).map(str::to_owned);
    selected.ok_or_else(|| "the selection is empty".to_owned())
}

fn check_image(mime_type: &str, data: &str) -> Result<(), String> {
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type) {
        return Err(format!("\"{}\" is no image type that models take", clip(mime_type, 60).0));
    }
    let is_base64 = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    if data.is_empty() || !is_base64 {
        return Err("`data` is not base64".to_owned());
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use protocol::Position;

    use super::*;

    fn select(uri: String, lines: (u32, u32)) -> Vec<Attachment> {
        let at = |line| Position { line, character: 0 };
        vec![Attachment::Selection { uri, range: Range { start: at(lines.0), end: at(lines.1) }, text: None }]
    }

    #[test]
    fn a_selection_of_a_closed_document_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b#ä.txt");
        std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
        let uri = crate::projection::file_uri(&file);
        let attached = text(&select(uri.clone(), (1, 2)), &OpenDocuments::default()).unwrap();
        assert!(attached.contains("lines=\"2-3\"") && attached.contains("\ntwo\n"), "{attached}");

        let missing = text(&select(format!("{uri}x"), (1, 2)), &OpenDocuments::default()).unwrap_err();
        assert!(missing.message.starts_with("attachments[0]: "), "{missing}");
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for (mime_type, data) in [("text/html", "AAAA"), ("image/png", ""), ("image/png", "no base64!")] {
            let image = Attachment::Image { mime_type: mime_type.into(), data: data.into() };
            assert!(content(&[image], &OpenDocuments::default()).is_err(), "{mime_type} {data}");
        }
    }
}
