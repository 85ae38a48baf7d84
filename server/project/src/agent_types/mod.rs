//! Agent types: the definitions that say what an agent is, built in or from Markdown files with frontmatter.

mod builtin;
mod definition;
mod description_file;
mod fields;
mod frontmatter;
mod listing;
mod registry;
mod schema;
#[cfg(test)]
mod tests;

pub use definition::{
    AgentType, BUILTIN_TOOLS, IsolationChoice, PromptMode, Source, SubagentGrant, ToolSelection,
};
pub use description_file::{custom_tool_description, fill_placeholders};
pub use listing::ListingStyle;
pub use registry::{AgentFolder, AgentTypes, Fallback, Refusal, Resolved, agent_folders};
pub use schema::AgentFile;
