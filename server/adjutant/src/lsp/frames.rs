//! Takes frames off the client's stream, so that nothing malformed reaches the LSP library.
//!
//! The library ends the whole server at the first bad frame. Here a bad one is answered and dropped: it is replaced by a
//! request under [`BAD_FRAME`], which [`super::guard`] answers, so that the error leaves in order through the one writer.

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Larger messages are skipped.
pub(super) const MAX_FRAME_BYTES: usize = 64 << 20;

/// Room for a message that is kept for the next one.
const KEPT_BYTES: usize = 1 << 20;

/// The method of the request that stands for a frame that could not be used; `params` has `code`, `message`
/// and the `id` to answer under.
pub(super) const BAD_FRAME: &str = "adjutant/internal/badFrame";

/// A header line longer than this is not one of the protocol.
const MAX_HEADER_BYTES: u64 = 8 << 10;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;

/// Why a frame is not passed on.
#[derive(Debug, Clone, PartialEq)]
struct Fault {
    code: i64,
    message: String,
    /// Of the request, where it could be read: the error is answered under it.
    id: Value,
}

impl Fault {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: Value::Null }
    }
}

/// Copies good frames from `input` to `output` until the input ends.
pub(super) async fn sift(input: impl AsyncRead + Unpin, mut output: DuplexStream) {
    let mut input = BufReader::new(input);
    let mut body = Vec::new();
    loop {
        let message = match read_headers(&mut input).await {
            Headers::End => return,
            Headers::Length { length, garbage } => {
                if garbage && write_message(&mut output, &bad_frame(&not_a_frame())).await.is_err() {
                    return;
                }
                match read_body(&mut input, length, &mut body).await {
                    Ok(true) => checked(&body),
                    Ok(false) => {
                        let message =
                            format!("a message of {length} bytes is too large: the limit is 64 MiB");
                        Err(Fault::new(INVALID_REQUEST, message))
                    }
                    Err(_) => return,
                }
            }
            Headers::Unusable => Err(not_a_frame()),
        };
        let message = message.unwrap_or_else(|fault| {
            tracing::warn!(code = fault.code, message = fault.message, "skipped a frame");
            bad_frame(&fault)
        });
        if write_message(&mut output, &message).await.is_err() {
            return;
        }
        if body.capacity() > KEPT_BYTES {
            body = Vec::new();
        }
    }
}

/// Writes a message as a frame. It is written anew and not passed on as it came: what the library reads is then known to
/// be what was checked, whatever duplicate keys or odd escapes stood in the frame.
async fn write_message(output: &mut DuplexStream, message: &Map<String, Value>) -> std::io::Result<()> {
    let body = serde_json::to_vec(message)?;
    output.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
    output.write_all(&body).await
}

fn not_a_frame() -> Fault {
    Fault::new(PARSE_ERROR, "a frame has no usable Content-Length header")
}

enum Headers {
    /// `garbage`: something stood before the header that is no part of a frame.
    Length {
        length: usize,
        garbage: bool,
    },
    Unusable,
    End,
}

const LENGTH_HEADER: &str = "content-length:";

/// Reads header lines up to the empty line. Blank lines before the first header are noise and skipped. After a frame
/// whose length was wrong the next header stands at the end of a line of rubbish: it is looked for anywhere in a line, so
/// that one bad frame does not cost those after it.
async fn read_headers(input: &mut (impl AsyncBufReadExt + Unpin)) -> Headers {
    let mut length = None;
    let mut any = false;
    let mut garbage = false;
    // The end of a piece of an overlong line, in which the header's name may have been cut.
    let mut rest = String::new();
    loop {
        let mut line = Vec::new();
        match (&mut *input).take(MAX_HEADER_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return Headers::End,
            Ok(_) => {}
        }
        let whole = line.ends_with(b"\n");
        let line = std::mem::take(&mut rest) + &String::from_utf8_lossy(&line);
        let trimmed = line.trim();
        if trimmed.is_empty() && whole {
            match (any, length) {
                (false, _) => continue,
                (true, Some(length)) => return Headers::Length { length, garbage },
                (true, None) => return Headers::Unusable,
            }
        }
        any = true;
        match trimmed.to_ascii_lowercase().rfind(LENGTH_HEADER) {
            Some(at) => {
                length = trimmed.get(at + LENGTH_HEADER.len()..).and_then(|value| value.trim().parse().ok());
                garbage |= at > 0;
            }
            None => garbage |= !trimmed.to_ascii_lowercase().starts_with("content-"),
        }
        if !whole {
            let keep = line.char_indices().rev().nth(64).map_or(0, |(at, _)| at);
            line[keep..].clone_into(&mut rest);
        }
    }
}

/// Reads a body of `length` bytes, or skips it where it is too large and answers false.
async fn read_body(
    input: &mut (impl AsyncRead + Unpin),
    length: usize,
    body: &mut Vec<u8>,
) -> std::io::Result<bool> {
    body.clear();
    if length > MAX_FRAME_BYTES {
        tokio::io::copy(&mut input.take(length as u64), &mut tokio::io::sink()).await?;
        return Ok(false);
    }
    // Read through `take`, so that a length that lies does not make us allocate what never comes.
    if input.take(length as u64).read_to_end(body).await? < length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(true)
}

/// The message of a body, if the library can read it.
fn checked(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    let text = std::str::from_utf8(body).map_err(|_| Fault::new(PARSE_ERROR, "a message is not UTF-8"))?;
    if text.trim_start().starts_with('[') {
        return Err(Fault::new(INVALID_REQUEST, "batches are not part of the language server protocol"));
    }
    let mut message: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
        Fault::new(code, format!("a message is not a JSON-RPC object: {error}"))
    })?;
    let id = message.get("id").cloned();
    let invalid = |message: &str| {
        let id = id.clone().filter(|id| id.is_string() || id.is_i64()).unwrap_or_default();
        Fault { id, ..Fault::new(INVALID_REQUEST, message) }
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    if id.as_ref().is_some_and(|id| !id.is_string() && !id.is_i64()) {
        return Err(invalid("`id` must be an integer or a string"));
    }
    match message.get("method") {
        Some(Value::String(method)) if method == BAD_FRAME => {
            let message = format!("unknown method {method}");
            return Err(Fault { code: UNKNOWN_METHOD, message, ..invalid("") });
        }
        Some(Value::String(method)) => {
            let ours = method.starts_with("adjutant/");
            let params = message.get("params");
            if ours && params.is_none_or(Value::is_null) {
                // All fields of some methods are optional; the library would refuse a call without parameters.
                message.insert("params".to_owned(), Value::Object(Map::new()));
            } else if params
                .is_some_and(|params| !params.is_object() && !params.is_array() && !params.is_null())
            {
                return Err(invalid("`params` must be an object or an array"));
            }
        }
        Some(_) => return Err(invalid("`method` must be a string")),
        None => check_response(&message).map_err(invalid)?,
    }
    Ok(message)
}

/// What must hold of a message without a method: it answers a request of ours.
fn check_response(message: &Map<String, Value>) -> Result<(), &'static str> {
    if message.get("id").is_none_or(Value::is_null) {
        return Err("a message has neither `method` nor an `id` that it answers");
    }
    match (message.contains_key("result"), message.get("error")) {
        (true, None) => Ok(()),
        (_, Some(error)) => {
            let shaped = error.get("code").is_some_and(Value::is_i64)
                && error.get("message").is_some_and(Value::is_string);
            if shaped { Ok(()) } else { Err("`error` must have `code` and `message`") }
        }
        (false, None) => Err("an answer has neither `result` nor `error`"),
    }
}

fn bad_frame(fault: &Fault) -> Map<String, Value> {
    let params = json!({ "code": fault.code, "message": fault.message, "id": fault.id });
    let message = json!({ "jsonrpc": "2.0", "id": null, "method": BAD_FRAME, "params": params });
    match message {
        Value::Object(message) => message,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sifted(input: &[u8]) -> Vec<String> {
        let (output, mut seen) = tokio::io::duplex(1 << 20);
        sift(input, output).await;
        let mut bytes = Vec::new();
        seen.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        text.split("Content-Length: ")
            .skip(1)
            .map(|frame| frame.split_once("\r\n\r\n").unwrap().1.to_owned())
            .collect()
    }

    fn frame(body: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    const GOOD: &str = r#"{"jsonrpc":"2.0","method":"x"}"#;
    const GOOD_AGAIN: &str = GOOD;

    #[tokio::test]
    async fn good_frames_pass_in_any_header_case() {
        let mut input = format!("content-LENGTH:{}\nContent-Type: x\n\n{GOOD}", GOOD.len()).into_bytes();
        input.extend(b"\r\n\r\n");
        input.extend(frame(r#"{"jsonrpc":"2.0","id":1,"result":null}"#));
        assert_eq!(sifted(&input).await, [GOOD, r#"{"id":1,"jsonrpc":"2.0","result":null}"#]);
    }

    #[tokio::test]
    async fn every_malformed_frame_becomes_one_error_and_the_stream_goes_on() {
        let bodies = [
            ("{", PARSE_ERROR),
            ("", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","method":5}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":null,"params":{}}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":5}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e999}}"#, PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud800"}}"#, PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":1,"method":"adjutant/internal/badFrame"}"#, UNKNOWN_METHOD),
        ];
        for (body, code) in bodies {
            let mut input = frame(body);
            input.extend(frame(GOOD));
            let out = sifted(&input).await;
            assert_eq!(out.len(), 2, "{body}");
            let error: serde_json::Value = serde_json::from_str(&out[0]).unwrap();
            assert_eq!(error["params"]["code"], code, "{body}");
            assert_eq!(out[1], GOOD);
        }
    }

    #[tokio::test]
    async fn bad_headers_and_bytes_are_skipped() {
        for head in ["Content-Length: many\r\n\r\n", "Nothing: here\r\n\r\n", "Content-Length: -4\r\n\r\n"] {
            let mut input = head.as_bytes().to_vec();
            input.extend(frame(GOOD));
            let out = sifted(&input).await;
            assert_eq!((out.len(), out[1].as_str()), (2, GOOD), "{head}");
        }
        let mut input = b"Content-Length: 3\r\n\r\n\xff\xfe\xfd".to_vec();
        input.extend(frame(GOOD));
        assert_eq!(sifted(&input).await.len(), 2);
    }

    #[tokio::test]
    async fn a_bad_header_with_a_body_costs_one_error_and_no_later_frame() {
        for head in ["many", "-4", "3", "x: 5\r\nContent-Lenght: 7"] {
            let mut input = format!("Content-Length: {head}\r\n\r\n{GOOD}").into_bytes();
            for _ in 0..3 {
                input.extend(frame(GOOD));
            }
            let out = sifted(&input).await;
            let good = out.iter().filter(|message| *message == GOOD_AGAIN).count();
            assert_eq!(good, 3, "{head}: {out:?}");
            assert!(out.iter().any(|message| message.contains("-32700")), "{head}: {out:?}");
        }
    }

    #[tokio::test]
    async fn a_length_that_lies_ends_quietly_with_the_stream() {
        assert!(sifted(b"Content-Length: 50000000\r\n\r\n{}").await.is_empty());
    }

    #[tokio::test]
    async fn what_nests_too_deep_is_refused() {
        let deep =
            format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let mut input = frame(&deep);
        input.extend(frame(GOOD));
        let out = sifted(&input).await;
        assert!(out[0].contains("-32700") && out[1] == GOOD, "{out:?}");
    }

    #[tokio::test]
    async fn a_refusal_is_answered_under_the_id_that_could_be_read() {
        let out = sifted(&frame(r#"{"jsonrpc":"1.0","id":77,"method":"x"}"#)).await;
        let error: Value = serde_json::from_str(&out[0]).unwrap();
        assert_eq!(error["params"]["id"], 77);
    }

    #[tokio::test]
    async fn our_methods_may_be_called_without_parameters_and_twice_named_keys_count_once() {
        let out = sifted(&frame(r#"{"jsonrpc":"2.0","id":1,"method":"adjutant/ping"}"#)).await;
        assert!(out[0].contains(r#""params":{}"#), "{out:?}");
        let out =
            sifted(&frame(r#"{"jsonrpc":"2.0","id":1,"method":"adjutant/ping","params":{},"params":{}}"#))
                .await;
        assert_eq!(out[0].matches("params").count(), 1);
    }
}
