//! The seven tools that every session can have: read, bash, edit, write, grep, find, ls.
//!
//! They reach the workspace only through an [`Environment`] and decide nothing about permission: that is a hook before
//! them. Whatever they show is cut to 2,000 lines and 50 KiB, with a note that says how to see the rest.

mod bash;
mod edit;
mod find;
mod grep;
mod ls;
mod matching;
mod notes;
mod read;
mod schema;
mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::ToolKind;

use crate::environment::{BoxFuture, Environment, EnvironmentError};
use crate::tool::{Location, ToolCall, ToolCallTitle, ToolDefinition, ToolError, ToolExecute, ToolOutput};

/// The built-in tools over one environment, in their canonical order.
pub fn builtin_tools(environment: &Arc<dyn Environment>) -> Vec<ToolDefinition> {
    TOOLS.iter().map(|tool| tool.over(environment)).collect()
}

/// Takes partial results of a running call.
type Updates = Arc<dyn Fn(ToolOutput) + Send + Sync>;

type Run = fn(Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;

const TOOLS: [&Builtin; 7] =
    [&read::TOOL, &bash::TOOL, &edit::TOOL, &write::TOOL, &grep::TOOL, &find::TOOL, &ls::TOOL];

/// What differs from tool to tool.
struct Builtin {
    name: &'static str,
    label: &'static str,
    kind: ToolKind,
    description: &'static str,
    snippet: &'static str,
    guidelines: &'static [&'static str],
    parameters: fn() -> Value,
    describe: fn(&Value) -> ToolCallTitle,
    run: Run,
}

/// One call, without what the session adds.
struct Invocation {
    environment: Arc<dyn Environment>,
    arguments: Value,
    cancel: CancellationToken,
    updates: Updates,
}

impl Builtin {
    fn over(&self, environment: &Arc<dyn Environment>) -> ToolDefinition {
        ToolDefinition {
            name: self.name.into(),
            label: self.label.into(),
            kind: self.kind,
            description: self.description.into(),
            prompt_snippet: Some(self.snippet.into()),
            prompt_guidelines: self.guidelines.iter().map(|line| Cow::from(*line)).collect(),
            parameters: (self.parameters)(),
            sequential: false,
            execute: Arc::new(Bound { run: self.run, environment: Arc::clone(environment) }),
            describe: self.describe,
        }
    }
}

struct Bound {
    run: Run,
    environment: Arc<dyn Environment>,
}

impl ToolExecute for Bound {
    fn execute(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let ToolCall { arguments, cancel, updates, .. } = call;
        let updates: Updates = Arc::new(move |partial| updates.send(partial));
        (self.run)(Invocation { environment: Arc::clone(&self.environment), arguments, cancel, updates })
    }
}

impl From<EnvironmentError> for ToolError {
    fn from(error: EnvironmentError) -> Self {
        Self(error.to_string())
    }
}

/// Reads the arguments of a call. They were validated, but a hook may have changed them since.
fn arguments<T: DeserializeOwned>(value: Value) -> Result<T, ToolError> {
    serde_json::from_value(value).map_err(|error| ToolError(format!("The arguments do not fit: {error}")))
}

/// A text argument of a call that is only described, so not validated; empty counts as absent.
fn text_of<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The title of a call that is about one path.
fn path_title(verb: &str, arguments: &Value, line: Option<u32>) -> ToolCallTitle {
    let path = text_of(arguments, "path").unwrap_or(".");
    let title = format!("{verb} {}", one_line(path, 120));
    ToolCallTitle { title, locations: vec![Location { path: PathBuf::from(path), line }] }
}

/// The first line of a text, shortened, for a title.
fn one_line(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().nth(most).is_some() || text.trim().lines().nth(1).is_some() {
        short.push('…');
    }
    short
}
