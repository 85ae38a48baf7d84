//! Why something asked of the server was not done: one type from which both an error of the wire and words for a model
//! are made.

use std::fmt;

use crate::delegation::text::one_line;
use protocol::{BadParams, ErrorCode, ErrorData};
use roster::Refusal;

/// A refusal or a failure, for a person and for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The server is ending, or the task that should have answered is gone.
    pub fn gone() -> Self {
        Self::new(ErrorCode::Failed, "the server is shutting down")
    }

    pub fn unknown_agent(reference: &str) -> Self {
        Self::new(ErrorCode::UnknownAgent, format!("there is no agent \"{}\"", one_line(reference, 80)))
            .hint("list the agents to see their ids and handles")
    }

    pub fn unknown_session(id: &str) -> Self {
        Self::new(ErrorCode::UnknownSession, format!("there is no session \"{}\"", one_line(id, 80)))
            .hint("open it first, or leave `sessionId` out to use the folder's session")
    }

    /// A parameter of a later version.
    pub fn unavailable(field: &str) -> Self {
        Self::new(ErrorCode::BadParams, format!("{field}: this version does not support it"))
            .hint("leave it out")
    }

    pub fn bad_param(field: &str, message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::BadParams, format!("{field}: {message}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

impl From<BadParams> for Failure {
    fn from(bad: BadParams) -> Self {
        Self::new(ErrorCode::BadParams, bad.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownAgent(agent) => Self::unknown_agent(agent.as_str()),
            Refusal::UnknownSession(session) => Self::unknown_session(session.as_str()),
            Refusal::UnknownRun { agent, run } => {
                Self::new(ErrorCode::UnknownAgent, format!("agent {agent} has no run {run}"))
            }
            Refusal::NotRunning { agent, status } => Self::new(
                ErrorCode::NotRunning,
                format!("agent {agent} is not running: it is {}", status.as_str()),
            )
            .hint("resume it to give it another prompt"),
            Refusal::StillRunning { agent, status } => {
                Self::new(ErrorCode::Conflict, format!("agent {agent} is still {}", status.as_str()))
                    .hint("steer it, or wait until it has ended")
            }
            Refusal::TooMany { limit } => Self::new(
                ErrorCode::LimitReached,
                format!(
                    "{limit} agents are already queued or running under this session; this refusal is final"
                ),
            )
            .hint("wait for some to end, or raise limits.descendants"),
            Refusal::TooDeep { limit } => Self::new(
                ErrorCode::LimitReached,
                format!("agents may be nested {limit} deep; do this work yourself"),
            ),
            Refusal::AgentExists(agent) => {
                Self::new(ErrorCode::Conflict, format!("agent {agent} exists already"))
            }
            Refusal::TooManySteers { limit } => {
                Self::new(ErrorCode::LimitReached, format!("{limit} messages already wait for this agent"))
                    .hint("wait until it has read some")
            }
            Refusal::ShuttingDown => Self::gone(),
        }
    }
}

impl From<&model::ModelError> for Failure {
    fn from(error: &model::ModelError) -> Self {
        let code = match error {
            model::ModelError::NoCredentials { .. } | model::ModelError::NoModel => ErrorCode::NoCredentials,
            _ => ErrorCode::ModelUnavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Failure> for tower_lsp::jsonrpc::Error {
    fn from(failure: Failure) -> Self {
        let data = ErrorData { kind: failure.code, hint: failure.hint };
        Self {
            code: failure.code.code().into(),
            message: failure.message.into(),
            data: serde_json::to_value(data).ok(),
        }
    }
}
