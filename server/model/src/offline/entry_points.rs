//! Where a program begins, and how it is built and run.

use std::cmp::Reverse;

use super::facts::Facts;
use super::output::{Match, count, depth, extension_of, name_of, short};
use super::plan::{PlannedCall, Turn, find, grep, ls, read};
use super::topic::{Report, Stage, list};

mod manifest;

pub(super) const STAGES: [Stage; 4] = [look, read_manifests, search_mains, read_mains];

const MAINS: &str = "{main.rs,main.py,__main__.py,manage.py,app.py,main.go,main.c,main.cc,main.cpp,index.js,index.ts,\
                     main.js,main.ts,server.js,Main.java,Main.kt,Program.cs,main.dart,main.zig}";
/// Commands where they stand alone on a line or are quoted; the words that are words of prose too only as whole commands.
const COMMANDS: &str = r"(^\s*(\$\s*)?|`)(cargo|npm|npx|pnpm|yarn|pip|pipx|poetry|uv|docker|mvn|gradle|cmake|bundle|mix)\s+[a-z]|(\$\s+|`)(make|just|go)\b|^\s*(make|just|go (build|run|test|install))(\s+[\w./-]+)?\s*$";

const MOST_MANIFESTS: usize = 4;
const MOST_SEARCHES: usize = 3;
const OPENED: usize = 2;
const SHOWN: usize = 10;

/// How an entry point looks, by extension.
const ENTRIES: [(&str, &str, &str); 6] = [
    ("rs", "*.rs", r"^\s*(pub )?(async )?fn main\s*\("),
    ("py", "*.py", r"^def main\b|^if __name__ =="),
    ("go", "*.go", r"^func main\(\)"),
    ("c", "*.{c,cc,cpp,cxx}", r"^\s*(int|void)\s+main\s*\("),
    ("java", "*.{java,kt}", r"\bstatic void main\b|^fun main\("),
    ("js", "*.{js,mjs,cjs,ts}", r"^#!.*\bnode\b|require\.main === module"),
];

fn manifests() -> PlannedCall {
    find(&format!("{{{}}}", manifest::NAMES.join(",")))
}

fn mains() -> PlannedCall {
    find(MAINS)
}

fn commands() -> PlannedCall {
    grep(COMMANDS, Some("README*"), 30)
}

fn entry((_, glob, pattern): &(&str, &str, &str)) -> PlannedCall {
    grep(pattern, Some(glob), 100)
}

fn look(_: &Facts<'_, '_>) -> Turn {
    let text = "Looking for manifests and for files that are usually begun with.".to_owned();
    Turn { text, calls: vec![ls("."), manifests(), mains()] }
}

/// Paths with the highest first; the order of the listing else.
fn highest_first(mut paths: Vec<&str>) -> Vec<&str> {
    paths.retain(|path| !path.ends_with('/'));
    paths.sort_by_key(|path| depth(path));
    paths
}

fn chosen_manifests<'c>(facts: &Facts<'c, '_>) -> Vec<&'c str> {
    let mut chosen = highest_first(facts.lines(&manifests()));
    chosen.truncate(MOST_MANIFESTS);
    chosen
}

/// Whole, as far as the tool shows it: half a manifest in JSON cannot be read.
fn opened(path: &str) -> PlannedCall {
    read(path, 1, 2_000)
}

fn read_manifests(facts: &Facts<'_, '_>) -> Turn {
    let found = count(facts.lines(&manifests()).len(), "manifest");
    let calls = chosen_manifests(facts).into_iter().map(opened).collect();
    Turn { text: format!("{found}; reading the ones nearest to the top."), calls }
}

/// The searches that the names seen so far speak for; all of them where none does.
fn searches(facts: &Facts<'_, '_>) -> Vec<PlannedCall> {
    let by_manifest =
        facts.lines(&manifests()).into_iter().filter_map(|path| manifest::language(name_of(path)));
    let by_name = facts.lines(&mains()).into_iter().filter_map(extension_of).map(family);
    let seen: Vec<&str> = by_manifest.chain(by_name).collect();
    let known: Vec<_> = ENTRIES.iter().filter(|(language, ..)| seen.contains(language)).collect();
    let wanted = if known.is_empty() { ENTRIES.iter().collect() } else { known };
    wanted.into_iter().map(entry).take(MOST_SEARCHES).collect()
}

/// The extension that stands for a language.
fn family(extension: &str) -> &str {
    match extension {
        "cc" | "cpp" | "cxx" => "c",
        "kt" => "java",
        "ts" | "mjs" | "cjs" => "js",
        other => other,
    }
}

fn search_mains(facts: &Facts<'_, '_>) -> Turn {
    Turn { text: "Searching for entry points in the text.".to_owned(), calls: searches(facts) }
}

/// Entry points, those of tests and examples last.
fn entries<'c>(facts: &Facts<'c, '_>) -> Vec<Match<'c>> {
    let mut found: Vec<_> = searches(facts).iter().flat_map(|call| facts.matches(call)).collect();
    let aside = |path: &str| ["test", "example", "bench", "fixture"].iter().any(|word| path.contains(word));
    found.sort_by_key(|hit| (aside(hit.path), depth(hit.path)));
    found
}

fn read_mains(facts: &Facts<'_, '_>) -> Turn {
    let around = |hit: &Match<'_>| read(hit.path, hit.line, 12);
    let calls = entries(facts).iter().take(OPENED).map(around).chain([commands()]).collect();
    Turn { text: "Reading how they begin, and what the README says to type.".to_owned(), calls }
}

pub(super) fn report(facts: &Facts<'_, '_>) -> Report {
    let found = highest_first(facts.lines(&manifests()));
    let entries = entries(facts);
    let names = facts.lines(&mains());
    let cut = searches(facts).iter().any(|call| facts.result(call).is_some_and(|output| output.cut));
    let summary = format!(
        "{} and {}{}{}.",
        count(found.len(), "manifest"),
        if cut { "at least " } else { "" },
        count(entries.len(), "entry point").replace("entry points", "entry points in the text"),
        entries.first().map_or_else(String::new, |hit| format!("; the first is {}:{}", hit.path, hit.line))
    );
    let mut lines = Vec::new();
    list(&mut lines, "Manifests", manifest_lines(facts, &found));
    let shown =
        entries.iter().take(SHOWN).map(|hit| format!("{}:{}: {}", hit.path, hit.line, short(hit.text, 100)));
    list(&mut lines, "Entry points", shown);
    if entries.is_empty() {
        list(
            &mut lines,
            "Files that are usually begun with",
            names.into_iter().take(SHOWN).map(str::to_owned),
        );
    }
    list(&mut lines, "What the README says to type", readme_commands(facts));
    list(&mut lines, "Usual for these manifests (not checked)", conventions(&found));
    Report { summary, lines }
}

fn manifest_lines(facts: &Facts<'_, '_>, found: &[&str]) -> Vec<String> {
    let chosen = chosen_manifests(facts);
    let mut lines: Vec<String> = chosen
        .iter()
        .map(|path| match facts.result(&opened(path)) {
            Some(output) => format!("{path}: {}", manifest::describe(name_of(path), output)),
            None => format!("{path}: not read"),
        })
        .collect();
    if found.len() > chosen.len() {
        let rest: Vec<_> = found[chosen.len()..].iter().take(SHOWN).map(|path| short(path, 80)).collect();
        lines.push(format!("{} more: {}", found.len() - chosen.len(), rest.join(", ")));
    }
    lines
}

/// The lines that look most like commands: indented or quoted ones first.
fn readme_commands(facts: &Facts<'_, '_>) -> Vec<String> {
    let mut hits = facts.matches(&commands());
    hits.sort_by_key(|hit| (depth(hit.path), Reverse(hit.text.starts_with(['$', '`', '>']))));
    hits.iter()
        .take(SHOWN)
        .map(|hit| format!("{}:{}: {}", hit.path, hit.line, short(hit.text, 120)))
        .collect()
}

/// What one usually types for a manifest at the top.
fn conventions(found: &[&str]) -> Vec<String> {
    let top = found.iter().filter(|path| depth(path) == 0);
    top.filter_map(|path| manifest::convention(path).map(|usual| format!("{path}: {usual}"))).collect()
}
