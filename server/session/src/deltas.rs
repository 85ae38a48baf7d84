//! Pieces of a message while it is being written, and how often they are told.

use std::sync::Arc;
use std::time::Duration;

use model::{AssistantBlock, AssistantMessage};
use tokio::time::{Instant, sleep_until};
use vocab::EntryId;

use crate::event::{Delta, SessionEvent};

/// Between two flushes to a watcher: sixty a second.
const FLUSH_EVERY: Duration = Duration::from_micros(16_667);

/// Bytes of one piece at most: an event stays a small message, however its text is escaped.
const PIECE_BYTES: usize = 8 << 10;

/// Lets the first of a burst pass at once and the rest sixty times a second.
#[derive(Debug)]
pub(crate) struct Pacer {
    next: Instant,
    /// Whether something waits for the next turn.
    pub(crate) armed: bool,
}

impl Pacer {
    pub(crate) fn new() -> Self {
        Self { next: Instant::now(), armed: false }
    }

    /// Whether to flush now; if not, [`wait`](Self::wait) says when.
    pub(crate) fn due(&mut self) -> bool {
        let now = Instant::now();
        self.armed = now < self.next;
        if !self.armed {
            self.next = now + FLUSH_EVERY;
        }
        !self.armed
    }

    /// Waits for the time of the next flush. Poll it only while armed.
    pub(crate) async fn wait(&self) {
        sleep_until(self.next).await;
    }
}

/// How much of a message has been told.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    text: usize,
    thinking: usize,
    /// Bytes of arguments of each call, in order.
    calls: Vec<usize>,
}

impl Cursor {
    /// Tells what is new since the last time.
    pub(crate) fn flush(
        &mut self,
        entry_id: &EntryId,
        message: &AssistantMessage,
        mut emit: impl FnMut(SessionEvent),
    ) {
        let (mut text_seen, mut thinking_seen, mut call_index) = (0, 0, 0);
        let delta = |offset, text: &str| Delta { entry_id: entry_id.clone(), offset, text: text.to_owned() };
        for block in &message.content {
            match block {
                AssistantBlock::Text { text } => {
                    while let Some((offset, piece)) = piece(text, text_seen, &mut self.text) {
                        emit(SessionEvent::TextDelta(delta(offset, piece)));
                    }
                    text_seen += text.len();
                }
                AssistantBlock::Thinking { text, .. } => {
                    while let Some((offset, piece)) = piece(text, thinking_seen, &mut self.thinking) {
                        emit(SessionEvent::ThinkingDelta(delta(offset, piece)));
                    }
                    thinking_seen += text.len();
                }
                AssistantBlock::ToolCall { id, name, arguments } => {
                    let mut fresh = self.calls.len() == call_index;
                    if fresh {
                        self.calls.push(0);
                    }
                    let told = &mut self.calls[call_index];
                    // A call is told as soon as its name is known, though its arguments are yet to come.
                    while fresh || *told < arguments.len() {
                        fresh = false;
                        let (offset, piece) = piece(arguments, 0, told).unwrap_or((0, ""));
                        emit(SessionEvent::ToolCallDelta {
                            tool_call_id: id.clone(),
                            name: Arc::from(name.as_str()),
                            delta: delta(offset, piece),
                        });
                    }
                    call_index += 1;
                }
            }
        }
    }

    /// Counts everything as told: a page has it.
    pub(crate) fn skip(&mut self, entry_id: &EntryId, message: &AssistantMessage) {
        self.flush(entry_id, message, |_| {});
    }
}

/// The next of what lies beyond `told` of a text that begins at `start`, with its offset.
fn piece<'a>(text: &'a str, start: usize, told: &mut usize) -> Option<(usize, &'a str)> {
    let offset = *told;
    let piece = text.get(offset.saturating_sub(start)..)?;
    if offset >= start + text.len() {
        return None;
    }
    let piece = &piece[..piece.floor_char_boundary(PIECE_BYTES)];
    *told = offset.max(start) + piece.len();
    Some((offset, piece))
}

#[cfg(test)]
mod tests {
    use model::{AssistantBlock, AssistantMessage};

    use super::Cursor;
    use crate::event::SessionEvent;

    fn told(cursor: &mut Cursor, message: &AssistantMessage) -> Vec<(usize, String)> {
        let mut pieces = Vec::new();
        cursor.flush(&"e1".into(), message, |event| match event {
            SessionEvent::TextDelta(delta) | SessionEvent::ThinkingDelta(delta) => {
                pieces.push((delta.offset, delta.text));
            }
            SessionEvent::ToolCallDelta { delta, .. } => pieces.push((delta.offset, delta.text)),
            other => panic!("{other:?}"),
        });
        pieces
    }

    fn text(text: &str) -> AssistantBlock {
        AssistantBlock::Text { text: text.into() }
    }

    #[test]
    fn what_comes_at_once_is_told_in_small_pieces() {
        let long = "é\u{1}".repeat(100_000);
        let mut cursor = Cursor::default();
        let call =
            AssistantBlock::ToolCall { id: "c1".into(), name: "write".into(), arguments: long.clone() };
        let message =
            AssistantMessage { content: vec![text(&long), text("end"), call], ..Default::default() };
        let pieces = told(&mut cursor, &message);
        assert!(pieces.iter().all(|(_, piece)| serde_json::to_string(piece).unwrap().len() < 60 << 10));
        let mut whole = (String::new(), String::new());
        for (offset, piece) in &pieces {
            let part = if whole.0.len() < long.len() + 3 { &mut whole.0 } else { &mut whole.1 };
            assert_eq!(*offset, part.len());
            part.push_str(piece);
        }
        assert_eq!(whole, (format!("{long}end"), long));
        assert_eq!(told(&mut cursor, &message), []);
    }

    #[test]
    fn pieces_follow_one_another_over_blocks() {
        let mut cursor = Cursor::default();
        let mut message = AssistantMessage { content: vec![text("ab")], ..AssistantMessage::default() };
        assert_eq!(told(&mut cursor, &message), [(0, "ab".into())]);
        assert_eq!(told(&mut cursor, &message), []);
        message.content[0] = text("abé");
        let call = AssistantBlock::ToolCall { id: "c".into(), name: "read".into(), arguments: String::new() };
        message.content.push(call);
        message.content.push(text("x"));
        assert_eq!(told(&mut cursor, &message), [(2, "é".into()), (0, String::new()), (4, "x".into())]);
        if let AssistantBlock::ToolCall { arguments, .. } = &mut message.content[1] {
            arguments.push_str("{}");
        }
        assert_eq!(told(&mut cursor, &message), [(0, "{}".into())]);
        message.content[2] = text("xyz");
        cursor.skip(&"e1".into(), &message);
        assert_eq!(told(&mut cursor, &message), []);
    }
}
