//! Which models there are, and which of them can be asked.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::access;
use crate::builtin;
use crate::catalogue::{self, Provider};
use crate::http::Http;
use crate::matching::find;
use crate::{EnvLookup, ModelClient, ModelError, ModelInfo, Timeouts};

/// How many names an error about an unknown one shows.
const SHOWN_NAMES: usize = 12;

/// Something in `models.json` that could not be used, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub path: PathBuf,
    /// Counted from 1, where it is known.
    pub line: Option<u32>,
    pub message: String,
}

/// A model as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub info: ModelInfo,
    /// Why it cannot be asked now: no credentials, or an API that this version does not speak.
    pub unavailable: Option<String>,
}

/// What a registry is set up with.
#[derive(Clone)]
pub struct RegistryOptions {
    pub timeouts: Timeouts,
    /// Requests in flight at once, over all providers; more of them wait. Best a little below the limit of open files.
    pub connections: usize,
    /// Where variables of the environment come from.
    pub env: EnvLookup,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        let env: EnvLookup = Arc::new(|name| std::env::var(name).ok());
        Self { timeouts: Timeouts::default(), connections: usize::MAX, env }
    }
}

impl fmt::Debug for RegistryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryOptions")
            .field("timeouts", &self.timeouts)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// All known models, and the connections to their providers.
#[derive(Debug)]
pub struct Registry {
    /// Those of the file in its order, then the built-in ones.
    entries: Vec<Entry>,
    embedded: Vec<Arc<dyn ModelClient>>,
    http: Arc<Http>,
    options: RegistryOptions,
    /// The variables that were looked up for keys and headers.
    variables: BTreeSet<String>,
}

/// One model and, where it can be asked, its client.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) info: ModelInfo,
    pub(crate) client: Result<Arc<dyn ModelClient>, ModelError>,
}

impl Registry {
    /// Reads `models.json`; a missing file leaves the built-in models, a faulty one is reported and never fatal.
    pub fn load(path: &Path) -> (Self, Vec<Diagnostic>) {
        Self::load_with(path, RegistryOptions::default())
    }

    /// [`load`](Self::load) with limits or an environment of its own.
    pub fn load_with(path: &Path, options: RegistryOptions) -> (Self, Vec<Diagnostic>) {
        let http = Arc::new(Http::new(options.timeouts, options.connections));
        let mut registry =
            Self { entries: Vec::new(), embedded: Vec::new(), http, options, variables: BTreeSet::new() };
        let diagnostics = registry.reload(path);
        (registry, diagnostics)
    }

    /// Reads the file again. Connections and registered models stay; clients that are in use stay as they were.
    pub fn reload(&mut self, path: &Path) -> Vec<Diagnostic> {
        let (described, mut diagnostics) = match std::fs::read_to_string(path) {
            Ok(text) => catalogue::read(path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                (Vec::new(), vec![Diagnostic { path: path.to_owned(), line: None, message }])
            }
        };
        self.entries.clear();
        let (env, asked) = remembering(&self.options.env);
        for provider in with_built_in(described) {
            let (entries, problems) = access::entries(&provider, &self.http, &env);
            self.entries.extend(entries);
            let report = |message| Diagnostic { path: path.to_owned(), line: None, message };
            diagnostics.extend(problems.into_iter().map(report));
        }
        self.variables.append(&mut asked.lock().unwrap_or_else(PoisonError::into_inner));
        diagnostics
    }

    /// The variables of the environment that keys and headers come from, by whatever name a person gave them: what
    /// commands of a model must not see. Names of earlier readings of the file stay.
    pub fn credential_variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(String::as_str)
    }

    /// How long a provider may be silent, for requests that begin from now on.
    pub fn set_idle_timeout(&self, idle: Duration) {
        self.http.set_idle(idle);
    }

    /// Adds a model that lives in this process. It replaces one of the same name.
    pub fn register(&mut self, client: Arc<dyn ModelClient>) {
        self.embedded.retain(|known| known.info().full_id() != client.info().full_id());
        self.embedded.push(client);
    }

    /// The model that a person or a definition means by `query`: its full id, a telling part of its id or name, or
    /// its id without the provider. Models that can be asked come first; where only one that cannot is meant, the
    /// error says why.
    pub fn resolve(&self, query: &str) -> Result<Arc<dyn ModelClient>, ModelError> {
        let exact = self.entries.iter().find(|entry| entry.info.full_id().eq_ignore_ascii_case(query.trim()));
        if let Some(entry) = exact {
            return entry.client.clone();
        }
        let usable: Vec<_> = self.usable().collect();
        let infos: Vec<_> = usable.iter().map(|client| client.info()).collect();
        if let Some(place) = find(query, &infos) {
            return Ok(Arc::clone(usable[place]));
        }
        let infos: Vec<_> = self.entries.iter().map(|entry| &entry.info).collect();
        match find(query, &infos) {
            Some(place) => self.entries[place].client.clone(),
            None => Err(self.unknown(query)),
        }
    }

    /// The preferred model; where none is named, the first that can be asked: those of `models.json` in its order,
    /// then the built-in ones, then those of this process.
    pub fn default_model(&self, preferred: Option<&str>) -> Result<Arc<dyn ModelClient>, ModelError> {
        match preferred {
            Some(query) => self.resolve(query),
            None => self.usable().next().cloned().ok_or(ModelError::NoModel),
        }
    }

    /// All models, sorted by full id.
    pub fn list(&self) -> Vec<Listed> {
        let described = self.entries.iter().map(|entry| Listed {
            info: entry.info.clone(),
            unavailable: entry.client.as_ref().err().map(ToString::to_string),
        });
        let embedded =
            self.embedded.iter().map(|client| Listed { info: client.info().clone(), unavailable: None });
        let mut listed: Vec<_> = described.chain(embedded).collect();
        listed.sort_by_cached_key(|entry| entry.info.full_id());
        listed
    }

    fn usable(&self) -> impl Iterator<Item = &Arc<dyn ModelClient>> {
        self.entries.iter().filter_map(|entry| entry.client.as_ref().ok()).chain(&self.embedded)
    }

    fn unknown(&self, query: &str) -> ModelError {
        let mut names: Vec<_> = self.usable().map(|client| client.info().full_id()).collect();
        if names.is_empty() {
            return ModelError::NoModel;
        }
        names.sort();
        let more = names.len().saturating_sub(SHOWN_NAMES);
        names.truncate(SHOWN_NAMES);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        let known = names.join(", ");
        ModelError::UnknownModel { query: query.to_owned(), known }
    }
}

/// The same lookup, and the names that it is asked for.
fn remembering(env: &EnvLookup) -> (EnvLookup, Arc<Mutex<BTreeSet<String>>>) {
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (env, names) = (Arc::clone(env), Arc::clone(&asked));
    let lookup: EnvLookup = Arc::new(move |name| {
        names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        env(name)
    });
    (lookup, asked)
}

/// What the file describes, laid over what is built in.
fn with_built_in(described: Vec<Provider>) -> Vec<Provider> {
    let mut known = builtin::providers();
    let mut all: Vec<_> = described
        .into_iter()
        .map(|provider| match known.iter().position(|built_in| built_in.name == provider.name) {
            Some(place) => provider.over(known.remove(place)),
            None => provider,
        })
        .collect();
    all.extend(known);
    all
}

#[cfg(test)]
mod tests;
