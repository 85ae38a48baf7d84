//! `grep`: lines in files.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{head, with_notes};
use super::{Builtin, Invocation, arguments, one_line, path_title, schema, text_of};
use crate::environment::{BoxFuture, Cut, Environment, SearchOutcome, SearchRequest};
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

const DEFAULT_LIMIT: u64 = 100;
/// Lines around a match are held in memory.
const MOST_CONTEXT: u64 = 100;

pub(super) const TOOL: Builtin = Builtin {
    name: "grep",
    label: "Grep",
    kind: ToolKind::Search,
    description: "Search the text of files for a regular expression (or plain text with `literal`). Hidden files are \
                  searched, binary ones and what .gitignore names are not. Matches are shown as `path:line: text`, at \
                  most 100 by default; long lines are shortened around the match.",
    snippet: "Search file contents",
    guidelines: &["Use grep and find to explore; they are faster than bash and leave out ignored files."],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `grep` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Parameters {
    /// A regular expression, or plain text with `literal`.
    pattern: String,
    /// The file or folder to search; the working folder where absent.
    #[serde(default, deserialize_with = "schema::absent_if_empty")]
    path: Option<String>,
    /// Only files that match this glob, such as `*.rs` or `!*.lock`.
    #[serde(default, deserialize_with = "schema::absent_if_empty")]
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    ignore_case: Option<bool>,
    /// Whether the pattern is plain text.
    literal: Option<bool>,
    /// Lines to show before and after each match.
    context: Option<u64>,
    /// Most matches; 100 where absent.
    limit: Option<u64>,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    let pattern = one_line(text_of(arguments, "pattern").unwrap_or_default(), 80);
    path_title(&format!("Search `{pattern}` in"), arguments, None)
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let wanted: Parameters = arguments(call.arguments)?;
        if wanted.pattern.is_empty() {
            return Err(ToolError::new(
                "The pattern is empty, so every line would match; name what to look for.",
            ));
        }
        let limit = wanted.limit.unwrap_or(DEFAULT_LIMIT).max(1) as usize;
        let request = SearchRequest {
            path: call.environment.resolve(wanted.path.as_deref().unwrap_or("."))?,
            pattern: wanted.pattern,
            literal: wanted.literal.unwrap_or(false),
            ignore_case: wanted.ignore_case.unwrap_or(false),
            glob: wanted.glob,
            context: wanted.context.unwrap_or(0).min(MOST_CONTEXT) as usize,
            limit,
        };
        let found = call.environment.search(request, &call.cancel).await?;
        Ok(answer(&*call.environment, &found, limit))
    })
}

fn answer(environment: &dyn Environment, found: &SearchOutcome, limit: usize) -> ToolOutput {
    let mut text = String::new();
    for line in &found.lines {
        let mark = if line.is_match { ':' } else { '-' };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}{mark}{}{mark} {}",
            environment.display(&line.path),
            line.number,
            // Lone carriage returns would overwrite the line where it is shown.
            line.text.replace('\r', "␍")
        );
    }
    let shown = head(&text);
    let mut notes = Vec::new();
    match found.cut {
        Some(Cut::Limit) => {
            notes.push(format!("{limit} matches, and there are more; use limit={}", limit.saturating_mul(2)));
        }
        Some(Cut::Time) => {
            notes.push("Stopped after 60 s; search a smaller folder".to_owned());
        }
        Some(Cut::Bytes) | None => {}
    }
    if shown.cut_by.is_some() || found.cut == Some(Cut::Bytes) {
        notes.push(format!("Only the first {} lines fit; use a narrower pattern or path", shown.lines));
    }
    let shortened = found.lines.iter().any(|line| line.shortened);
    if shortened {
        notes.push("Long lines are shortened to 500 characters; read shows them whole".to_owned());
    }
    if found.unreadable > 0 {
        notes.push(format!("{} files or folders could not be read", found.unreadable));
    }
    let details = json!({
        "matches": found.matches,
        "limitReached": found.cut == Some(Cut::Limit),
        "linesShortened": shortened,
    });
    let text = if text.is_empty() { "No matches found".to_owned() } else { shown.text.trim_end().to_owned() };
    ToolOutput { details, ..ToolOutput::text(with_notes(text, &notes)) }
}
