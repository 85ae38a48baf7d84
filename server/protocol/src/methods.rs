//! The table of methods: every vendor message that this version knows, with its direction, its gate and its types.
//!
//! A row is also a marker type, so that a handler or a sender cannot pair a name with another method's types.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::params::reread;
use crate::{BadParams, ClientCapability, agent, common, entry, fleet, lifecycle, session};

/// Who sends a message, and whether it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    ClientRequest,
    ClientNotification,
    ServerRequest,
    ServerNotification,
}

impl Direction {
    /// The word in `methods.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientRequest => "clientRequest",
            Self::ClientNotification => "clientNotification",
            Self::ServerRequest => "serverRequest",
            Self::ServerNotification => "serverNotification",
        }
    }

    /// Whether the client sends it.
    pub fn is_from_client(self) -> bool {
        matches!(self, Self::ClientRequest | Self::ClientNotification)
    }
}

/// The flag of a client's capability without which a message of the server is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    Fleet,
    Viewer,
}

impl Gate {
    /// The field of [`ClientCapability`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::Viewer => "viewer",
        }
    }
}

/// A method as a type.
pub trait Method {
    const NAME: &'static str;
    const DIRECTION: Direction;
    const GATE: Option<Gate>;
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// `()` for a notification.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Whether this client may be sent it.
    fn is_open_to(client: &ClientCapability) -> bool {
        Self::GATE.is_none_or(|gate| client.opens(gate))
    }
}

/// A method that a client calls.
pub trait ClientRequest: Method {}
/// A message that a client sends.
pub trait ClientNotification: Method<Result = ()> {}
/// A method that the server calls.
pub trait ServerRequest: Method {}
/// A message that the server sends.
pub trait ServerNotification: Method<Result = ()> {}

/// A method as data.
#[derive(Debug, Clone, Copy)]
pub struct MethodRow {
    pub name: &'static str,
    pub direction: Direction,
    pub gate: Option<Gate>,
    /// What it does, in one line.
    pub doc: &'static str,
    pub(crate) params: fn(&mut SchemaGenerator) -> Schema,
    /// None for a notification.
    pub(crate) result: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// Parameters as this version understands them: read, and written back. A field that it does not know is gone.
    pub reread_params: fn(Value) -> Result<Value, BadParams>,
    /// The same of a result; none for a notification.
    pub reread_result: Option<fn(Value) -> Result<Value, BadParams>>,
}

macro_rules! methods {
    ($($direction:ident $marker:ident = $name:literal $([$gate:ident])?, $doc:literal: $params:ty $(=> $result:ty)?;)*) => {
        /// The marker types, one a row.
        pub mod method {
            $(
                #[doc = $doc]
                #[derive(Debug, Clone, Copy)]
                pub struct $marker;
            )*
        }

        $(
            impl Method for method::$marker {
                const NAME: &'static str = $name;
                const DIRECTION: Direction = Direction::$direction;
                const GATE: Option<Gate> = methods!(@gate $($gate)?);
                type Params = $params;
                type Result = methods!(@result $($result)?);
            }

            impl $direction for method::$marker {}
        )*

        /// Every method of this version. A later version adds rows.
        pub const METHODS: &[MethodRow] = &[$(
            MethodRow {
                name: $name,
                direction: Direction::$direction,
                gate: methods!(@gate $($gate)?),
                doc: $doc,
                params: SchemaGenerator::subschema_for::<$params>,
                result: methods!(@schema $($result)?),
                reread_params: reread::<$params>,
                reread_result: methods!(@reread $($result)?),
            },
        )*];
    };
    (@gate) => { None };
    (@gate $gate:ident) => { Some(Gate::$gate) };
    (@result) => { () };
    (@result $result:ty) => { $result };
    (@schema) => { None };
    (@schema $result:ty) => { Some(SchemaGenerator::subschema_for::<$result>) };
    (@reread) => { None };
    (@reread $result:ty) => { Some(reread::<$result>) };
}

methods! {
    ClientRequest Ping = "adjutant/ping",
        "Asks whether the server is well, and what it runs.": lifecycle::PingParams => lifecycle::PingResult;
    ClientRequest Document = "adjutant/document",
        "Reads an `adjutant:` document, or a text that was sent by reference.":
        common::DocumentParams => common::DocumentResult;

    ClientRequest SessionOpen = "adjutant/session/open",
        "Opens, resumes or makes a parent session.": session::SessionOpenParams => session::SessionInfo;
    ClientRequest SessionClose = "adjutant/session/close",
        "Closes a session; what is on disk stays.": session::SessionCloseParams => common::Empty;
    ClientRequest SessionPrompt = "adjutant/session/prompt",
        "Runs a prompt, after the active run if there is one; answered when its run has ended.":
        session::SessionPromptParams => session::PromptResult;
    ClientRequest SessionSteer = "adjutant/session/steer",
        "Sends a message into the active run.": session::SessionSteerParams => common::SteerResult;
    ClientRequest SessionUnsteer = "adjutant/session/unsteer",
        "Takes a steering message back, if it was not delivered.":
        session::SessionUnsteerParams => common::UnsteerResult;
    ClientRequest SessionAbort = "adjutant/session/abort",
        "Ends the active run and its foreground agents, and hands back what was queued.":
        session::SessionAbortParams => session::SessionAbortResult;
    ClientRequest SessionSubscribe = "adjutant/session/subscribe",
        "Follows a session: a page of its transcript, then its events.":
        session::SessionSubscribeParams => session::SessionSubscribeResult;
    ClientRequest SessionUnsubscribe = "adjutant/session/unsubscribe",
        "Ends the events of a session.": session::SessionUnsubscribeParams => common::Empty;
    ServerNotification SessionEvent = "adjutant/session/event" [Viewer],
        "One event of a session that the client follows.": session::SessionEventParams;

    ClientRequest FleetList = "adjutant/fleet/list",
        "Lists all agents, a page at a time.": fleet::FleetListParams => fleet::FleetListResult;
    ServerNotification FleetChanged = "adjutant/fleet/changed" [Fleet],
        "Agents that are new, changed or gone.": fleet::FleetChangedParams;

    ClientRequest AgentSpawn = "adjutant/agent/spawn",
        "Starts an agent; answered at once.": agent::AgentSpawnParams => agent::AgentSpawnResult;
    ClientRequest AgentSteer = "adjutant/agent/steer",
        "Sends a message to an agent that has not ended.": agent::AgentSteerParams => common::SteerResult;
    ClientRequest AgentUnsteer = "adjutant/agent/unsteer",
        "Takes a steering message back, if it was not delivered.": agent::AgentUnsteerParams => common::UnsteerResult;
    ClientRequest AgentStop = "adjutant/agent/stop",
        "Stops an agent, with what is under it or alone; answered at once.":
        agent::AgentStopParams => agent::AgentStopResult;
    ClientRequest AgentStopAll = "adjutant/agent/stopAll",
        "Stops every agent of a session, or of the server.": agent::AgentStopAllParams => agent::AgentStopAllResult;
    ClientRequest AgentResume = "adjutant/agent/resume",
        "Continues a settled agent with a new prompt.": agent::AgentResumeParams => agent::AgentResumeResult;
    ClientRequest AgentResult = "adjutant/agent/result",
        "Reads the result of a run as a person does.": agent::AgentResultParams => agent::AgentResultResult;
    ClientRequest AgentSeen = "adjutant/agent/seen",
        "Tells that a person has seen the result of a run.": agent::AgentSeenParams => common::Empty;
    ClientRequest AgentOpen = "adjutant/agent/open",
        "Follows an agent: a page of its transcript, then its events.":
        agent::AgentOpenParams => agent::AgentOpenResult;
    ClientRequest AgentClose = "adjutant/agent/close",
        "Ends the events of an agent.": agent::AgentCloseParams => common::Empty;
    ClientRequest AgentTranscript = "adjutant/agent/transcript",
        "Reads an older page of an agent's transcript.": agent::AgentTranscriptParams => entry::TranscriptPage;
    ServerNotification AgentEvent = "adjutant/agent/event" [Viewer],
        "One event of an agent that the client follows.": agent::AgentEventParams;
    ServerNotification AgentCompleted = "adjutant/agent/completed" [Fleet],
        "Background runs have settled.": agent::AgentCompletedParams;
}
