//! What a model reads about its agents: receipts, results and completions. One renderer, so that text from a child never
//! looks like ours: it is escaped wherever it stands between our tags.

use std::fmt::Write as _;
use std::path::PathBuf;

use roster::Completion;
use vocab::{AgentStatus, EndReason, EndedBy, Usage};

/// Characters of a result in the news of one completion.
const SOLO_PREVIEW: usize = 500;
/// The same where several completions come together.
const GROUP_PREVIEW: usize = 300;

/// What stands where a run wrote no text.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// Where the reader finds the text that a note speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It gets the whole text with the note.
    Inline,
    /// It may have a preview only.
    Fetched,
}

/// The note on a run that ended otherwise than by its own answer: facts, no advice. Empty for one that simply completed
/// or failed, whose status says it all.
pub(crate) fn outcome_note(completion: &Completion, reader: Reader) -> &'static str {
    match (completion.status(), reader) {
        (AgentStatus::Stopped, Reader::Inline) => match completion.outcome.ended_by {
            EndedBy::User => " (STOPPED BY THE USER; all text it produced is here; the task is NOT finished)",
            _ => " (stopped; all text it produced is here; the task is NOT finished)",
        },
        (AgentStatus::Stopped, Reader::Fetched) => match completion.outcome.ended_by {
            EndedBy::User => {
                " (STOPPED BY THE USER before it was done; the output is partial; the task is NOT finished)"
            }
            _ => " (stopped before it was done; the output is partial; the task is NOT finished)",
        },
        (AgentStatus::Aborted, Reader::Inline) => {
            " (ended by a limit; all text it produced is here; the task is unfinished)"
        }
        (AgentStatus::Aborted, Reader::Fetched) => {
            " (ended by a limit before it was done; the output may be incomplete)"
        }
        (AgentStatus::Steered, Reader::Inline) => {
            " (wrapped up at its turn limit; all text it produced is here; the task may be unfinished)"
        }
        (AgentStatus::Steered, Reader::Fetched) => {
            " (wrapped up at its turn limit; the output may be partial)"
        }
        (AgentStatus::Interrupted, _) => " (interrupted: the server ended first; the task is unfinished)",
        _ => "",
    }
}

/// The state of a run in words.
pub(crate) fn status_label(completion: &Completion) -> String {
    match completion.status() {
        AgentStatus::Completed => "Done".into(),
        AgentStatus::Steered => "Wrapped up (turn limit)".into(),
        AgentStatus::Aborted => {
            format!("Aborted ({})", completion.outcome.reason.map_or("limit", reason_words))
        }
        AgentStatus::Stopped => "Stopped".into(),
        AgentStatus::Error => format!("Error: {}", completion.outcome.error.as_deref().unwrap_or("unknown")),
        other => other.as_str().into(),
    }
}

fn reason_words(reason: EndReason) -> &'static str {
    match reason {
        EndReason::MaxTurns => "max turns exceeded",
        EndReason::WallClock => "time limit",
        EndReason::Idle => "the model was silent",
        EndReason::NoProgress => "no progress",
        EndReason::Tokens => "token limit",
        EndReason::Cost => "cost limit",
        EndReason::RepeatedCall => "the same call again and again",
        EndReason::Detached => "did not end when told to",
        EndReason::Provider => "the model's provider",
        EndReason::Setup => "could not be started",
        EndReason::Panic => "an internal fault",
        EndReason::Lost => "lost",
    }
}

/// The text of a settled run for the model that waited for it.
pub(crate) fn inline_result(completion: &Completion, show_cost: bool) -> String {
    let outcome = &completion.outcome;
    if completion.status() == AgentStatus::Error {
        let mut text = format!("Agent failed: {}", outcome.error.as_deref().unwrap_or("unknown reason"));
        text.push_str(&partial_suffix(completion));
        text.push_str(&undelivered(completion));
        return text;
    }
    let verb = match completion.status() {
        AgentStatus::Completed | AgentStatus::Steered => "completed",
        AgentStatus::Stopped => "was stopped",
        AgentStatus::Aborted => "was aborted",
        _ => "ended",
    };
    let mut head = format!(
        "Agent {verb} in {} ({})",
        seconds(completion.duration_ms()),
        count(completion.tool_uses, "tool use")
    );
    if outcome.usage.total > 0 {
        let _ = write!(head, ", {}", tokens(outcome.usage.total));
    }
    if let Some(cost) = cost(&outcome.usage, show_cost) {
        let _ = write!(head, ", {cost}");
    }
    format!(
        "{head}{}\n\n{}{}",
        outcome_note(completion, Reader::Inline),
        body(completion),
        undelivered(completion)
    )
}

/// The text of a settled run for a model that asked for it by id.
pub(crate) fn fetched_result(completion: &Completion, show_cost: bool) -> String {
    let mut head = format!(
        "Agent: {}\n{} · {}{} · {}",
        completion.agent,
        completion.agent_type,
        status_label(completion),
        outcome_note(completion, Reader::Fetched),
        count(completion.tool_uses, "tool use"),
    );
    stats(&mut head, completion, show_cost);
    let _ = write!(head, " · {}\n{}\n\n", seconds(completion.duration_ms()), completion.description);
    if completion.status() == AgentStatus::Error {
        let _ = write!(head, "Error: {}", completion.outcome.error.as_deref().unwrap_or("unknown reason"));
        return head + &partial_suffix(completion) + &undelivered(completion);
    }
    head + body(completion) + &undelivered(completion)
}

fn stats(line: &mut String, completion: &Completion, show_cost: bool) {
    let usage = &completion.outcome.usage;
    if usage.total > 0 {
        let _ = write!(line, " · {}", tokens(usage.total));
    }
    if let Some(cost) = cost(usage, show_cost) {
        let _ = write!(line, " · {cost}");
    }
    if let Some(percent) = completion.context_percent {
        let _ = write!(line, " · {percent:.0} % of context");
    }
    if completion.compactions > 0 {
        let _ = write!(line, " · {}", count(completion.compactions, "compaction"));
    }
}

fn body(completion: &Completion) -> &str {
    match completion.outcome.text.trim() {
        "" => NO_OUTPUT,
        text => text,
    }
}

/// Text of a failed run, labelled, so that nobody takes it for an answer.
fn partial_suffix(completion: &Completion) -> String {
    match completion.outcome.text.trim() {
        "" => String::new(),
        text => format!("\n\nPartial output of this run, produced before the failure:\n{text}"),
    }
}

/// Messages to the agent that never reached it.
fn undelivered(completion: &Completion) -> String {
    if completion.undelivered_steers.is_empty() {
        return String::new();
    }
    let lines: Vec<_> =
        completion.undelivered_steers.iter().map(|steer| format!("- {}", steer.text.trim())).collect();
    format!("\n\nThese messages came too late to reach the agent:\n{}", lines.join("\n"))
}

/// What the news of completions says besides what they hold.
pub(crate) struct Extras<'a> {
    pub(crate) show_cost: bool,
    /// Where the transcript of a run is, if it has one.
    pub(crate) output_file: &'a dyn Fn(&Completion) -> Option<PathBuf>,
}

/// The news of completions, as one message for the model that owns the agents.
pub(crate) fn notification(completions: &[Completion], partial: bool, extras: &Extras<'_>) -> String {
    let interrupted = |done: &&Completion| done.status() == AgentStatus::Interrupted;
    let (cut_off, ended): (Vec<_>, Vec<_>) = completions.iter().partition(interrupted);
    match (ended.is_empty(), cut_off.is_empty()) {
        (_, true) => ended_notice(&ended, partial, extras),
        (true, false) => interrupted_notice(&cut_off),
        (false, false) => {
            format!("{}\n\n{}", ended_notice(&ended, partial, extras), interrupted_notice(&cut_off))
        }
    }
}

/// The one note on agents that the end of the server cut off.
fn interrupted_notice(completions: &[&Completion]) -> String {
    let mut text =
        String::from("The server ended before these agents did. They are not running; none has a result:");
    for done in completions {
        let started = if done.started_at.is_some() { "was at work" } else { "had not started" };
        let _ = write!(
            text,
            "\n- {} ({}), {}: \"{}\" {started}",
            done.handle,
            done.agent,
            escape(&done.agent_type),
            escape(&done.description)
        );
    }
    text.push_str("\n`resume` of the Agent tool goes on with one, by its id or name.");
    text
}

fn ended_notice(completions: &[&Completion], partial: bool, extras: &Extras<'_>) -> String {
    if let [only] = completions {
        let mut text = block(only, SOLO_PREVIEW, extras);
        if let Some(file) = (extras.output_file)(only) {
            let _ = write!(text, "\nTranscript: {}", escape(&file.display().to_string()));
        }
        return text;
    }
    let mut text = format!("{} agents have ended", completions.len());
    if partial {
        text.push_str("; others of the same turn are still running");
    }
    for completion in completions {
        text.push_str("\n\n");
        text.push_str(&block(completion, GROUP_PREVIEW, extras));
    }
    text.push_str("\n\nUse get_subagent_result with an agent's id for its full result.");
    text
}

fn block(completion: &Completion, limit: usize, extras: &Extras<'_>) -> String {
    let mut text = format!("<task-notification>\n<task-id>{}</task-id>\n", completion.agent);
    if let Some(call) = &completion.tool_call {
        let _ = writeln!(text, "<tool-use-id>{}</tool-use-id>", escape(call.as_str()));
    }
    if let Some(file) = (extras.output_file)(completion) {
        let _ = writeln!(text, "<output-file>{}</output-file>", escape(&file.display().to_string()));
    }
    let summary = format!(
        "Agent \"{}\" {}{}",
        completion.description,
        completion.status().as_str(),
        outcome_note(completion, Reader::Fetched)
    );
    let (preview, cut) = clip(body(completion), limit);
    let marker = if cut { "\n[cut here: get_subagent_result has the rest]" } else { "" };
    let _ = writeln!(text, "<status>{}</status>", escape(&status_label(completion)));
    let _ = writeln!(text, "<summary>{}</summary>", escape(&summary));
    let late = clip(&undelivered(completion), limit).0.to_owned();
    let _ = writeln!(text, "<result>{}{marker}{}</result>", escape(preview), escape(&late));
    let _ = write!(
        text,
        "<usage><total_tokens>{}</total_tokens><tool_uses>{}</tool_uses>",
        completion.outcome.usage.total, completion.tool_uses
    );
    if let Some(percent) = completion.context_percent {
        let _ = write!(text, "<context_percent>{percent:.0}</context_percent>");
    }
    if completion.compactions > 0 {
        let _ = write!(text, "<compactions>{}</compactions>", completion.compactions);
    }
    if let Some(cost) = completion.outcome.usage.cost_usd.filter(|cost| extras.show_cost && *cost > 0.0) {
        let _ = write!(text, "<estimated_cost_usd>{cost:.4}</estimated_cost_usd>");
    }
    let _ =
        write!(text, "<duration_ms>{}</duration_ms></usage>\n</task-notification>", completion.duration_ms());
    text
}

/// Neutralises what could pass for one of our tags.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The first `limit` characters, and whether anything was cut.
pub(crate) fn clip(text: &str, limit: usize) -> (&str, bool) {
    match text.char_indices().nth(limit) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

/// The first `limit` characters on one line, with a mark where something was cut.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match clip(&line, limit) {
        (_, false) => line,
        _ => format!("{}…", clip(&line, limit.saturating_sub(1)).0),
    }
}

/// `3.2s`.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{:.1}s", ms as f64 / 1000.0)
}

/// `12.3k token`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} token"),
        1_000..1_000_000 => format!("{:.1}k token", count as f64 / 1e3),
        _ => format!("{:.1}M token", count as f64 / 1e6),
    }
}

/// `~$1.25`, `~$0.004`, `<$0.0001`; nothing where it is not to be told, unknown, or nothing.
fn cost(usage: &Usage, show: bool) -> Option<String> {
    let cost = usage.cost_usd.filter(|cost| show && *cost > 0.0)?;
    if cost < 0.0001 {
        return Some("<$0.0001".to_owned());
    }
    if cost >= 1.0 {
        return Some(format!("~${cost:.2}"));
    }
    let mut digits = format!("{cost:.4}");
    while digits.ends_with('0') && digits.len() > "0.00".len() {
        digits.pop();
    }
    Some(format!("~${digits}"))
}

/// `1 tool use`, `2 tool uses`.
pub(crate) fn count(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use roster::Completion;
    use vocab::{AgentStatus, EndedBy, Outcome, Timestamp, Usage};

    use super::{Extras, cost, fetched_result, inline_result, notification};

    fn completion(cost_usd: Option<f64>) -> Completion {
        let usage = Usage { cost_usd, ..Usage::of_tokens(1_000, 200, 5_000, 34) };
        Completion {
            agent: "a1".into(),
            run: 2,
            session: "s".into(),
            parent: None,
            handle: "explore".into(),
            agent_type: "Explore".into(),
            description: "look".into(),
            background: true,
            tool_call: None,
            outcome: Outcome {
                status: AgentStatus::Completed,
                ended_by: EndedBy::Itself,
                reason: None,
                text: "found".into(),
                error: None,
                usage,
            },
            turns: 1,
            max_turns: None,
            tool_uses: 3,
            context_percent: None,
            compactions: 0,
            started_at: Some(Timestamp(0)),
            completed_at: Timestamp(1_500),
            undelivered_steers: Vec::new(),
            text_cut: false,
            restored: false,
        }
    }

    #[test]
    fn a_cost_is_short_and_never_looks_exact() {
        let shown = |cost_usd| cost(&Usage { cost_usd, ..Usage::default() }, true);
        let cases = [
            (0.00001, "<$0.0001"),
            (0.0001, "~$0.0001"),
            (0.5, "~$0.50"),
            (0.125, "~$0.125"),
            (0.99999, "~$1.00"),
            (12.345, "~$12.35"),
        ];
        for (dollars, text) in cases {
            assert_eq!(shown(Some(dollars)).as_deref(), Some(text), "{dollars}");
        }
        for unknown in [None, Some(0.0), Some(-1.0), Some(f64::NAN)] {
            assert_eq!(shown(unknown), None, "{unknown:?}");
        }
        assert_eq!(cost(&Usage { cost_usd: Some(1.0), ..Usage::default() }, false), None);
    }

    #[test]
    fn costs_are_told_only_where_they_are_wanted_and_known() {
        let nowhere = |_: &Completion| None;
        for (cost_usd, show_cost, told) in
            [(Some(0.25), true, true), (Some(0.25), false, false), (None, true, false)]
        {
            let done = completion(cost_usd);
            let extras = Extras { show_cost, output_file: &nowhere };
            assert_eq!(inline_result(&done, show_cost).contains("1.2k token, ~$0.25"), told);
            assert_eq!(fetched_result(&done, show_cost).contains("1.2k token · ~$0.25"), told);
            let news = notification(&[done], false, &extras);
            assert_eq!(
                news.contains("<estimated_cost_usd>0.2500</estimated_cost_usd><duration_ms>"),
                told,
                "{news}"
            );
        }
    }

    fn ended(status: AgentStatus, text: &str) -> Completion {
        let mut done = completion(None);
        (done.outcome.status, done.outcome.text) = (status, text.to_owned());
        done
    }

    #[test]
    fn a_preview_is_cut_at_its_last_character_and_says_so() {
        let extras = Extras { show_cost: false, output_file: &|_| None };
        let marker = "[cut here: get_subagent_result has the rest]";
        // Characters, not bytes.
        for (count, members, cut) in [(500, 1, false), (501, 1, true), (300, 2, false), (301, 2, true)] {
            let done = ended(AgentStatus::Completed, &"ü".repeat(count));
            let news = notification(&vec![done.clone(); members], false, &extras);
            assert_eq!(news.contains(marker), cut, "{count} of {members}");
            let shown = news.matches('ü').count() / members;
            assert_eq!(shown, if cut { count - 1 } else { count });
            assert_eq!(
                fetched_result(&done, false).matches('ü').count(),
                count,
                "the whole is there to fetch"
            );
        }
    }

    #[test]
    fn news_that_are_partial_say_that_others_run() {
        let extras = Extras { show_cost: false, output_file: &|_| None };
        let two = vec![completion(None); 2];
        assert!(notification(&two, true, &extras).contains("others of the same turn are still running"));
        assert!(!notification(&two, false, &extras).contains("still running"));
    }

    #[test]
    fn only_what_ended_by_itself_is_called_completed_and_no_note_says_where_the_text_stands() {
        for status in [AgentStatus::Stopped, AgentStatus::Aborted, AgentStatus::Interrupted] {
            let done = ended(status, "half of it");
            let inline = inline_result(&done, false);
            assert!(!inline.contains("completed") && inline.ends_with("\n\nhalf of it"), "{inline}");
            assert!(inline.contains("finished"), "{inline}");
            for text in [inline, fetched_result(&done, false)] {
                let head = text.split("half of it").next().unwrap_or_default();
                assert!(!head.contains("Done"), "{text}");
                assert!(!head.contains("above") && !head.contains("below"), "{text}");
            }
        }
        for status in [AgentStatus::Completed, AgentStatus::Steered] {
            assert!(inline_result(&ended(status, "all of it"), false).starts_with("Agent completed in 1.5s"));
        }
    }

    #[test]
    fn a_failure_is_its_reason_and_a_labelled_rest() {
        let mut done = ended(AgentStatus::Error, "");
        done.outcome.error = Some("no route".to_owned());
        assert_eq!(inline_result(&done, false), "Agent failed: no route");
        assert!(fetched_result(&done, false).ends_with("\n\nError: no route"));
        done.outcome.text = "half of it".to_owned();
        for text in [inline_result(&done, false), fetched_result(&done, false)] {
            assert!(text.find("no route") < text.find("Partial output"), "{text}");
            assert!(text.ends_with("half of it"), "{text}");
        }
    }

    #[test]
    fn messages_that_came_too_late_are_told_with_the_end() {
        let mut done = completion(None);
        let late =
            |text: &str| roster::Steer { id: "s1".into(), text: text.to_owned(), author: EndedBy::Parent };
        done.undelivered_steers = vec![late("left"), late("right")];
        for text in [inline_result(&done, false), fetched_result(&done, false)] {
            assert!(text.ends_with("came too late to reach the agent:\n- left\n- right"), "{text}");
        }
        let mut failed = ended(AgentStatus::Error, "");
        failed.undelivered_steers = vec![late("left")];
        for text in [inline_result(&failed, false), fetched_result(&failed, false)] {
            assert!(text.contains("- left"), "{text}");
        }
        let extras = Extras { show_cost: false, output_file: &|_| None };
        failed.undelivered_steers = vec![late("<left>")];
        let news = notification(&[failed], false, &extras);
        assert!(news.contains("reach the agent:\n- &lt;left&gt;</result>"), "{news}");
    }

    #[test]
    fn the_news_say_where_a_transcript_is_and_nothing_passes_for_a_tag() {
        let somewhere = |_: &Completion| Some(PathBuf::from("/a <b>/a1.2.jsonl"));
        let extras = Extras { show_cost: false, output_file: &somewhere };
        let news = notification(&[completion(None)], false, &extras);
        assert!(news.contains("\n<output-file>/a &lt;b&gt;/a1.2.jsonl</output-file>\n<status>"), "{news}");
        assert!(news.ends_with("\nTranscript: /a &lt;b&gt;/a1.2.jsonl"), "{news}");
        let several = notification(&[completion(None), completion(None)], false, &extras);
        assert_eq!(several.matches("<output-file>").count(), 2);
        assert!(!several.contains("\nTranscript: "), "{several}");
        let none = Extras { show_cost: false, output_file: &|_| None };
        assert!(!notification(&[completion(None)], false, &none).contains("output-file"));
    }
}
