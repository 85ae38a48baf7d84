//! `steer_subagent`: sends a message to an agent that has not ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use session::{ToolCall, ToolDefinition, ToolError, ToolOutput};
use vocab::{EndedBy, ToolKind};

use super::{Delegation, STEER_TOOL, parameters, read, titled};
use crate::failure::Failure;

/// What a model calls `steer_subagent` with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteerParams {
    /// The agent's id or name.
    pub agent_id: String,
    /// What to tell it.
    pub message: String,
}

pub(super) fn tool(delegation: &Delegation) -> ToolDefinition {
    ToolDefinition {
        name: STEER_TOOL.into(),
        label: "Steer agent".into(),
        kind: ToolKind::Other,
        description: "Send a message to an agent that is queued or running. It reads it after its current tool calls, before \
                      its next step."
            .into(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: parameters::<SteerParams>(),
        sequential: false,
        execute: delegation.executes(|delegation, call| async move { delegation.steer(call).await }),
        describe: |arguments| titled("Message to", arguments, ""),
    }
}

impl Delegation {
    async fn steer(&self, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
        let params: SteerParams = read(std::mem::take(&mut call.arguments), &[])?;
        if params.message.trim().is_empty() {
            return Err(Failure::bad_param("message", "must not be empty").into());
        }
        let agent = self.find(&params.agent_id).await?;
        let (steer, now) = self.manager.steer(agent.clone(), params.message, EndedBy::Parent).await?;
        let said = if now {
            "The agent reads the message before its next step."
        } else {
            "The agent has not started yet; it reads the message right after its task."
        };
        Ok(ToolOutput { details: json!({ "agentId": agent, "steerId": steer }), ..ToolOutput::text(said) })
    }
}
