//! Start, negotiation and health.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gate;

/// Raised by a change that breaks a shipped shape.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a client can show: `capabilities.experimental.adjutant` of its `initialize`. What it does not declare it is
/// not sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapability {
    /// The version it speaks. Another than the server's: it is served as a client that declared nothing, and told once.
    pub protocol_version: u32,
    /// Has a roster: fleet changes and completions are sent.
    #[serde(default)]
    pub fleet: bool,
    /// Has viewers: events of the transcripts that it opened are sent.
    #[serde(default)]
    pub viewer: bool,
    /// Shows what waits for a person.
    #[serde(default)]
    pub attention: bool,
    /// Saves documents when asked.
    #[serde(default)]
    pub documents: bool,
    /// Offers the editor's own models.
    #[serde(default)]
    pub model_host: bool,
    /// Passes on the event bus.
    #[serde(default)]
    pub events: bool,
}

impl ClientCapability {
    /// Whether the client declared what `gate` asks for, in a version that this server speaks.
    pub fn opens(&self, gate: Gate) -> bool {
        let declared = match gate {
            Gate::Fleet => self.fleet,
            Gate::Viewer => self.viewer,
        };
        declared && self.protocol_version == PROTOCOL_VERSION
    }
}

/// What the server offers: `capabilities.experimental.adjutant` of its answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapability {
    pub protocol_version: u32,
    pub server_version: String,
    /// Every method of this contract that this server knows, in either direction.
    pub methods: Vec<String>,
    pub limits: Limits,
}

/// `initializationOptions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitOptions {
    /// The client's `adjutant` section; a dot in a key is nesting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Map<String, serde_json::Value>>,
    /// The model of new sessions, `provider/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the editor trusts the folders. Absent: the answer kept from before holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

/// The limits in force. 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Background agents of one session that run at one time.
    pub max_concurrent: u32,
    /// How deep agents may start agents; the parent session is depth 0.
    pub max_subagent_depth: u32,
    /// Of one run, in milliseconds.
    pub wall_clock_ms: u64,
    /// How long a model request may stay without a byte, in milliseconds.
    pub idle_ms: u64,
    /// Turns in a row with nothing new.
    pub no_progress_turns: u32,
    /// Tokens of one run.
    pub tokens: u64,
    /// US dollars of one run.
    pub cost_usd: f64,
    /// Agents that are queued, running or stopping under one root session.
    pub descendants: u32,
    /// The same call with the same result in a row.
    pub identical_calls: u32,
}

/// Asks whether the server is well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingParams {}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    pub protocol_version: u32,
    pub server_version: String,
    pub uptime_ms: u64,
    /// Parent sessions that are open.
    pub sessions: u32,
    pub agents: AgentCounts,
}

/// Agents by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCounts {
    pub queued: u32,
    /// Those that are stopping counted in.
    pub running: u32,
    pub finished: u32,
}
