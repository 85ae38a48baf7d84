//! The least program for a fan-out: n conversations at a time, each with k tool turns and an answer, with requests as
//! large as a real host's, and nothing else. No host can be faster on this machine.
//!
//! `floor --port P --n 1000 --k 5 --delay-ms 20 --tokens 50 [--tok-ms 0] [--pad 9000]`

use std::io::{Error, ErrorKind, Result, Write};
use std::time::Instant;

use serde_json::{Value, json};
use support::process;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let number = |key: &str, default: u64| -> u64 {
        let at = args.iter().position(|arg| arg == &format!("--{key}"));
        at.and_then(|at| args.get(at + 1)).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (port, n, k) = (number("port", 8377) as u16, number("n", 100), number("k", 5));
    let directive = format!(
        "[[steps k={k} tool=read delay_ms={} tokens={} tok_ms={}",
        number("delay-ms", 20),
        number("tokens", 50),
        number("tok-ms", 0)
    );
    let pad = "x".repeat(number("pad", 9000) as usize);
    let start = Instant::now();
    let conversations: Vec<_> = (0..n)
        .map(|i| tokio::spawn(conversation(port, k, format!("{directive} id={i}]]"), pad.clone())))
        .collect();
    let mut turns = 0;
    for conversation in conversations {
        turns += conversation.await.map_err(Error::other)??;
    }
    let wall = start.elapsed().as_secs_f64();
    let own = process::Usage::of(std::process::id());
    let figures = json!({
        "n": n, "turns": turns, "wall_s": wall, "cpu_s": own.cpu_s, "peak_rss_mib": own.peak_rss_mib,
    });
    writeln!(std::io::stdout(), "{figures}")
}

async fn conversation(port: u16, k: u64, prompt: String, pad: String) -> Result<u64> {
    let mut tcp = TcpStream::connect(("127.0.0.1", port)).await?;
    tcp.set_nodelay(true)?;
    let mut messages =
        vec![json!({ "role": "system", "content": pad }), json!({ "role": "user", "content": prompt })];
    for turn in 0..=k {
        let body = json!({ "model": "fake", "stream": true, "messages": messages }).to_string();
        let length = body.len();
        let head =
            format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        tcp.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await?;
        let reply = read_reply(&mut tcp).await?;
        let Some(calls) = reply["tool_calls"].as_array().cloned() else { return Ok(turn + 1) };
        messages.push(reply);
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
            let path = arguments["path"].as_str().unwrap_or_default();
            let output = std::fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": output }));
        }
    }
    Ok(k + 1)
}

/// Reads one chunked response to its end and puts the assistant's message together, parsing every event.
async fn read_reply(tcp: &mut TcpStream) -> Result<Value> {
    let (mut buffer, mut text, mut calls) = (Vec::with_capacity(16 << 10), String::new(), Vec::new());
    let mut seen = 0;
    loop {
        if tcp.read_buf(&mut buffer).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // The server sends whole events in each chunk, so that chunk heads never split one.
        while let Some(end) = find(&buffer[seen..], b"\n\n").map(|at| seen + at) {
            let event = &buffer[seen..end];
            if let Some(at) = find(event, b"data: ")
                && let Ok(value) = serde_json::from_slice::<Value>(&event[at + 6..])
            {
                let delta = &value["choices"][0]["delta"];
                text.push_str(delta["content"].as_str().unwrap_or_default());
                calls.extend(delta["tool_calls"].as_array().into_iter().flatten().cloned());
            }
            seen = end + 2;
        }
        if buffer.ends_with(b"0\r\n\r\n") {
            break;
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Ok(message)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
