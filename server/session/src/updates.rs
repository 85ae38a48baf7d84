//! Partial results of running tool calls: cumulative snapshots, of which only the latest of each call is kept.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::tool::ToolOutput;

/// Where a running call puts its partial results. Cheap, never waits; what comes after the call's end is dropped.
#[derive(Clone)]
pub struct UpdateSink {
    board: Arc<UpdateBoard>,
    slot: usize,
}

impl UpdateSink {
    /// Shows `partial` in place of what was shown before.
    pub fn send(&self, partial: ToolOutput) {
        let mut slots = self.board.lock();
        if let Some(Slot::Open(latest)) = slots.get_mut(self.slot) {
            *latest = Some(partial);
            drop(slots);
            self.board.changed.notify_one();
        }
    }

    /// A sink that drops everything, for calls outside a session.
    pub fn closed() -> Self {
        Self { board: Arc::new(UpdateBoard::new(0)), slot: 0 }
    }
}

impl fmt::Debug for UpdateSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateSink").field("slot", &self.slot).finish_non_exhaustive()
    }
}

enum Slot {
    Open(Option<ToolOutput>),
    Closed,
}

/// The partial results of one batch.
pub(crate) struct UpdateBoard {
    slots: Mutex<Vec<Slot>>,
    changed: Notify,
}

impl UpdateBoard {
    pub(crate) fn new(calls: usize) -> Self {
        let slots = std::iter::repeat_with(|| Slot::Open(None)).take(calls).collect();
        Self { slots: Mutex::new(slots), changed: Notify::new() }
    }

    pub(crate) fn sink(self: &Arc<Self>, slot: usize) -> UpdateSink {
        UpdateSink { board: Arc::clone(self), slot }
    }

    /// Waits until some call has put something.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes what has been put since the last time.
    pub(crate) fn take(&self) -> Vec<(usize, ToolOutput)> {
        let mut slots = self.lock();
        let taken = slots.iter_mut().enumerate().filter_map(|(index, slot)| match slot {
            Slot::Open(latest) => latest.take().map(|output| (index, output)),
            Slot::Closed => None,
        });
        taken.collect()
    }

    /// The call has ended: its last partial is moot and later ones are dropped.
    pub(crate) fn close(&self, slot: usize) {
        if let Some(slot) = self.lock().get_mut(slot) {
            *slot = Slot::Closed;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
