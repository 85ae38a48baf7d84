//! `list_subagents`: the agents that the caller has started, and how they stand.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use session::{ToolCall, ToolCallTitle, ToolDefinition, ToolError, ToolOutput};
use vocab::ToolKind;

use super::text;
use super::{Delegation, LIST_TOOL, parameters, read};

/// Agents that one answer names, the newest; the rest is counted.
const SHOWN: usize = 100;

/// What a model calls `list_subagents` with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListParams {
    /// True: only those that have not ended.
    #[serde(default)]
    pub live: Option<bool>,
}

pub(super) fn tool(delegation: &Delegation) -> ToolDefinition {
    ToolDefinition {
        name: LIST_TOOL.into(),
        label: "Agents".into(),
        kind: ToolKind::Other,
        description: "List the agents that you have started: id, name, type, state and task. You are told when one ends, so \
                      do not use this to wait."
            .into(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: parameters::<ListParams>(),
        sequential: false,
        execute: delegation.executes(|delegation, call| async move { delegation.list(call).await }),
        describe: |_| ToolCallTitle { title: "Agents".to_owned(), locations: Vec::new() },
    }
}

impl Delegation {
    async fn list(&self, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
        let params: ListParams = read(std::mem::take(&mut call.arguments), &[])?;
        let (session, owner) = (self.session.clone(), self.owner());
        let mut rows = self.manager.call(move |manager| manager.summaries_of(&session, &owner)).await?;
        if params.live == Some(true) {
            rows.retain(|row| !row.status.is_final());
        }
        let left_out = rows.len().saturating_sub(SHOWN);
        let mut said = match rows.len() {
            0 => "You have no agents.".to_owned(),
            count => text::count(u32::try_from(count).unwrap_or(u32::MAX), "agent"),
        };
        if left_out > 0 {
            let _ = write!(said, "; the {left_out} oldest are not shown");
        }
        for row in &rows[left_out..] {
            let _ = write!(
                said,
                "\n- {} ({}) · {} · {} · {}",
                row.agent_id,
                row.handle,
                text::escape(&row.agent_type),
                row.status.as_str(),
                text::escape(&row.description)
            );
        }
        let agents: Vec<Value> = rows[left_out..]
            .iter()
            .map(|row| json!({ "agentId": row.agent_id, "status": row.status }))
            .collect();
        Ok(ToolOutput { details: json!({ "agents": agents, "leftOut": left_out }), ..ToolOutput::text(said) })
    }
}
