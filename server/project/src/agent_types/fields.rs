//! From frontmatter to an [`AgentType`], with a finding for everything that does not count.
//!
//! What narrows an agent fails closed: where such a field cannot be understood, the agent gets less, never more.

use std::path::Path;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};
use vocab::{Budget, PermissionMode};

use super::definition::{
    AgentType, BUILTIN_TOOLS, IsolationChoice, PromptMode, Source, SubagentGrant, ToolSelection,
};
use super::frontmatter::{self, Entry, Field};
use crate::Diagnostic;

/// Longest name; longer ones do not fit into a row.
const NAME_LIMIT: usize = 64;
const MAX_TURNS: f64 = 10_000.0;

const THINKING: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const MODES: &[&str] = &["plan", "ask", "auto-edit", "auto"];

/// Fields of the system that this one replaces, which have no effect here yet.
pub(super) const WITHOUT_EFFECT: &[&str] = &[
    "exclude_extensions",
    "extensions",
    "inherit_extensions",
    "inherit_skills",
    "memory",
    "persist_session",
    "session_dir",
    "skills",
];

/// Reads the text of an agent file. `Err` where the file cannot be used; findings that leave it in use go to `found`.
pub(super) fn read(path: &Path, text: &str, found: &mut Vec<Diagnostic>) -> Result<AgentType, Diagnostic> {
    let unusable = |fault: frontmatter::Fault| Diagnostic::error(path, fault.line, fault.message);
    let parts = frontmatter::split(text).map_err(unusable)?;
    let entries = if let Some(yaml) = parts.yaml {
        frontmatter::parse(yaml).map_err(unusable)?
    } else {
        let message = "no frontmatter (the file does not begin with `---`); all fields have their defaults";
        found.push(Diagnostic::warning(path, Some(1), message));
        Vec::new()
    };
    let mut fields = Fields { entries, path, found };
    let name = fields.name()?;
    let agent_type = AgentType {
        display_name: fields.text("display_name"),
        description: fields.text("description").unwrap_or_else(|| name.clone()),
        color: fields.text("color"),
        tools: fields.tools(),
        disallowed_tools: fields.disallowed_tools(),
        model: fields.text("model"),
        thinking: fields.word("thinking", THINKING),
        max_turns: fields.max_turns(),
        budget: fields.budget(),
        prompt_mode: fields.prompt_mode(),
        prompt: parts.body.to_owned(),
        inherit_context: fields.flag("inherit_context"),
        run_in_background: fields.flag("run_in_background"),
        isolated: fields.flag("isolated"),
        isolation: fields.isolation(),
        enabled: fields.flag("enabled").unwrap_or(true),
        output_transcript: fields.flag("output_transcript"),
        allowed_subagents: fields.allowed_subagents(),
        permission_mode: fields.permission_mode(),
        source: Source::File(path.into()),
        name,
    };
    fields.warn_of_the_rest();
    Ok(agent_type)
}

/// The entries that nobody has asked for yet.
struct Fields<'a> {
    entries: Vec<Entry>,
    path: &'a Path,
    found: &'a mut Vec<Diagnostic>,
}

impl Fields<'_> {
    fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// As [`Fields::take`], for keys where a blank value is the same as no key.
    fn take_value(&mut self, key: &str) -> Option<Entry> {
        self.take(key).filter(|entry| entry.value != Field::Null)
    }

    fn warn(&mut self, entry: &Entry, message: impl AsRef<str>) {
        let message = format!("{}: {}", entry.key, message.as_ref());
        self.found.push(Diagnostic::warning(self.path, Some(entry.line), message));
    }

    fn name(&mut self) -> Result<String, Diagnostic> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let line = self.entries.iter().find(|entry| entry.key == "name").map(|entry| entry.line);
        let name = self.text("name").map_or(stem, |name| name.trim().to_owned());
        let refuse = |message: &str| Err(Diagnostic::error(self.path, line, message));
        if name.contains(':') {
            return refuse("name: `:` is kept for names of extensions; take another character");
        }
        if name.chars().any(char::is_control) || name.chars().count() > NAME_LIMIT {
            return refuse("name: must be one line of at most 64 characters");
        }
        Ok(name)
    }

    /// A text that is not blank; anything else is reported and does not count.
    fn text(&mut self, key: &str) -> Option<String> {
        let entry = self.take_value(key)?;
        match &entry.value {
            Field::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            Field::Text(_) => {
                self.warn(&entry, "empty; ignored");
                None
            }
            other => {
                self.warn(&entry, format!("must be a text, not {}; put it in quotes. Ignored", shown(other)));
                None
            }
        }
    }

    /// `true` or `false`, and nothing that looks like them: a quoted one must not decide silently.
    fn flag(&mut self, key: &str) -> Option<bool> {
        let entry = self.take_value(key)?;
        match &entry.value {
            Field::Bool(flag) => Some(*flag),
            other => {
                self.warn(
                    &entry,
                    format!("must be true or false, without quotes, not {}; ignored", shown(other)),
                );
                None
            }
        }
    }

    fn word<'w, T: Deserialize<'w>>(&mut self, key: &str, allowed: &'static [&'w str]) -> Option<T> {
        let entry = self.take_value(key)?;
        let word = match &entry.value {
            Field::Text(text) => allowed.iter().find(|word| **word == text.trim()),
            // YAML 1.2 reads `off` as a text, but `thinking: false` says the same.
            Field::Bool(false) => allowed.iter().find(|word| **word == "off"),
            _ => None,
        };
        let parsed = word.and_then(|word| {
            let deserializer: StrDeserializer<'w, WordError> = (*word).into_deserializer();
            T::deserialize(deserializer).ok()
        });
        if parsed.is_none() {
            let message =
                format!("must be one of {}, not {}; ignored", allowed.join(", "), shown(&entry.value));
            self.warn(&entry, message);
        }
        parsed
    }

    fn prompt_mode(&mut self) -> PromptMode {
        let Some(entry) = self.take_value("prompt_mode") else { return PromptMode::default() };
        match &entry.value {
            Field::Text(text) if text.trim() == "append" => PromptMode::Append,
            Field::Text(text) if text.trim() == "replace" => PromptMode::Replace,
            other => {
                self.warn(
                    &entry,
                    format!("must be append or replace, not {}; replace is used", shown(other)),
                );
                PromptMode::default()
            }
        }
    }

    fn max_turns(&mut self) -> Option<u32> {
        let entry = self.take_value("max_turns")?;
        match entry.value {
            Field::Number(turns) if turns.fract() == 0.0 && (0.0..=MAX_TURNS).contains(&turns) => {
                Some(turns as u32)
            }
            ref other => {
                let message = "must be a whole number from 0 (no limit) to 10000, not";
                self.warn(&entry, format!("{message} {}; ignored", shown(other)));
                None
            }
        }
    }

    /// A budget that cannot be read is the smallest one: whoever wrote it wanted some limit.
    fn budget(&mut self) -> Budget {
        let tokens = self.take_value("budget_tokens").map(|entry| match entry.value {
            Field::Number(tokens) if tokens.fract() == 0.0 && (1.0..=9e15).contains(&tokens) => tokens as u64,
            ref other => {
                let message = "must be a whole number of at least 1, not";
                self.warn(&entry, format!("{message} {}; the smallest budget is used", shown(other)));
                1
            }
        });
        let cost_usd = self.take_value("budget_cost_usd").map(|entry| match entry.value {
            Field::Number(cost) if cost.is_finite() && cost > 0.0 => cost,
            ref other => {
                let message = "must be a number of US dollars above 0, not";
                self.warn(&entry, format!("{message} {}; the smallest budget is used", shown(other)));
                f64::MIN_POSITIVE
            }
        });
        Budget { tokens, cost_usd }
    }

    fn permission_mode(&mut self) -> Option<PermissionMode> {
        let line = self.entries.iter().find(|entry| entry.key == "permission_mode")?;
        if line.value == Field::Null {
            self.take("permission_mode");
            return None;
        }
        let mode: Option<PermissionMode> = self.word("permission_mode", MODES);
        if mode.is_none()
            && let Some(last) = self.found.last_mut()
        {
            last.message = last.message.replace("; ignored", "; plan is used, the strictest");
        }
        mode.or(Some(PermissionMode::Plan))
    }

    fn isolation(&mut self) -> Option<IsolationChoice> {
        let entry = self.take_value("isolation")?;
        let word = match &entry.value {
            Field::Bool(false) => "off".to_owned(),
            Field::Text(text) => text.trim().to_ascii_lowercase(),
            _ => String::new(),
        };
        match word.as_str() {
            "worktree" => Some(IsolationChoice::Worktree),
            "off" | "none" | "no" => Some(IsolationChoice::Off),
            _ => {
                self.warn(&entry, format!("must be worktree or off, not {}; ignored", shown(&entry.value)));
                None
            }
        }
    }

    fn tools(&mut self) -> ToolSelection {
        let Some(entry) = self.take("tools") else { return ToolSelection::all() };
        if entry.value == Field::Null {
            self.warn(&entry, "blank, which gives all tools; write none for no tools, or all");
            return ToolSelection::all();
        }
        let Some(names) = self.list(&entry, "no tools are given") else {
            return ToolSelection::Listed(Vec::new());
        };
        if matches!(names.as_slice(), [only] if only.eq_ignore_ascii_case("none")) {
            return ToolSelection::Listed(Vec::new());
        }
        let mut all = false;
        let mut listed: Vec<String> = Vec::new();
        for name in names {
            if name == "*" || name.eq_ignore_ascii_case("all") {
                all = true;
            } else if name.starts_with("ext:") {
                self.warn(
                    &entry,
                    format!("{name}: tools of extensions cannot be selected in this version; ignored"),
                );
            } else {
                self.check_tool(&entry, &name);
                if !listed.contains(&name) {
                    listed.push(name);
                }
            }
        }
        if all {
            listed.retain(|name| !BUILTIN_TOOLS.contains(&name.as_str()));
            ToolSelection::All { others: listed }
        } else {
            ToolSelection::Listed(listed)
        }
    }

    fn disallowed_tools(&mut self) -> Vec<String> {
        let Some(entry) = self.take_value("disallowed_tools") else { return Vec::new() };
        let names = self.list(&entry, "all built-in tools are taken away");
        let mut names = names.unwrap_or_else(|| BUILTIN_TOOLS.iter().map(|&tool| tool.to_owned()).collect());
        if matches!(names.as_slice(), [only] if only.eq_ignore_ascii_case("none")) {
            names.clear();
        }
        for name in &names {
            self.check_tool(&entry, name);
        }
        names
    }

    /// A name that differs from a known tool's only by case is surely meant as that, and yet it is not that.
    fn check_tool(&mut self, entry: &Entry, name: &str) {
        if BUILTIN_TOOLS.contains(&name) {
            return;
        }
        let meant = BUILTIN_TOOLS.iter().find(|tool| tool.eq_ignore_ascii_case(name));
        self.warn(
            entry,
            match meant {
                Some(meant) => format!("no tool is called {name}; write {meant}"),
                None => format!("{name} is no built-in tool; it counts only if an extension offers it"),
            },
        );
    }

    fn allowed_subagents(&mut self) -> SubagentGrant {
        let Some(entry) = self.take_value("allowed_subagents") else { return SubagentGrant::None };
        if let Field::Bool(all) = entry.value {
            return if all { SubagentGrant::All } else { SubagentGrant::None };
        }
        let mut names = self.list(&entry, "no agents may be started").unwrap_or_default();
        if names.iter().any(|name| name == "*" || name.eq_ignore_ascii_case("all")) {
            return SubagentGrant::All;
        }
        names.retain(|name| !name.eq_ignore_ascii_case("none"));
        if names.is_empty() { SubagentGrant::None } else { SubagentGrant::Listed(names) }
    }

    /// A list, or a text with commas; without blanks and empty parts. `None`, and a finding, for anything else.
    fn list(&mut self, entry: &Entry, consequence: &str) -> Option<Vec<String>> {
        let parts: Option<Vec<&str>> = match &entry.value {
            Field::Text(text) => Some(text.split(',').collect()),
            Field::List(items) => items
                .iter()
                .map(|item| if let Field::Text(text) = item { Some(text.as_str()) } else { None })
                .collect(),
            _ => None,
        };
        if parts.is_none() {
            let message = format!("must be names with commas or a list of names; {consequence}");
            self.warn(entry, message);
        }
        let names = parts?.into_iter().flat_map(|part| part.split(',')).map(str::trim);
        Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn warn_of_the_rest(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            let known = WITHOUT_EFFECT.contains(&entry.key.as_str());
            let what = if known { "has no effect in this version" } else { "not a known field; ignored" };
            let key: String = entry.key.chars().take(NAME_LIMIT).collect();
            self.found.push(Diagnostic::warning(self.path, Some(entry.line), format!("{key}: {what}")));
        }
    }
}

/// A value for a message.
fn shown(value: &Field) -> String {
    match value {
        Field::Null => "nothing".into(),
        Field::Bool(flag) => flag.to_string(),
        Field::Number(number) => number.to_string(),
        Field::Text(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
        Field::List(_) => "a list".into(),
        Field::Map => "nested keys".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::ThinkingLevel;

    #[test]
    fn every_word_of_a_closed_choice_is_one_of_its_type() {
        fn all<'w, T: Deserialize<'w>>(words: &[&'w str]) -> Vec<T> {
            let read =
                |word: &&'w str| T::deserialize(IntoDeserializer::<WordError>::into_deserializer(*word));
            words.iter().map(|word| read(word).unwrap()).collect()
        }
        assert!(all::<ThinkingLevel>(THINKING).is_sorted());
        assert!(all::<PermissionMode>(MODES).is_sorted());
    }
}
