//! Allow and deny rules: `tool`, or `tool(pattern)` where the pattern is matched against the call's command or paths.
//!
//! `*` in a pattern stands for any text. A command rule matches simple commands: a line that runs several is allowed only
//! where each of them is, and denied where any is.

use std::path::{Path, PathBuf};

use super::shell::{Commands, commands};

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    tool: String,
    pattern: Option<String>,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no permission rule: write `tool` or `tool(pattern)`, such as `bash(git status*)`")]
pub(crate) struct BadRule(String);

impl std::str::FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = || BadRule(text.to_owned());
        let (tool, pattern) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')').ok_or_else(bad)?.trim())),
        };
        let is_name = !tool.is_empty() && tool.chars().all(|c| c.is_alphanumeric() || "_-*".contains(c));
        if !is_name || pattern.is_some_and(str::is_empty) {
            return Err(bad());
        }
        Ok(Self { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

/// What a rule is matched against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a str,
    /// The command line, for a tool that runs one.
    pub(crate) command: Option<&'a str>,
    /// The paths that the call touches, absolute.
    pub(crate) paths: &'a [PathBuf],
    /// The workspace: patterns may be relative to it.
    pub(crate) root: &'a Path,
}

/// Whether the rules together allow all that the call does.
pub(crate) fn allows(rules: &[Rule], subject: &Subject<'_>) -> bool {
    let rules: Vec<&Rule> = rules.iter().filter(|rule| matches_text(&rule.tool, subject.tool)).collect();
    if rules.iter().any(|rule| rule.pattern.is_none()) {
        return true;
    }
    if let Some(line) = subject.command {
        let Commands::Simple(parts) = commands(line) else { return false };
        return parts.iter().all(|part| rules.iter().any(|rule| rule.matches_command(part)));
    }
    !subject.paths.is_empty()
        && subject.paths.iter().all(|path| rules.iter().any(|rule| rule.matches_path(path, subject.root)))
}

/// Whether a rule denies any of what the call does.
pub(crate) fn denies(rules: &[Rule], subject: &Subject<'_>) -> bool {
    rules.iter().filter(|rule| matches_text(&rule.tool, subject.tool)).any(|rule| {
        if rule.pattern.is_none() {
            return true;
        }
        if let Some(line) = subject.command {
            let parts = match commands(line) {
                Commands::Simple(parts) => parts,
                Commands::Unclear => loose_parts(line),
            };
            return rule.matches_command(line) || parts.iter().any(|part| rule.matches_command(part));
        }
        subject.paths.iter().any(|path| rule.matches_path(path, subject.root))
    })
}

/// The parts of a line that cannot be taken apart with certainty; good enough to find what is denied, not to allow.
fn loose_parts(line: &str) -> Vec<String> {
    line.split(['|', '&', ';', '\n', '(', ')', '`', '{', '}', '$'])
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect()
}

impl Rule {
    fn matches_command(&self, command: &str) -> bool {
        self.pattern.as_deref().is_some_and(|pattern| matches_text(pattern, command))
    }

    fn matches_path(&self, path: &Path, root: &Path) -> bool {
        let Some(pattern) = self.pattern.as_deref() else { return false };
        let whole = path.to_string_lossy();
        let relative = path.strip_prefix(root).map(|path| path.to_string_lossy().into_owned());
        matches_text(pattern, &whole) || relative.is_ok_and(|relative| matches_text(pattern, &relative))
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any text.
fn matches_text(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn command(line: &str) -> Subject<'_> {
        Subject { tool: "bash", command: Some(line), paths: &[], root: Path::new("/ws") }
    }

    #[test]
    fn a_command_is_allowed_only_part_by_part() {
        let allow = rules(&["bash(git status*)", "bash(head *)"]);
        assert!(allows(&allow, &command("git status --short | head -3")));
        for line in ["git status; rm x", "git status > x", "git status $(rm x)", "rm x"] {
            assert!(!allows(&allow, &command(line)), "{line}");
        }
        assert!(allows(&rules(&["bash"]), &command("anything > at all")));
    }

    #[test]
    fn a_denied_part_denies_the_line_however_it_is_hidden() {
        let deny = rules(&["bash(rm *)"]);
        for line in ["rm x", "ls && rm -rf /", "echo $(rm x)", "ls;rm x", "(rm x)", "FOO=`rm x`"] {
            assert!(denies(&deny, &command(line)), "{line}");
        }
        assert!(!denies(&deny, &command("rmdir x")));
    }

    #[test]
    fn paths_match_from_the_root_or_from_the_workspace() {
        let paths = [PathBuf::from("/ws/src/a b#ä.rs")];
        let subject = Subject { tool: "edit", command: None, paths: &paths, root: Path::new("/ws") };
        for pattern in ["edit(src/*)", "edit(/ws/*)", "edit(*.rs)", "edit", "*"] {
            assert!(allows(&rules(&[pattern]), &subject), "{pattern}");
        }
        for pattern in ["edit(test/*)", "write(src/*)", "edit(src/)"] {
            assert!(!allows(&rules(&[pattern]), &subject), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "bash(", "bash()", "bash(x", "ba sh", "(x)"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
