//! Server-sent events, decoded byte by byte as they arrive: whatever the line ends, wherever the network cuts.
//!
//! An event that lies whole in one chunk, which is nearly every event, is handed on without being copied.

use std::mem;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::ModelError;

/// The longest event that is taken, in bytes; a longer one is a fault of the other side.
const MAX_EVENT: usize = 8 << 20;
/// A buffer that grew larger is given back as soon as it is empty.
const KEPT_BUFFER: usize = 64 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Takes the data lines of one event, joined by line feeds. Event names are left out: every provider repeats them in
/// the data.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), ModelError>;

/// An incremental decoder of one stream. It never re-sends or reconnects anything.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Bytes of an event whose end has not arrived.
    pending: Vec<u8>,
    event: Partial,
    /// The last line ended with a carriage return; a line feed that follows belongs to it.
    after_return: bool,
    /// The first line has been read, so that a byte-order mark is no longer one.
    begun: bool,
}

/// How far an event has been read. Offsets count from its first byte.
#[derive(Debug, Default)]
struct Partial {
    /// Where the current line begins.
    line: usize,
    /// Where the search for its end goes on: no byte is searched twice.
    scan: usize,
    data: Option<Range<usize>>,
    /// The data of an event with several data lines.
    joined: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes a chunk and hands each event that it completes to `sink`, whose error ends the decoding.
    pub(crate) fn feed(&mut self, chunk: &[u8], sink: Sink<'_>) -> Result<(), ModelError> {
        if self.pending.is_empty() {
            let used = self.decode(chunk, sink)?;
            self.pending.extend_from_slice(&chunk[used..]);
        } else {
            let mut pending = mem::take(&mut self.pending);
            pending.extend_from_slice(chunk);
            let used = self.decode(&pending, sink)?;
            pending.drain(..used);
            if !pending.is_empty() || pending.capacity() <= KEPT_BUFFER {
                self.pending = pending;
            }
        }
        if self.pending.len() > MAX_EVENT {
            return Err(ModelError::Malformed {
                detail: format!("one event is longer than {MAX_EVENT} bytes"),
            });
        }
        Ok(())
    }

    /// The stream has ended: hands on an event whose closing blank line is missing.
    pub(crate) fn finish(&mut self, sink: Sink<'_>) -> Result<(), ModelError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.feed(b"\n\n", sink)
    }

    /// Reads lines of `bytes`, which begin with the first byte of the current event; returns how many are done with.
    fn decode(&mut self, bytes: &[u8], sink: Sink<'_>) -> Result<usize, ModelError> {
        let mut start = 0;
        loop {
            let event = &bytes[start..];
            if self.after_return && event.len() > self.event.line {
                if event[self.event.line] == b'\n' {
                    self.event.line += 1;
                    self.event.scan += 1;
                }
                self.after_return = false;
            }
            let Some(found) = memchr2(b'\n', b'\r', &event[self.event.scan..]) else {
                self.event.scan = event.len();
                return Ok(start);
            };
            let end = self.event.scan + found;
            self.after_return = event[end] == b'\r';
            let is_blank = self.read_line(event, self.event.line..end);
            self.event.line = end + 1;
            self.event.scan = end + 1;
            if is_blank || self.event.data.is_none() {
                start += end + 1;
                let done = mem::take(&mut self.event);
                if let Some(data) = done.data {
                    sink(done.joined.as_deref().unwrap_or(&event[data]))?;
                }
            }
        }
    }

    /// Takes in one line of the event; true for the blank one that ends it.
    fn read_line(&mut self, event: &[u8], mut line: Range<usize>) -> bool {
        if !mem::replace(&mut self.begun, true) && event[line.clone()].starts_with(BYTE_ORDER_MARK) {
            line.start += BYTE_ORDER_MARK.len();
        }
        let text = &event[line.clone()];
        // A comment begins with a colon, so that its field name is empty; a field without a colon has no value.
        let colon = memchr(b':', text).unwrap_or(text.len());
        if &text[..colon] == b"data" {
            let mut value = (line.start + colon + 1).min(line.end)..line.end;
            if event[value.clone()].first() == Some(&b' ') {
                value.start += 1;
            }
            self.event.add_data(event, value);
        }
        text.is_empty()
    }
}

impl Partial {
    fn add_data(&mut self, event: &[u8], value: Range<usize>) {
        let Some(first) = &self.data else {
            self.data = Some(value);
            return;
        };
        let joined = self.joined.get_or_insert_with(|| event[first.clone()].to_vec());
        joined.push(b'\n');
        joined.extend_from_slice(&event[value]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, MAX_EVENT};

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        let mut sink = |data: &[u8]| {
            events.push(String::from_utf8_lossy(data).into_owned());
            Ok(())
        };
        for chunk in chunks {
            decoder.feed(chunk, &mut sink).expect("short events");
        }
        decoder.finish(&mut sink).expect("short events");
        events
    }

    const FIXTURES: &[(&str, &[&str])] = &[
        ("data: one\n\ndata: two\n\n", &["one", "two"]),
        ("data: one\r\n\r\ndata: two\r\n\r\n", &["one", "two"]),
        ("data: one\r\rdata: two\r\r", &["one", "two"]),
        ("data: one\r\n\ndata: two\n\r\ndata: three\r\r\n", &["one", "two", "three"]),
        ("\u{feff}data: marked\n\n", &["marked"]),
        ("\u{feff}\n\ndata: a\n\n", &["a"]),
        ("data: a\n\n\u{feff}data: not a mark here\n\n", &["a"]),
        ("data:tight\n\ndata:  two spaces\n\n", &["tight", " two spaces"]),
        (": comment\n\n:\n\ndata: a\n: inside\n\n", &["a"]),
        ("data: a\ndata: b\ndata:\ndata: d\n\n", &["a\nb\n\nd"]),
        ("event: ping\nid: 7\nretry: 10\nfoo: bar\nlonely\ndata: a\n\n", &["a"]),
        ("event: nothing\n\ndata: a\n\n", &["a"]),
        ("data\n\ndata:\n\n", &["", ""]),
        ("database: no\ndat: no\n\n", &[]),
        ("\n\n\r\n\r\rdata: a\n\n\n\n", &["a"]),
        ("data: no blank line", &["no blank line"]),
        ("data: no blank line\n", &["no blank line"]),
        ("data: one\n\ndata: cut {\"a\"", &["one", "cut {\"a\""]),
        ("data: ä€😀\n\ndata: {\"a\":\"b: c\"}\n\n", &["ä€😀", "{\"a\":\"b: c\"}"]),
        ("", &[]),
    ];

    #[test]
    fn fixtures_give_the_same_events_wherever_they_are_cut() {
        for (text, expected) in FIXTURES {
            assert_eq!(decode([text.as_bytes()]), *expected, "whole: {text:?}");
            assert_eq!(decode(text.as_bytes().chunks(1)), *expected, "single bytes: {text:?}");
            for cut in 0..text.len() {
                let (left, right) = text.as_bytes().split_at(cut);
                assert_eq!(decode([left, right]), *expected, "cut at {cut}: {text:?}");
            }
            for _ in 0..50 {
                let mut rest = text.as_bytes();
                let mut chunks = Vec::new();
                while !rest.is_empty() {
                    let (chunk, tail) = rest.split_at(fastrand::usize(1..=rest.len()));
                    chunks.push(chunk);
                    rest = tail;
                }
                assert_eq!(decode(chunks), *expected, "random cuts: {text:?}");
            }
        }
    }

    #[test]
    fn an_event_without_end_is_refused_and_comments_do_not_pile_up() {
        let mut decoder = Decoder::default();
        let mut sink = |_: &[u8]| Ok(());
        let comment = [b":".as_slice(), &[b'x'; 1000], b"\n"].concat();
        for _ in 0..20_000 {
            decoder.feed(&comment, &mut sink).expect("comments are no event");
        }
        assert!(decoder.pending.is_empty());
        decoder.feed(b"data: ", &mut sink).expect("short");
        let piece = vec![b'x'; 1 << 20];
        let failed = (0..=MAX_EVENT >> 20).any(|_| decoder.feed(&piece, &mut sink).is_err());
        assert!(failed);
    }
}
