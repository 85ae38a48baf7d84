//! What agents have spent, carried into the session's own usage by the results of the tools that delegate.

use std::sync::Arc;

use futures::future::BoxFuture;
use session::{ToolCall, ToolDefinition, ToolError, ToolExecute, ToolOutput};
use tokio::sync::watch;

use crate::launch::LaunchContext;

/// The tool, whose results take along what agents have spent since the last one, while the settings ask for that. A call
/// that fails, or that nothing could be recorded under, takes nothing.
pub(super) fn with_usage(
    tool: ToolDefinition,
    context: watch::Receiver<Arc<LaunchContext>>,
) -> ToolDefinition {
    ToolDefinition { execute: Arc::new(Reporting { tool: Arc::clone(&tool.execute), context }), ..tool }
}

struct Reporting {
    tool: Arc<dyn ToolExecute>,
    context: watch::Receiver<Arc<LaunchContext>>,
}

impl ToolExecute for Reporting {
    fn execute(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let recorded = !call.id.as_str().is_empty();
        let answer = self.tool.execute(call);
        let context = self.context.clone();
        Box::pin(async move {
            let mut output = answer.await?;
            if recorded {
                output.usage = context.borrow().ledger.take_report();
            }
            Ok(output)
        })
    }
}
