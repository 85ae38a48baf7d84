//! Finding lines in files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};

use super::files::open_regular;
use super::walk::{Bounds, walk};
use super::{Cut, EnvironmentError, SearchLine, SearchOutcome, SearchRequest};

/// Most characters of a line that are shown.
const LINE_CHARS: usize = 500;
/// In a longer line, how many of them stand before the match.
const LEAD_CHARS: usize = 100;
/// Most bytes of text that one search collects.
const COLLECT_BYTES: usize = 128 * 1024;
/// Most memory for one line of a file; a file with a longer one counts as unreadable.
const LINE_HEAP: usize = 16 * 1024 * 1024;

/// See [`Environment::search`](super::Environment::search).
pub(super) fn search(request: &SearchRequest, bounds: &Bounds) -> Result<SearchOutcome, EnvironmentError> {
    std::fs::metadata(&request.path).map_err(|error| EnvironmentError::io(&request.path, error))?;
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(request.ignore_case)
        .fixed_strings(request.literal)
        .line_terminator(Some(b'\n'))
        .build(&request.pattern)
        .map_err(|error| EnvironmentError::Pattern(error.to_string()))?;
    let filter = request.glob.as_deref().map(|glob| filter(&request.path, glob)).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(request.context)
        .after_context(request.context)
        .heap_limit(Some(LINE_HEAP))
        .build();
    let mut outcome = SearchOutcome::default();
    let mut bytes = 0;
    for entry in walk(&request.path) {
        outcome.cut = outcome.cut.or(bounds.check()?);
        if outcome.cut.is_some() {
            break;
        }
        let Ok(entry) = entry else {
            outcome.unreadable += 1;
            continue;
        };
        // A file that was named itself may be reached by a link; what a walk meets is not followed.
        let is_file = entry.depth() == 0 || entry.file_type().is_some_and(|kind| kind.is_file());
        let wanted = filter.as_ref().is_none_or(|filter| !filter.matched(entry.path(), false).is_ignore());
        if !is_file || !wanted || entry.path().is_dir() {
            continue;
        }
        let path: Arc<Path> = entry.into_path().into();
        let Ok((file, _)) = open_regular(&path) else {
            outcome.unreadable += 1;
            continue;
        };
        let reader = BoundedReader { file, bounds };
        let sink = Collector { path, matcher: &matcher, request, outcome: &mut outcome, bytes: &mut bytes };
        if searcher.search_reader(&matcher, reader, sink).is_err() && bounds.check()?.is_none() {
            outcome.unreadable += 1;
        }
    }
    Ok(outcome)
}

/// The glob after the walk, not as a rule of it: a rule would also bring back what ignore files leave out.
fn filter(path: &Path, glob: &str) -> Result<Override, EnvironmentError> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let fault = |error: ignore::Error| EnvironmentError::Pattern(error.to_string());
    let mut builder = OverrideBuilder::new(folder);
    builder.add(glob).map_err(fault)?;
    builder.build().map_err(fault)
}

/// Ends the reading of a large file when the search must end.
struct BoundedReader<'a> {
    file: File,
    bounds: &'a Bounds,
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bounds.check() {
            Ok(None) => self.file.read(buffer),
            _ => Err(io::Error::other("the search ended")),
        }
    }
}

struct Collector<'a> {
    path: Arc<Path>,
    matcher: &'a RegexMatcher,
    request: &'a SearchRequest,
    outcome: &'a mut SearchOutcome,
    bytes: &'a mut usize,
}

impl Collector<'_> {
    fn add(&mut self, number: Option<u64>, line: &[u8], is_match: bool) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let found = if is_match { self.matcher.find(line).ok().flatten() } else { None };
        let (text, shortened) = shorten(line, found.map_or(0, |found| found.start()));
        *self.bytes += text.len() + self.path.as_os_str().len();
        let path = Arc::clone(&self.path);
        self.outcome.lines.push(SearchLine { path, number: number.unwrap_or(0), is_match, text, shortened });
        if *self.bytes > COLLECT_BYTES {
            self.outcome.cut = Some(Cut::Bytes);
            return false;
        }
        true
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.outcome.matches >= self.request.limit {
            self.outcome.cut = Some(Cut::Limit);
            return Ok(false);
        }
        self.outcome.matches += 1;
        Ok(self.add(found.line_number(), found.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.outcome.matches >= self.request.limit
            && matches!(context.kind(), grep_searcher::SinkContextKind::Before)
        {
            // It leads up to a match that is one too many.
            self.outcome.cut = Some(Cut::Limit);
            return Ok(false);
        }
        Ok(self.add(context.line_number(), context.bytes(), false))
    }
}

/// The part of a line around byte `at`, and whether that is not all.
fn shorten(line: &[u8], at: usize) -> (String, bool) {
    if line.len() <= LINE_CHARS {
        return (String::from_utf8_lossy(line).into_owned(), false);
    }
    // Enough bytes for the characters wanted, whatever their length, and not all of a line of megabytes.
    let first = at.saturating_sub(LEAD_CHARS * 4);
    let before = String::from_utf8_lossy(&line[first..at]).into_owned();
    let lead = before.chars().count();
    let last = line.len().min(at + LINE_CHARS * 4);
    let after = String::from_utf8_lossy(&line[at..last]);
    let skip = if at <= LEAD_CHARS { 0 } else { lead.saturating_sub(LEAD_CHARS) };
    let text: String = before.chars().skip(skip).chain(after.chars()).take(LINE_CHARS).collect();
    let starts_late = first > 0 || skip > 0;
    let ends_early = last < line.len() || (lead - skip) + after.chars().count() > LINE_CHARS;
    let marked = format!("{}{text}{}", if starts_late { "…" } else { "" }, if ends_early { "…" } else { "" });
    (marked, starts_late || ends_early)
}
