//! One tool call: asked for, run, looked at by hooks. It is a future of its own, so the calls of a batch run side by side
//! and none waits for another's permission.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::ToolCallId;

use crate::entry::ToolOutcome;
use crate::extension::{Hooks, ToolCallDecision, ToolCallEvent, ToolResultEvent, ToolResultPatch};
use crate::history::ABORTED;
use crate::output_cap::cap;
use crate::tool::{ToolCall, ToolCallTitle, ToolContext, ToolOutput};
use crate::toolbox::Tool;
use crate::updates::UpdateSink;

/// Everything that a call needs, so that its future borrows nothing.
pub(crate) struct PreparedCall {
    pub(crate) index: usize,
    pub(crate) id: ToolCallId,
    pub(crate) name: Arc<str>,
    pub(crate) title: Arc<ToolCallTitle>,
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Value,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) context: ToolContext,
    pub(crate) cancel: CancellationToken,
    pub(crate) updates: UpdateSink,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) index: usize,
    pub(crate) output: ToolOutput,
    pub(crate) outcome: ToolOutcome,
}

impl CallEnd {
    pub(crate) fn failed(index: usize, text: impl Into<String>, outcome: ToolOutcome) -> Self {
        Self { index, output: ToolOutput::text(text), outcome }
    }
}

pub(crate) async fn run_call(mut call: PreparedCall) -> CallEnd {
    let index = call.index;
    let arguments = std::mem::take(&mut call.arguments);
    let mut end = match permitted(&call, arguments).await {
        Ok(arguments) => {
            let given = (!call.hooks.tool_result.is_empty()).then(|| Arc::new(arguments.clone()));
            let mut end = execute(&call, arguments).await;
            if let Some(arguments) = given {
                patch(&call, &arguments, &mut end).await;
            }
            end
        }
        Err(refused) => refused,
    };
    end.index = index;
    cap(&mut end.output);
    end
}

/// Asks the `tool_call` hooks; the arguments as they left them, or why the call does not run.
async fn permitted(call: &PreparedCall, mut arguments: Value) -> Result<Value, CallEnd> {
    for hook in &call.hooks.tool_call {
        let event = ToolCallEvent {
            tool_call_id: call.id.clone(),
            tool_name: Arc::clone(&call.name),
            kind: call.tool.definition.kind,
            title: Arc::clone(&call.title),
            arguments,
            cancel: call.cancel.clone(),
            context: call.context.clone(),
        };
        match or_cancelled(call, || hook(event)).await? {
            Ok(ToolCallDecision::Proceed { arguments: changed }) => arguments = changed,
            Ok(ToolCallDecision::Block { reason, terminate }) => {
                let mut end = CallEnd::failed(call.index, reason, ToolOutcome::Blocked);
                end.output.terminate = terminate;
                return Err(end);
            }
            // A check that failed has permitted nothing.
            Err(Panicked) => {
                let text = "Not run: the check before it failed. Tell the user; do not try again.";
                return Err(CallEnd::failed(call.index, text, ToolOutcome::Blocked));
            }
        }
    }
    if call.cancel.is_cancelled() {
        return Err(CallEnd::failed(call.index, ABORTED, ToolOutcome::Aborted));
    }
    Ok(arguments)
}

async fn execute(call: &PreparedCall, arguments: Value) -> CallEnd {
    let tool_call = ToolCall {
        id: call.id.clone(),
        arguments,
        cancel: call.cancel.clone(),
        updates: call.updates.clone(),
        context: call.context.clone(),
    };
    let executed = guarded(|| call.tool.definition.execute.execute(tool_call)).await;
    let failure = if call.cancel.is_cancelled() { ToolOutcome::Aborted } else { ToolOutcome::Error };
    match executed {
        Ok(Ok(output)) => CallEnd { index: call.index, output, outcome: ToolOutcome::Ok },
        Ok(Err(error)) => {
            let text =
                if error.0.trim().is_empty() { "The tool failed without saying why." } else { &error.0 };
            CallEnd::failed(call.index, text, failure)
        }
        Err(Panicked) => {
            tracing::error!(tool = %call.name, "a tool panicked");
            let text = format!("{} failed with a fault of its own. Try another way.", call.name);
            CallEnd::failed(call.index, text, ToolOutcome::Error)
        }
    }
}

/// Asks the `tool_result` hooks, each with what the one before left. One that panics changes nothing.
async fn patch(call: &PreparedCall, arguments: &Arc<Value>, end: &mut CallEnd) {
    for hook in &call.hooks.tool_result {
        let event = ToolResultEvent {
            tool_call_id: call.id.clone(),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(arguments),
            output: end.output.clone(),
            is_error: end.outcome != ToolOutcome::Ok,
            context: call.context.clone(),
        };
        let Ok(answer) = or_cancelled(call, || hook(event)).await else { return };
        let Ok(ToolResultPatch { content, details, is_error, usage, terminate }) = answer else { continue };
        let output = &mut end.output;
        output.content = content.unwrap_or_else(|| std::mem::take(&mut output.content));
        output.details = details.unwrap_or_else(|| std::mem::take(&mut output.details));
        output.usage = usage.or(output.usage);
        output.terminate = terminate.unwrap_or(output.terminate);
        match is_error {
            Some(true) if end.outcome == ToolOutcome::Ok => end.outcome = ToolOutcome::Error,
            Some(false) => end.outcome = ToolOutcome::Ok,
            _ => {}
        }
    }
}

/// What panicked instead of answering.
struct Panicked;

/// A hook may wait for a person; the end of the run is the end of the wait.
async fn or_cancelled<T>(
    call: &PreparedCall,
    hook: impl FnOnce() -> BoxFuture<'static, T>,
) -> Result<Result<T, Panicked>, CallEnd> {
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(CallEnd::failed(call.index, ABORTED, ToolOutcome::Aborted)),
        answer = guarded(hook) => Ok(answer),
    }
}

async fn guarded<T>(work: impl FnOnce() -> BoxFuture<'static, T>) -> Result<T, Panicked> {
    AssertUnwindSafe(async move { work().await }).catch_unwind().await.map_err(|_| Panicked)
}
