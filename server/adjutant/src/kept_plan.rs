//! What an agent was made from, kept so that it can run again after a restart: its definition as it was, not as its file
//! is by then. Agents that were made alike share one file.

use std::sync::Arc;

use project::agent_types::AgentType;
use serde::{Deserialize, Serialize};
use session::storage::SessionPaths;
use vocab::{Budget, PermissionMode, ThinkingLevel};

use crate::child::ChildPlan;

/// Largest file that is read.
const LARGEST: u64 = 4 << 20;

/// The lasting part of a [`ChildPlan`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptPlan {
    pub(crate) agent_type: Arc<AgentType>,
    pub(crate) system_prompt: Arc<str>,
    /// `provider/name`.
    pub(crate) model: String,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) mode: PermissionMode,
    pub(crate) max_turns: u32,
    #[serde(default)]
    pub(crate) isolated: bool,
    /// The deepest agent of its branch.
    pub(crate) max_depth: u32,
    #[serde(default)]
    pub(crate) budget: Budget,
}

impl KeptPlan {
    /// Of a plan that is about to be carried out.
    pub(crate) fn of(plan: &ChildPlan) -> Self {
        Self {
            agent_type: Arc::clone(&plan.agent_type),
            system_prompt: Arc::clone(&plan.system_prompt),
            model: plan.model.info().full_id(),
            thinking: plan.thinking,
            mode: plan.mode,
            max_turns: plan.limits.max_turns,
            isolated: plan.isolated,
            max_depth: plan.max_depth,
            budget: plan.limits.budget,
        }
    }

    /// Keeps it, and answers the name to find it by. Without it the agent runs now, but not after a restart; that is logged.
    pub(crate) fn keep(&self, paths: &SessionPaths) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        paths.keep_plan(&text).inspect_err(|error| tracing::warn!(%error, "an agent's plan is not kept")).ok()
    }

    /// Reads one back. The error is for a person.
    pub(crate) fn read(paths: &SessionPaths, name: &str) -> Result<Self, String> {
        let path = paths.plan_file(name).map_err(|error| error.to_string())?;
        let fault = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let size = std::fs::metadata(&path).map_err(|error| fault(&error))?.len();
        if size > LARGEST {
            return Err(fault(&"too large to be one of ours"));
        }
        let bytes = std::fs::read(&path).map_err(|error| fault(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| fault(&error))
    }
}
