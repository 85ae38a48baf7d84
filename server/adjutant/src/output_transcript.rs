//! The transcript of each run of an agent as a file of JSON lines: for people and other programs, read by nothing here.
//!
//! Whether a run has one is decided before it is launched, by making the file; from then on the file itself says so. A
//! fault is a warning, and never decides what becomes of the run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Message;
use serde::Serialize;
use session::storage::{AppendFile, SessionPaths, Writer, open_to_append};
use session::{Entry, EntryBody, EntrySink};
use vocab::AgentId;

/// Where the transcript of a run is, if it has one.
pub(crate) fn existing(files: Option<&SessionPaths>, agent: &AgentId, run: u32) -> Option<PathBuf> {
    files?.transcript_file(agent.as_str(), run).ok().filter(|path| path.exists())
}

/// Makes the file of a run that is about to be launched; nothing where that fails.
pub(crate) fn prepare(files: &SessionPaths, agent: &AgentId, run: u32) -> Option<PathBuf> {
    let path = files.transcript_file(agent.as_str(), run).ok()?;
    // What an earlier server wrote of this run stays.
    match open_to_append(&path) {
        Ok(_) => Some(path),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a run has no transcript file");
            None
        }
    }
}

/// Writes the entries of an agent's session into the files of their runs.
pub(crate) fn sink(files: SessionPaths, agent: &AgentId, cwd: &Path, writer: Writer) -> EntrySink {
    let mut transcript = Transcript {
        files,
        agent: agent.clone(),
        cwd: cwd.display().to_string(),
        writer,
        run: 0,
        file: None,
    };
    Box::new(move |entry| transcript.take(entry))
}

struct Transcript {
    files: SessionPaths,
    agent: AgentId,
    /// The folder of the session, also where the agent works in another.
    cwd: String,
    writer: Writer,
    run: u32,
    file: Option<AppendFile>,
}

/// One line of a transcript.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    is_sidechain: bool,
    agent_id: &'a AgentId,
    run: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a Message,
    timestamp: String,
    cwd: &'a str,
}

impl Transcript {
    fn take(&mut self, entry: &Entry) {
        if self.run != entry.run {
            self.run = entry.run;
            let path = existing(Some(&self.files), &self.agent, entry.run);
            self.file = path.map(|path| self.writer.file(path));
        }
        let Some(file) = &self.file else { return };
        if let EntryBody::RunEnd(_) = &entry.body {
            return file.close();
        }
        if let Some((kind, message)) = spoken(&entry.body)
            && let Some(line) = self.line(entry, kind, &message)
        {
            file.append(line);
        }
    }

    fn line(&self, entry: &Entry, kind: &'static str, message: &Message) -> Option<Vec<u8>> {
        let at = i64::try_from(entry.at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let line = Line {
            is_sidechain: true,
            agent_id: &self.agent,
            run: entry.run,
            kind,
            message,
            timestamp: at.unwrap_or_default().to_string(),
            cwd: &self.cwd,
        };
        let mut bytes = serde_json::to_vec(&line).ok()?;
        bytes.push(b'\n');
        Some(bytes)
    }
}

/// The message of an entry that is part of the conversation. Failed attempts are not.
fn spoken(body: &EntryBody) -> Option<(&'static str, Arc<Message>)> {
    Some(match body {
        EntryBody::Prompt { message, .. } | EntryBody::Steer { message, .. } => ("user", Arc::clone(message)),
        EntryBody::CustomMessage { message } => ("user", Arc::new(message.message())),
        EntryBody::Assistant { message, discarded: false } => ("assistant", Arc::clone(message)),
        EntryBody::ToolResult(result) => ("toolResult", Arc::clone(&result.message)),
        _ => return None,
    })
}
