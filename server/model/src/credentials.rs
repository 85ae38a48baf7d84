//! Keys: where they come from, and that they stay out of every text.

use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::ModelError;

/// How variables of the environment are looked up; a test has its own.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A value of `models.json` that may name a variable of the environment.
pub(crate) enum Value {
    Known(SecretString),
    /// The variable that it names has no value.
    Missing(String),
}

/// Reads a value: `$NAME` or `${NAME}` is a variable, `$$` begins a literal dollar, anything else is literal.
pub(crate) fn read(text: &str, env: &EnvLookup) -> Value {
    let Some(name) = text.strip_prefix('$') else { return Value::Known(text.into()) };
    if name.starts_with('$') {
        return Value::Known(name.into());
    }
    let name = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(name);
    variable(name, env)
}

/// A variable of the environment; an empty one counts as none.
pub(crate) fn variable(name: &str, env: &EnvLookup) -> Value {
    match env(name).filter(|value| !value.trim().is_empty()) {
        Some(value) => Value::Known(value.trim().into()),
        None => Value::Missing(name.to_owned()),
    }
}

/// What must never be shown.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<[SecretString]>);

impl Secrets {
    pub(crate) fn new(secrets: Vec<SecretString>) -> Self {
        // Very short ones would blot out ordinary words.
        Self(secrets.into_iter().filter(|secret| secret.expose_secret().len() >= 6).collect())
    }

    /// The error without any secret that a server may have echoed.
    pub(crate) fn redact(&self, mut error: ModelError) -> ModelError {
        let (ModelError::Connect { message: text, .. }
        | ModelError::Http { message: text, .. }
        | ModelError::Quota { message: text, .. }
        | ModelError::Overflow { message: text }
        | ModelError::ErrorEvent { message: text, .. }
        | ModelError::Cut { detail: text }
        | ModelError::Malformed { detail: text }) = &mut error
        else {
            return error;
        };
        for secret in self.0.iter().map(ExposeSecret::expose_secret) {
            if text.contains(secret) {
                *text = text.replace(secret, "[key]");
            }
        }
        error
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}
