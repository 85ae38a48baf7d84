//! What a task is about, and the steps that answer it.

use super::facts::Facts;
use super::plan::Turn;
use super::{entry_points, layout, markers, modules, overview, search};

/// One step: what to call next, given what is known. Without calls it is left out.
pub(super) type Stage = fn(&Facts<'_, '_>) -> Turn;

/// A subject that the planner knows how to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topic {
    Layout,
    EntryPoints,
    Markers,
    Modules,
    /// Texts to look for.
    Search(Vec<String>),
    /// The four subjects one after the other.
    Overview,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    /// One sentence.
    pub(super) summary: String,
    /// Paragraphs and lists.
    pub(super) lines: Vec<String>,
}

/// The words that name a subject, the more special subjects first.
const WORDS: [(Topic, &[&str]); 4] = [
    (Topic::Markers, &["todo", "fixme", "open markers"]),
    (Topic::Modules, &["largest", "biggest", "modules"]),
    (Topic::EntryPoints, &["entry point", "build", "how to run", "how to start", "main function"]),
    (Topic::Layout, &["language", "layout", "structure", "laid out", "folders"]),
];

impl Topic {
    /// The subject that a prompt names: in a line `Topic: …`, by something quoted to look for, or by its words. None where
    /// it names none, and all where it names several.
    pub(super) fn of(prompt: &str) -> Option<Self> {
        let line = prompt.lines().find_map(|line| line.trim().strip_prefix("Topic:"));
        let mut named = named(line.unwrap_or(prompt));
        let terms = if line.is_some() { Vec::new() } else { search::terms(prompt) };
        match named.len() {
            _ if !terms.is_empty() => Some(Self::Search(terms)),
            0 | 1 => named.pop(),
            _ => Some(Self::Overview),
        }
    }

    /// Step `n`, counted from 0; none after the last.
    pub(super) fn stage(&self, n: usize, facts: &Facts<'_, '_>) -> Option<Turn> {
        match self {
            Self::Search(terms) => search::stage(terms, n, facts),
            Self::Overview => overview::stage(n).map(|stage| stage(facts)),
            _ => self.stages().get(n).map(|stage| stage(facts)),
        }
    }

    /// The steps of one of the four subjects.
    pub(super) fn stages(&self) -> &'static [Stage] {
        match self {
            Self::Layout => &layout::STAGES,
            Self::EntryPoints => &entry_points::STAGES,
            Self::Markers => &markers::STAGES,
            Self::Modules => &modules::STAGES,
            Self::Search(_) | Self::Overview => &[],
        }
    }

    /// What the facts come to.
    pub(super) fn report(&self, facts: &Facts<'_, '_>) -> Report {
        match self {
            Self::Layout => layout::report(facts),
            Self::EntryPoints => entry_points::report(facts),
            Self::Markers => markers::report(facts),
            Self::Modules => modules::report(facts),
            Self::Search(terms) => search::report(terms, facts),
            Self::Overview => overview::report(facts),
        }
    }
}

fn named(text: &str) -> Vec<Topic> {
    let text = text.to_lowercase();
    WORDS
        .iter()
        .filter(|(_, words)| words.iter().any(|word| text.contains(word)))
        .map(|(topic, _)| topic.clone())
        .collect()
}

/// Appends a list under a label, unless it is empty.
pub(super) fn list(lines: &mut Vec<String>, label: &str, items: impl IntoIterator<Item = String>) {
    let items: Vec<String> = items.into_iter().map(|item| format!("- {item}")).collect();
    if items.is_empty() {
        return;
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(format!("{label}:"));
    lines.extend(items);
}
