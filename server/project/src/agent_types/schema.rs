//! The frontmatter of an agent file as a schema, for editors that complete and check it.
//!
//! The reader is more tolerant than this: it drops what it does not understand and says so. A test holds the keys of
//! the two together.

use schemars::JsonSchema;
use serde::Serialize;
use vocab::{PermissionMode, ThinkingLevel};

/// The frontmatter of an agent file. The text below it is the agent's part of the system prompt.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AgentFile {
    /// The name by which the agent type is asked for; the file's name without `.md` where absent. No `:`.
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// The label for people.
    pub display_name: Option<String>,
    /// When to use this agent, for the model that delegates. Without it, the name.
    pub description: Option<String>,
    /// A colour name or `#rrggbb` in quotes.
    pub color: Option<String>,
    /// Built-in tools: `all` (also where absent), `none`, or names.
    pub tools: Option<Names>,
    /// Tools that are taken away.
    pub disallowed_tools: Option<Names>,
    /// The model, as `provider/id` or a part of its name. Absent: the parent's.
    pub model: Option<String>,
    /// How much the model thinks. Absent: as the parent's.
    pub thinking: Option<ThinkingLevel>,
    /// Turns a run may take; 0 = no limit. Absent: the call's or the setting's.
    #[schemars(range(min = 0, max = 10000))]
    pub max_turns: Option<u32>,
    /// Tokens that a run may use, cache reads left out. A call may ask for less.
    #[schemars(range(min = 1))]
    pub budget_tokens: Option<u64>,
    /// US dollars that a run may cost. Requests whose price is unknown are not counted. A call may ask for less.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub budget_cost_usd: Option<f64>,
    /// `append` puts the parent's prompt before the body, `replace` uses the body alone.
    pub prompt_mode: Option<PromptModeWord>,
    /// Puts the parent's conversation before the task.
    pub inherit_context: Option<bool>,
    /// Runs in the background. Absent: the call's or the setting's choice.
    pub run_in_background: Option<bool>,
    /// Runs without extensions and without agents of its own.
    pub isolated: Option<bool>,
    /// `worktree` works in a git worktree of its own, `off` never does. Absent: the call decides.
    pub isolation: Option<IsolationWord>,
    /// `false` hides the agent type; it stays listed for management.
    pub enabled: Option<bool>,
    /// Leaves a transcript of each run as lines of JSON. Absent: the setting's choice.
    pub output_transcript: Option<bool>,
    /// Agent types that it may start itself: true for all, or names.
    pub allowed_subagents: Option<Grant>,
    /// The most it may do without asking. It only narrows what the parent may do.
    pub permission_mode: Option<PermissionMode>,
}

/// Names as one text with commas, or as a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Names {
    Text(String),
    List(Vec<String>),
}

/// All, none, or names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Grant {
    All(bool),
    Names(Names),
}

/// How the definition's prompt and the parent's go together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PromptModeWord {
    Append,
    Replace,
}

/// Where the agent works.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum IsolationWord {
    Worktree,
    Off,
}
