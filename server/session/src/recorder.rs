//! What a session keeps and tells: numbers events, appends entries, writes their lines, informs the observer.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use vocab::{EntryId, Timestamp};

use crate::config::{Clock, EntrySink, Storage};
use crate::entry::{Entry, EntryBody, Header};
use crate::event::{DEFAULT_PAGE, Observer, Page, PageRequest, PartialMessage, SessionEvent};
use crate::storage::{AppendFile, Durability, Gap, parse_entry};

/// Numbers that are skipped when a session is reopened: more than the unstored events, mostly pieces of one message, that
/// may have followed the last stored entry. A number is never used twice.
const REOPEN_GAP: u64 = 1 << 20;

pub(crate) struct Recorder {
    clock: Clock,
    seq: u64,
    entries: Vec<Arc<Entry>>,
    file: Option<AppendFile>,
    /// Written before the first line of a new file.
    header: Option<Box<Header>>,
    observer: Option<Box<dyn Observer>>,
    entries_told: Option<EntrySink>,
    watched: bool,
}

impl Recorder {
    pub(crate) fn new(
        clock: Clock,
        storage: Storage,
        observer: Box<dyn Observer>,
        entries_told: Option<EntrySink>,
    ) -> Self {
        let file = match storage {
            Storage::Ephemeral => None,
            Storage::File(file) => Some(file),
        };
        let observer = Some(observer);
        Self {
            clock,
            seq: 0,
            entries: Vec::new(),
            file,
            header: None,
            observer,
            entries_told,
            watched: false,
        }
    }

    /// The head of a file that is yet to be made.
    pub(crate) fn set_header(&mut self, header: Header) {
        self.mark_gaps(header.clone(), false);
        if self.file.is_some() {
            self.header = Some(Box::new(header));
        }
    }

    /// Says in the file what it lacks: a notice, and a head where all is gone. `exists`: it was read from there.
    pub(crate) fn mark_gaps(&self, header: Header, exists: bool) {
        let Some(file) = &self.file else { return };
        file.mark_gaps(exists, move |gap| gap_lines(&header, &gap));
    }

    /// Goes on after what was stored.
    pub(crate) fn restore(&mut self, entries: Vec<Arc<Entry>>) {
        let last = entries.iter().map(|entry| entry.seq).max().unwrap_or(0);
        self.seq = last + REOPEN_GAP;
        self.entries = entries;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn watched(&self) -> bool {
        self.watched
    }

    pub(crate) fn set_watched(&mut self, watched: bool) {
        self.watched = watched;
    }

    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub(crate) fn file(&self) -> Option<&AppendFile> {
        self.file.as_ref()
    }

    /// The id that the next event's entry has.
    pub(crate) fn next_id(&self) -> EntryId {
        entry_id(self.seq + 1)
    }

    /// Tells of something that is not kept.
    pub(crate) fn emit(&mut self, event: SessionEvent) {
        self.seq += 1;
        self.tell(event);
    }

    /// As [`emit`](Self::emit), for an event that costs something to make and that only watchers get.
    pub(crate) fn emit_watched(&mut self, event: impl FnOnce() -> SessionEvent) {
        self.seq += 1;
        if self.watched {
            self.tell(event());
        }
    }

    /// An id for an entry that is announced before it is complete.
    pub(crate) fn announce(&mut self, event: impl FnOnce(EntryId) -> SessionEvent) -> EntryId {
        let id = self.next_id();
        self.emit(event(id.clone()));
        id
    }

    /// Keeps an entry and tells of it.
    pub(crate) fn record(
        &mut self,
        run: u32,
        body: EntryBody,
        event: impl FnOnce(Arc<Entry>) -> SessionEvent,
    ) -> Arc<Entry> {
        let id = self.next_id();
        self.record_as(id, run, body, event, None)
    }

    /// As [`record`](Self::record), under an announced id. `written` is called when the line is in the file, has been
    /// refused by the disk, or there is no file.
    pub(crate) fn record_as(
        &mut self,
        id: EntryId,
        run: u32,
        body: EntryBody,
        event: impl FnOnce(Arc<Entry>) -> SessionEvent,
        written: Option<Box<dyn FnOnce() + Send>>,
    ) -> Arc<Entry> {
        self.seq += 1;
        let entry = Arc::new(Entry { id, seq: self.seq, at: self.clock.now(), run, body });
        self.write(&entry, written);
        self.entries.push(Arc::clone(&entry));
        self.tell_entry(&entry);
        self.tell(event(Arc::clone(&entry)));
        entry
    }

    pub(crate) fn page(&self, request: PageRequest, partial: Option<PartialMessage>) -> Page {
        let limit = if request.limit == 0 { DEFAULT_PAGE } else { request.limit };
        let wanted = |entry: &&Arc<Entry>| !request.shown_only || entry.body.is_shown();
        let shown: Vec<&Arc<Entry>> = self.entries.iter().filter(wanted).collect();
        let start = shown.partition_point(|entry| request.from_seq.is_some_and(|from| entry.seq < from));
        let end =
            shown.partition_point(|entry| request.before.is_none_or(|before| entry.seq < before)).max(start);
        let first = start.max(end.saturating_sub(limit));
        Page {
            entries: shown[first..end].iter().map(|entry| Arc::clone(entry)).collect(),
            partial,
            as_of_seq: self.seq,
            has_more: first > 0 && end > first,
            total: shown.len(),
        }
    }

    fn write(&mut self, entry: &Entry, written: Option<Box<dyn FnOnce() + Send>>) {
        let Some(file) = &self.file else {
            if let Some(written) = written {
                written();
            }
            return;
        };
        if let Some(header) = self.header.take() {
            let body = EntryBody::Header(*header);
            let head = Entry { id: entry_id(0), seq: 0, at: entry.at, run: 0, body };
            if let Some(line) = line_of(&head) {
                file.append(line);
            }
        }
        let Some(line) = line_of(entry) else { return };
        match written {
            None => file.append(line),
            Some(written) => file.append_then(line, Durability::Written, move |_| written()),
        }
    }

    fn tell_entry(&mut self, entry: &Arc<Entry>) {
        let Some(sink) = &mut self.entries_told else { return };
        if catch_unwind(AssertUnwindSafe(|| sink(entry))).is_err() {
            tracing::error!("who gets a session's entries panicked; it is told no more");
            self.entries_told = None;
        }
    }

    fn tell(&mut self, event: SessionEvent) {
        if !self.watched && !event.always() {
            return;
        }
        let seq = self.seq;
        let Some(observer) = &mut self.observer else { return };
        // An observer's fault is not the run's.
        if catch_unwind(AssertUnwindSafe(|| observer.event(seq, event))).is_err() {
            tracing::error!("a session's observer panicked; it is told no more");
            self.observer = None;
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("seq", &self.seq).field("file", &self.file).finish_non_exhaustive()
    }
}

fn entry_id(seq: u64) -> EntryId {
    EntryId::new(format!("e{seq}"))
}

/// What a file has in place of what it lacks.
pub(crate) fn gap_lines(header: &Header, gap: &Gap<'_>) -> Vec<u8> {
    let (beside, text) = match gap {
        Gap::Lost { lines, first } => {
            (*first, format!("{lines} entries are missing here: the disk did not take them."))
        }
        Gap::Removed { next } => {
            (*next, "This file was removed while its session was open: what was in it is gone.".to_owned())
        }
    };
    let mut lines = Vec::new();
    // The first line of a session that never had one is its head itself.
    let Some(near) = parse_entry(beside.trim_ascii_end()) else { return lines };
    if matches!(gap, Gap::Removed { .. }) || matches!(near.body, EntryBody::Header(_)) {
        let body = EntryBody::Header(header.clone());
        lines.extend(
            line_of(&Entry { id: entry_id(0), seq: 0, at: near.at, run: 0, body }).unwrap_or_default(),
        );
    }
    // A number that is used in no other line: of the first that is missing, or one between two that are used.
    let id = EntryId::new(format!("{}-gap", near.id));
    let notice = Entry {
        id,
        seq: near.seq,
        at: near.at,
        run: near.run,
        body: EntryBody::Notice { text: text.into() },
    };
    lines.extend(line_of(&notice).unwrap_or_default());
    lines
}

fn line_of(entry: &Entry) -> Option<Vec<u8>> {
    let mut line = Vec::with_capacity(512);
    match serde_json::to_writer(&mut line, entry) {
        Ok(()) => {
            line.push(b'\n');
            Some(line)
        }
        Err(error) => {
            tracing::error!(%error, entry = %entry.id, "an entry cannot be written");
            None
        }
    }
}
