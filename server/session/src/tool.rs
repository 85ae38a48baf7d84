//! What a tool is, and what it gets and gives: the same for built-ins, extensions and tools from outside.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use model::{ContentBlock, ModelClient};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::{SessionId, ThinkingLevel, ToolCallId, ToolKind, Usage, WaitingOn};

use crate::handle::SessionHandle;
use crate::progress::{ProgressCell, WaitingGuard};
pub use crate::updates::UpdateSink;

/// A tool that a model may call.
#[derive(Clone)]
pub struct ToolDefinition {
    /// What the model calls it by; unique in a session.
    pub name: Cow<'static, str>,
    /// For people.
    pub label: Cow<'static, str>,
    pub kind: ToolKind,
    /// For the model.
    pub description: Cow<'static, str>,
    /// One line for the list of tools in a system prompt; without it the tool is callable but not listed.
    pub prompt_snippet: Option<Cow<'static, str>>,
    /// Advice for the system prompt while the tool is offered.
    pub prompt_guidelines: Vec<Cow<'static, str>>,
    /// JSON schema of an object, inlined: strict providers refuse references.
    pub parameters: Value,
    /// Calls of a batch that holds such a tool run one after another.
    pub sequential: bool,
    pub execute: Arc<dyn ToolExecute>,
    /// Title and places of a call, for people; it gets arguments that may not have been validated.
    pub describe: fn(&Value) -> ToolCallTitle,
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The working part of a tool.
pub trait ToolExecute: Send + Sync {
    /// Runs one call. The future is polled in the session's own task, so heavy work belongs on a blocking thread. When
    /// the call's token is cancelled it should end soon; a few seconds later it is dropped, which must leave nothing
    /// running.
    fn execute(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

/// One call of a tool.
#[derive(Debug)]
pub struct ToolCall {
    pub id: ToolCallId,
    /// Validated, and changed by hooks at most.
    pub arguments: Value,
    /// Ends with the run.
    pub cancel: CancellationToken,
    pub updates: UpdateSink,
    pub context: ToolContext,
}

/// What a tool came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<ContentBlock>,
    /// For renderers and logs; never sent to a model.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// What others have spent on models for this call. It is counted in the run's usage, not towards its limits: who
    /// spent it has counted it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Vote to end the run without asking the model again; it counts where every call of the batch votes so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
}

impl ToolOutput {
    /// Output of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], ..Self::default() }
    }
}

/// Why a call failed, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// What a call is, in a line for people, and the places that it touches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallTitle {
    pub title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// As the model wrote it: relative paths are relative to the session's folder.
    pub path: PathBuf,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The session that a call runs in, as it was when the call began.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub session_id: SessionId,
    /// The session's run, from 1.
    pub run: u32,
    /// 0 for a parent session, 1 for its children.
    pub depth: u32,
    pub cwd: Arc<Path>,
    pub model: Arc<dyn ModelClient>,
    pub thinking: ThinkingLevel,
    /// The session's own handle.
    pub session: SessionHandle,
    pub(crate) progress: Arc<ProgressCell>,
}

impl ToolContext {
    /// Shows what the call waits for until the guard is dropped. Calls run side by side, so the most telling of what
    /// they wait for is shown: a person's approval before a child before a tool.
    #[must_use = "the wait ends when the guard is dropped"]
    pub fn waiting(&self, on: WaitingOn) -> WaitingGuard {
        self.progress.wait(on)
    }
}
