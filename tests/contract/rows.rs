//! The reference renderer of roster rows, and the golden texts that every client's own renderer is held to.
//!
//! It reads JSON as a client does, so that values of a later version are rendered too. The rules are in
//! `editor-clients/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::{files_under, root};

/// The text of a roster: agents of a `FleetListResult`, with the server's time now.
fn render(list: &Value, server_now: u64) -> String {
    let agents: Vec<&Value> = list["agents"].as_array().into_iter().flatten().collect();
    let known: BTreeSet<&str> = agents.iter().map(|agent| text(agent, "agentId")).collect();
    let mut children: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let mut roots = Vec::new();
    let mut ordered = agents;
    ordered.sort_by_key(|agent| (agent["createdAt"].as_u64(), text(agent, "agentId")));
    for agent in &ordered {
        match agent["parentId"].as_str() {
            Some(parent) if known.contains(parent) => children.entry(parent).or_default().push(agent),
            _ => roots.push(*agent),
        }
    }
    let mut tree = Tree { children, shown: BTreeSet::new(), server_now, out: String::new() };
    for agent in roots.into_iter().chain(ordered) {
        tree.draw(agent, 0);
    }
    tree.out
}

struct Tree<'a> {
    children: BTreeMap<&'a str, Vec<&'a Value>>,
    shown: BTreeSet<&'a str>,
    server_now: u64,
    out: String,
}

impl<'a> Tree<'a> {
    fn draw(&mut self, agent: &'a Value, depth: usize) {
        let id = text(agent, "agentId");
        if !self.shown.insert(id) {
            return;
        }
        self.out.push_str(&"  ".repeat(depth));
        self.out.push_str(&row(agent, self.server_now));
        self.out.push('\n');
        for child in self.children.get(id).cloned().unwrap_or_default() {
            self.draw(child, depth + 1);
        }
    }
}

fn row(agent: &Value, server_now: u64) -> String {
    let status = text(agent, "status");
    let active = matches!(status, "queued" | "running" | "stopping");
    let mut head = format!("{} {}", glyph(status), clean(text(agent, "handle"), 40));
    let description = clean(text(agent, "description"), 60);
    if !description.is_empty() {
        head = format!("{head}  {description}");
    }
    let detail = match status {
        _ if active => clean(text(agent, "activity"), 60),
        "error" => clean(text(agent, "error"), 60),
        _ => String::new(),
    };
    let mut parts = vec![head, state(agent, status, active), detail];
    parts.extend(stats(agent, active, server_now));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn glyph(status: &str) -> char {
    match status {
        "queued" => '○',
        "running" => '●',
        "stopping" => '◐',
        "completed" | "steered" => '✓',
        "aborted" => '!',
        "stopped" => '■',
        "error" => '✗',
        "interrupted" => '~',
        _ => '•',
    }
}

fn state(agent: &Value, status: &str, active: bool) -> String {
    let state = match (status, text(agent, "waitingOn")) {
        ("queued", _) => match number(agent, "queuePosition") {
            0 => "queued".to_owned(),
            place => format!("queued #{place}"),
        },
        ("running", "setup") => "starting".to_owned(),
        ("running", "approval") => "needs approval".to_owned(),
        ("running", "child") => "waiting for agents".to_owned(),
        ("running", "retry") => "retrying".to_owned(),
        ("running", "compaction") => "compacting".to_owned(),
        (word, _) => clean(word, 40),
    };
    match text(agent, "reason") {
        _ if active => state,
        "" => state,
        "maxTurns" => format!("{state} (turn limit)"),
        "wallClock" => format!("{state} (time limit)"),
        "idle" => format!("{state} (idle limit)"),
        "noProgress" => format!("{state} (no progress)"),
        "tokens" => format!("{state} (token limit)"),
        "cost" => format!("{state} (cost limit)"),
        "repeatedCall" => format!("{state} (repeated call)"),
        other => format!("{state} ({})", clean(other, 40)),
    }
}

fn stats(agent: &Value, active: bool, server_now: u64) -> Vec<String> {
    let turns = match (number(agent, "turns"), number(agent, "maxTurns")) {
        (0, _) => String::new(),
        (turns, 0) => counted(turns, "turn"),
        (turns, limit) => format!("{turns}/{limit} turns"),
    };
    let tools = match number(agent, "toolUses") {
        0 => String::new(),
        tools => counted(tools, "tool"),
    };
    let end = if active { Some(server_now) } else { agent["completedAt"].as_u64() };
    let elapsed = agent["startedAt"].as_u64().zip(end).map(|(start, end)| elapsed(end.saturating_sub(start)));
    vec![turns, tools, tokens(number(&agent["usage"], "total")), elapsed.unwrap_or_default()]
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn tokens(count: u64) -> String {
    let tenths = |tenths: u64, unit: &str| format!("{}.{}{unit} token", tenths / 10, tenths % 10);
    match count {
        0 => String::new(),
        1..1_000 => format!("{count} token"),
        1_000..999_950 => tenths((count + 50) / 100, "k"),
        _ => tenths((count + 50_000) / 100_000, "M"),
    }
}

fn elapsed(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1_000 % 60, ms / 60_000 % 60, ms / 3_600_000);
    match ms {
        0..60_000 => format!("{seconds}.{}s", ms / 100 % 10),
        60_000..3_600_000 => format!("{minutes}m {seconds:02}s"),
        _ => format!("{hours}h {minutes:02}m"),
    }
}

/// One line of at most `limit` characters, with nothing in it that a terminal or an editor would act on.
fn clean(text: &str, limit: usize) -> String {
    let blank = |letter: char| {
        matches!(letter,
            '\0'..=' ' | '\u{7f}'..='\u{a0}' | '\u{61c}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    if line.chars().count() <= limit {
        return line;
    }
    let cut: String = line.chars().take(limit - 1).collect();
    format!("{}…", cut.trim_end_matches(' '))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

#[test]
fn each_roster_has_its_golden_text() {
    let golden = root().join("tests/contract/golden");
    let mut stale = Vec::new();
    let mut known = BTreeSet::new();
    for path in files_under(&root().join("tests/contract/fixtures/roster")) {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let fixture: Value =
            serde_json::from_str(&fs::read_to_string(&path).expect("it can be read")).expect("it is JSON");
        let since = number(&fixture, "now").saturating_sub(number(&fixture, "receivedAt"));
        let rows = render(&fixture["list"], number(&fixture["list"], "serverNow") + since);
        let file = golden.join(format!("{name}.txt"));
        if !fs::read_to_string(&file).is_ok_and(|old| old == rows) {
            stale.push(name);
            if std::env::var_os("CI").is_none() {
                fs::create_dir_all(&golden).expect("the folder can be made");
                fs::write(&file, rows).expect("it can be written");
            }
        }
        known.insert(file);
    }
    assert!(
        stale.is_empty(),
        "new golden text of {stale:?}. Look at it, run the contract test again, then commit."
    );
    let strays: Vec<_> = files_under(&golden).into_iter().filter(|file| !known.contains(file)).collect();
    assert!(strays.is_empty(), "of no fixture; delete them: {strays:?}");
}

#[test]
fn numbers_change_their_unit_where_the_rules_say() {
    let count = |expected: &[(u64, &str)]| {
        for (given, text) in expected {
            assert_eq!(tokens(*given), *text);
        }
    };
    count(&[(0, ""), (1, "1 token"), (999, "999 token"), (1_000, "1.0k token"), (1_049, "1.0k token")]);
    count(&[
        (1_050, "1.1k token"),
        (12_345, "12.3k token"),
        (999_949, "999.9k token"),
        (999_950, "1.0M token"),
    ]);
    count(&[(1_250_000, "1.3M token"), (123_400_000, "123.4M token")]);
    let times =
        [(0, "0.0s"), (59_999, "59.9s"), (60_000, "1m 00s"), (3_599_999, "59m 59s"), (3_600_000, "1h 00m")];
    for (ms, text) in times {
        assert_eq!(elapsed(ms), text);
    }
    assert_eq!(elapsed(100 * 3_600_000), "100h 00m");
}

#[test]
fn a_text_becomes_one_line_that_does_nothing() {
    assert_eq!(clean(" a\r\n\t b\u{1b}[31m\u{202e}c\u{a0}", 60), "a b [31m c");
    assert_eq!(clean("abc", 3), "abc");
    assert_eq!(clean("abcd", 3), "ab…");
    assert_eq!(clean("a bcd", 3), "a…", "no space before the ellipsis");
    assert_eq!(clean("日本語です", 4), "日本語…");
    assert_eq!(clean("\u{2028}\n", 4), "");
}
