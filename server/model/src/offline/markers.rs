//! Open ends that the text of a folder marks: TODO, FIXME and their like.

use super::facts::Facts;
use super::layout::ranked;
use super::output::{Match, count, short};
use super::plan::{PlannedCall, Turn, find, grep, ls, read};
use super::topic::{Report, Stage, list};

pub(super) const STAGES: [Stage; 4] = [search_words, search_more, read_around, search_set_aside];

const NOTES: &str = "{TODO*,ROADMAP*,CHANGELOG*}";
const MOST_FILES: usize = 3;
const SHOWN: usize = 10;

fn todo() -> PlannedCall {
    grep(r"\bTODO\b", None, 500)
}

fn fixme() -> PlannedCall {
    grep(r"\bFIXME\b", None, 500)
}

fn hacks() -> PlannedCall {
    grep(r"\b(XXX|HACK)\b", None, 200)
}

fn unwritten() -> PlannedCall {
    grep(r"\b(todo|unimplemented)!\(|\bNotImplementedError\b", None, 200)
}

fn set_aside() -> PlannedCall {
    let skips =
        r"#\[ignore|@(unittest\.)?skip\b|pytest\.mark\.(skip|xfail)|\b(it|test|describe)\.skip\(|\bt\.Skip\(";
    grep(skips, None, 200)
}

fn deprecated() -> PlannedCall {
    grep(r"@[Dd]eprecated\b|#\[deprecated|\bDeprecationWarning\b", None, 200)
}

/// All marked lines, with a line that has two words only once.
fn marked<'c>(facts: &Facts<'c, '_>) -> Vec<Match<'c>> {
    let mut all: Vec<Match<'c>> =
        [fixme(), todo(), hacks()].iter().flat_map(|call| facts.matches(call)).collect();
    all.sort_by_key(|hit| (hit.path, hit.line));
    all.dedup_by_key(|hit| (hit.path, hit.line));
    all
}

fn top_files<'c>(facts: &Facts<'c, '_>) -> Vec<(&'c str, usize)> {
    ranked(marked(facts).into_iter().map(|hit| hit.path))
}

fn search_words(_: &Facts<'_, '_>) -> Turn {
    Turn { text: "Searching for the usual words.".to_owned(), calls: vec![ls("."), todo(), fixme()] }
}

fn search_more(facts: &Facts<'_, '_>) -> Turn {
    let text = format!("{} so far; searching for rarer words.", count(marked(facts).len(), "marked line"));
    Turn { text, calls: vec![hacks(), unwritten()] }
}

fn read_around(facts: &Facts<'_, '_>) -> Turn {
    let hits = marked(facts);
    let first = |file: &str| hits.iter().find(|hit| hit.path == file).copied();
    let files = top_files(facts);
    let calls: Vec<_> = files
        .iter()
        .take(MOST_FILES)
        .filter_map(|(file, _)| first(file))
        .map(|hit| read(hit.path, hit.line.saturating_sub(2).max(1), 8))
        .collect();
    if calls.is_empty() {
        return Turn {
            text: "No marks; looking for files that keep notes.".to_owned(),
            calls: vec![find(NOTES)],
        };
    }
    Turn { text: "Reading around the first mark of the files with most.".to_owned(), calls }
}

fn search_set_aside(_: &Facts<'_, '_>) -> Turn {
    let text = "Searching for tests that are set aside and for what is on its way out.".to_owned();
    Turn { text, calls: vec![set_aside(), deprecated()] }
}

pub(super) fn report(facts: &Facts<'_, '_>) -> Report {
    let hits = marked(facts);
    let files = top_files(facts);
    let searches = [
        ("TODO", todo()),
        ("FIXME", fixme()),
        ("XXX or HACK", hacks()),
        ("code that says it is not written", unwritten()),
        ("tests set aside", set_aside()),
        ("deprecations", deprecated()),
    ];
    let mut counts = Vec::new();
    let mut cut = false;
    for (label, call) in &searches {
        if let Some(output) = facts.result(call) {
            let least = if output.cut { "at least " } else { "" };
            cut |= output.cut;
            counts.push(format!("{label}: {least}{}", count(facts.matches(call).len(), "line")));
        }
    }
    let summary = match (counts.is_empty(), hits.len()) {
        (true, _) => "nothing could be searched.".to_owned(),
        (false, 0) => "no line is marked TODO, FIXME, XXX or HACK.".to_owned(),
        (false, n) => format!(
            "{}{} marked TODO, FIXME, XXX or HACK, in {}.",
            if cut { "at least " } else { "" },
            count(n, "line"),
            count(files.len(), "file")
        ),
    };
    let mut lines = Vec::new();
    list(&mut lines, "By search", counts);
    let shown = files.iter().take(SHOWN).map(|(file, n)| format!("{file}: {}", count(*n, "line")));
    list(&mut lines, "Files with most marks", shown);
    let quotes =
        hits.iter().take(SHOWN).map(|hit| format!("{}:{}: {}", hit.path, hit.line, short(hit.text, 120)));
    list(&mut lines, if hits.len() > SHOWN { "The first of them" } else { "All of them" }, quotes);
    let others = facts.matches(&unwritten()).into_iter().chain(facts.matches(&set_aside())).take(SHOWN);
    list(
        &mut lines,
        "Not written, or set aside",
        others.map(|hit| format!("{}:{}: {}", hit.path, hit.line, short(hit.text, 120))),
    );
    list(
        &mut lines,
        "Files that keep notes",
        facts.lines(&find(NOTES)).into_iter().take(SHOWN).map(str::to_owned),
    );
    Report { summary, lines }
}
