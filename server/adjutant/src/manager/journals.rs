//! What is kept of the fleet on disk, and what may only be told once it is kept.
//!
//! Every fact of the core goes to the journal of its session before anybody is told. An end is announced once the disk
//! itself has it; that it was announced is kept once the client's stream has the message. So a completion is lost by no
//! crash, and told twice only by one that comes between the two.

use std::collections::{BTreeMap, HashSet, VecDeque};

use roster::{Completion, Fact};
use session::storage::SessionPaths;
use vocab::{AgentId, SessionId, Timestamp};

use super::Manager;
use crate::journal::Journal;
use crate::outbox::Outgoing;

/// How long the end of a run waits for a disk before it is announced all the same.
const DISK_LIMIT_MS: u64 = 1_000;

/// One run.
pub(super) type RunKey = (AgentId, u32);

/// The journals that this server writes, and what waits for them.
#[derive(Debug, Default)]
pub(super) struct Journals {
    open: BTreeMap<SessionId, Journal>,
    /// Ends that the disk does not have yet.
    unsynced: HashSet<RunKey>,
    /// Announcements in the order in which the core made them.
    waiting: VecDeque<Announcement>,
    /// Announced, but not yet known to be in the client's stream.
    telling: BTreeMap<u64, Vec<Told>>,
    last: u64,
    ended: bool,
}

#[derive(Debug)]
struct Announcement {
    completions: Vec<Completion>,
    partial: bool,
    group: Option<String>,
    /// When it is made whatever the disk does.
    until: Timestamp,
}

impl Journals {
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.waiting.front().map(|first| first.until)
    }

    /// Whether something of a session is still to be announced.
    pub(super) fn waits_for(&self, session: &SessionId) -> bool {
        self.waiting.iter().flat_map(|waiting| &waiting.completions).any(|done| done.session == *session)
    }

    /// The first announcement whose ends are all kept, or that has waited long enough.
    fn next_ready(&mut self, now: Timestamp) -> Option<Announcement> {
        let first = self.waiting.front()?;
        let kept = |done: &Completion| !self.unsynced.contains(&(done.agent.clone(), done.run));
        let ready = first.until <= now || first.completions.iter().all(kept);
        if ready { self.waiting.pop_front() } else { None }
    }

    /// The server ends: what has not been announced is for the next one.
    pub(super) fn announce_nothing_more(&mut self) {
        self.waiting.clear();
        self.ended = true;
    }
}

/// One run that has been announced, and where that is kept.
#[derive(Debug)]
struct Told {
    session: SessionId,
    journal: Journal,
    run: RunKey,
}

fn keep_told(told: impl IntoIterator<Item = Told>, at: Timestamp) {
    for Told { session: _, journal, run: (agent, run) } in told {
        journal.keep(&Fact::Announced { agent, run, at });
    }
}

impl Manager {
    /// Keeps the facts of a session from now on.
    pub(super) fn open_journal(&mut self, session: &SessionId, paths: &SessionPaths) {
        let journal = Journal::new(self.ports.workspaces.writer(), paths);
        self.journals.open.entry(session.clone()).or_insert(journal);
    }

    /// Nothing of a session is kept any more: its agents have gone. What was announced of them is on its way to the client.
    pub(super) fn close_journal(&mut self, session: &SessionId) {
        for told in self.journals.telling.values_mut() {
            let (gone, others): (Vec<_>, Vec<_>) = told.drain(..).partition(|told| told.session == *session);
            *told = others;
            keep_told(gone, self.ports.clock.now());
        }
        self.journals.open.remove(session);
    }

    /// Carries out [`roster::Effect::Record`].
    pub(super) fn keep(&mut self, session: &SessionId, fact: &Fact) {
        let Some(journal) = self.journals.open.get(session) else { return };
        let Fact::Settled { completion, .. } = fact else { return journal.keep(fact) };
        let key = (completion.agent.clone(), completion.run);
        let handle = self.handle.clone();
        self.journals.unsynced.insert(key.clone());
        journal.keep_synced(fact, move || handle.post(move |manager| manager.end_is_kept(&key)));
    }

    fn end_is_kept(&mut self, key: &RunKey) {
        self.journals.unsynced.remove(key);
        self.disk_moved();
    }

    /// The disk has something, or has had its time for it: what waited for that goes on.
    pub(super) fn disk_moved(&mut self) {
        self.tell_what_is_ready();
        // A closed session may have waited for nothing but its last announcement.
        self.let_closed_sessions_go();
    }

    /// Carries out [`roster::Effect::Announce`], as soon as the ends are kept.
    pub(super) fn announce(&mut self, completions: Vec<Completion>, partial: bool, group: Option<String>) {
        if self.journals.ended {
            return;
        }
        let until = self.ports.clock.now().plus_ms(DISK_LIMIT_MS);
        self.journals.waiting.push_back(Announcement { completions, partial, group, until });
        self.tell_what_is_ready();
    }

    /// Makes the announcements that wait for nothing any more.
    fn tell_what_is_ready(&mut self) {
        let now = self.ports.clock.now();
        while let Some(ready) = self.journals.next_ready(now) {
            for params in self.fleet.completed(&ready.completions, ready.partial, ready.group.as_deref()) {
                self.ports.outbox.send(Outgoing::Completed(params));
            }
            let told = ready.completions.into_iter().filter_map(|done| {
                let journal = self.journals.open.get(&done.session)?.clone();
                Some(Told { session: done.session, journal, run: (done.agent, done.run) })
            });
            let told = told.collect();
            self.keep_when_told(told);
        }
    }

    fn keep_when_told(&mut self, told: Vec<Told>) {
        self.journals.last += 1;
        let number = self.journals.last;
        self.journals.telling.insert(number, told);
        let (outbox, handle) = (self.ports.outbox.clone(), self.handle.clone());
        self.errand(async move {
            outbox.flushed().await;
            handle.post(move |manager| {
                let told = manager.journals.telling.remove(&number);
                keep_told(told.into_iter().flatten(), manager.ports.clock.now());
            });
        });
    }

    /// At the end of the server: waits until what has been announced is in the client's stream and kept as such.
    pub(super) fn told_and_kept(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let telling = std::mem::take(&mut self.journals.telling);
        let now = self.ports.clock.now();
        let outbox = self.ports.outbox.clone();
        async move {
            if telling.is_empty() {
                return;
            }
            outbox.flushed().await;
            keep_told(telling.into_values().flatten(), now);
        }
    }
}
