//! What a directory says: settings, agent types, context files and trust, and the prompts made of them.
//!
//! Everything read here was written by somebody else, perhaps by a repository that nobody has looked at yet. So sizes are
//! bounded, every part that does not count is named in a [`Diagnostic`] or a warning, and what decides about rights can
//! only be narrowed by a workspace's own files.

pub mod agent_types;
mod context_files;
mod diagnostic;
mod paths;
pub mod settings;
mod system_prompt;
mod text;
mod text_file;
mod trust;
mod watch;

pub use context_files::{ContextFile, load_context_files};
pub use diagnostic::{Diagnostic, Severity};
pub use paths::{
    HOME_VARIABLE, PROJECT_FOLDER, PathsError, StateDirs, project_agents, project_settings_file,
};
pub use system_prompt::{ChildPrompt, GitFacts, ParentPrompt, PlaceFacts, ToolNote};
pub use trust::{TrustError, TrustStore};
pub use watch::{Changed, WatchError, Watcher};
