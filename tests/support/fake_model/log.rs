//! What the scripted model was asked: one record a request, with times in Unix microseconds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;

/// The time in Unix microseconds.
pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// One request.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Record {
    pub seq: u64,
    /// `openai` or `anthropic`.
    pub api: &'static str,
    pub kind: &'static str,
    pub id: String,
    pub step: usize,
    /// Request head received.
    pub t_head: u64,
    /// Body received.
    pub t_body: u64,
    /// First byte sent.
    pub t_first: u64,
    /// Response finished, or connection lost.
    pub t_end: u64,
    /// `open`, `ok`, `client_closed`, `bad_request` or `fault:<kind>`.
    pub outcome: String,
    pub bytes_in: usize,
    pub messages: usize,
    pub done_seen: usize,
    /// The key that came with it.
    #[serde(skip)]
    pub key: Option<String>,
    /// The request, where bodies are kept.
    #[serde(skip)]
    pub body: Value,
}

impl Record {
    /// The whole request as text, to look for words in it.
    pub fn text(&self) -> String {
        self.body.to_string()
    }
}

/// Counters of the whole log.
#[derive(Debug, Serialize)]
pub struct Summary {
    now_us: u64,
    connections_accepted: u64,
    requests: usize,
    in_flight: u64,
    in_flight_high_water: u64,
    bytes_in: u64,
    first_us: u64,
    last_us: u64,
    by_kind: HashMap<&'static str, u64>,
    by_outcome: HashMap<String, u64>,
    violations: Vec<String>,
}

/// All requests since the start, or since the last reset.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) accepted: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    records: Vec<Record>,
    /// How many records resets have dropped: numbers go on, so that the ids of calls are never used again.
    dropped: u64,
    in_flight: u64,
    high_water: u64,
    bytes_in: u64,
    fault_hits: HashMap<String, u64>,
    violations: Vec<String>,
}

impl Inner {
    /// The record of this number, unless a reset dropped it.
    fn record(&mut self, seq: u64) -> Option<&mut Record> {
        let at = seq.checked_sub(self.dropped)?;
        self.records.get_mut(usize::try_from(at).ok()?)
    }
}

impl Log {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self, t_head: u64) -> u64 {
        let mut inner = self.inner();
        let seq = inner.dropped + inner.records.len() as u64;
        inner.records.push(Record { seq, t_head, outcome: "open".into(), ..Record::default() });
        inner.in_flight += 1;
        inner.high_water = inner.high_water.max(inner.in_flight);
        seq
    }

    /// Changes a record; nothing, if a reset dropped it.
    pub(super) fn edit(&self, seq: u64, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.inner().record(seq) {
            change(record);
        }
    }

    pub(super) fn add_bytes(&self, bytes: usize) {
        self.inner().bytes_in += bytes as u64;
    }

    pub(super) fn close(&self, seq: u64, outcome: &str) {
        let t_end = now_us();
        let mut inner = self.inner();
        inner.in_flight = inner.in_flight.saturating_sub(1);
        if let Some(record) = inner.record(seq) {
            record.t_end = t_end;
            record.outcome = outcome.into();
        }
    }

    /// True for the first `times` calls with this key.
    pub(super) fn fault_fires(&self, key: &str, times: u64) -> bool {
        let mut inner = self.inner();
        let hits = inner.fault_hits.entry(key.to_owned()).or_default();
        *hits += 1;
        *hits <= times
    }

    pub(super) fn violation(&self, text: String) {
        self.inner().violations.push(text);
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.inner().violations.clone()
    }

    /// Forgets the requests, but not that one was against the rules.
    pub(super) fn reset(&self) {
        self.accepted.store(0, Relaxed);
        let mut inner = self.inner();
        let dropped = inner.dropped + inner.records.len() as u64;
        *inner = Inner { dropped, violations: std::mem::take(&mut inner.violations), ..Inner::default() };
    }

    pub(super) fn since(&self, seq: u64) -> Vec<Record> {
        self.inner().records.iter().filter(|record| record.seq >= seq).cloned().collect()
    }

    pub(super) fn summary(&self) -> Summary {
        let inner = self.inner();
        let (mut by_kind, mut by_outcome) = (HashMap::new(), HashMap::new());
        for record in &inner.records {
            *by_kind.entry(record.kind).or_default() += 1;
            *by_outcome.entry(record.outcome.clone()).or_default() += 1;
        }
        Summary {
            now_us: now_us(),
            connections_accepted: self.accepted.load(Relaxed),
            requests: inner.records.len(),
            in_flight: inner.in_flight,
            in_flight_high_water: inner.high_water,
            bytes_in: inner.bytes_in,
            first_us: inner.records.first().map_or(0, |record| record.t_head),
            last_us: inner.records.iter().map(|record| record.t_end).max().unwrap_or(0),
            by_kind,
            by_outcome,
            violations: inner.violations.clone(),
        }
    }
}
