//! Merging the sources: the later wins a key, but a repository can only narrow what is allowed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vocab::PermissionMode;

use super::keys::put;
use super::layer::{Origin, SettingsLayer, SettingsWarning};
use super::{SandboxMode, Settings};

/// The settings in force, and where each that somebody set comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merged {
    pub settings: Settings,
    /// By dotted key; a key that nobody set is not in it.
    pub origins: BTreeMap<String, Origin>,
    pub warnings: Vec<SettingsWarning>,
}

impl Merged {
    /// A key's value in force and where it comes from; `None` for an unknown key and for one without a value.
    pub fn value(&self, key: &str) -> Option<(Value, Origin)> {
        let all = serde_json::to_value(&self.settings).ok()?;
        let value = all.pointer(&format!("/{}", key.replace('.', "/")))?.clone();
        Some((value, self.origins.get(key).copied().unwrap_or(Origin::Default)))
    }
}

impl Settings {
    /// Merges the three sources. The project's counts only in a trusted folder, and there, for what decides what is
    /// allowed or kept, only where it makes it stricter. Warnings of all sources that count are in the result.
    pub fn merge(
        user: &SettingsLayer,
        project: &SettingsLayer,
        client: &SettingsLayer,
        trusted: bool,
    ) -> Merged {
        let nothing = SettingsLayer::default();
        let project = if trusted { project } else { &nothing };
        let mut merged = Merging::default();
        merged.overlay(user, Origin::User);
        merged.overlay_narrowing(project);
        merged.overlay(client, Origin::Client);
        let ceiling = merged.narrow(project);
        merged.finish(ceiling, [user, project, client])
    }
}

#[derive(Default)]
struct Merging {
    values: BTreeMap<String, (Value, Origin)>,
    warnings: Vec<SettingsWarning>,
}

/// What a project file may do to a key.
fn is_narrowed(key: &str) -> bool {
    key.starts_with("permissions.")
        || key.starts_with("extensions.")
        || matches!(key, "sandbox.commands" | "retention.days" | "log.level")
}

impl Merging {
    fn overlay(&mut self, layer: &SettingsLayer, origin: Origin) {
        for (key, value) in &layer.values {
            self.values.insert(key.clone(), (value.clone(), origin));
        }
    }

    /// The project's keys that it may set freely.
    fn overlay_narrowing(&mut self, project: &SettingsLayer) {
        for (key, value) in &project.values {
            if !is_narrowed(key) {
                self.values.insert(key.clone(), (value.clone(), Origin::Project));
            }
        }
    }

    /// The project's other keys, once the rest is settled. Returns the permission mode that caps all others.
    fn narrow(&mut self, project: &SettingsLayer) -> Option<PermissionMode> {
        let mut ceiling = None;
        for (key, value) in project.values.iter().filter(|(key, _)| is_narrowed(key)) {
            match key.as_str() {
                "permissions.mode" => {
                    ceiling = read(value);
                    let held: Option<PermissionMode> = self.held(key);
                    if held.is_some_and(|held| ceiling < Some(held)) {
                        self.values.insert(key.clone(), (value.clone(), Origin::Project));
                    }
                }
                "permissions.deny" | "extensions.disabled" => self.append(key, value),
                "sandbox.commands" => {
                    let held = self.held(key).unwrap_or_default();
                    match read::<SandboxMode>(value) {
                        Some(asked) if asked < held => {
                            self.values.insert(key.clone(), (value.clone(), Origin::Project));
                        }
                        Some(asked) if asked > held => self.refuse(project, key, "can only make it stricter"),
                        _ => {}
                    }
                }
                _ => self.refuse(project, key, "cannot set it"),
            }
        }
        ceiling
    }

    fn append(&mut self, key: &str, more: &Value) {
        let entry =
            self.values.entry(key.into()).or_insert_with(|| (Value::Array(Vec::new()), Origin::Project));
        if let (Value::Array(list), Value::Array(more)) = (&mut entry.0, more) {
            for item in more {
                if !list.contains(item) {
                    list.push(item.clone());
                    entry.1 = Origin::Project;
                }
            }
        }
    }

    fn held<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.values.get(key).and_then(|(value, _)| read(value))
    }

    fn refuse(&mut self, project: &SettingsLayer, key: &str, why: &str) {
        let message = format!("ignored: a project file {why}; set it in your own settings");
        self.warnings.push(SettingsWarning {
            file: project.file.clone(),
            line: None,
            key: Some(key.into()),
            message,
        });
    }

    fn finish(mut self, ceiling: Option<PermissionMode>, sources: [&SettingsLayer; 3]) -> Merged {
        let mut tree = Map::new();
        let mut origins = BTreeMap::new();
        for (key, (value, origin)) in self.values {
            put(&mut tree, &key, value);
            origins.insert(key, origin);
        }
        // Every value has passed the rules that come from this type's own schema; a test holds the two together.
        let mut settings: Settings = serde_json::from_value(Value::Object(tree)).unwrap_or_default();
        settings.permissions.ceiling = ceiling;
        let mut warnings: Vec<_> = sources.iter().flat_map(|layer| layer.warnings.iter().cloned()).collect();
        warnings.append(&mut self.warnings);
        Merged { settings, origins, warnings }
    }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}
