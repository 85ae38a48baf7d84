//! What is sent to a model: an append-only list of messages, each encoded once.
//!
//! The first request encodes the list into the wire form of its API; later ones encode only what is new and send the
//! rest as the bytes it already is. So a turn costs what it adds, not what has been said before it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::check::Check;
use crate::wire::{Profile, Unit, UnitKind, units};
use crate::{HistoryError, Message};

/// Encoded messages that are folded into one block: few enough segments to send, little enough to copy.
const FOLD: usize = 64;
/// Encoded messages that stay apart at the end, where cache marks are set.
const KEEP: usize = 8;

/// The messages of one conversation, in order.
#[derive(Debug, Default)]
pub struct History {
    messages: Arc<Vec<Arc<Message>>>,
    cache: Arc<Mutex<Cache>>,
}

/// A history as it was at one moment; cheap to make, clone and send elsewhere.
#[derive(Clone, Default)]
pub struct HistorySnapshot {
    messages: Arc<Vec<Arc<Message>>>,
    cache: Arc<Mutex<Cache>>,
}

/// What is known of the messages of a history that only grows. Cutting a history begins another cache, so that what
/// a snapshot shares with its history never changes under it.
#[derive(Debug, Clone, Default)]
struct Cache {
    check: Check,
    encoded: Option<Encoded>,
}

/// The wire form of the first `upto` messages for one profile.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    profile: Arc<Profile>,
    upto: usize,
    pub(crate) folded: Vec<Bytes>,
    pub(crate) tail: Vec<Piece>,
    /// Estimated tokens of all of it.
    pub(crate) tokens: u64,
    /// The last model message calls tools and has no thinking that goes with it.
    pub(crate) calls_without_thinking: bool,
}

/// One wire message (or, where an API wants several for one of ours, those), with a leading comma.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    pub(crate) kind: UnitKind,
}

impl Clone for History {
    /// A history of its own: what is pushed to one is not in the other.
    fn clone(&self) -> Self {
        Self { messages: Arc::clone(&self.messages), cache: Arc::new(Mutex::new(lock(&self.cache).clone())) }
    }
}

impl History {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a message. Cheap as long as no snapshot is alive; a living one costs a copy of the list's pointers.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        Arc::make_mut(&mut self.messages).push(message.into());
    }

    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Drops all messages after the first `len`. The next request encodes what is left anew.
    pub fn truncate(&mut self, len: usize) {
        if len < self.messages.len() {
            Arc::make_mut(&mut self.messages).truncate(len);
            self.cache = Arc::default();
        }
    }

    /// Puts other messages in place of all, as compaction does.
    pub fn replace(&mut self, messages: Vec<Arc<Message>>) {
        self.messages = Arc::new(messages);
        self.cache = Arc::default();
    }

    /// Whether a provider would take it as it is; every request checks this by itself.
    pub fn check(&self) -> Result<(), HistoryError> {
        lock(&self.cache).check.run(&self.messages)
    }

    pub fn snapshot(&self) -> HistorySnapshot {
        HistorySnapshot { messages: Arc::clone(&self.messages), cache: Arc::clone(&self.cache) }
    }
}

impl HistorySnapshot {
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Whether a provider would take it as it is.
    pub fn check(&self) -> Result<(), HistoryError> {
        self.check_with(&mut lock(&self.cache))
    }

    fn check_with(&self, cache: &mut Cache) -> Result<(), HistoryError> {
        if cache.check.upto() > self.messages.len() {
            // The history has moved on since; its knowledge is of more than this.
            return Check::default().run(&self.messages);
        }
        cache.check.run(&self.messages)
    }

    /// The ids of this history's tool calls, without the messages: holding it does not make a push dearer.
    pub(crate) fn known_calls(&self) -> KnownCalls {
        KnownCalls(Arc::clone(&self.cache))
    }

    /// Checks the history and gives its wire form, encoding only what no request has encoded before.
    pub(crate) fn encode(&self, profile: &Arc<Profile>) -> Result<Encoded, HistoryError> {
        let mut cache = lock(&self.cache);
        self.check_with(&mut cache)?;
        match &mut cache.encoded {
            Some(known) if *known.profile == **profile => {
                if known.upto > self.messages.len() {
                    return Ok(Encoded::new(profile, &self.messages));
                }
                known.extend(&self.messages);
                Ok(known.clone())
            }
            other => Ok(other.insert(Encoded::new(profile, &self.messages)).clone()),
        }
    }
}

impl fmt::Debug for HistorySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HistorySnapshot").field(&self.messages.len()).finish()
    }
}

/// Which tool-call ids a history has used.
#[derive(Clone, Default)]
pub(crate) struct KnownCalls(Arc<Mutex<Cache>>);

impl KnownCalls {
    pub(crate) fn contains(&self, call: &str) -> bool {
        lock(&self.0).check.knows(call)
    }
}

impl fmt::Debug for KnownCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownCalls")
    }
}

impl Encoded {
    fn new(profile: &Arc<Profile>, messages: &[Arc<Message>]) -> Self {
        let mut encoded = Self {
            profile: Arc::clone(profile),
            upto: 0,
            folded: Vec::new(),
            tail: Vec::new(),
            tokens: 0,
            calls_without_thinking: false,
        };
        encoded.extend(messages);
        encoded
    }

    fn extend(&mut self, messages: &[Arc<Message>]) {
        let new = &messages[self.upto..];
        for unit in units(new) {
            let mut bytes = Vec::with_capacity(256);
            self.profile.encode(&unit, &mut bytes);
            if let Unit::Assistant(message) = &unit {
                self.calls_without_thinking =
                    message.tool_calls().next().is_some() && !self.profile.replays_thinking(message);
            }
            if !bytes.is_empty() {
                bytes.shrink_to_fit();
                self.tail.push(Piece { bytes: bytes.into(), kind: unit.kind() });
            }
        }
        self.tokens += new.iter().map(|message| message.estimated_tokens()).sum::<u64>();
        self.upto = messages.len();
        while self.tail.len() >= FOLD + KEEP {
            let pieces: Vec<&[u8]> = self.tail[..FOLD].iter().map(|piece| piece.bytes.as_ref()).collect();
            self.folded.push(pieces.concat().into());
            self.tail.drain(..FOLD);
        }
    }
}

/// A panic elsewhere cannot leave the cache half-written in a way that matters: every step ends in a sound state.
fn lock(cache: &Mutex<Cache>) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
