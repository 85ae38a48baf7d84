//! The contract between those who ask a model and those who speak to one.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vocab::{SessionId, ThinkingLevel};

use crate::{AssistantMessage, HistorySnapshot, ModelError, Price};

/// The dialect of a provider's HTTP interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    #[serde(rename = "openai-completions")]
    OpenAiCompletions,
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
    /// In this process; nothing is sent anywhere.
    #[serde(rename = "embedded")]
    Embedded,
}

impl Api {
    /// The word for it in `models.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiCompletions => "openai-completions",
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::Embedded => "embedded",
        }
    }
}

/// What a model can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InputKind {
    Text,
    Image,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    pub provider: String,
    /// The provider's id, which may contain slashes.
    pub id: String,
    /// For people.
    pub name: String,
    pub api: Api,
    /// Tokens of prompt and answer together.
    pub context_window: Option<u32>,
    /// Tokens of one answer at most.
    pub max_tokens: Option<u32>,
    /// Whether it thinks before it answers.
    pub reasoning: bool,
    pub input: Vec<InputKind>,
    pub price: Option<Price>,
}

impl ModelInfo {
    /// `provider/id`: how a model is named everywhere in Adjutant.
    pub fn full_id(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether it takes images.
    pub fn sees_images(&self) -> bool {
        self.input.contains(&InputKind::Image)
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of an object.
    pub parameters: serde_json::Value,
}

impl ToolSpec {
    /// The schema as JSON text. An object without properties must say so, or some servers refuse it.
    pub(crate) fn schema(&self) -> String {
        let mut schema = self.parameters.clone();
        if let Some(fields) = schema.as_object_mut() {
            fields.entry("type").or_insert_with(|| "object".into());
            fields.entry("properties").or_insert_with(|| serde_json::Map::new().into());
        }
        schema.to_string()
    }
}

/// The tools of a request. Shared by all requests that offer the same tools, and encoded once for each API.
#[derive(Default)]
pub struct ToolSet {
    tools: Vec<ToolSpec>,
    pub(crate) openai: OnceLock<Bytes>,
    pub(crate) anthropic: OnceLock<Bytes>,
}

impl ToolSet {
    pub fn new(tools: Vec<ToolSpec>) -> Self {
        Self { tools, ..Self::default() }
    }

    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.name)).finish()
    }
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub system: Arc<str>,
    pub tools: Arc<ToolSet>,
    pub history: HistorySnapshot,
    /// Lowered or raised to the nearest level that the model knows; ignored by models that do not think.
    pub thinking: ThinkingLevel,
    /// Tokens of the answer at most; never more than the model's own limit.
    pub max_tokens: Option<u32>,
    /// Requests of one session may be served from the provider's prompt cache.
    pub session: SessionId,
}

/// A model that can be asked.
pub trait ModelClient: Send + Sync + fmt::Debug {
    fn info(&self) -> &ModelInfo;

    /// Begins a request and returns at once; whatever goes wrong is reported by the stream.
    /// Must be called inside a tokio runtime.
    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream>;
}

/// An answer that arrives. Pull-based: each advance reads one network chunk straight into the message, so a token costs
/// no allocation and no hand-over between tasks. Dropping it closes the connection, which is how a request is aborted.
pub trait ModelStream: Send {
    /// Moves on by one step. After `Finished` or an error it must not be polled again.
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>>;

    /// The answer so far. Its `finish` is set only once the stream has returned `Finished`.
    fn message(&self) -> &AssistantMessage;

    /// The answer, taken out; after an error or abort, what had arrived, without a `finish`.
    fn into_message(self: Box<Self>) -> AssistantMessage;
}

/// What a step of a stream brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// The provider accepted the request; nothing of the answer is there yet.
    Connected,
    /// The message has grown.
    Delta,
    /// The message is complete.
    Finished,
}

/// Waits for the next step of a stream; cancel by dropping the future, abort by dropping the stream.
pub async fn advance(stream: &mut dyn ModelStream) -> Result<Advance, ModelError> {
    poll_fn(|cx| stream.poll_advance(cx)).await
}

/// How long a provider may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To reach the provider: name look-up, TCP and TLS.
    pub connect: Duration,
    /// To the first byte of the answer, and between two of them. There is no limit on the whole answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_mins(5) }
    }
}
