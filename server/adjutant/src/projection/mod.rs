//! State as a surface shows it: pure functions from the core's records to the types of the wire.

pub(crate) mod documents;
pub(crate) mod transcript;

use std::path::Path;

use project::settings::Settings;
use protocol::{AgentSummary, CurrentTool, Limits, SubtreeTotals, TouchKind, TouchedFile};
use roster::{AgentRecord, Completion, Progress, Roster, TouchedPath};
use session::{RunOutcome, RunProgress};
use vocab::{AgentStatus, WaitingOn};

use crate::delegation::text::{clip, count, one_line, tokens};

/// Characters of a description and of an activity.
const LINE: usize = 120;
/// Characters of a result or an error in a row.
const PREVIEW: usize = 500;

/// An agent's row.
pub(crate) fn summary(roster: &Roster, record: &AgentRecord) -> AgentSummary {
    let progress = record.progress();
    let completion = record.completion();
    let subtree = roster.subtree(&record.id);
    AgentSummary {
        agent_id: record.id.clone(),
        run: record.run_number(),
        session_id: record.session.clone(),
        tool_call_id: record.tool_call().cloned(),
        handle: record.handle.clone(),
        alias: record.alias.clone(),
        agent_type: record.agent_type.clone(),
        display_name: record.display_name.clone(),
        color: record.color.clone(),
        description: one_line(&record.description, LINE),
        status: record.status(),
        waiting_on: if record.status().is_final() { None } else { progress.waiting_on },
        queue_position: roster.queue_position(&record.id),
        is_background: record.is_background(),
        parent_id: record.parent.clone(),
        depth: record.depth,
        cwd: record.cwd.clone(),
        created_at: record.created_at,
        started_at: record.started_at(),
        completed_at: completion.map(|completion| completion.completed_at),
        ended_by: completion.map(|completion| completion.outcome.ended_by),
        reason: completion.and_then(|completion| completion.outcome.reason),
        turns: progress.turns,
        max_turns: record.max_turns,
        tool_uses: progress.tool_uses,
        usage: record.usage(),
        subtree: SubtreeTotals { agents: subtree.agents, running: subtree.running, usage: subtree.usage },
        budget: (!record.budget.is_empty()).then_some(record.budget),
        context_percent: progress.context_percent,
        compactions: progress.compactions,
        model: record.model.clone(),
        requested_model: record.requested_model.clone(),
        thinking: record.thinking,
        permission_mode: record.permission_mode,
        activity: activity(record),
        tool: progress.tool.as_ref().filter(|_| !record.status().is_final()).map(current_tool),
        tags: record.tags.clone(),
        worktree: None,
        // An agent's calls are asked about one by one in the row's terms: it waits, or it does not.
        attention: u32::from(!record.status().is_final() && progress.waiting_on == Some(WaitingOn::Approval)),
        result_preview: completion.and_then(|completion| preview(&completion.outcome.text)),
        error: completion.and_then(|completion| completion.outcome.error.as_deref()).and_then(preview),
        resumable: record.status().is_final(),
        read_only: None,
        unread: record.unread(),
        delivery: record.delivery(),
        files: progress.files.iter().map(touched).collect(),
        files_total: progress.files_total,
    }
}

fn activity(record: &AgentRecord) -> Option<String> {
    let live = matches!(record.status(), AgentStatus::Running | AgentStatus::Stopping);
    record.progress().activity.as_deref().filter(|_| live).map(|activity| one_line(activity, LINE))
}

fn preview(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| match clip(text, PREVIEW) {
        (whole, false) => whole.to_owned(),
        _ => format!("{}…", clip(text, PREVIEW - 1).0),
    })
}

fn current_tool(tool: &roster::CurrentTool) -> CurrentTool {
    CurrentTool {
        kind: tool.kind,
        title: one_line(&tool.title, LINE),
        uri: tool.path.as_deref().map(|path| file_uri(Path::new(path))),
        range: None,
        started_at: tool.started_at,
    }
}

fn touched(file: &TouchedPath) -> TouchedFile {
    TouchedFile {
        uri: file_uri(Path::new(&file.path)),
        kind: if file.edited { TouchKind::Edit } else { TouchKind::Read },
        ranges: None,
        at: file.at,
    }
}

/// A path as a `file:` URI; a path that is not absolute stays as it is.
pub(crate) fn file_uri(path: &Path) -> String {
    use std::fmt::Write as _;

    if !path.is_absolute() {
        return path.to_string_lossy().into_owned();
    }
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

/// The news of a completion for the editor.
pub(crate) fn completion(completion: &Completion) -> protocol::Completion {
    let outcome = &completion.outcome;
    protocol::Completion {
        agent_id: completion.agent.clone(),
        run: completion.run,
        session_id: completion.session.clone(),
        handle: completion.handle.clone(),
        agent_type: completion.agent_type.clone(),
        description: one_line(&completion.description, LINE),
        status: outcome.status,
        ended_by: outcome.ended_by,
        reason: outcome.reason,
        result_preview: preview(&outcome.text).unwrap_or_default(),
        error: outcome.error.as_deref().and_then(preview),
        usage: outcome.usage,
        duration_ms: completion.duration_ms(),
        tool_uses: completion.tool_uses,
        turns: completion.turns,
        worktree: None,
        transcript: Some(format!("adjutant://agent/{}", completion.agent)),
        restored: completion.restored.then_some(true),
    }
}

/// One line on a running agent for a client that shows only progress.
pub(crate) fn progress_message(record: &AgentRecord) -> String {
    let progress = record.progress();
    let mut parts = Vec::new();
    if record.status() == AgentStatus::Stopping {
        parts.push("stopping".to_owned());
    }
    parts.extend(activity(record));
    parts.push(count(progress.turns, "turn"));
    parts.push(count(progress.tool_uses, "tool use"));
    if progress.usage.total > 0 {
        parts.push(tokens(progress.usage.total));
    }
    parts.join(" · ")
}

/// What a session says of its run, in the core's terms.
pub(crate) fn progress(run: &RunProgress) -> Progress {
    Progress {
        turns: run.turns,
        tool_uses: run.tool_uses,
        usage: run.usage,
        waiting_on: run.waiting_on,
        activity: run.activity.as_deref().map(str::to_owned),
        tool: run.tool.as_ref().map(|tool| roster::CurrentTool {
            kind: tool.kind,
            title: tool.title.to_string(),
            path: tool.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
            started_at: tool.started_at,
        }),
        context_percent: run.context_percent.map(f64::from),
        compactions: 0,
        files: run
            .files
            .iter()
            .map(|file| TouchedPath {
                path: file.path.to_string_lossy().into_owned(),
                edited: file.edited,
                at: file.at,
            })
            .collect(),
        files_total: run.files_total,
    }
}

/// The last word on a run that has ended.
pub(crate) fn final_progress(outcome: &RunOutcome, run: &RunProgress) -> Progress {
    Progress {
        turns: outcome.turns,
        tool_uses: outcome.tool_uses,
        usage: outcome.usage,
        waiting_on: None,
        activity: None,
        tool: None,
        ..progress(run)
    }
}

/// The limits in force, for the client.
pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits {
        max_concurrent: settings.max_concurrent,
        max_subagent_depth: settings.max_subagent_depth,
        wall_clock_ms: settings.limits.wall_clock_ms,
        idle_ms: settings.limits.idle_ms,
        no_progress_turns: settings.limits.no_progress_turns,
        tokens: settings.limits.tokens,
        cost_usd: settings.limits.cost_usd,
        descendants: settings.limits.descendants,
        identical_calls: settings.limits.identical_calls,
    }
}
