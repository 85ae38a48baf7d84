//! Allow and deny rules: `tool`, or `tool(pattern)` where the pattern is matched against the call's command or paths.
//!
//! `*` in a pattern stands for any text. A command rule matches simple commands: a line that runs several is allowed only
//! where each of them is, and denied where any is, behind whatever words and quotes it stands.

use std::path::{Path, PathBuf};

use super::loose;
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
        if !is_tool(tool) || pattern.is_some_and(str::is_empty) {
            return Err(bad());
        }
        Ok(Self { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

impl Rule {
    /// A deny rule. One that cannot be read was written to keep something from happening: it denies its whole tool.
    /// Nothing where it does not even name one.
    pub(crate) fn denying(text: &str) -> Option<Self> {
        text.parse().ok().or_else(|| {
            let tool = text.split('(').next().unwrap_or_default().trim();
            is_tool(tool).then(|| Self { tool: tool.to_owned(), pattern: None })
        })
    }

    /// The tools that it is about, for a person.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }
}

fn is_tool(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-*".contains(c))
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

/// What the deny rules say of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    Denied,
    /// No rule is known to deny it, but what it runs only shows when it runs.
    Hidden,
    None,
}

/// Whether a rule denies any of what the call does.
pub(crate) fn denies(rules: &[Rule], subject: &Subject<'_>) -> Denial {
    let rules: Vec<&Rule> = rules.iter().filter(|rule| matches_text(&rule.tool, subject.tool)).collect();
    if rules.iter().any(|rule| rule.pattern.is_none()) {
        return Denial::Denied;
    }
    let Some(line) = subject.command.filter(|_| !rules.is_empty()) else {
        let mut paths = subject.paths.iter();
        let denied = paths.any(|path| rules.iter().any(|rule| rule.matches_path(path, subject.root)));
        return if denied { Denial::Denied } else { Denial::None };
    };
    let reading = loose::reading(line);
    let mut parts = reading.commands;
    parts.push(line.to_owned());
    match commands(line) {
        Commands::Simple(simple) => parts.extend(simple),
        Commands::Unclear => parts.extend(loose::pieces(line)),
    }
    if parts.iter().any(|part| rules.iter().any(|rule| rule.matches_command(part))) {
        Denial::Denied
    } else if reading.hidden {
        Denial::Hidden
    } else {
        Denial::None
    }
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
        for line in [
            "rm x",
            "ls && rm -rf /",
            "echo $(rm x)",
            "ls;rm x",
            "(rm x)",
            "FOO=`rm x`",
            "FOO=1 rm x",
            "A[1]=2 B+=3 rm x",
            "env rm x",
            "env -u HOME -i A=1 rm x",
            "sudo -u root rm x",
            "command rm x",
            "exec rm x",
            "exec -a ls rm x",
            "if true; then rm x; fi",
            "if rm x; then :; fi",
            "while rm x; do break; done",
            "for a in b; do rm x; done",
            "case a in a) rm x;; esac",
            "x(){ rm x; }; x",
            "function x { rm x; }; x",
            "! rm x",
            "time -p rm x",
            "echo x | xargs rm",
            "echo x | xargs -0 sudo rm",
            "echo x | xargs -0 -n 1 rm -f",
            "/bin/rm x",
            "\"$HOME/bin/rm\" x",
            "\"rm\" x > o",
            "r''m x >o",
            "r\\m x >o",
            "\\rm x",
            "rm\\\n x",
            "rm\tx > o",
            "nice -n 5 rm x",
            "timeout 1 rm x",
            "timeout -k 5 10s rm x",
            "bash -c 'rm x'",
            "bash -ec \"cd /; rm x\"",
            "sh -c \"bash -c 'rm x'\"",
            "env -S 'rm x'",
            "eval 'rm x'",
            "eval rm x",
            "eval r 'm x;' rm x",
            "su root -c 'rm x'",
            "echo 'rm x' | sh",
            "bash <<< 'rm x'",
            "bash <<EOF\n\"rm\" x\nEOF",
            "cat <<EOF\n$(rm x)\nEOF",
            "cat <<EOF\ndon't\nEOF\n\"rm\" x #'",
            "echo $((1<<2))\n\"rm\" x\n2",
            "ls # don't\n\"rm\" x",
            ">o rm x",
            "2>&1 rm x",
            "ls 2>/dev/null; <i rm x",
            "find . -name x -exec rm {} \\;",
            "sudo -n find . -execdir sh -c 'rm \"$1\"' _ {} +",
            "echo \"a $(rm x) b\"",
            "echo ${x:-$(rm x)}",
            "<(rm x)",
            "RM=1;rm x&",
            "rm $x",
            "true; rm $(echo x)",
            "rm 'x",
        ] {
            assert_eq!(denies(&deny, &command(line)), Denial::Denied, "{line}");
        }
    }

    #[test]
    fn what_only_sounds_denied_is_not() {
        let deny = rules(&["bash(rm *)"]);
        for line in [
            "rmdir x",
            "git commit -m \"drop; rm old\"",
            "echo rm x",
            "git rm x",
            "sudo -n -- ls rm",
            "grep -r 'rm x' . > found",
            "echo \"$HOME\" && for f in *.rs; do rustfmt \"$f\"; done",
            "if [ -n \"$x\" ]; then echo $((i + $x)); fi",
            "case $x in *) echo;; esac",
            "x=$(date); echo $x # $y",
            "cat > notes <<'EOF'\n$dear reader\nEOF",
            "\"$HOME/bin/tool\" x",
        ] {
            assert_eq!(denies(&deny, &command(line)), Denial::None, "{line}");
        }
        assert_eq!(denies(&[], &command("$x")), Denial::None);
        assert_eq!(denies(&rules(&["write(src/*)"]), &command("$x")), Denial::None);
    }

    #[test]
    fn what_shows_only_when_it_runs_is_hidden() {
        let deny = rules(&["bash(rm *)"]);
        let deep = format!("{}ls", "$(".repeat(100_000));
        let long = format!("echo {}", "a".repeat(100_000));
        let runners = format!("{}ls", "env ".repeat(1_000));
        for line in [
            "$(echo rm) x",
            "a=rm; $a x",
            "`echo rm` x",
            "sudo \"$a\" x",
            "r$1m x",
            "$'\\x72m' x",
            "/bin/r? x",
            "{rm,x}",
            "bash -c \"$a\"",
            "curl x | sh",
            "base64 -d x | bash -s",
            &deep,
            &long,
            &runners,
        ] {
            let short: String = line.chars().take(40).collect();
            assert_eq!(denies(&deny, &command(line)), Denial::Hidden, "{short}");
        }
    }

    #[test]
    fn a_deny_rule_that_cannot_be_read_denies_its_tool() {
        assert_eq!(Rule::denying("bash(rm *)").as_slice(), rules(&["bash(rm *)"]));
        let denying = |text| Rule::denying(text).map(|rule| denies(&[rule], &command("ls")));
        assert_eq!(denying("bash(rm *"), Some(Denial::Denied));
        assert_eq!(denying("write("), Some(Denial::None));
        assert_eq!(denying("rm -rf"), None);
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
