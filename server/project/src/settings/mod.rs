//! Settings: what they are, where they come from and who may set what.
//!
//! The types here are the single source: their schema gives the known keys, what each allows and the defaults, so a
//! check and its message cannot drift from the type.

mod keys;
mod layer;
mod merge;
#[cfg(test)]
mod tests;
mod write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::PermissionMode;

pub use keys::{SettingKey, known_keys};
pub use layer::{Origin, SettingsLayer, SettingsWarning, from_client, load_project, load_user};
pub use merge::Merged;
pub use write::{WriteError, write_key};

use crate::agent_types::Fallback;

/// All settings, each with a value. Durations are milliseconds; where a text says so, 0 means none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Background agents that run at one time in one session; more wait in a queue.
    #[schemars(range(min = 1, max = 65536))]
    pub max_concurrent: u32,
    /// Turns an agent may take where neither its definition nor the call says; 0 = no limit.
    #[schemars(range(min = 0, max = 10000))]
    pub default_max_turns: u32,
    /// Turns left to an agent that was told to wrap up, before it is ended.
    #[schemars(range(min = 1, max = 1000))]
    pub grace_turns: u32,
    /// How deep agents may start agents; 0 and 1 = not at all.
    #[schemars(range(min = 0, max = 16))]
    pub max_subagent_depth: u32,
    /// How news of background agents that were started together is gathered.
    pub default_join_mode: JoinMode,
    /// Whether an agent that the parent starts without saying runs in the background.
    pub background_by_default: bool,
    /// The agent type that stands in for an unknown one; `none` or false refuses instead. Absent: `general-purpose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_subagent: Option<String>,
    /// Hides the three built-in agent types; files of the same names still load.
    pub disable_default_agents: bool,
    /// How much the model is told about the `Agent` tool.
    pub tool_description_mode: ToolDescriptionMode,
    /// Shows estimated costs.
    pub show_cost: bool,
    /// Adds what agents have spent to the session's own usage, with the next result of a tool for agents.
    pub report_usage: bool,
    /// Keeps a transcript of each run of an agent as lines of JSON, where its definition does not say.
    pub output_transcript: bool,
    /// The model of new sessions, as `provider/id`. Absent: the first one that has credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Offers the editor's own models.
    pub editor_models: bool,
    pub retry: RetrySettings,
    pub compaction: CompactionSettings,
    pub permissions: PermissionSettings,
    pub limits: LimitSettings,
    pub delivery: DeliverySettings,
    pub sandbox: SandboxSettings,
    pub retention: RetentionSettings,
    pub log: LogSettings,
    pub extensions: ExtensionSettings,
}

/// How completions of agents that were started together reach the parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum JoinMode {
    /// Agents that start in one turn are told of together, single ones at once.
    #[default]
    Smart,
    /// Each is told of when it ends.
    Async,
    /// As `smart`.
    Group,
}

/// How much the model is told about the `Agent` tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ToolDescriptionMode {
    #[default]
    Full,
    /// About a quarter of the tokens.
    Compact,
    /// The text of `agent-tool-description.md`.
    Custom,
}

/// Repeating model requests that failed in passing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct RetrySettings {
    pub enabled: bool,
    /// Tries after the first.
    #[schemars(range(min = 0, max = 100))]
    pub max_retries: u32,
    /// The first wait, doubled at each further one.
    #[schemars(range(min = 0, max = 600_000))]
    pub base_delay_ms: u64,
}

/// Summarising a history that gets too long for its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct CompactionSettings {
    pub enabled: bool,
    /// Tokens of the context window that are kept free.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub reserve_tokens: u64,
    /// Tokens of the newest history that stay as they are.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub keep_recent_tokens: u64,
}

/// What tools may do without asking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct PermissionSettings {
    /// Absent: `ask` in an editor, `plan` in a headless run. A project file can only make it stricter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
    /// Rules that allow without asking, as `tool` or `tool(pattern)`. Not read from a project file.
    pub allow: Vec<String>,
    /// Rules that refuse, in the same form. A project file's are added.
    pub deny: Vec<String>,
    /// How long an approval waits for its answer before it is refused; 0 = for ever. Not read from a project file.
    #[schemars(range(min = 0, max = 604_800_000))]
    pub answer_limit_ms: u64,
    /// The strictest mode that a project file asked for: no session of its folder may be more permissive.
    #[serde(skip)]
    pub ceiling: Option<PermissionMode>,
}

/// Limits of each session and its agents; 0 = none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct LimitSettings {
    /// Time one run of an agent may take.
    #[schemars(range(min = 0, max = 604_800_000))]
    pub wall_clock_ms: u64,
    /// Time a model request may go without a byte.
    #[schemars(range(min = 0, max = 604_800_000))]
    pub idle_ms: u64,
    /// Turns in a row without text and without a call or result that is new.
    #[schemars(range(min = 0, max = 100_000))]
    pub no_progress_turns: u32,
    /// Tokens that a session and its agents may use together, cache reads left out.
    pub tokens: u64,
    /// US dollars that a session and its agents may cost together. Requests whose price is unknown are not counted: they
    /// are not free, they cannot be measured. A limit of tokens binds there too.
    #[schemars(range(min = 0.0))]
    pub cost_usd: f64,
    /// Agents queued, running or stopping at one time under one session.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub descendants: u32,
    /// The same tool with the same arguments and the same result in a row.
    #[schemars(range(min = 0, max = 100_000))]
    pub identical_calls: u32,
}

/// When news of background agents reaches the parent's model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct DeliverySettings {
    /// How long news is held, so that the parent can fetch the result itself.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub hold_ms: u64,
    /// How long the first of a group waits for the others.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub join_ms: u64,
    /// The same, for those that a group went without.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub straggler_ms: u64,
}

/// What confines the commands that tools start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct SandboxSettings {
    /// A project file can only make it stricter.
    pub commands: SandboxMode,
}

/// Whether commands are confined to their folder. Ordered from strict to permissive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SandboxMode {
    /// Always; where the system cannot, no command runs.
    On,
    /// Where the system can.
    #[default]
    Auto,
    Off,
}

/// How long what is on disk is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct RetentionSettings {
    /// Days until a session that nobody used goes; 0 = kept for ever. Not read from a project file.
    #[schemars(range(min = 0, max = 36_500))]
    pub days: u32,
}

/// The log file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct LogSettings {
    /// The least serious lines that are kept. Not read from a project file.
    pub level: LogLevel,
}

/// How serious a log line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    /// From here on, prompts, files and tool texts may be in the log.
    Debug,
    Trace,
}

/// Extensions of the session host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct ExtensionSettings {
    /// Names of extensions that are not loaded. A project file's are added.
    pub disabled: Vec<String>,
}

impl Settings {
    /// The mode of a new session, where `default` is the surface's own; never above what the project file asked for.
    pub fn permission_mode(&self, default: PermissionMode) -> PermissionMode {
        let mode = self.permissions.mode.unwrap_or(default);
        self.permissions.ceiling.map_or(mode, |ceiling| mode.min(ceiling))
    }

    /// What happens to a request for an unknown agent type.
    pub fn fallback(&self) -> Fallback {
        match self.fallback_subagent.as_deref().map(str::trim) {
            None | Some("") => Fallback::GeneralPurpose,
            Some(name) if name.eq_ignore_ascii_case("none") => Fallback::Refuse,
            Some(name) => Fallback::Named(name.to_owned()),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_concurrent: 10,
            default_max_turns: 0,
            grace_turns: 5,
            max_subagent_depth: 2,
            default_join_mode: JoinMode::default(),
            background_by_default: true,
            fallback_subagent: None,
            disable_default_agents: false,
            tool_description_mode: ToolDescriptionMode::default(),
            show_cost: false,
            report_usage: false,
            output_transcript: true,
            model: None,
            editor_models: false,
            retry: RetrySettings::default(),
            compaction: CompactionSettings::default(),
            permissions: PermissionSettings::default(),
            limits: LimitSettings::default(),
            delivery: DeliverySettings::default(),
            sandbox: SandboxSettings::default(),
            retention: RetentionSettings::default(),
            log: LogSettings::default(),
            extensions: ExtensionSettings::default(),
        }
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2000 }
    }
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            wall_clock_ms: 0,
            idle_ms: 300_000,
            no_progress_turns: 25,
            tokens: 0,
            cost_usd: 0.0,
            descendants: 256,
            identical_calls: 10,
        }
    }
}

impl Default for DeliverySettings {
    fn default() -> Self {
        Self { hold_ms: 200, join_ms: 30_000, straggler_ms: 15_000 }
    }
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { days: 30 }
    }
}
