//! `find`: files and folders by name.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{head, with_notes};
use super::{Builtin, Invocation, arguments, one_line, path_title, schema, text_of};
use crate::environment::{BoxFuture, Cut, FindRequest};
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

const DEFAULT_LIMIT: u64 = 1_000;

pub(super) const TOOL: Builtin = Builtin {
    name: "find",
    label: "Find",
    kind: ToolKind::Search,
    description: "Find files and folders by a glob such as `*.rs` or `src/**/*.ts`. Hidden names are seen, what \
                  .gitignore names is not. Paths are shown relative to the working folder, at most 1000 by default.",
    snippet: "Find files by name",
    guidelines: &[],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `find` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// A glob; with a slash it is matched against the end of the path, else against the name.
    pattern: String,
    /// The folder to look in; the working folder where absent.
    #[serde(default, deserialize_with = "schema::absent_if_empty")]
    path: Option<String>,
    /// Most results; 1000 where absent.
    limit: Option<u64>,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    let pattern = one_line(text_of(arguments, "pattern").unwrap_or("*"), 80);
    path_title(&format!("Find `{pattern}` in"), arguments, None)
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { pattern, path, limit } = arguments(call.arguments)?;
        let environment = &call.environment;
        let path = environment.resolve(path.as_deref().unwrap_or("."))?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT).max(1) as usize;
        let found = environment.find(FindRequest { pattern, path, limit }, &call.cancel).await?;
        let lines: Vec<String> = found
            .paths
            .iter()
            .map(|(path, is_folder)| {
                let shown = environment.display(path);
                if *is_folder { shown + "/" } else { shown }
            })
            .collect();
        let text = lines.join("\n");
        let shown = head(&text);
        let mut notes = Vec::new();
        match found.cut {
            Some(Cut::Limit) => {
                notes.push(format!(
                    "{limit} results, and there are more; use limit={}",
                    limit.saturating_mul(2)
                ));
            }
            Some(Cut::Time | Cut::Bytes) => {
                notes.push("Stopped after 60 s; look in a smaller folder".to_owned());
            }
            None => {}
        }
        if shown.cut_by.is_some() {
            notes.push(format!("{} of {} results fit; use a narrower pattern", shown.lines, lines.len()));
        }
        if found.unreadable > 0 {
            notes.push(format!("{} folders could not be read", found.unreadable));
        }
        let details = if notes.is_empty() {
            Value::Null
        } else {
            json!({ "shown": shown.lines, "found": lines.len() })
        };
        let text = if lines.is_empty() {
            "No files found matching pattern".to_owned()
        } else {
            shown.text.to_owned()
        };
        Ok(ToolOutput { details, ..ToolOutput::text(with_notes(text, &notes)) })
    })
}
