//! One source of settings, checked key by key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::keys::{is_group, known_keys};
use crate::paths::{StateDirs, project_settings_file};
use crate::text_file::read_text;

/// Longest settings file in bytes.
const LIMIT: u64 = 1024 * 1024;
/// Warnings of one source past this number say nothing new.
const WARNING_LIMIT: usize = 50;

/// Keys of the system that this one replaces which have no meaning here, or none yet.
const WITHOUT_EFFECT: &[&str] = &[
    "agentMentions",
    "fleetView",
    "mcpServers",
    "rememberAgents",
    "schedulingEnabled",
    "scopeModels",
    "strictAgentFiles",
    "widgetMode",
    "worktreeIsolation",
];

/// Where a value comes from. Later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The user's file.
    User,
    /// The workspace folder's file.
    Project,
    /// The editor's configuration.
    Client,
}

/// Something in a source that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsWarning {
    /// The file; absent for the editor's configuration.
    pub file: Option<PathBuf>,
    /// Counted from 1; only where the file could not be read.
    pub line: Option<usize>,
    /// The key with dots for nesting; absent where the source as a whole is meant.
    pub key: Option<String>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => f.write_str("the editor's settings")?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.key {
            Some(key) => write!(f, ": {key}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

/// One source of settings: its good keys, and warnings for the rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsLayer {
    pub(super) file: Option<PathBuf>,
    /// By path, in the form that [`super::Settings`] reads.
    pub(super) values: BTreeMap<String, Value>,
    pub(super) warnings: Vec<SettingsWarning>,
}

/// The user's settings file; a missing one is empty.
pub fn load_user(dirs: &StateDirs) -> SettingsLayer {
    load(dirs.settings_file())
}

/// The settings file of a workspace folder; a missing one is empty. Load it only where the folder is trusted:
/// [`super::Settings::merge`] drops it otherwise, but need not have read it.
pub fn load_project(folder: &Path) -> SettingsLayer {
    load(project_settings_file(folder))
}

/// The editor's `adjutant` section. Keys that are not ours are passed over in silence: clients keep their own there.
pub fn from_client(section: &Value) -> SettingsLayer {
    let mut layer = SettingsLayer::default();
    match section {
        Value::Null => {}
        Value::Object(section) => layer.add_object(section, ""),
        _ => layer.warn(None, "must be an object; ignored".into()),
    }
    layer
}

fn load(file: PathBuf) -> SettingsLayer {
    let read = read_text(&file, LIMIT);
    let mut layer = SettingsLayer { file: Some(file), ..SettingsLayer::default() };
    match read {
        Ok(None) => {}
        Ok(Some(text)) if text.trim().is_empty() => {}
        Ok(Some(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(root)) => layer.add_object(&root, ""),
            Ok(_) => layer.warn(None, "must hold a JSON object; the file is ignored".into()),
            Err(error) => {
                layer.warn(
                    None,
                    format!("not valid JSON ({error}); the file is ignored until it is repaired"),
                );
                layer.set_line(error.line());
            }
        },
        Err(found) => {
            layer.warn(None, format!("{}; the file is ignored", found.message));
            if let Some(line) = found.line {
                layer.set_line(line);
            }
        }
    }
    layer
}

impl SettingsLayer {
    /// Lays what a client has just sent over what it sent before, key by key; what the newer one lacks stays.
    pub fn overlay(&mut self, newer: Self) {
        self.values.extend(newer.values);
        self.warnings = newer.warnings;
    }

    /// Whether it sets nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What was found wrong while reading.
    pub fn warnings(&self) -> &[SettingsWarning] {
        &self.warnings
    }

    fn add_object(&mut self, object: &Map<String, Value>, prefix: &str) {
        for (name, value) in object {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            self.add(&path, value);
        }
    }

    fn add(&mut self, path: &str, value: &Value) {
        if value.is_null() {
            return;
        }
        if let Some(key) = known_keys().get(path) {
            let Some(accepted) = key.accept(value) else {
                let shown = shorten(&value.to_string());
                return self.warn(Some(path), format!("must be {}, not {shown}; ignored", key.allowed()));
            };
            if self.values.insert(path.into(), accepted).is_some() {
                self.warn(Some(path), "given twice, nested and with a dot; one of them is ignored".into());
            }
        } else if is_group(path) {
            match value {
                Value::Object(object) => self.add_object(object, path),
                _ => self.warn(Some(path), "must be an object; ignored".into()),
            }
        } else if self.file.is_some() {
            let known = WITHOUT_EFFECT.contains(&path);
            let message =
                if known { "has no effect in this version" } else { "not a known setting; ignored" };
            self.warn(Some(&shorten(path)), message.into());
        }
    }

    fn warn(&mut self, key: Option<&str>, message: String) {
        if self.warnings.len() < WARNING_LIMIT {
            let key = key.map(str::to_owned);
            self.warnings.push(SettingsWarning { file: self.file.clone(), line: None, key, message });
        }
    }

    fn set_line(&mut self, line: usize) {
        if let Some(warning) = self.warnings.last_mut() {
            warning.line = Some(line);
        }
    }
}

/// A value from a file, short enough for a message.
fn shorten(text: &str) -> String {
    const LIMIT: usize = 60;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
