//! The four subjects in one report, for a session that has nobody to delegate to.

use super::facts::Facts;
use super::topic::{Report, Stage, Topic};

const PARTS: [(Topic, &str); 4] = [
    (Topic::Layout, "Languages and layout"),
    (Topic::EntryPoints, "Entry points, build and run"),
    (Topic::Markers, "Open markers"),
    (Topic::Modules, "Largest modules"),
];

/// Step `n` of all parts together.
pub(super) fn stage(n: usize) -> Option<Stage> {
    PARTS.iter().flat_map(|(topic, _)| topic.stages()).nth(n).copied()
}

pub(super) fn report(facts: &Facts<'_, '_>) -> Report {
    let mut whole = Report { summary: String::new(), lines: Vec::new() };
    let mut summaries = Vec::new();
    for (topic, title) in &PARTS {
        let part = topic.report(facts);
        if !whole.lines.is_empty() {
            whole.lines.push(String::new());
        }
        whole.lines.push(format!("### {title}"));
        whole.lines.push(String::new());
        whole.lines.push(part.summary.clone());
        if !part.lines.is_empty() {
            whole.lines.push(String::new());
            whole.lines.extend(part.lines);
        }
        summaries.push(part.summary);
    }
    whole.summary = summaries.join(" ");
    whole
}
