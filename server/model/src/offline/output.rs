//! What the tools show, read back: listings, matches, and the notes at their end.

/// A tool's output, its notes taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output<'a> {
    pub(super) body: &'a str,
    /// Whether there is more than the tool showed.
    pub(super) cut: bool,
    /// How many lines a file has, where a note says so.
    pub(super) more_lines: Option<u64>,
    pub(super) total_lines: Option<u64>,
}

/// Words of notes; a file that ends in a bracket of its own is not cut short by them.
const CUT_NOTES: [&str; 5] = ["there are more", "fit; use", "Stopped after", "use limit=", "use offset="];
const OTHER_NOTES: [&str; 4] =
    ["could not be read", "Long lines are shortened", "not valid UTF-8", "unsaved text"];

/// What tools say where they have nothing to show.
const NOTHING: [&str; 4] =
    ["No files found matching pattern", "No matches found", "(empty directory)", "(empty file)"];

impl<'a> Output<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut output = Self { body: text.trim_end(), cut: false, more_lines: None, total_lines: None };
        while let Some((before, note)) = last_note(output.body) {
            let cuts = CUT_NOTES.iter().any(|words| note.contains(words));
            if !cuts && !OTHER_NOTES.iter().any(|words| note.contains(words)) {
                break;
            }
            output.cut |= cuts;
            if let Some((count, _)) = note.split_once(" more lines;") {
                output.more_lines = count.parse().ok();
            }
            if note.starts_with("Lines ")
                && let Some((_, rest)) = note.split_once(" of ")
            {
                output.total_lines = rest.split(';').next().and_then(|total| total.parse().ok());
            }
            output.body = before.trim_end();
        }
        if NOTHING.contains(&output.body) {
            output.body = "";
        }
        output
    }

    pub(super) fn lines(self) -> impl Iterator<Item = &'a str> {
        self.body.lines().filter(|line| !line.is_empty())
    }

    /// How many lines the file has whose first lines these are; none where the tool did not say.
    pub(super) fn file_lines(&self) -> Option<u64> {
        // A first line that is blank is not shown before a note.
        let shown = (self.body.lines().count() as u64).max(u64::from(self.more_lines.is_some()));
        match (self.total_lines, self.more_lines) {
            (Some(total), _) => Some(total),
            (None, Some(more)) => Some(shown + more),
            (None, None) => (!self.cut).then_some(shown),
        }
    }
}

fn last_note(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(']')?;
    let (before, note) = match inner.rfind("\n\n[") {
        Some(at) => (&inner[..at], &inner[at + 3..]),
        // The note may be all there is.
        None => ("", inner.strip_prefix('[')?),
    };
    (!note.contains('\n')).then_some((before, note))
}

/// One line of `grep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match<'a> {
    pub(super) path: &'a str,
    pub(super) line: u64,
    pub(super) text: &'a str,
}

impl<'a> Match<'a> {
    /// Reads `path:line: text`; the path may have colons of its own.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        line.match_indices(':').find_map(|(at, _)| {
            let rest = &line[at + 1..];
            let (number, text) =
                rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|number| (number, "")))?;
            let line_number = number.parse().ok()?;
            (at > 0).then_some(Self { path: &line[..at], line: line_number, text: text.trim() })
        })
    }
}

/// The matches in an output of `grep`.
pub(super) fn matches(output: Output<'_>) -> impl Iterator<Item = Match<'_>> {
    output.lines().filter_map(Match::of)
}

/// The name at the end of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// The folder that a path is in; `.` for the working folder.
pub(super) fn folder_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// What follows the last dot of a name; none for a name that only begins with one.
pub(super) fn extension_of(path: &str) -> Option<&str> {
    let (stem, extension) = name_of(path).rsplit_once('.')?;
    let plain = !extension.is_empty()
        && extension.len() <= 12
        && extension.chars().all(|c| c.is_ascii_alphanumeric());
    (!stem.is_empty() && plain).then_some(extension)
}

/// How many folders a path is down.
pub(super) fn depth(path: &str) -> usize {
    path.trim_end_matches('/').matches('/').count()
}

/// A text on one line, at most `limit` characters.
pub(super) fn short(text: &str, limit: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// `1 file`, `2 files`.
pub(super) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{Match, Output, extension_of, folder_of, short};

    #[test]
    fn notes_are_told_from_what_a_file_says() {
        let output = Output::of(
            "a.rs\nb.rs\n\n[2 results, and there are more; use limit=4]\n\n[1 folders could not be read]",
        );
        assert_eq!((output.body, output.cut), ("a.rs\nb.rs", true));
        let output = Output::of("# Title\n\n[a link]");
        assert_eq!((output.body, output.cut), ("# Title\n\n[a link]", false));
        assert_eq!(Output::of("No matches found").body, "");
        assert_eq!(Output::of("").file_lines(), Some(0));
    }

    #[test]
    fn the_length_of_a_file_is_read_from_its_first_line() {
        assert_eq!(Output::of("//! A\n\n[41 more lines; use offset=2 to continue]").file_lines(), Some(42));
        assert_eq!(Output::of("\n\n[41 more lines; use offset=2 to continue]").file_lines(), Some(42));
        assert_eq!(
            Output::of("a\nb\n\n[Lines 1-2 of 9000; use offset=3 to continue]").file_lines(),
            Some(9_000)
        );
        assert_eq!(Output::of("only").file_lines(), Some(1));
        let long = "x\n\n[Line 1 is longer than 50.0KB and only begun here; use offset=2 for the next line]";
        assert_eq!(Output::of(long).file_lines(), None);
        assert_eq!(Output::of("(empty file)").file_lines(), Some(0));
    }

    #[test]
    fn a_match_is_read_whatever_its_path() {
        let found = Match::of("a:b/c.rs:12: // TODO: x: y").expect("a match");
        assert_eq!((found.path, found.line, found.text), ("a:b/c.rs", 12, "// TODO: x: y"));
        assert_eq!(Match::of("no match here"), None);
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!(extension_of("a/b.tar.gz"), Some("gz"));
        assert_eq!(extension_of(".gitignore"), None);
        assert_eq!(extension_of("Makefile"), None);
        assert_eq!(folder_of("a/b/c"), "a/b");
        assert_eq!(folder_of("a"), ".");
        assert_eq!(short("a\u{1b}[31m  b\nc", 100), "a [31m b c");
        assert_eq!(short("äöü", 2), "äö…");
    }
}
