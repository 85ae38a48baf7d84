//! One conversation with a model: the agent loop, its tools, its history and its file.
//!
//! A [`Session`] is a value. Whoever owns it drives it: [`Session::run`] is a future that borrows it until the run has
//! ended, [`Session::idle`] one that waits for the next. There is no task, thread, timer or lock of its own. Everybody
//! else talks to it through its [`SessionHandle`].

mod activity;
mod arguments;
mod batch;
mod builtin;
mod call;
mod child_context;
mod config;
mod deltas;
mod entry;
mod event;
mod event_bus;
mod extension;
mod handle;
mod history;
mod inbox;
mod ledger;
mod limits;
mod message;
mod output_cap;
mod progress;
mod recorder;
mod render;
mod request;
mod run;
mod session;
mod title;
mod tool;
mod toolbox;
mod turn;
mod updates;

pub mod environment;
pub mod storage;

pub use builtin::builtin_tools;
pub use child_context::{in_child_context, in_child_context_sync, inside_child_context};
pub use config::{Clock, EntrySink, RunLimits, SessionConfig, SessionError, SessionKind, Storage};
pub use entry::{Entry, EntryBody, FORMAT_VERSION, Header, RunEndEntry, ToolOutcome, ToolResultEntry};
pub use event::{
    DEFAULT_PAGE, Delta, NoObserver, Observer, Page, PageRequest, PartialMessage, RetryEvent, SessionEvent,
    SteerEvent,
};
pub use event_bus::{EventBus, Subscription};
pub use extension::{
    BeforeStartAnswer, BeforeStartEvent, BoundaryKind, ExtensionApi, ExtensionFactory, Hook, Hooks, Messages,
    ShutdownReason, StartReason, SwitchDecision, SwitchEvent, ToolCallDecision, ToolCallEvent,
    ToolResultEvent, ToolResultPatch, TurnBoundary,
};
pub use handle::{
    AbortReport, PromptAnswer, Reply, Seat, SessionHandle, SessionInfo, SteerReceipt, Withdrawal,
};
pub use ledger::{Ledger, Tally, amount};
pub use message::{
    Acknowledge, CustomMessage, DeliverAs, Delivery, Prompt, PromptOrigin, SteerAuthor, SteerRequest,
};
pub use progress::{CurrentTool, RunProgress, TouchedFile, WaitingGuard};
pub use render::{Card, MessageRenderer, Renderers};
pub use run::{NextRun, RunOutcome};
pub use session::Session;
pub use tool::{
    Location, ToolCall, ToolCallTitle, ToolContext, ToolDefinition, ToolError, ToolExecute, ToolOutput,
    UpdateSink,
};
pub use toolbox::{ToolPolicy, Toolbox};

#[cfg(test)]
mod tests;
