//! The journal of one root session's fleet: facts of the core, a line each, appended beside the session's file and under
//! the same lock. Read again, it is the fleet as it was.

use std::path::{Path, PathBuf};

use memchr::memmem;
use roster::{Fact, Progress, Replay, RestoredAgent, UnfinishedRun};
use session::storage::{
    AppendFile, Durability, LoadReport, SessionPaths, StorageError, Writer, load_lines, load_session,
};
use session::{Entry, EntryBody};
use vocab::{AgentId, Timestamp};

use crate::delegation::NOTIFICATION;

/// A journal that is written. Nothing is touched before the first fact.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    file: AppendFile,
}

impl Journal {
    pub(crate) fn new(writer: &Writer, paths: &SessionPaths) -> Self {
        Self { file: writer.file(paths.journal_file()) }
    }

    /// Keeps a fact. Never waits.
    pub(crate) fn keep(&self, fact: &Fact) {
        if let Some(line) = line(fact) {
            self.file.append(line);
        }
    }

    /// Keeps a fact on the disk itself; `done` is called in the writer's thread, whether the disk took it or not.
    pub(crate) fn keep_synced(&self, fact: &Fact, done: impl FnOnce() + Send + 'static) {
        match line(fact) {
            Some(line) => self.file.append_then(line, Durability::Synced, move |_| done()),
            None => done(),
        }
    }
}

fn line(fact: &Fact) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(fact).ok()?;
    line.push(b'\n');
    Some(line)
}

/// What a journal held, and what it lacks: that goes to its end.
#[derive(Debug)]
pub(crate) struct ReadJournal {
    pub(crate) agents: Vec<RestoredAgent>,
    pub(crate) missing: Vec<Fact>,
}

/// Reads the journal of a session whose lock the caller has, and mends its tail. Nothing where there is none.
pub(crate) fn take_over(paths: &SessionPaths, now: Timestamp) -> Result<Option<ReadJournal>, StorageError> {
    let Some((mut replay, report)) = read(paths, true)? else { return Ok(None) };
    if report.skipped > 0 || report.torn_bytes > 0 {
        tracing::warn!(path = %paths.journal_file().display(), ?report, "a journal was damaged; what is whole was read");
    }
    let mut missing = Vec::new();
    for (agent, run) in arrived(paths, &replay) {
        let fact = Fact::Delivered { agent, run, at: now };
        if replay.take(fact.clone()) {
            missing.push(fact);
        }
    }
    let (agents, ended) = replay.finish(now, |run| last_words(paths, run));
    missing.extend(ended);
    Ok(Some(ReadJournal { agents, missing }))
}

/// The facts of a journal; with `repair`, which needs its lock, its end is a whole line afterwards. Lines that do not fit
/// are left out and counted.
pub(crate) fn read(paths: &SessionPaths, repair: bool) -> Result<Option<(Replay, LoadReport)>, StorageError> {
    let path = paths.journal_file();
    if !path.exists() {
        return Ok(None);
    }
    let mut replay = Replay::new();
    let report = load_lines(&path, repair, |line| {
        serde_json::from_slice::<Fact>(line).map(|fact| replay.take(fact)).is_ok()
    })?;
    Ok(Some((replay, report)))
}

/// News that is in its owner's transcript although the journal does not say so: the server died between the two.
fn arrived(paths: &SessionPaths, replay: &Replay) -> Vec<(AgentId, u32)> {
    let mut arrived = Vec::new();
    let mut owners: Vec<Option<&AgentId>> = replay.undelivered().map(|(_, _, owner)| owner).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners {
        let file = match owner {
            None => paths.session_file(),
            Some(owner) => match paths.agent_file(owner.as_str()) {
                Ok(file) => file,
                Err(_) => continue,
            },
        };
        let keys = delivered_keys(&file);
        let news = replay.undelivered().filter(|(_, _, of)| *of == owner);
        let there = news.filter(|(agent, run, _)| keys.contains(&format!("{agent}/{run}")));
        arrived.extend(there.map(|(agent, run, _)| (agent.clone(), run)));
    }
    arrived
}

/// Keys of the runs whose news a transcript has. Lines that cannot be such news are not parsed.
fn delivered_keys(file: &Path) -> std::collections::BTreeSet<String> {
    let mut keys = std::collections::BTreeSet::new();
    let finder = memmem::Finder::new(NOTIFICATION);
    let looked = load_lines(file, false, |line| {
        if finder.find(line).is_some()
            && let Ok(Entry { body: EntryBody::CustomMessage { message }, .. }) = serde_json::from_slice(line)
            && message.custom_type == NOTIFICATION
        {
            keys.extend(message.key.iter().flat_map(|key| key.split(',')).map(str::to_owned));
        }
        true
    });
    if let Err(error) = looked
        && file.exists()
    {
        tracing::warn!(path = %file.display(), %error, "a transcript cannot be read; its news may come a second time");
    }
    keys
}

/// What the transcript has of a run that never ended: its last text, and what it has used.
fn last_words(paths: &SessionPaths, unfinished: UnfinishedRun<'_>) -> (String, Progress) {
    let file = paths.agent_file(unfinished.request.agent.as_str());
    let known = file.ok().filter(|file| file.exists()).and_then(|file| words_of(&file, unfinished.run));
    known.unwrap_or_default()
}

/// The whole last text of a run, read from its agent's transcript on a blocking thread.
pub(crate) async fn whole_text(file: PathBuf, run: u32) -> Option<String> {
    let read = tokio::task::spawn_blocking(move || words_of(&file, run)).await;
    read.ok().flatten().map(|(text, _)| text).filter(|text| !text.is_empty())
}

fn words_of(file: &Path, run: u32) -> Option<(String, Progress)> {
    let mut text = String::new();
    let mut progress = Progress::default();
    let loaded = load_session(file, false).ok()?;
    for entry in loaded.entries.iter().filter(|entry| entry.run == run) {
        match &entry.body {
            EntryBody::Assistant { message, discarded } => {
                let model::Message::Assistant(message) = &**message else { continue };
                progress.usage += message.usage;
                if *discarded {
                    continue;
                }
                progress.turns += 1;
                let said = message.text();
                if !said.trim().is_empty() {
                    text = said;
                }
            }
            EntryBody::ToolResult(_) => progress.tool_uses += 1,
            _ => {}
        }
    }
    Some((text, progress))
}
