//! Looking for texts that a prompt quotes.

use std::collections::BTreeMap;

use serde_json::json;

use super::facts::Facts;
use super::output::{Match, count, folder_of, short};
use super::plan::{PlannedCall, Turn, find, ls, read};
use super::topic::{Report, list};

/// Texts that are looked for at most.
const MOST_TERMS: usize = 2;
/// The longest text that is one to look for, in characters.
const LONGEST_TERM: usize = 80;
/// Matches that a report shows of a text.
const SHOWN: usize = 12;
/// Files that are looked into.
const MOST_FILES: usize = 3;

/// What stands between backticks or double quotes, on one line.
pub(super) fn terms(prompt: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for mark in ['`', '"'] {
        for line in prompt.lines() {
            let inner = line.split(mark).skip(1).step_by(2);
            let fits = |term: &&str| !term.trim().is_empty() && term.chars().nth(LONGEST_TERM).is_none();
            found.extend(inner.map(str::trim).filter(fits).map(str::to_owned));
        }
    }
    found.dedup();
    found.truncate(MOST_TERMS);
    found
}

fn literal(term: &str, ignore_case: bool) -> PlannedCall {
    let mut arguments = json!({ "pattern": term, "literal": true, "limit": 200 });
    if ignore_case {
        arguments["ignoreCase"] = true.into();
    }
    PlannedCall { tool: "grep", arguments }
}

fn named(term: &str) -> Option<PlannedCall> {
    let plain = term.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    plain.then(|| find(&format!("*{term}*")))
}

fn hits<'c>(term: &str, facts: &Facts<'c, '_>) -> Vec<Match<'c>> {
    let exact = facts.matches(&literal(term, false));
    if exact.is_empty() { facts.matches(&literal(term, true)) } else { exact }
}

/// The first match in each of the files with most matches.
fn places<'c>(terms: &[String], facts: &Facts<'c, '_>) -> Vec<Match<'c>> {
    let mut by_file: BTreeMap<&str, (usize, Match<'c>)> = BTreeMap::new();
    for hit in terms.iter().flat_map(|term| hits(term, facts)) {
        by_file.entry(hit.path).or_insert((0, hit)).0 += 1;
    }
    let mut files: Vec<_> = by_file.into_values().collect();
    files.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    files.into_iter().take(MOST_FILES).map(|(_, hit)| hit).collect()
}

pub(super) fn stage(terms: &[String], n: usize, facts: &Facts<'_, '_>) -> Option<Turn> {
    let (text, calls): (&str, Vec<_>) = match n {
        0 => {
            let calls = terms
                .iter()
                .map(|term| literal(term, false))
                .chain(terms.iter().filter_map(|term| named(term)));
            (
                "Looking for the text itself, in files and in names.",
                std::iter::once(ls(".")).chain(calls).collect(),
            )
        }
        1 => {
            let lost = terms.iter().filter(|term| facts.matches(&literal(term, false)).is_empty());
            ("Nothing exact; trying in any letter case.", lost.map(|term| literal(term, true)).collect())
        }
        2 => {
            let around = |hit: Match<'_>| read(hit.path, hit.line.saturating_sub(3).max(1), 12);
            ("Reading around the matches.", places(terms, facts).into_iter().map(around).collect())
        }
        3 => {
            let mut folders: Vec<_> = places(terms, facts).iter().map(|hit| folder_of(hit.path)).collect();
            folders.sort_unstable();
            folders.dedup();
            ("Seeing what stands beside them.", folders.into_iter().map(ls).collect())
        }
        _ => return None,
    };
    Some(Turn { text: text.to_owned(), calls })
}

pub(super) fn report(terms: &[String], facts: &Facts<'_, '_>) -> Report {
    let mut lines = Vec::new();
    let mut parts = Vec::new();
    for term in terms {
        let found = hits(term, facts);
        let files: std::collections::BTreeSet<_> = found.iter().map(|hit| hit.path).collect();
        let cut =
            [false, true].iter().any(|case| facts.result(&literal(term, *case)).is_some_and(|out| out.cut));
        let least = if cut { "at least " } else { "" };
        parts.push(format!(
            "`{term}` is in {least}{} of {}",
            count(found.len(), "line"),
            count(files.len(), "file")
        ));
        let shown = found
            .iter()
            .take(SHOWN)
            .map(|hit| format!("{}:{}: {}", hit.path, hit.line, short(hit.text, 120)));
        list(&mut lines, &format!("Matches of `{term}`"), shown);
        let names = named(term).map(|call| facts.lines(&call)).unwrap_or_default();
        list(&mut lines, &format!("Names with `{term}`"), names.into_iter().take(SHOWN).map(str::to_owned));
    }
    Report { summary: parts.join("; ") + ".", lines }
}
