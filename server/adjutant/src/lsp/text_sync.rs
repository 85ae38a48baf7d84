//! The editor's open documents, as it last told us: what a selection's text is taken from.

use std::collections::HashMap;

use tower_lsp::ls_types::{Position, Range, TextDocumentContentChangeEvent};

/// Bytes of one open document that are kept; a larger one is not followed.
const DOCUMENT_BYTES: usize = 16 << 20;

/// How the client counts columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

/// All open documents, by URI.
#[derive(Debug, Default)]
pub(crate) struct OpenDocuments {
    encoding: Encoding,
    texts: HashMap<String, String>,
}

impl OpenDocuments {
    pub(crate) fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    pub(crate) fn open(&mut self, uri: String, text: String) {
        if text.len() <= DOCUMENT_BYTES {
            self.texts.insert(uri, text);
        }
    }

    pub(crate) fn close(&mut self, uri: &str) {
        self.texts.remove(uri);
    }

    /// Applies changes in their order. A range outside the text is taken to its end, as the protocol asks.
    pub(crate) fn change(&mut self, uri: &str, changes: Vec<TextDocumentContentChangeEvent>) {
        let Some(text) = self.texts.get_mut(uri) else { return };
        for change in changes {
            match change.range {
                None => *text = change.text,
                Some(range) => {
                    let (start, end) = byte_range(text, range, self.encoding);
                    text.replace_range(start..end, &change.text);
                }
            }
        }
        if text.len() > DOCUMENT_BYTES {
            self.texts.remove(uri);
        }
    }

    pub(crate) fn text(&self, uri: &str) -> Option<&str> {
        self.texts.get(uri).map(String::as_str)
    }

    /// The text of a range; nothing where the document is not open or the range is empty.
    pub(crate) fn selection(&self, uri: &str, range: Range) -> Option<&str> {
        self.slice(self.text(uri)?, range)
    }

    /// The part of a text that a range means, in the client's way to count; nothing where it is empty.
    pub(crate) fn slice<'a>(&self, text: &'a str, range: Range) -> Option<&'a str> {
        let (start, end) = byte_range(text, range, self.encoding);
        (start < end).then(|| &text[start..end])
    }
}

fn byte_range(text: &str, range: Range, encoding: Encoding) -> (usize, usize) {
    let start = offset(text, range.start, encoding);
    let end = offset(text, range.end, encoding);
    (start.min(end), end.max(start))
}

fn offset(text: &str, position: Position, encoding: Encoding) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let line = text[start..].split('\n').next().unwrap_or_default();
    let mut column = 0;
    for (at, c) in line.char_indices() {
        if column >= position.character {
            return start + at;
        }
        column += match encoding {
            Encoding::Utf8 => c.len_utf8() as u32,
            Encoding::Utf16 => c.len_utf16() as u32,
        };
    }
    start + line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: (u32, u32), end: (u32, u32)) -> Range {
        Range { start: Position::new(start.0, start.1), end: Position::new(end.0, end.1) }
    }

    #[test]
    fn changes_and_selections_count_in_the_clients_units() {
        for (encoding, after_emoji) in [(Encoding::Utf16, 3), (Encoding::Utf8, 5)] {
            let mut documents = OpenDocuments::default();
            documents.set_encoding(encoding);
            documents.open("u".into(), "a😀b\nsecond".into());
            assert_eq!(documents.selection("u", range((0, after_emoji), (1, 6))), Some("b\nsecond"));
            let change = TextDocumentContentChangeEvent {
                range: Some(range((0, after_emoji), (0, after_emoji + 1))),
                range_length: None,
                text: "é".into(),
            };
            documents.change("u", vec![change]);
            assert_eq!(documents.text("u"), Some("a😀é\nsecond"));
        }
    }

    #[test]
    fn positions_outside_the_text_are_its_end() {
        let mut documents = OpenDocuments::default();
        documents.open("u".into(), "one".into());
        assert_eq!(documents.selection("u", range((0, 1), (9, 9))), Some("ne"));
        assert_eq!(documents.selection("u", range((5, 0), (9, 9))), None);
        assert_eq!(documents.selection("other", range((0, 0), (1, 0))), None);
        let change = TextDocumentContentChangeEvent {
            range: Some(range((9, 9), (0, 0))),
            range_length: None,
            text: "x".into(),
        };
        documents.change("u", vec![change]);
        assert_eq!(documents.text("u"), Some("x"));
    }
}
