//! A real HTTP server that answers from a script, on a port of its own.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// What the server does with a request, step by step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(String),
    Pause(u64),
    /// Says nothing more until the other side closes.
    Hang,
    Close,
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    answers: Mutex<VecDeque<Vec<Step>>>,
    requests: Mutex<Vec<(String, String)>>,
    connections: AtomicUsize,
    /// One permit for each connection that the other side closed.
    closed: Semaphore,
}

impl Server {
    /// One answer a request, in order; a request too many is hung up on.
    pub(super) async fn start(answers: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: Semaphore::new(0),
        });
        let server = Self { address, shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(socket, Arc::clone(&shared)));
            }
        });
        server
    }

    /// Head and body of each request so far.
    pub(super) fn requests(&self) -> Vec<(String, String)> {
        self.shared.requests.lock().expect("unharmed").clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Waits until the other side has closed a connection.
    pub(super) async fn closed(&self) {
        let closed = tokio::time::timeout(Duration::from_secs(2), self.shared.closed.acquire());
        closed.await.expect("it closes in time").expect("open").forget();
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        shared.requests.lock().expect("unharmed").push(request);
        let answer = shared.answers.lock().expect("unharmed").pop_front();
        let Some(answer) = answer else { return };
        for step in answer {
            match step {
                Step::Send(text) => {
                    if socket.write_all(text.as_bytes()).await.is_err() {
                        shared.closed.add_permits(1);
                        return;
                    }
                }
                Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Step::Hang => {
                    while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                    shared.closed.add_permits(1);
                    return;
                }
                Step::Close => return,
            }
        }
    }
    shared.closed.add_permits(1);
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.expect("every request says how long it is");
            if rest.len() >= length {
                buffer.clear();
                return Some((head.to_owned(), rest.to_owned()));
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// The head of a stream.
pub(super) fn stream_head() -> Step {
    Step::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".into(),
    )
}

/// One chunk with one event.
pub(super) fn event(json: &str) -> Step {
    chunk(&format!("data: {json}\n\n"))
}

pub(super) fn chunk(text: &str) -> Step {
    Step::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

pub(super) fn end() -> Step {
    Step::Send("0\r\n\r\n".into())
}

/// A whole answer that is no stream.
pub(super) fn document(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}"))]
}

/// An answer of Chat Completions that says `text`.
pub(super) fn saying(text: &str) -> Vec<Step> {
    vec![
        stream_head(),
        event(&format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}")),
        event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
        event(r#"{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100}}"#),
        event("[DONE]"),
        end(),
    ]
}
