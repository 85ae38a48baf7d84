//! The commands that any editor can call with `workspace/executeCommand`: one JSON object as the only argument.
//!
//! What a command lacks it asks for; so every field is optional.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocab::{AgentId, SessionId};

use crate::params::reread;
use crate::{BadParams, Range, StopScope};

/// A command as a type.
pub trait Command {
    const NAME: &'static str;
    /// Its one argument.
    type Args: Serialize + DeserializeOwned + JsonSchema + Default + Send + 'static;
}

/// A command as data.
#[derive(Debug, Clone, Copy)]
pub struct CommandRow {
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    pub(crate) args: fn(&mut SchemaGenerator) -> Schema,
    /// An argument as this version understands it: read, and written back.
    pub reread_args: fn(Value) -> Result<Value, BadParams>,
}

macro_rules! commands {
    ($($marker:ident = $name:literal, $doc:literal: $args:ty;)*) => {
        /// The marker types, one a command.
        pub mod command {
            $(
                #[doc = $doc]
                #[derive(Debug, Clone, Copy)]
                pub struct $marker;
            )*
        }

        $(
            impl Command for command::$marker {
                const NAME: &'static str = $name;
                type Args = $args;
            }
        )*

        /// Every command of this version. A later version adds rows.
        pub const COMMANDS: &[CommandRow] = &[$(
            CommandRow {
                name: $name,
                doc: $doc,
                args: SchemaGenerator::subschema_for::<$args>,
                reread_args: reread::<$args>,
            },
        )*];
    };
}

commands! {
    Prompt = "adjutant.server.prompt", "Runs a prompt in the session.": PromptArgs;
    Delegate = "adjutant.server.delegate", "Starts an agent.": DelegateArgs;
    DelegateSelection = "adjutant.server.delegateSelection", "Starts an agent on the selection.": DelegateSelectionArgs;
    Stop = "adjutant.server.stop", "Stops an agent.": StopArgs;
    StopAll = "adjutant.server.stopAll", "Stops every agent.": StopAllArgs;
    Steer = "adjutant.server.steer", "Sends a message to an agent.": SteerArgs;
    Resume = "adjutant.server.resume", "Continues a settled agent.": ResumeArgs;
    Abort = "adjutant.server.abort", "Ends the session's active run.": AbortArgs;
    NewSession = "adjutant.server.newSession", "Starts a new session in the folder.": NewSessionArgs;
    ResumeSession = "adjutant.server.resumeSession", "Opens a session from disk, the latest where none is named.":
        ResumeSessionArgs;
    ShowSession = "adjutant.server.showSession", "Opens the session's document.": ShowSessionArgs;
    ShowAgent = "adjutant.server.showAgent", "Opens an agent's document.": ShowAgentArgs;
    ShowFleet = "adjutant.server.showFleet", "Opens the fleet's document.": ShowFleetArgs;
    Summary = "adjutant.server.summary", "Says in one sentence what runs.": SummaryArgs;
}

/// Argument of `prompt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The document that is looked at, with `range` the selection in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// Argument of `delegate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DelegateArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The agent type's name.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Argument of `delegateSelection`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DelegateSelectionArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The agent type's name.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// What to do with the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// Argument of `stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StopArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub scope: StopScope,
}

/// Argument of `stopAll`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StopAllArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Argument of `steer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SteerArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Argument of `resume`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResumeArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// Argument of `abort`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AbortArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Arguments of [`command::NewSession`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewSessionArgs {}

/// Arguments of [`command::ResumeSession`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResumeSessionArgs {
    /// Absent: the newest of the folder that nobody has open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Argument of `showSession`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShowSessionArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Argument of `showAgent`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShowAgentArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Argument of `showFleet`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShowFleetArgs {}

/// Argument of `summary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryArgs {}
