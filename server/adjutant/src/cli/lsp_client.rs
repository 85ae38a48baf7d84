//! A small client of our own server: frames, requests with limits, a stream of notifications. The demo speaks through it
//! as an editor would.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::ClientRequest;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// The longest line of a header, and how many lines one may have.
const HEADER_LINE: u64 = 1 << 10;
const HEADER_LINES: usize = 16;
/// The longest message that is taken. The contract keeps every message far below.
const MESSAGE_BYTES: usize = 4 << 20;
/// Notifications and outgoing messages that wait; a full queue slows the other side down.
const QUEUE: usize = 1_024;

/// A connection to a server. Dropping it closes the server's input.
#[derive(Debug)]
pub(super) struct LspClient {
    outgoing: mpsc::Sender<Value>,
    waiting: Arc<Waiting>,
    next_id: AtomicI64,
    fault: Arc<OnceLock<String>>,
    /// Ended with the connection.
    _tasks: JoinSet<()>,
}

/// A message of the server that wants no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Notification {
    pub(super) method: String,
    pub(super) params: Value,
}

/// Why a request came to nothing. Texts are for a person.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum LspError {
    #[error("the server closed the connection")]
    Closed,
    #[error("the server did not answer `{method}` within {} ms", limit.as_millis())]
    TimedOut { method: &'static str, limit: Duration },
    #[error("`{method}` was refused: {message} ({code}){}", hint.as_deref().map_or(String::new(), |hint| format!("; {hint}")))]
    Refused { method: &'static str, code: i64, message: String, hint: Option<String> },
    #[error("the answer to `{method}` is not as agreed: {message}")]
    Malformed { method: &'static str, message: String },
}

/// Requests without an answer. Once the connection is closed there are none, and none can be added.
#[derive(Debug, Default)]
struct Waiting(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    closed: bool,
    answers: HashMap<i64, oneshot::Sender<Result<Value, ErrorAnswer>>>,
}

#[derive(Debug, Deserialize)]
struct ErrorAnswer {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

/// Any message, as far as it has to be told what it is.
#[derive(Debug, Deserialize)]
struct Incoming {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<ErrorAnswer>,
}

impl LspClient {
    /// Speaks over two streams. The notifications end when the server closes its output. Must be called in a runtime.
    pub(super) fn over<R, W>(input: R, output: W) -> (Self, mpsc::Receiver<Notification>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let (notify, notifications) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Waiting::default());
        let fault = Arc::new(OnceLock::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(write_all(output, queue));
        let (answers, replies, reason) = (Arc::clone(&waiting), outgoing.clone(), Arc::clone(&fault));
        tasks.spawn(async move {
            if let Err(error) = read_all(BufReader::new(input), &answers, &replies, &notify).await {
                // Only the first fault is of interest, and this is the only place that sets one.
                let _ = reason.set(error.to_string());
            }
            answers.close();
        });
        (Self { outgoing, waiting, next_id: AtomicI64::new(1), fault, _tasks: tasks }, notifications)
    }

    /// Why the connection broke, where the server did not simply close it.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    /// Calls a method of the contract and waits for its answer.
    pub(super) async fn request<M: ClientRequest>(
        &self,
        params: &M::Params,
        limit: Duration,
    ) -> Result<M::Result, LspError> {
        let malformed =
            |error: serde_json::Error| LspError::Malformed { method: M::NAME, message: error.to_string() };
        let params = serde_json::to_value(params).map_err(malformed)?;
        let answer = self.call(M::NAME, params, limit).await?;
        serde_json::from_value(answer).map_err(malformed)
    }

    /// Calls any method. When it takes too long, or the wait is dropped, the server is told that nobody waits.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, LspError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.waiting.add(id).ok_or(LspError::Closed)?;
        let wait = Wait { client: self, id };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let asked = async {
            self.outgoing.send(message).await.map_err(|_| LspError::Closed)?;
            answer.await.map_err(|_| LspError::Closed)
        };
        let answer =
            tokio::time::timeout(limit, asked).await.map_err(|_| LspError::TimedOut { method, limit })??;
        drop(wait);
        answer.map_err(|error| {
            let hint = error.data.as_ref().and_then(|data| data["hint"].as_str()).map(str::to_owned);
            LspError::Refused { method, code: error.code, message: error.message, hint }
        })
    }

    /// Sends a message that is not answered.
    pub(super) async fn notify(&self, method: &'static str, params: Value) -> Result<(), LspError> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.outgoing.send(message).await.map_err(|_| LspError::Closed)
    }
}

/// A request that is waited for. Dropped before its answer has come, it is taken back.
struct Wait<'c> {
    client: &'c LspClient,
    id: i64,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.client.waiting.take(self.id).is_some() {
            let cancel =
                json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": self.id } });
            // With a full queue the server is not reading anyway.
            let _ = self.client.outgoing.try_send(cancel);
        }
    }
}

impl Waiting {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: i64) -> Option<oneshot::Receiver<Result<Value, ErrorAnswer>>> {
        let (sender, answer) = oneshot::channel();
        let mut open = self.open();
        if open.closed {
            return None;
        }
        open.answers.insert(id, sender);
        Some(answer)
    }

    fn take(&self, id: i64) -> Option<oneshot::Sender<Result<Value, ErrorAnswer>>> {
        self.open().answers.remove(&id)
    }

    fn close(&self) {
        let mut open = self.open();
        open.closed = true;
        open.answers.clear();
    }
}

async fn write_all<W: AsyncWrite + Unpin>(mut output: W, mut queue: mpsc::Receiver<Value>) {
    while let Some(message) = queue.recv().await {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let written = async {
            output.write_all(frame.as_bytes()).await?;
            output.flush().await
        };
        // The reader notices a server that is gone.
        if written.await.is_err() {
            return;
        }
    }
}

async fn read_all<R: AsyncBufRead + Unpin>(
    mut input: R,
    waiting: &Waiting,
    replies: &mpsc::Sender<Value>,
    notify: &mpsc::Sender<Notification>,
) -> io::Result<()> {
    while let Some(body) = read_frame(&mut input).await? {
        let message: Incoming = serde_json::from_slice(&body).map_err(io::Error::other)?;
        let params = message.params.unwrap_or_default();
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let unknown = json!({ "code": -32601, "message": format!("unknown method: {method}") });
                let reply = answer(&method, &params).map_or_else(
                    || json!({ "jsonrpc": "2.0", "id": id, "error": unknown }),
                    |result| json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                );
                if replies.send(reply).await.is_err() {
                    return Ok(());
                }
            }
            (Some(method), None) => {
                if notify.send(Notification { method, params }).await.is_err() {
                    return Ok(());
                }
            }
            (None, id) => {
                let sender = id.and_then(|id| id.as_i64()).and_then(|id| waiting.take(id));
                if let Some(sender) = sender {
                    // Whoever waited may have gone in this moment.
                    let _ = sender.send(message.error.map_or(Ok(message.result.unwrap_or_default()), Err));
                }
            }
        }
    }
    Ok(())
}

/// What we answer to a request of the server; none for a method that we do not know.
fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        // A question that nobody answers stays open.
        "window/workDoneProgress/create" | "window/showMessageRequest" => Some(Value::Null),
        "workspace/configuration" => {
            let items = params["items"].as_array().map_or(0, Vec::len);
            Some(Value::Array(vec![Value::Null; items]))
        }
        _ => None,
    }
}

/// The body of the next frame; none where the input ends between two frames.
async fn read_frame<R: AsyncBufRead + Unpin>(input: &mut R) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    for n in 0..HEADER_LINES {
        let mut line = Vec::new();
        (&mut *input).take(HEADER_LINE).read_until(b'\n', &mut line).await?;
        if line.is_empty() && n == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            return Err(io::Error::other("a frame of the server has a broken header"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            return read_body(input, length).await.map(Some);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    Err(io::Error::other("a frame of the server has a header without end"))
}

async fn read_body<R: AsyncBufRead + Unpin>(input: &mut R, length: Option<usize>) -> io::Result<Vec<u8>> {
    let length =
        length.ok_or_else(|| io::Error::other("a frame of the server does not say how long it is"))?;
    if length > MESSAGE_BYTES {
        return Err(io::Error::other(format!(
            "a message of the server is {length} bytes long; more than {MESSAGE_BYTES}"
        )));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).await?;
    Ok(body)
}

#[cfg(test)]
mod tests;
