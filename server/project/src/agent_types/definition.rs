//! One agent type, resolved and immutable: a running agent keeps the definition it was started with.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use vocab::{Budget, PermissionMode, ThinkingLevel};

/// The tools that every session has, in the order in which they are listed.
pub const BUILTIN_TOOLS: &[&str] = &["read", "bash", "edit", "write", "grep", "find", "ls"];

/// What an agent of this type is. An `Option` is `None` where the definition leaves the choice to the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentType {
    /// The name by which it is asked for.
    pub name: String,
    /// The label for people, where it differs from the name.
    pub display_name: Option<String>,
    /// When to use it, for the model that delegates.
    pub description: String,
    /// A colour as the file has it; surfaces decide what they can show.
    pub color: Option<String>,
    pub tools: ToolSelection,
    /// Tools taken away whatever else gives them; exact names.
    pub disallowed_tools: Vec<String>,
    /// The model that its agents run on; beats the call's.
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// Turns a run may take; 0 = no limit, and beats the setting.
    pub max_turns: Option<u32>,
    /// What a run may use; a call may ask for less, never for more.
    pub budget: Budget,
    pub prompt_mode: PromptMode,
    /// The body of the file: its part of the system prompt. May be empty.
    pub prompt: String,
    /// Whether the parent's conversation is put before the task.
    pub inherit_context: Option<bool>,
    pub run_in_background: Option<bool>,
    /// Whether it runs without extensions, skills and agents of its own.
    pub isolated: Option<bool>,
    pub isolation: Option<IsolationChoice>,
    /// A disabled type is listed for management only.
    pub enabled: bool,
    /// Whether each run leaves a transcript as lines of JSON; `None` where the setting decides.
    pub output_transcript: Option<bool>,
    pub allowed_subagents: SubagentGrant,
    /// The most its agents may do without asking; the parent's mode where that is stricter.
    pub permission_mode: Option<PermissionMode>,
    pub source: Source,
}

/// Which of the built-in tools an agent has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolSelection {
    /// All, and these besides.
    All { others: Vec<String> },
    /// Exactly these; perhaps none.
    Listed(Vec<String>),
}

/// How the definition's prompt and the parent's go together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptMode {
    /// The parent's prompt first, then ours.
    Append,
    /// Ours alone.
    #[default]
    Replace,
}

/// Where the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IsolationChoice {
    /// In a git worktree of its own.
    Worktree,
    /// In the parent's folder, whatever the call asks for.
    Off,
}

/// Which agent types an agent may start itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubagentGrant {
    #[default]
    None,
    All,
    Listed(Vec<String>),
}

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    Builtin,
    File(PathBuf),
}

impl AgentType {
    /// The label for people.
    pub fn label(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// The file it was read from.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::Builtin => None,
            Source::File(path) => Some(path),
        }
    }

    /// Whether an agent of this type may use a tool that every session has or that an extension offers. Tools for
    /// delegation are granted apart, by [`AgentType::allowed_subagents`].
    pub fn allows_tool(&self, tool: &str) -> bool {
        let selected = match &self.tools {
            ToolSelection::All { others } => {
                BUILTIN_TOOLS.contains(&tool) || others.iter().any(|other| other == tool)
            }
            ToolSelection::Listed(names) => names.iter().any(|name| name == tool),
        };
        selected && !self.disallowed_tools.iter().any(|denied| denied == tool)
    }
}

impl ToolSelection {
    /// All of the built-in tools and no other.
    pub fn all() -> Self {
        Self::All { others: Vec::new() }
    }
}

impl SubagentGrant {
    /// Whether this grant names a type.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Listed(names) => names.iter().any(|listed| listed.eq_ignore_ascii_case(name)),
        }
    }
}
