//! `write`: a whole file.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{size, with_notes};
use super::{Builtin, Invocation, arguments, path_title, schema};
use crate::environment::BoxFuture;
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

/// Told wherever a command would not see what a tool wrote.
pub(super) const UNSAVED: &str =
    "The file is open in the editor with unsaved text and was left unsaved: commands do not see this change";

pub(super) const TOOL: Builtin = Builtin {
    name: "write",
    label: "Write",
    kind: ToolKind::Edit,
    description: "Write a file whole: make it, with its folders, or replace all that it holds.",
    snippet: "Create or overwrite files",
    guidelines: &["Use write for new files and complete rewrites; use edit for changes."],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `write` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// The file: relative to the working folder, or absolute.
    path: String,
    /// All that the file shall hold.
    content: String,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    path_title("Write", arguments, None)
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { path, content } = arguments(call.arguments)?;
        let path = call.environment.resolve(&path)?;
        let bytes = Bytes::from(content);
        let length = bytes.len() as u64;
        let written = call.environment.write(&path, bytes, &call.cancel).await?;
        let done = if written.created { "Created" } else { "Replaced" };
        let text = format!("{done} `{}` ({})", call.environment.display(&path), size(length));
        let notes: Vec<String> = written.unsaved.then(|| UNSAVED.to_owned()).into_iter().collect();
        let details = json!({ "created": written.created, "bytes": length });
        Ok(ToolOutput { details, ..ToolOutput::text(with_notes(text, &notes)) })
    })
}
