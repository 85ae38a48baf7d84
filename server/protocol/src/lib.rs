//! What crosses between the server and an editor client: the table of methods, the types of their parameters and
//! results, and the JSON Schema documents that the clients' own types are printed from.
//!
//! Nothing here does anything but describe. The rules that keep it describable: camelCase, optional fields omitted and
//! never `null`, unknown fields ignored, no flattened and no untagged type.

mod agent;
mod commands;
mod common;
mod documents;
mod entry;
mod error;
mod event;
mod fleet;
mod lifecycle;
mod methods;
mod params;
mod session;

pub use agent::{
    AgentCloseParams, AgentCompletedParams, AgentEventParams, AgentOpenParams, AgentOpenResult, AgentRef,
    AgentResultParams, AgentResultResult, AgentResumeParams, AgentResumeResult, AgentSeenParams,
    AgentSpawnParams, AgentSpawnResult, AgentSteerParams, AgentStopAllParams, AgentStopAllResult,
    AgentStopParams, AgentStopResult, AgentTranscriptParams, AgentUnsteerParams, Completion, Isolation,
    StopScope, StoppedAgent,
};
pub use commands::{
    AbortArgs, COMMANDS, Command, CommandRow, DelegateArgs, DelegateSelectionArgs, NewSessionArgs,
    PromptArgs, ResumeArgs, ResumeSessionArgs, ShowAgentArgs, ShowFleetArgs, ShowSessionArgs, SteerArgs,
    StopAllArgs, StopArgs, SummaryArgs, command,
};
pub use common::{
    Attachment, Author, Delivered, DocumentParams, DocumentResult, Empty, Position, ProgressToken, Range,
    SteerResult, UnsteerResult,
};
pub use documents::{Document, documents, method_index, protocol_schema, schema_document};
pub use entry::{Entry, NoticeLevel, PartialMessage, TranscriptPage};
pub use error::{ErrorCode, ErrorData};
pub use event::{Card, CardAction, Location, Role, SessionEvent, TextRef, ToolOutcome};
pub use fleet::{
    AgentSummary, AgentUpdate, CurrentTool, FleetChangedParams, FleetListParams, FleetListResult,
    SubtreeTotals, TouchKind, TouchedFile, WorktreeInfo, WorktreeState,
};
pub use lifecycle::{
    AgentCounts, ClientCapability, InitOptions, Limits, PROTOCOL_VERSION, PingParams, PingResult,
    ServerCapability,
};
pub use methods::{
    ClientNotification, ClientRequest, Direction, Gate, METHODS, Method, MethodRow, ServerNotification,
    ServerRequest, method,
};
pub use params::{BadParams, parse};
pub use session::{
    PromptDisposition, PromptOrigin, PromptResult, RouteAction, RoutedPrompt, SessionAbortParams,
    SessionAbortResult, SessionCloseParams, SessionEventParams, SessionInfo, SessionOpenParams,
    SessionPromptParams, SessionSteerParams, SessionSubscribeParams, SessionSubscribeResult,
    SessionUnsteerParams, SessionUnsubscribeParams, WithdrawnText,
};

#[cfg(test)]
mod tests;
