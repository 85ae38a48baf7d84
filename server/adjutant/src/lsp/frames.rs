//! Takes frames off the client's stream, so that nothing malformed reaches the LSP library.
//!
//! The library ends the whole server at the first bad frame. Here a bad one is answered and dropped: it is replaced by a
//! request under [`BAD_FRAME`], which [`super::guard`] answers, so that the error leaves in order through the one writer.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Larger messages are skipped.
pub(super) const MAX_FRAME_BYTES: usize = 64 << 20;

/// The method of the request that stands for a frame that could not be used; `params` has `code` and `message`.
pub(super) const BAD_FRAME: &str = "adjutant/internal/badFrame";

/// A header line longer than this is not one of the protocol.
const MAX_HEADER_BYTES: u64 = 8 << 10;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// Copies good frames from `input` to `output` until the input ends.
pub(super) async fn sift(input: impl AsyncRead + Unpin, mut output: DuplexStream) {
    let mut input = BufReader::new(input);
    let mut body = Vec::new();
    loop {
        let verdict = match read_headers(&mut input).await {
            Headers::End => return,
            Headers::Length(length) => match read_body(&mut input, length, &mut body).await {
                Ok(true) => check(&body),
                Ok(false) => Err((
                    INVALID_REQUEST,
                    format!("a message of {length} bytes is too large: the limit is 64 MiB"),
                )),
                Err(_) => return,
            },
            Headers::Unusable => Err((PARSE_ERROR, "a frame has no usable Content-Length header".to_owned())),
        };
        if let Err((code, message)) = verdict {
            tracing::warn!(code, message, "skipped a frame");
            body = bad_frame(code, &message);
        }
        let header = format!("Content-Length: {}\r\n\r\n", body.len());
        if output.write_all(header.as_bytes()).await.is_err() || output.write_all(&body).await.is_err() {
            return;
        }
    }
}

enum Headers {
    Length(usize),
    Unusable,
    End,
}

/// Reads header lines up to the empty line. Blank lines before the first header are noise and skipped.
async fn read_headers(input: &mut (impl AsyncBufReadExt + Unpin)) -> Headers {
    let mut length = None;
    let mut any = false;
    loop {
        let mut line = Vec::new();
        match (&mut *input).take(MAX_HEADER_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return Headers::End,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            match (any, length) {
                (false, _) => continue,
                (true, Some(length)) => return Headers::Length(length),
                (true, None) => return Headers::Unusable,
            }
        }
        any = true;
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
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

/// What must hold of a message before the library may see it.
fn check(body: &[u8]) -> Result<(), (i64, String)> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        jsonrpc: Option<&'a str>,
        #[serde(default, borrow)]
        method: Option<std::borrow::Cow<'a, str>>,
        id: Option<serde_json::Value>,
        result: Option<IgnoredAny>,
        error: Option<serde_json::Value>,
    }

    let text = std::str::from_utf8(body).map_err(|_| (PARSE_ERROR, "a message is not UTF-8".to_owned()))?;
    if text.trim_start().starts_with('[') {
        return Err((INVALID_REQUEST, "batches are not part of the language server protocol".to_owned()));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
        (code, format!("a message is not a JSON-RPC object: {error}"))
    })?;
    if envelope.jsonrpc != Some("2.0") {
        return Err((INVALID_REQUEST, "`jsonrpc` must be \"2.0\"".to_owned()));
    }
    let id_fits = match &envelope.id {
        None | Some(serde_json::Value::String(_)) => true,
        Some(serde_json::Value::Number(number)) => number.is_i64(),
        Some(_) => false,
    };
    if !id_fits {
        return Err((INVALID_REQUEST, "`id` must be an integer or a string".to_owned()));
    }
    // `result: null` reads as absent, so a response is known by its id.
    let is_response = envelope.result.is_some() || envelope.error.is_some() || envelope.id.is_some();
    if envelope.method.is_none() && !is_response {
        return Err((INVALID_REQUEST, "a message has neither `method` nor `result` nor `error`".to_owned()));
    }
    if let Some(error) = &envelope.error
        && !(error.get("code").is_some_and(serde_json::Value::is_i64)
            && error.get("message").is_some_and(serde_json::Value::is_string))
    {
        return Err((INVALID_REQUEST, "`error` must have `code` and `message`".to_owned()));
    }
    Ok(())
}

fn bad_frame(code: i64, message: &str) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": null, "method": BAD_FRAME, "params": { "code": code, "message": message } })
        .to_string()
        .into_bytes()
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

    #[tokio::test]
    async fn good_frames_pass_in_any_header_case() {
        let mut input = format!("content-LENGTH:{}\nContent-Type: x\n\n{GOOD}", GOOD.len()).into_bytes();
        input.extend(b"\r\n\r\n");
        input.extend(frame(r#"{"jsonrpc":"2.0","id":1,"result":null}"#));
        assert_eq!(sifted(&input).await, [GOOD, r#"{"jsonrpc":"2.0","id":1,"result":null}"#]);
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
    async fn a_length_that_lies_ends_quietly_with_the_stream() {
        assert!(sifted(b"Content-Length: 50000000\r\n\r\n{}").await.is_empty());
    }
}
