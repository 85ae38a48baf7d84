//! What a run does at the moment, in a few words.

use std::sync::Arc;

use vocab::ToolKind;

use crate::progress::ACTIVITY_CHARS;
use crate::title::{clip, first_line};

/// What the running calls do: grouped by verb, with a count where there are several.
pub(crate) fn of_tools<'a>(calls: impl Iterator<Item = (&'a str, ToolKind)>) -> Option<Arc<str>> {
    let mut groups: Vec<(&str, &str, usize)> = Vec::new();
    for (name, kind) in calls {
        let (verb, plural) = verb(name, kind);
        match groups.iter_mut().find(|group| group.0 == verb) {
            Some(group) => group.2 += 1,
            None => groups.push((verb, plural, 1)),
        }
    }
    if groups.is_empty() {
        return None;
    }
    let parts: Vec<_> = groups
        .iter()
        .map(|(verb, plural, count)| match count {
            1 => (*verb).to_owned(),
            _ if plural.is_empty() => format!("{verb} ({count})"),
            _ => plural.replace('#', &count.to_string()),
        })
        .collect();
    Some(clip(&format!("{}…", parts.join(", ")), ACTIVITY_CHARS).into())
}

/// What a text that is being written says first.
pub(crate) fn of_text(text: &str) -> Option<Arc<str>> {
    first_line(text, ACTIVITY_CHARS)
}

fn verb(name: &str, kind: ToolKind) -> (&str, &'static str) {
    match name {
        "read" => ("reading", "reading # files"),
        "bash" => ("running a command", "running # commands"),
        "edit" => ("editing", "editing # files"),
        "write" => ("writing", "writing # files"),
        "grep" => ("searching", "searching (#)"),
        "find" => ("finding files", "finding files (#)"),
        "ls" => ("listing", "listing # folders"),
        _ if kind == ToolKind::Fetch => ("fetching", "fetching (#)"),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use vocab::ToolKind;

    use super::of_tools;

    #[test]
    fn calls_are_grouped_by_verb() {
        let calls = [
            ("read", ToolKind::Read),
            ("bash", ToolKind::Execute),
            ("read", ToolKind::Read),
            ("Agent", ToolKind::Other),
            ("Agent", ToolKind::Other),
        ];
        let activity = of_tools(calls.into_iter()).unwrap();
        assert_eq!(&*activity, "reading 2 files, running a command, Agent (2)…");
        assert_eq!(of_tools(std::iter::empty()), None);
    }
}
