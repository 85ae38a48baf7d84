//! What speaks to language models: messages, histories, provider clients, the registry of models, prices and retries.
//!
//! A [`Registry`] resolves a name to a [`ModelClient`]; a client takes a [`ModelRequest`], which carries a snapshot of
//! a [`History`], and answers with a [`ModelStream`] that its caller polls. Nothing here runs a tool or keeps a session.

mod access;
mod anthropic;
mod assembly;
mod builtin;
mod catalogue;
mod check;
mod classify;
mod client;
mod credentials;
mod embedded;
mod endpoint;
mod error;
mod history;
mod http;
mod json;
mod matching;
mod message;
pub mod offline;
mod openai;
mod pricing;
mod provider;
mod registry;
mod retry;
#[cfg(any(test, feature = "test-support"))]
mod scripted;
mod sse;
mod stream;
#[cfg(test)]
mod testing;
mod thinking;
mod wire;

pub use client::{
    Advance, Api, InputKind, ModelClient, ModelInfo, ModelRequest, ModelStream, Timeouts, ToolSet, ToolSpec,
    advance,
};
pub use credentials::EnvLookup;
pub use embedded::{Door, EmbeddedModel, Reply};
pub use error::{HistoryError, ModelError};
pub use history::{History, HistorySnapshot};
pub use message::{
    AssistantBlock, AssistantMessage, ContentBlock, FinishReason, Message, ToolResultMessage, parse_arguments,
};
pub use pricing::{Price, PriceTier};
pub use registry::{Diagnostic, Listed, Registry, RegistryOptions};
pub use retry::RetryPolicy;
#[cfg(any(test, feature = "test-support"))]
pub use scripted::ScriptedModel;
