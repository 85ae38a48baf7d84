//! What speaks to language models: messages, histories, provider clients, the registry of models, prices and retries.
//!
//! A [`Registry`] resolves a name to a [`ModelClient`]; a client takes a [`ModelRequest`], which carries a snapshot of
//! a [`History`], and answers with a [`ModelStream`] that its caller polls. Nothing here runs a tool or keeps a session.

mod client;
mod error;
mod history;
mod message;
mod pricing;
mod registry;
mod retry;

pub use client::{
    Advance, Api, InputKind, ModelClient, ModelInfo, ModelRequest, ModelStream, Timeouts, ToolSet, ToolSpec,
    advance,
};
pub use error::{HistoryError, ModelError};
pub use history::{History, HistorySnapshot};
pub use message::{AssistantBlock, AssistantMessage, ContentBlock, FinishReason, Message, ToolResultMessage};
pub use pricing::{Price, PriceTier};
pub use registry::{Diagnostic, Listed, Registry};
pub use retry::RetryPolicy;
