//! `ls`: what a folder holds.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{head, with_notes};
use super::{Builtin, Invocation, arguments, path_title, schema};
use crate::environment::{BoxFuture, EntryKind};
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

const DEFAULT_LIMIT: u64 = 500;

pub(super) const TOOL: Builtin = Builtin {
    name: "ls",
    label: "List",
    kind: ToolKind::Read,
    description: "List a folder, hidden names included, sorted; folders end in `/`. At most 500 entries by default.",
    snippet: "List folders",
    guidelines: &[],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `ls` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// The folder; the working folder where absent.
    #[serde(default, deserialize_with = "schema::absent_if_empty")]
    path: Option<String>,
    /// Most entries; 500 where absent.
    limit: Option<u64>,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    path_title("List", arguments, None)
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { path, limit } = arguments(call.arguments)?;
        let folder = call.environment.resolve(path.as_deref().unwrap_or("."))?;
        let listing = tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(ToolError::new("Operation aborted")),
            listing = call.environment.list(&folder) => listing?,
        };
        let mut names: Vec<(String, String)> = Vec::with_capacity(listing.entries.len());
        for entry in listing.entries {
            let clean = entry.name.to_str().filter(|name| !name.chars().any(char::is_control));
            // A name that is no clean text is shown as what can be passed back.
            let mut shown =
                clean.map_or_else(|| call.environment.display(&folder.join(&entry.name)), str::to_owned);
            if entry.kind == EntryKind::Folder {
                shown.push('/');
            }
            names.push((shown.to_lowercase(), shown));
        }
        names.sort();
        let limit = limit.unwrap_or(DEFAULT_LIMIT).max(1) as usize;
        let total = names.len();
        let lines: Vec<String> = names.into_iter().take(limit).map(|(_, shown)| shown).collect();
        Ok(answer(&lines, total, listing.complete))
    })
}

fn answer(lines: &[String], total: usize, complete: bool) -> ToolOutput {
    if lines.is_empty() {
        return ToolOutput::text("(empty directory)");
    }
    let text = lines.join("\n");
    let shown = head(&text);
    let mut notes = Vec::new();
    if shown.lines < total {
        let more = if complete { "" } else { " or more" };
        let next = if shown.cut_by.is_some() {
            "find with a pattern shows fewer".to_owned()
        } else {
            format!("use limit={} for more", lines.len() * 2)
        };
        notes.push(format!("{} of {total}{more} entries; {next}", shown.lines));
    }
    let details =
        if notes.is_empty() { Value::Null } else { json!({ "shown": shown.lines, "total": total }) };
    ToolOutput { details, ..ToolOutput::text(with_notes(shown.text.to_owned(), &notes)) }
}
