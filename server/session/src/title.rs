//! Short lines out of long texts.

use std::sync::Arc;

use model::{ContentBlock, Message};

/// Characters of a title.
const TITLE_CHARS: usize = 80;

/// What to call a conversation that begins with this text: its first line that is not blank.
pub(crate) fn title_of(text: &str) -> Option<Arc<str>> {
    first_line(text, TITLE_CHARS)
}

/// As [`title_of`], of a prompt's message.
pub(crate) fn title_of_message(message: &Message) -> Option<Arc<str>> {
    let Message::User { content } = message else { return None };
    content.iter().find_map(|block| match block {
        ContentBlock::Text { text } => title_of(text),
        ContentBlock::Image { .. } => None,
    })
}

/// The first line that is not blank, cut to `chars` characters.
pub(crate) fn first_line(text: &str, chars: usize) -> Option<Arc<str>> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(clip(line, chars).into())
}

/// At most `chars` characters, the last of them an ellipsis where something was cut.
pub(crate) fn clip(line: &str, chars: usize) -> String {
    if line.char_indices().nth(chars).is_none() {
        return line.to_owned();
    }
    let mut clipped: String = line.chars().take(chars.saturating_sub(1)).collect();
    clipped.push('…');
    clipped
}

/// The last `bytes` bytes, from a whole character on.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::{clip, first_line, tail};

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(first_line("\n  \n one \ntwo", 10).as_deref(), Some("one"));
        assert_eq!(first_line(" \n", 10), None);
        assert_eq!(clip("ééééé", 5), "ééééé");
        assert_eq!(clip("éééééé", 5), "éééé…");
        assert_eq!(tail("aéé", 3), "é");
        assert_eq!(tail("ab", 9), "ab");
    }
}
