//! Where most of the code is: folders by files, files by lines and definitions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::layout::{language_of, ranked, source_glob};
use super::output::{Output, count, extension_of, folder_of, short};
use super::plan::{PlannedCall, Turn, find, grep, ls, read};
use super::topic::{Report, Stage, list};

pub(super) const STAGES: [Stage; 6] =
    [look, search_definitions, search_folders, measure_first, measure_rest, read_largest];

/// Files that are measured, in two steps.
const MEASURED: usize = 12;
const MEASURED_FIRST: usize = 6;
const SHOWN: usize = 8;
/// Folders that are searched on their own where the search of all was cut.
const SEARCHED: usize = 3;
/// Files whose beginning is read.
const OPENED: usize = 3;

fn sources() -> PlannedCall {
    find(&source_glob())
}

fn look(_: &Facts<'_, '_>) -> Turn {
    Turn { text: "Listing the source files.".to_owned(), calls: vec![ls("."), sources()] }
}

/// A search for definitions in files of one extension.
fn definitions(extension: &str) -> PlannedCall {
    let pattern = match extension {
        "rs" => r"^\s*(pub(\([a-z]+\))? )?(async |const |unsafe )*(fn|struct|enum|trait|impl|mod)\b",
        "py" => r"^\s*(async )?(def|class) \w",
        "go" => r"^(func|type) ",
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "tsx" | "vue" => {
            r"^\s*(export )?(default )?(async )?(function|class|interface|enum) |^(export )?const \w+ = (async )?\("
        }
        "java" | "kt" | "cs" | "scala" => r"\b(class|interface|enum|record|fun|def) \w",
        "rb" | "ex" | "exs" => r"^\s*(def|defp|class|module|defmodule) ",
        "lua" => r"\bfunction\b",
        "sh" | "bash" => r"^\w[\w-]*\s*\(\)|^function ",
        _ => r"^[A-Za-z_][\w\s\*:<>,&~]*\([^;]*$",
    };
    grep(pattern, Some(&format!("*.{extension}")), 2_000)
}

/// The extensions of most sources.
fn main_extensions<'c>(facts: &Facts<'c, '_>) -> Vec<&'c str> {
    let extensions = ranked(facts.lines(&sources()).into_iter().filter_map(extension_of));
    extensions.into_iter().map(|(extension, _)| extension).take(2).collect()
}

fn search_definitions(facts: &Facts<'_, '_>) -> Turn {
    let found = count(facts.lines(&sources()).len(), "source file");
    let calls = main_extensions(facts).into_iter().map(definitions).collect();
    Turn { text: format!("{found}; searching for definitions to see where they gather."), calls }
}

/// The folders with most sources, with the extension of most of them.
fn main_folders<'c>(facts: &Facts<'c, '_>) -> Vec<(&'c str, &'c str)> {
    let files = facts.lines(&sources());
    let folders = ranked(files.iter().map(|file| folder_of(file)));
    let main = |folder: &'c str| {
        let inside = files.iter().copied().filter(|file| folder_of(file) == folder);
        Some((folder, ranked(inside.filter_map(extension_of)).first()?.0))
    };
    folders.into_iter().filter_map(|(folder, _)| main(folder)).take(SEARCHED).collect()
}

/// A search for definitions in one folder.
fn definitions_in((folder, extension): (&str, &str)) -> PlannedCall {
    let mut call = definitions(extension);
    call.arguments["path"] = folder.into();
    call
}

/// A search that was cut shows the files that come first by name; the largest folders get one of their own.
fn search_folders(facts: &Facts<'_, '_>) -> Turn {
    let cut = |extension: &str| facts.result(&definitions(extension)).is_some_and(|output| output.cut);
    let folders = main_folders(facts).into_iter().filter(|(_, extension)| cut(extension));
    Turn {
        text: "That was too much to show; searching the largest folders.".to_owned(),
        calls: folders.map(definitions_in).collect(),
    }
}

/// What the searches show of a file.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    definitions: usize,
    /// The line of the last one: the file is at least so long.
    last_line: u64,
}

fn seen<'c>(facts: &Facts<'c, '_>) -> BTreeMap<&'c str, Seen> {
    let everywhere = main_extensions(facts).into_iter().map(definitions);
    let searches = everywhere.chain(main_folders(facts).into_iter().map(definitions_in));
    let places: BTreeSet<_> =
        searches.flat_map(|call| facts.matches(&call)).map(|hit| (hit.path, hit.line)).collect();
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    for (path, line) in places {
        let file = seen.entry(path).or_default();
        file.definitions += 1;
        file.last_line = file.last_line.max(line);
    }
    seen
}

/// The files to measure: all where they are few, else those whose last definition stands furthest down.
fn candidates<'c>(facts: &Facts<'c, '_>) -> Vec<&'c str> {
    let mut files: Vec<&str> =
        facts.lines(&sources()).into_iter().filter(|path| !path.ends_with('/')).collect();
    let seen = seen(facts);
    files.sort_by_key(|file| Reverse(seen.get(file).map_or(0, |seen| seen.last_line)));
    files.truncate(MEASURED);
    files
}

/// One line is read for the note behind it, which says how many more there are.
fn measure(file: &str) -> PlannedCall {
    read(file, 1, 1)
}

fn measure_first(facts: &Facts<'_, '_>) -> Turn {
    let calls = candidates(facts).into_iter().take(MEASURED_FIRST).map(measure).collect();
    Turn { text: "Measuring the files that seem longest.".to_owned(), calls }
}

fn measure_rest(facts: &Facts<'_, '_>) -> Turn {
    let calls = candidates(facts).into_iter().skip(MEASURED_FIRST).map(measure).collect();
    Turn { text: "Measuring the next ones.".to_owned(), calls }
}

/// Measured files, the longest first.
fn measured<'c>(facts: &Facts<'c, '_>) -> Vec<(&'c str, u64)> {
    let lines = |file: &'c str| Some((file, facts.result(&measure(file))?.file_lines()?));
    let mut measured: Vec<_> = candidates(facts).into_iter().filter_map(lines).collect();
    measured.sort_by_key(|(_, lines)| Reverse(*lines));
    measured
}

fn opening(file: &str) -> PlannedCall {
    read(file, 1, 20)
}

fn read_largest(facts: &Facts<'_, '_>) -> Turn {
    let calls = measured(facts).iter().take(OPENED).map(|(file, _)| opening(file)).collect();
    Turn { text: "Reading how the largest files begin.".to_owned(), calls }
}

pub(super) fn report(facts: &Facts<'_, '_>) -> Report {
    let Some(listing) = facts.result(&sources()) else {
        return Report { summary: "the source files could not be listed.".to_owned(), lines: Vec::new() };
    };
    let files: Vec<&str> = listing.lines().filter(|path| !path.ends_with('/')).collect();
    let least = if listing.cut { "at least " } else { "" };
    let measured = measured(facts);
    let largest = measured.first().map_or_else(String::new, |(file, lines)| {
        format!("; the largest of {} measured is {file} ({lines} lines)", measured.len())
    });
    let summary = match files.len() {
        0 => "there are no source files of a language that I know.".to_owned(),
        n => format!("{least}{}{largest}.", count(n, "source file")),
    };
    let mut lines = Vec::new();
    let folders = ranked(files.iter().map(|file| folder_of(file)));
    let shown = folders
        .iter()
        .take(SHOWN)
        .map(|(folder, n)| format!("{folder}/: {least}{}", count(*n, "source file")));
    list(&mut lines, "Folders with most source files", shown);
    let seen = seen(facts);
    let known = |file: &str| {
        seen.get(file)
            .map_or_else(String::new, |seen| format!(", {} seen", count(seen.definitions, "definition")))
    };
    let shown = measured.iter().take(SHOWN).map(|(file, n)| format!("{file}: {n} lines{}", known(file)));
    list(&mut lines, "Largest files measured", shown);
    let says = measured.iter().filter_map(|(file, _)| {
        let said = first_words(facts.result(&opening(file))?)?;
        Some(format!("{file}: {said}"))
    });
    list(&mut lines, "How the largest begin", says);
    list(&mut lines, "How this was measured", method(facts, files.len(), measured.len()));
    Report { summary, lines }
}

/// What the figures leave out.
fn method(facts: &Facts<'_, '_>, files: usize, measured: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if measured > 0 && measured < files {
        notes.push(format!(
            "{measured} of {files} files were measured: those with a definition furthest down."
        ));
    }
    for extension in main_extensions(facts) {
        if facts.result(&definitions(extension)).is_some_and(|output| output.cut) {
            let language = language_of(extension).unwrap_or(extension);
            notes.push(format!(
                "The search for {language} definitions was cut: long files outside the largest folders may be missing."
            ));
        }
    }
    notes
}

/// The first line of a comment at the beginning, without its marks.
fn first_words(opening: Output<'_>) -> Option<String> {
    let marks = ["//!", "///", "//", "/**", "/*", "#", "--", "\"\"\"", "*", ";;"];
    let mut lines = opening.lines().map(str::trim).filter(|line| !line.starts_with("#!"));
    lines.find_map(|line| {
        let mark = marks.iter().find(|mark| line.starts_with(**mark))?;
        let text = line[mark.len()..].trim_matches([' ', '*', '/', '"', '-', '#', '[', '!']);
        (text.chars().filter(|c| c.is_alphabetic()).count() > 8).then(|| short(text, 140))
    })
}
