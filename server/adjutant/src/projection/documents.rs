//! Sessions, agents and the fleet as plain documents that any editor can show.

use std::fmt::Write as _;
use std::sync::Arc;

use protocol::{AgentSummary, Author, Entry, ToolOutcome};
use vocab::{AgentStatus, Timestamp};

use super::transcript;
use crate::delegation::text::{count, one_line, seconds, tokens};

/// What an `adjutant:` URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Document {
    Fleet,
    Session(String),
    Agent(String),
    /// One entry's text, whole.
    Entry {
        of_agent: bool,
        owner: String,
        entry: String,
    },
}

impl Document {
    /// Reads a URI; nothing where it is none of ours.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix("adjutant://")?;
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        match parts.as_slice() {
            ["fleet"] => Some(Self::Fleet),
            ["session", id] if !id.is_empty() => Some(Self::Session((*id).to_owned())),
            ["agent", id] if !id.is_empty() => Some(Self::Agent((*id).to_owned())),
            [kind @ ("session" | "agent"), owner, "entry", entry] => Some(Self::Entry {
                of_agent: *kind == "agent",
                owner: (*owner).to_owned(),
                entry: (*entry).to_owned(),
            }),
            _ => None,
        }
    }
}

/// The fleet, one agent a line, children below their parents.
pub(crate) fn fleet(agents: &[AgentSummary], now: Timestamp) -> String {
    let mut text = String::from("# Agents\n\n");
    if agents.is_empty() {
        text.push_str("No agents yet. Delegate a task to start one.\n");
        return text;
    }
    for agent in agents {
        let _ =
            writeln!(text, "{}- {}", "  ".repeat(agent.depth.saturating_sub(1) as usize), row(agent, now));
    }
    text
}

fn row(agent: &AgentSummary, now: Timestamp) -> String {
    let mut row = format!("**{}** {} — {}", agent.handle, agent.description, agent.status.as_str());
    if let Some(position) = agent.queue_position {
        let _ = write!(row, " (position {position})");
    }
    if let Some(activity) = &agent.activity {
        let _ = write!(row, " · {activity}");
    }
    let _ = write!(row, " · {} · {}", count(agent.turns, "turn"), count(agent.tool_uses, "tool use"));
    if agent.usage.total > 0 {
        let _ = write!(row, " · {}", tokens(agent.usage.total));
    }
    if let Some(started) = agent.started_at {
        let _ = write!(row, " · {}", seconds(agent.completed_at.unwrap_or(now).ms_since(started)));
    }
    row
}

/// An agent with its conversation.
pub(crate) fn agent(summary: &AgentSummary, entries: &[Entry], now: Timestamp) -> String {
    let mut text = format!("# {}: {}\n\n{}\n", summary.handle, summary.description, row(summary, now));
    let _ = writeln!(text, "Type {} · model {} · id {}", summary.agent_type, summary.model, summary.agent_id);
    if let Some(error) = &summary.error {
        let _ = writeln!(text, "\nError: {error}");
    }
    text.push('\n');
    text + &entries_text(entries)
}

/// A session with its conversation.
pub(crate) fn session(info: &protocol::SessionInfo, entries: &[Entry]) -> String {
    let running = if info.running { "running" } else { "idle" };
    format!(
        "# {}\n\n{running} · model {} · mode {} · {}\n\n{}",
        one_line(&info.title, 120),
        info.model,
        info.permission_mode.as_str(),
        tokens(info.usage.total),
        entries_text(entries)
    )
}

fn entries_text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        match entry {
            Entry::Prompt { text: body, author, .. } => {
                let _ = writeln!(
                    text,
                    "## {}\n\n{}\n",
                    author_word(*author),
                    body.as_deref().unwrap_or("(a long text)")
                );
            }
            Entry::Steer { text: body, author, .. } => {
                let _ = writeln!(text, "## {} (while it ran)\n\n{body}\n", author_word(*author));
            }
            Entry::Assistant { text: body, .. } => {
                if let Some(body) = body.as_deref().filter(|body| !body.trim().is_empty()) {
                    let _ = writeln!(text, "## Assistant\n\n{body}\n");
                }
            }
            Entry::Tool { name, title, outcome, .. } => {
                let mark = match outcome {
                    Some(ToolOutcome::Ok) => "✓",
                    None => "…",
                    Some(ToolOutcome::Denied) => "✗ denied",
                    Some(ToolOutcome::Cancelled) => "✗ cancelled",
                    Some(ToolOutcome::Error) => "✗ failed",
                };
                let _ = writeln!(text, "- {mark} {name}: {title}\n");
            }
            Entry::CustomMessage { card, .. } => {
                let _ = writeln!(text, "> {}", card.title);
                for line in &card.lines {
                    let _ = writeln!(text, "> {line}");
                }
                text.push('\n');
            }
            Entry::Notice { text: body, .. } => {
                let _ = writeln!(text, "> {body}\n");
            }
            Entry::Run { error: Some(error), .. } => {
                let _ = writeln!(text, "> The run failed: {error}\n");
            }
            Entry::Run { .. } => {}
        }
    }
    text
}

fn author_word(author: Author) -> &'static str {
    match author {
        Author::User => "You",
        Author::Parent => "Task",
        Author::Host => "Adjutant",
    }
}

/// A conversation as plain lines, for a model.
pub(crate) fn conversation(entries: &[Arc<session::Entry>]) -> String {
    let shown: Vec<_> = entries.iter().filter_map(|stored| transcript::entry(stored, "")).collect();
    let mut text = String::new();
    for entry in &shown {
        let _ = match entry {
            Entry::Prompt { text: Some(body), .. } | Entry::Steer { text: body, .. } => {
                writeln!(text, "User: {body}\n")
            }
            Entry::Assistant { text: Some(body), .. } => writeln!(text, "Assistant: {body}\n"),
            Entry::Tool { name, text: body, .. } => {
                writeln!(text, "Tool {name}: {}\n", one_line(body.as_deref().unwrap_or_default(), 200))
            }
            _ => Ok(()),
        };
    }
    text
}

/// One sentence on what runs.
pub(crate) fn sentence(agents: &[AgentSummary]) -> String {
    let of =
        |wanted: fn(AgentStatus) -> bool| agents.iter().filter(|agent| wanted(agent.status)).count() as u32;
    let running = of(|status| matches!(status, AgentStatus::Running | AgentStatus::Stopping));
    let queued = of(|status| status == AgentStatus::Queued);
    let failed = of(|status| matches!(status, AgentStatus::Error | AgentStatus::Aborted));
    let ended = of(AgentStatus::is_final);
    match (running, queued, ended) {
        (0, 0, 0) => "No agents have been started.".to_owned(),
        (0, 0, _) => {
            format!("No agents are running; {} ended, {failed} of them with an error.", count_agents(ended))
        }
        _ => format!("{} running, {queued} queued, {ended} ended.", count_agents(running)),
    }
}

fn count_agents(n: u32) -> String {
    count(n, "agent")
}

#[cfg(test)]
mod tests {
    use super::Document;

    #[test]
    fn only_our_uris_are_read() {
        assert_eq!(Document::parse("adjutant://fleet"), Some(Document::Fleet));
        assert_eq!(Document::parse("adjutant://agent/a-1"), Some(Document::Agent("a-1".into())));
        let entry = Document::Entry { of_agent: false, owner: "s".into(), entry: "e".into() };
        assert_eq!(Document::parse("adjutant://session/s/entry/e"), Some(entry));
        for uri in
            ["", "file:///x", "adjutant://", "adjutant://agent/", "adjutant://agent/a/b", "adjutant:fleet"]
        {
            assert_eq!(Document::parse(uri), None, "{uri}");
        }
    }
}
