//! What can go wrong between a request and its answer, in classes that a caller can act on.

use std::time::Duration;

use vocab::ToolCallId;

/// Why a model did not answer. Texts are for a person; keys are never in them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    #[error("no credentials for {provider}: set {variable}, or give the provider an apiKey in models.json")]
    NoCredentials { provider: String, variable: String },
    #[error(
        "no model has credentials: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or describe a provider in models.json"
    )]
    NoModel,
    #[error("unknown model \"{query}\"; known: {known}")]
    UnknownModel { query: String, known: String },
    #[error("{model} cannot be used: {reason}")]
    Unavailable { model: String, reason: String },
    #[error("cannot reach {host}: {message}")]
    Connect { host: String, message: String },
    #[error("no word from {host} for {} s", limit.as_secs_f64())]
    Idle { host: String, limit: Duration },
    /// The provider refused the request. `retry` is its own word on whether another try helps, where it said so.
    #[error("{host} answered {status}: {message}{}", next_step(*status))]
    Http { host: String, status: u16, message: String, retry_after: Option<Duration>, retry: Option<bool> },
    /// The account's quota or budget is used up; waiting a few seconds does not help.
    #[error("{host} answered {status}: {message}")]
    Quota { host: String, status: u16, message: String },
    #[error("the answer was cut off: {detail}")]
    Cut { detail: String },
    #[error("the answer could not be read: {detail}")]
    Malformed { detail: String },
    /// The provider reported a fault inside a stream that had begun well.
    #[error("the provider reported {kind}: {message}")]
    ErrorEvent { kind: String, message: String, retry: bool },
    #[error("the conversation is too long for the model: {message}")]
    Overflow { message: String },
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// A history that a provider would refuse; it is never sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    #[error("the history is empty: there is nothing to answer")]
    Empty,
    #[error("the history ends with the model's own message: there is nothing to answer")]
    EndsWithAssistant,
    #[error("the tool call {0} has no result")]
    MissingResult(ToolCallId),
    #[error("the result of {0} answers no open tool call")]
    OrphanResult(ToolCallId),
    #[error("two tool calls have the id {0}")]
    DuplicateCall(ToolCallId),
}

impl ModelError {
    /// Whether the same request may do better in a moment. The failed attempt is to be discarded whole.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Idle { .. } | Self::Cut { .. } | Self::Malformed { .. } => true,
            Self::Http { status, retry, .. } => {
                retry.unwrap_or(matches!(status, 408 | 409 | 425 | 429) || *status >= 500)
            }
            Self::ErrorEvent { retry, .. } => *retry,
            _ => false,
        }
    }

    /// How long the provider asked us to wait; not yet clamped.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Http { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether shortening the conversation is the remedy.
    pub fn is_overflow(&self) -> bool {
        matches!(self, Self::Overflow { .. })
    }
}

/// What a person can do about a refusal whose own words seldom say it.
fn next_step(status: u16) -> &'static str {
    match status {
        401 | 403 => " (check the provider's key, and whether it may use this model)",
        404 => " (check the model's id and the provider's baseUrl in models.json)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_check() {
        let http = |status| {
            let message = "no".to_owned();
            ModelError::Http { host: "h".to_owned(), status, message, retry_after: None, retry: None }
                .to_string()
        };
        assert!(http(401).contains("key"), "{}", http(401));
        assert!(http(404).contains("model's id"), "{}", http(404));
        assert_eq!(http(500), "h answered 500: no");
    }

    #[test]
    fn a_silence_is_told_to_the_fraction() {
        let idle =
            |ms| ModelError::Idle { host: "h".to_owned(), limit: Duration::from_millis(ms) }.to_string();
        assert_eq!(idle(1_500), "no word from h for 1.5 s");
        assert_eq!(idle(300_000), "no word from h for 300 s");
    }
}
