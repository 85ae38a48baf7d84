//! LSP frames, read strictly: whatever else a server writes to its output is a fault.

use std::io::{self, BufRead, Read};

use serde_json::Value;

/// A header line, or a body, past which no honest server goes.
const HEADER_LIMIT: u64 = 256;
const BODY_LIMIT: usize = 64 << 20;

/// What came.
#[derive(Debug)]
pub(super) enum Frame {
    Message {
        value: Value,
        /// Of the body.
        bytes: usize,
    },
    /// Something that is no frame, in words; nothing after it can be read.
    Garbage(String),
    End,
}

/// Reads the next frame.
pub(super) fn read(input: &mut impl BufRead) -> Frame {
    try_read(input).unwrap_or_else(|error| Frame::Garbage(error.to_string()))
}

fn try_read(input: &mut impl BufRead) -> io::Result<Frame> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.by_ref().take(HEADER_LIMIT).read_until(b'\n', &mut line)?;
        if line.is_empty() && length.is_none() {
            return Ok(Frame::End);
        }
        let text = String::from_utf8_lossy(&line);
        let Some(header) = text.strip_suffix("\r\n") else {
            return Ok(Frame::Garbage(format!("a header line was expected, not {text:?}")));
        };
        match (header.split_once(": "), length) {
            (None, Some(length)) if header.is_empty() => return body(input, length),
            (Some(("Content-Length", value)), None) => {
                length = value.parse::<usize>().ok().filter(|length| *length <= BODY_LIMIT);
                if length.is_none() {
                    return Ok(Frame::Garbage(format!("a length that is none: {value}")));
                }
            }
            (Some(("Content-Type", _)), _) => {}
            _ => return Ok(Frame::Garbage(format!("a header that is none: {header:?}"))),
        }
    }
}

fn body(input: &mut impl BufRead, length: usize) -> io::Result<Frame> {
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(match serde_json::from_slice(&body) {
        Ok(value) => Frame::Message { value, bytes: length },
        Err(error) => Frame::Garbage(format!("a body that is no JSON: {error}")),
    })
}

/// A message as it is sent.
pub(super) fn encode(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn frames_and_garbage() {
        let mut input = io::Cursor::new([encode(&json!({ "a": 1 })), b"log line\n".to_vec()].concat());
        assert!(matches!(read(&mut input), Frame::Message { value, .. } if value == json!({ "a": 1 })));
        assert!(matches!(read(&mut input), Frame::Garbage(_)));
        assert!(matches!(read(&mut io::Cursor::new(b"")), Frame::End));
        assert!(matches!(read(&mut io::Cursor::new(b"Content-Length: 9\r\n\r\n{}")), Frame::Garbage(_)));
    }
}
