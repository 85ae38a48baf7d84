//! Which languages a folder is written in, and how it is laid out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::facts::Facts;
use super::output::{count, depth, extension_of, name_of, short};
use super::plan::{PlannedCall, Turn, find, ls, read};
use super::topic::{Report, Stage, list};

pub(super) const STAGES: [Stage; 4] = [look, open_folders, read_heads, find_company];

const TESTS: &str = "{*test*,*spec*}";
const CI: &str = "{.github,.gitlab-ci.yml,.circleci,.ci,Jenkinsfile,azure-pipelines.yml}";

/// Kinds of file that a report lists, and folders that are opened.
const MOST_KINDS: usize = 8;
const MOST_FOLDERS: usize = 3;

/// Extensions of languages in which programs are written. What else there is, is named by its extension.
const LANGUAGES: [(&str, &str); 38] = [
    ("rs", "Rust"),
    ("py", "Python"),
    ("js", "JavaScript"),
    ("mjs", "JavaScript"),
    ("cjs", "JavaScript"),
    ("jsx", "JavaScript"),
    ("ts", "TypeScript"),
    ("mts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("go", "Go"),
    ("c", "C"),
    ("h", "C or C++ header"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("cxx", "C++"),
    ("hpp", "C++"),
    ("java", "Java"),
    ("kt", "Kotlin"),
    ("rb", "Ruby"),
    ("php", "PHP"),
    ("cs", "C#"),
    ("fs", "F#"),
    ("swift", "Swift"),
    ("scala", "Scala"),
    ("lua", "Lua"),
    ("sh", "Shell"),
    ("bash", "Shell"),
    ("pl", "Perl"),
    ("r", "R"),
    ("jl", "Julia"),
    ("hs", "Haskell"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("erl", "Erlang"),
    ("clj", "Clojure"),
    ("zig", "Zig"),
    ("dart", "Dart"),
    ("vue", "Vue"),
];

/// The language of an extension, in small letters.
pub(super) fn language_of(extension: &str) -> Option<&'static str> {
    LANGUAGES.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
}

/// A glob of all source files.
pub(super) fn source_glob() -> String {
    let extensions: Vec<_> = LANGUAGES.iter().map(|(extension, _)| *extension).collect();
    format!("*.{{{}}}", extensions.join(","))
}

fn all() -> PlannedCall {
    find("*")
}

fn of_extension(extension: &str) -> PlannedCall {
    find(&format!("*.{extension}"))
}

fn files<'c>(facts: &Facts<'c, '_>) -> Vec<&'c str> {
    facts.lines(&all()).into_iter().filter(|path| !path.ends_with('/')).collect()
}

/// Keys by how often they occur, the most frequent first.
pub(super) fn ranked<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<(&'k str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, count)| Reverse(*count));
    ranked
}

fn top_folders<'c>(facts: &Facts<'c, '_>) -> Vec<(&'c str, usize)> {
    ranked(files(facts).into_iter().filter_map(|path| path.split_once('/').map(|(top, _)| top)))
}

fn look(_: &Facts<'_, '_>) -> Turn {
    Turn { text: "Listing the folder, and all names below it.".to_owned(), calls: vec![ls("."), all()] }
}

fn open_folders(facts: &Facts<'_, '_>) -> Turn {
    let mut calls: Vec<_> =
        top_folders(facts).iter().take(MOST_FOLDERS).map(|(folder, _)| ls(folder)).collect();
    if facts.result(&all()).is_some_and(|output| output.cut) {
        // The listing was cut, so its counts are too low: the largest kinds are counted on their own.
        let kinds = ranked(files(facts).into_iter().filter_map(extension_of));
        calls.extend(kinds.iter().take(2).map(|(extension, _)| of_extension(extension)));
    }
    Turn { text: format!("{} seen; opening the largest folders.", count(files(facts).len(), "file")), calls }
}

fn read_heads(facts: &Facts<'_, '_>) -> Turn {
    let top: Vec<&str> = facts.lines(&ls("."));
    let readme = top.iter().find(|name| name.to_lowercase().starts_with("readme"));
    let manifest =
        top.iter().find(|name| ["Cargo.toml", "package.json", "pyproject.toml", "go.mod"].contains(name));
    let calls =
        readme.into_iter().chain(manifest).filter(|name| !name.ends_with('/')).map(|name| read(name, 1, 40));
    Turn { text: "Reading what the folder says of itself.".to_owned(), calls: calls.collect() }
}

fn find_company(_: &Facts<'_, '_>) -> Turn {
    let calls = vec![find(TESTS), find(CI), find("*.md")];
    Turn { text: "Looking for tests, automation and documents.".to_owned(), calls }
}

pub(super) fn report(facts: &Facts<'_, '_>) -> Report {
    let Some(listing) = facts.result(&all()) else { return from_top(facts) };
    let least = if listing.cut { "at least " } else { "" };
    let files = files(facts);
    let folders = facts.lines(&all()).len() - files.len();
    let kinds = kinds(facts, &files, least);
    let main = kinds.iter().find_map(|kind| kind.language.map(|language| (language, &kind.count)));
    let summary = format!(
        "{least}{} in {}{}.",
        count(files.len(), "file"),
        count(folders, "folder"),
        main.map_or_else(String::new, |(language, count)| format!("; most code is {language} ({count})"))
    );
    let mut lines = Vec::new();
    list(&mut lines, "Kinds of file", kinds.iter().map(Kind::line));
    list(&mut lines, "Folders", folder_lines(facts, least));
    list(&mut lines, "Files at the top", at_top(&files));
    list(&mut lines, "What it says of itself", readme_line(facts));
    list(&mut lines, "Beside the code", company(facts));
    Report { summary, lines }
}

/// All that can be said where only the top was listed.
fn from_top(facts: &Facts<'_, '_>) -> Report {
    let top = facts.lines(&ls("."));
    let summary = if top.is_empty() {
        "nothing could be listed.".to_owned()
    } else {
        format!("{} at the top; what is below could not be listed.", count(top.len(), "name"))
    };
    let mut lines = Vec::new();
    list(&mut lines, "At the top", top.into_iter().take(30).map(str::to_owned));
    Report { summary, lines }
}

struct Kind<'c> {
    extension: &'c str,
    language: Option<&'static str>,
    count: String,
}

impl Kind<'_> {
    fn line(&self) -> String {
        let language = self.language.map_or_else(String::new, |language| format!(" ({language})"));
        format!(".{}{language}: {}", self.extension, self.count)
    }
}

fn kinds<'c>(facts: &Facts<'c, '_>, files: &[&'c str], least: &str) -> Vec<Kind<'c>> {
    let ranked = ranked(files.iter().copied().filter_map(extension_of));
    let kind = |(extension, seen): &(&'c str, usize)| {
        let own = facts.result(&of_extension(extension));
        let (least, n) = match own {
            Some(own) => (if own.cut { "at least " } else { "" }, own.lines().count()),
            None => (least, *seen),
        };
        let language = language_of(&extension.to_lowercase());
        Kind { extension, language, count: format!("{least}{}", count(n, "file")) }
    };
    ranked.iter().take(MOST_KINDS).map(kind).collect()
}

fn folder_lines(facts: &Facts<'_, '_>, least: &str) -> Vec<String> {
    let line = |(folder, files): &(&str, usize)| {
        let inside = facts.lines(&ls(folder));
        let names: Vec<_> = inside.iter().take(8).map(|name| short(name, 40)).collect();
        let more = if inside.len() > names.len() { ", …" } else { "" };
        let names =
            if names.is_empty() { String::new() } else { format!("; holds {}{more}", names.join(", ")) };
        format!("{folder}/: {least}{}{names}", count(*files, "file"))
    };
    top_folders(facts).iter().take(MOST_KINDS).map(line).collect()
}

fn at_top(files: &[&str]) -> Option<String> {
    let top: Vec<_> =
        files.iter().filter(|path| depth(path) == 0).take(20).map(|path| short(path, 40)).collect();
    (!top.is_empty()).then(|| top.join(", "))
}

/// The title of the README and its first line of text.
fn readme_line(facts: &Facts<'_, '_>) -> Option<String> {
    let (path, readme) =
        facts.read_files().find(|(path, _)| name_of(path).to_lowercase().starts_with("readme"))?;
    let mut lines = readme.lines().map(str::trim).filter(|line| !line.is_empty());
    let title = lines.next()?.trim_start_matches(['#', '=', ' ']);
    let text = lines.find(|line| !line.starts_with(['#', '=', '-', '[', '!', '<', '`']));
    let text = text.map_or_else(String::new, |text| format!(" — {}", short(text, 200)));
    Some(format!("{path}: {}{text}", short(title, 100)))
}

fn company(facts: &Facts<'_, '_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (call, label) in [(find(TESTS), "names with test or spec"), (find("*.md"), "Markdown documents")] {
        if let Some(output) = facts.result(&call) {
            let least = if output.cut { "at least " } else { "" };
            lines.push(format!("{label}: {least}{}", output.lines().count()));
        }
    }
    let automation = facts.lines(&find(CI));
    if !automation.is_empty() {
        let names: Vec<_> = automation.iter().take(6).map(|path| short(path, 60)).collect();
        lines.push(format!("automation: {}", names.join(", ")));
    }
    lines
}
