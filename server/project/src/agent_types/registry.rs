//! The agent types of one workspace folder, and finding one by name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builtin::{GENERAL_PURPOSE, builtin_types};
use super::definition::{AgentType, Source};
use super::fields;
use crate::Diagnostic;
use crate::paths::{StateDirs, project_agents};
use crate::text::one_line;
use crate::text_file::read_text;

/// Longest agent file in bytes.
const FILE_LIMIT: u64 = 256 * 1024;
/// Agent files of one folder; more are left out, with a finding.
const FOLDER_LIMIT: usize = 500;
/// Types named in a refusal.
const NAMED_LIMIT: usize = 50;

/// A folder with agent files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFolder {
    pub path: PathBuf,
    /// Where set, a file that leads outside by a link is refused: a repository must not show us files that are not its
    /// own.
    pub confined_to: Option<PathBuf>,
}

/// The folders for one workspace folder, weakest first: the user's own, then the workspace's if it is trusted.
pub fn agent_folders(dirs: &StateDirs, folder: &Path, trusted: bool) -> Vec<AgentFolder> {
    let mut folders = vec![AgentFolder { path: dirs.agents(), confined_to: None }];
    if trusted {
        folders.push(AgentFolder { path: project_agents(folder), confined_to: Some(folder.into()) });
    }
    folders
}

/// Agent types in a fixed order; names are unique, disabled ones are in it too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentTypes {
    types: Vec<Arc<AgentType>>,
}

/// What happens to a request for a type that there is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fallback {
    /// `general-purpose` stands in.
    #[default]
    GeneralPurpose,
    /// It is refused.
    Refuse,
    /// This type stands in.
    Named(String),
}

/// The type that a request gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub agent_type: Arc<AgentType>,
    /// What was asked for, where this is only a stand-in; empty where nothing was.
    pub substituted_for: Option<String>,
}

/// Why a request gets no type. The text is for the model that asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{}. Available types: {available}", what_was_asked(.requested))]
    Unknown { requested: String, available: String },
    #[error(
        "{}, and the configured fallback \"{fallback}\" is not an enabled agent type either; correct the setting \
         fallbackSubagent. Available types: {available}",
        what_was_asked(.requested)
    )]
    BadFallback { requested: String, fallback: String, available: String },
}

fn what_was_asked(requested: &str) -> String {
    match one_line(requested, 80) {
        name if name.is_empty() => "No agent type was given".into(),
        name => format!("There is no enabled agent type \"{name}\""),
    }
}

impl AgentTypes {
    /// Reads the folders, weakest first, over the built-in types. A file that cannot be used is named in a finding and
    /// skipped; the rest counts.
    pub fn load(builtins: bool, folders: &[AgentFolder]) -> (Self, Vec<Diagnostic>) {
        let mut registry = Self::default();
        let mut found = Vec::new();
        if builtins {
            for builtin in builtin_types() {
                registry.put(builtin);
            }
        }
        for folder in folders {
            registry.load_folder(folder, &mut found);
        }
        (registry, found)
    }

    fn load_folder(&mut self, folder: &AgentFolder, found: &mut Vec<Diagnostic>) {
        let files = match agent_files(&folder.path) {
            Ok(files) => files,
            Err(error) => {
                let message = format!("the folder cannot be read: {error}");
                found.push(Diagnostic::error(&folder.path, None, message));
                return;
            }
        };
        if files.len() > FOLDER_LIMIT {
            let message = format!("{} agent files; only the first {FOLDER_LIMIT} are read", files.len());
            found.push(Diagnostic::warning(&folder.path, None, message));
        }
        let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in files.into_iter().take(FOLDER_LIMIT) {
            match read_agent_file(&path, folder, found) {
                Ok(Some(agent_type)) => {
                    if let Some(before) = names.insert(agent_type.name.clone(), path.clone()) {
                        let message = format!(
                            "replaces {}, which has the same name {}",
                            before.display(),
                            agent_type.name
                        );
                        found.push(Diagnostic::warning(&path, None, message));
                    }
                    self.put(agent_type);
                }
                Ok(None) => {}
                Err(fault) => {
                    self.tell_of_stand_in(&path, found);
                    found.push(fault);
                }
            }
        }
    }

    /// Says which definition is in force in the place of a broken file, which may well be a wider one.
    fn tell_of_stand_in(&self, broken: &Path, found: &mut Vec<Diagnostic>) {
        let stem = broken.file_stem().unwrap_or_default().to_string_lossy();
        if let Some(other) = self.get(&stem).filter(|other| other.enabled) {
            let supplier = match &other.source {
                Source::Builtin => "the built-in definition".to_owned(),
                Source::File(path) => path.display().to_string(),
            };
            let message = format!("the type {stem} is supplied by {supplier} until this file is repaired");
            found.push(Diagnostic::warning(broken, None, message));
        }
    }

    /// Adds a type; one of the same name keeps its place and is replaced.
    fn put(&mut self, agent_type: AgentType) {
        let agent_type = Arc::new(agent_type);
        match self.types.iter_mut().find(|known| known.name == agent_type.name) {
            Some(known) => *known = agent_type,
            None => self.types.push(agent_type),
        }
    }

    /// All types, disabled ones too.
    pub fn all(&self) -> impl Iterator<Item = &Arc<AgentType>> {
        self.types.iter()
    }

    /// The types that can be started.
    pub fn enabled(&self) -> impl Iterator<Item = &Arc<AgentType>> {
        self.types.iter().filter(|agent_type| agent_type.enabled)
    }

    /// The type of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<AgentType>> {
        self.types.iter().find(|agent_type| agent_type.name == name)
    }

    /// Finds a type to show: the exact name, else the first that differs only by case; disabled ones too.
    pub fn find_lenient(&self, name: &str) -> Option<&Arc<AgentType>> {
        self.get(name).or_else(|| self.types.iter().find(|known| same_but_for_case(&known.name, name)))
    }

    /// Finds a type to start: the exact name, else the only one that differs by case alone. A disabled one is not
    /// found, and between several nothing is guessed.
    pub fn find(&self, name: &str) -> Option<&Arc<AgentType>> {
        let name = name.trim();
        let candidate = self.get(name).or_else(|| {
            let mut matches = self.types.iter().filter(|known| same_but_for_case(&known.name, name));
            matches.next().filter(|_| matches.next().is_none())
        });
        candidate.filter(|candidate| candidate.enabled)
    }

    /// Only those that fit.
    #[must_use]
    pub fn retain(mut self, fits: impl Fn(&AgentType) -> bool) -> Self {
        self.types.retain(|agent_type| fits(agent_type));
        self
    }

    /// The type for a request, or its stand-in.
    pub fn resolve(&self, requested: &str, fallback: &Fallback) -> Result<Resolved, Refusal> {
        if let Some(agent_type) = self.find(requested) {
            return Ok(Resolved { agent_type: agent_type.clone(), substituted_for: None });
        }
        let requested = requested.trim().to_owned();
        let available = self.names();
        let stand_in = match fallback {
            Fallback::Refuse => return Err(Refusal::Unknown { requested, available }),
            Fallback::GeneralPurpose => GENERAL_PURPOSE,
            Fallback::Named(name) => name,
        };
        match (self.find(stand_in), fallback) {
            (Some(agent_type), _) => {
                Ok(Resolved { agent_type: agent_type.clone(), substituted_for: Some(requested) })
            }
            // Nobody configured this stand-in, so its absence is no fault of the settings. Nothing runs in its place:
            // an agent with every tool for a misspelt name is more than anybody asked for.
            (None, Fallback::GeneralPurpose) => Err(Refusal::Unknown { requested, available }),
            (None, _) => Err(Refusal::BadFallback { requested, fallback: stand_in.to_owned(), available }),
        }
    }

    /// The names of the enabled types for a message.
    fn names(&self) -> String {
        let names: Vec<&str> = self.enabled().map(|known| known.name.as_str()).collect();
        match names.len() {
            0 => "(none)".into(),
            count if count > NAMED_LIMIT => {
                format!("{} and {} more", names[..NAMED_LIMIT].join(", "), count - NAMED_LIMIT)
            }
            _ => names.join(", "),
        }
    }
}

fn same_but_for_case(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// The agent files of a folder in byte order; none where there is no folder.
fn agent_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads one file; `None` where it has gone since the folder was listed.
fn read_agent_file(
    path: &Path,
    folder: &AgentFolder,
    found: &mut Vec<Diagnostic>,
) -> Result<Option<AgentType>, Diagnostic> {
    if let Some(limits) = &folder.confined_to {
        let Some(inside) = lies_inside(path, limits) else { return Ok(None) };
        if !inside {
            let message = "leads out of the workspace folder by a link; put the file itself here";
            return Err(Diagnostic::error(path, None, message));
        }
    }
    match read_text(path, FILE_LIMIT)? {
        Some(text) => fields::read(path, &text, found).map(Some),
        None => Ok(None),
    }
}

/// Whether a path, with all links followed, is inside a folder; `None` where one of them is not there.
fn lies_inside(path: &Path, folder: &Path) -> Option<bool> {
    Some(fs::canonicalize(path).ok()?.starts_with(fs::canonicalize(folder).ok()?))
}
