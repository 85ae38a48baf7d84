//! How agent types are listed to the model that delegates.

use super::definition::{AgentType, BUILTIN_TOOLS, ToolSelection};
use super::registry::AgentTypes;
use crate::text::one_line;

/// How much of each type is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingStyle {
    /// The whole description, the model and the tools.
    Full,
    /// The first sentence of the description and the tools.
    Compact,
}

/// Longest description in a listing; a file can be longer than a model should have to read for each request.
const DESCRIPTION_LIMIT: usize = 2000;

impl AgentTypes {
    /// One line for each enabled type, in the registry's order; empty where there is none.
    pub fn listing(&self, style: ListingStyle) -> String {
        self.enabled().map(|agent_type| agent_type.listing_line(style)).collect::<Vec<_>>().join("\n")
    }
}

impl AgentType {
    /// The line of this type, as `- name: description (Tools: scope)`.
    pub fn listing_line(&self, style: ListingStyle) -> String {
        let description = one_line(&self.description, DESCRIPTION_LIMIT);
        let (description, model) = match style {
            ListingStyle::Full => (description.as_str(), self.model_label()),
            ListingStyle::Compact => (first_sentence(&description), None),
        };
        let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
        format!("- {}: {description}{model} (Tools: {})", self.name, self.tool_scope())
    }

    /// The built-in tools for a reader: `*` for all, their names, or a phrase for none.
    pub fn tool_scope(&self) -> String {
        let all = self.disallowed_tools.is_empty()
            && match &self.tools {
                ToolSelection::All { .. } => true,
                ToolSelection::Listed(_) => BUILTIN_TOOLS.iter().all(|tool| self.allows_tool(tool)),
            };
        if all {
            return "*".into();
        }
        let names: Vec<&str> = BUILTIN_TOOLS.iter().copied().filter(|tool| self.allows_tool(tool)).collect();
        match (names.is_empty(), self.isolated) {
            (false, _) => names.join(", "),
            (true, Some(true)) => "none".into(),
            (true, _) => "tools of extensions only".into(),
        }
    }

    /// The last part of a pinned model's name, without a date stamp.
    fn model_label(&self) -> Option<String> {
        let model = one_line(self.model.as_deref()?, 80);
        let last = model.rsplit('/').next().unwrap_or_default();
        let label = match last.rsplit_once('-') {
            Some((start, stamp)) if stamp.len() == 8 && stamp.bytes().all(|byte| byte.is_ascii_digit()) => {
                start
            }
            _ => last,
        };
        Some(label.to_owned())
    }
}

/// The shortest start that ends in `.`, `!` or `?` before a blank or the end; all of it where there is none.
fn first_sentence(text: &str) -> &str {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let ends = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(character, '.' | '!' | '?') && ends {
            return &text[..at + character.len_utf8()];
        }
    }
    text
}
