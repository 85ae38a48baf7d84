//! What the server has said so far, and the rules that all of it has to keep.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use protocol::{Direction, METHODS};
use serde_json::Value;

/// What a notification may have in bytes.
const NOTIFICATION_LIMIT: usize = 64 << 10;
/// What an answer with a page may have.
const ANSWER_LIMIT: usize = 256 << 10;

/// Notifications of LSP that this server may send.
const STANDARD: &[&str] = &[
    "$/progress",
    "window/logMessage",
    "window/showMessage",
    "textDocument/publishDiagnostics",
    "telemetry/event",
];

/// A notification, and when it came.
#[derive(Debug, Clone)]
pub struct Note {
    pub method: String,
    pub params: Value,
    pub at: Instant,
}

/// A request of the server.
#[derive(Debug, Clone)]
pub struct Asked {
    pub id: Value,
    pub method: String,
    pub params: Value,
    pub at: Instant,
}

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

/// An answer, and when it came.
pub(super) type Answer = (Result<Value, RpcError>, Instant);

/// All that came.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) notes: Vec<Note>,
    pub(super) asked: Vec<Asked>,
    pub(super) answers: BTreeMap<i64, Answer>,
    /// Errors that answer no request of ours: those about a frame that could not be read.
    pub(super) stray_errors: Vec<RpcError>,
    /// Requests that have no answer yet.
    pub(super) open: BTreeSet<i64>,
    /// Everything that must not happen.
    pub(super) faults: Vec<String>,
    /// The output has ended.
    pub(super) ended: bool,
}

impl Inbox {
    /// Takes one message. A request of the server is given back: somebody has to answer it.
    pub(super) fn take(&mut self, message: &Value, bytes: usize) -> Option<Asked> {
        let at = Instant::now();
        if message["jsonrpc"] != "2.0" {
            self.faults.push(format!("a message without jsonrpc 2.0: {message}"));
        }
        let method = message["method"].as_str().map(str::to_owned);
        let params = message.get("params").cloned().unwrap_or_default();
        match (method, message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                let asked = Asked { id, method, params, at };
                self.asked.push(asked.clone());
                return Some(asked);
            }
            (Some(method), None) => {
                self.check_notification(&method, &params, bytes);
                self.notes.push(Note { method, params, at });
            }
            (None, id) => self.answer(id.as_ref(), message, bytes, at),
        }
        None
    }

    fn answer(&mut self, id: Option<&Value>, message: &Value, bytes: usize, at: Instant) {
        let result = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (None, Some(error)) => Err(RpcError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error.get("data").cloned().unwrap_or_default(),
            }),
            _ => {
                self.faults.push(format!("an answer needs a result or an error, and one of them: {message}"));
                return;
            }
        };
        if bytes > ANSWER_LIMIT {
            self.faults.push(format!("an answer of {bytes} bytes"));
        }
        match (id.and_then(Value::as_i64), result) {
            (Some(id), result) if self.open.remove(&id) => {
                self.answers.insert(id, (result, at));
            }
            (None, Err(error)) => self.stray_errors.push(error),
            (_, result) => {
                self.faults.push(format!("an answer to no request, or a second one: {id:?} {result:?}"));
            }
        }
    }

    fn check_notification(&mut self, method: &str, params: &Value, bytes: usize) {
        if bytes > NOTIFICATION_LIMIT {
            self.faults.push(format!("{method} with {bytes} bytes"));
        }
        if STANDARD.contains(&method) {
            return;
        }
        let row =
            METHODS.iter().find(|row| row.name == method && row.direction == Direction::ServerNotification);
        match row {
            None => self.faults.push(format!("a notification that is in no contract: {method} {params}")),
            Some(row) => match (row.reread_params)(params.clone()) {
                Err(error) => self.faults.push(format!("{method} does not have its shape: {error}")),
                Ok(read) if read != *params => {
                    self.faults.push(format!("{method} says more than its type, or null: {params}"));
                }
                Ok(_) => {}
            },
        }
    }
}
