//! What the calls of a task have brought: the only source of everything that a report says.

use super::conversation::{PastCall, PastTurn};
use super::output::{Match, Output, matches, short};
use super::plan::PlannedCall;

/// Reasons that a report gives at most.
const MOST_FAILURES: usize = 6;

/// The results so far.
#[derive(Debug)]
pub(super) struct Facts<'c, 'a> {
    calls: Vec<&'c PastCall<'a>>,
    offered: &'c [&'c str],
}

impl<'c, 'a> Facts<'c, 'a> {
    pub(super) fn of(turns: &[&'c PastTurn<'a>], offered: &'c [&'c str]) -> Self {
        Self { calls: turns.iter().flat_map(|turn| &turn.calls).collect(), offered }
    }

    fn good(&self, tool: &str) -> impl Iterator<Item = &'c PastCall<'a>> {
        let tool = tool.to_owned();
        self.calls.iter().copied().filter(move |call| !call.failed && call.tool == tool)
    }

    /// The result of a call as it was planned.
    pub(super) fn result(&self, call: &PlannedCall) -> Option<Output<'c>> {
        self.good(call.tool)
            .find(|past| call.arguments.as_object() == Some(&past.arguments))
            .map(|past| Output::of(&past.result))
    }

    /// Whether a call was made, whatever came of it.
    pub(super) fn made(&self, call: &PlannedCall) -> bool {
        self.calls
            .iter()
            .any(|past| past.tool == call.tool && call.arguments.as_object() == Some(&past.arguments))
    }

    /// The lines that a planned `find` or `ls` gave.
    pub(super) fn lines(&self, call: &PlannedCall) -> Vec<&'c str> {
        self.result(call).map(|output| output.lines().collect()).unwrap_or_default()
    }

    /// The matches that a planned `grep` gave.
    pub(super) fn matches(&self, call: &PlannedCall) -> Vec<Match<'c>> {
        self.result(call).map(|output| matches(output).collect()).unwrap_or_default()
    }

    /// Files that were read from their first line, with what was seen of them.
    pub(super) fn read_files(&self) -> impl Iterator<Item = (&'c str, Output<'c>)> {
        self.good("read")
            .filter(|call| call.number("offset").unwrap_or(1) <= 1)
            .map(|call| (call.text("path"), Output::of(&call.result)))
    }

    /// A call that is neither made nor impossible.
    pub(super) fn is_open(&self, call: &PlannedCall) -> bool {
        self.offered.contains(&call.tool) && !self.made(call)
    }

    /// How many calls were made.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Lines for a report on what could not be looked at, and why.
    pub(super) fn gaps(&self) -> Vec<String> {
        let absent: Vec<&str> =
            ["ls", "find", "grep", "read"].into_iter().filter(|tool| !self.offered.contains(tool)).collect();
        let mut gaps = Vec::new();
        if !absent.is_empty() {
            gaps.push(format!("These tools were not offered to me: {}.", absent.join(", ")));
        }
        let failed: Vec<_> = self.calls.iter().filter(|call| call.failed).collect();
        for call in failed.iter().take(MOST_FAILURES) {
            let about = [call.text("path"), call.text("pattern")].into_iter().find(|text| !text.is_empty());
            let about = about.map_or_else(String::new, |text| format!(" `{}`", short(text, 80)));
            gaps.push(format!("`{}`{about} did not work: {}", call.tool, short(&call.result, 160)));
        }
        if failed.len() > MOST_FAILURES {
            gaps.push(format!("{} more calls did not work.", failed.len() - MOST_FAILURES));
        }
        gaps
    }
}
