//! `stop_subagent`: ends an agent that the caller has started, or all of them.

use std::fmt::Write as _;

use roster::StopScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use session::{ToolCall, ToolDefinition, ToolError, ToolOutput};
use vocab::{AgentId, AgentStatus, EndedBy, ToolKind};

use super::{Delegation, RESULT_TOOL, STOP_TOOL, parameters, read, titled};
use crate::failure::Failure;

/// What a model calls `stop_subagent` with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopParams {
    /// The agent's id or name.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// True: every agent of yours, in place of one.
    #[serde(default)]
    pub all: Option<bool>,
}

pub(super) fn tool(delegation: &Delegation) -> ToolDefinition {
    ToolDefinition {
        name: STOP_TOOL.into(),
        label: "Stop agent".into(),
        kind: ToolKind::Other,
        description: "Stop an agent of yours whose work is not needed any more, with everything that it has started. What \
                      it has written so far is kept. Stopping one that has ended changes nothing."
            .into(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: parameters::<StopParams>(),
        sequential: false,
        execute: delegation.executes(|delegation, call| async move { delegation.stop(call).await }),
        describe: |arguments| titled("Stop", arguments, "all agents"),
    }
}

impl Delegation {
    async fn stop(&self, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
        let params: StopParams = read(std::mem::take(&mut call.arguments), &[])?;
        let named = params.agent_id.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let agents = match (named, params.all == Some(true)) {
            (Some(name), false) => vec![self.find(name).await?],
            (None, true) => self.live_agents().await?,
            _ => return Err(Failure::bad_param("agent_id", "give `agent_id`, or `all`: true").into()),
        };
        let mut stopped: Vec<(AgentId, AgentStatus)> = Vec::new();
        for agent in agents {
            stopped.extend(self.manager.stop(agent, StopScope::Subtree, EndedBy::Parent).await?);
        }
        let mut said = match stopped.as_slice() {
            [] => "None of your agents is running.".to_owned(),
            _ => String::new(),
        };
        for (agent, status) in &stopped {
            let state = match status {
                AgentStatus::Stopping => "is being stopped".to_owned(),
                other => format!("is {}", other.as_str()),
            };
            let _ = writeln!(said, "{agent} {state}.");
        }
        if stopped.iter().any(|(_, status)| *status == AgentStatus::Stopping) {
            let _ = write!(said, "{RESULT_TOOL} with `wait` has what it wrote, once it has ended.");
        }
        let agents: Vec<Value> =
            stopped.iter().map(|(agent, status)| json!({ "agentId": agent, "status": status })).collect();
        Ok(ToolOutput { details: json!({ "agents": agents }), ..ToolOutput::text(said.trim_end()) })
    }

    /// This owner's agents that have not ended.
    async fn live_agents(&self) -> Result<Vec<AgentId>, Failure> {
        let (session, owner) = (self.session.clone(), self.owner());
        let rows = self.manager.call(move |manager| manager.summaries_of(&session, &owner)).await?;
        Ok(rows.into_iter().filter(|row| !row.status.is_final()).map(|row| row.agent_id).collect())
    }
}
