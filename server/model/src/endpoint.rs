//! A model as its provider must be asked: its address, its dialect and the provider's peculiarities.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::Deserialize;

use crate::json::put_string;
use crate::thinking::Levels;
use crate::wire::Profile;
use crate::{ModelInfo, ModelRequest};

/// Tokens kept free between prompt and answer, since a prompt's tokens are an estimate.
const MARGIN: u64 = 4_096;
/// Encoded system prompts that are kept; all children of one type share one.
const KEPT_PROMPTS: usize = 32;

/// One model behind one address.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) info: ModelInfo,
    pub(crate) profile: Arc<Profile>,
    pub(crate) compat: Compat,
    pub(crate) levels: Levels,
    pub(crate) prompts: PromptCache,
}

/// How a server differs from the one whose API it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compat {
    /// Send the system prompt as `developer` to models that think.
    pub(crate) developer_role: bool,
    /// Send `store: false`.
    pub(crate) store: bool,
    pub(crate) usage_in_streaming: bool,
    /// The server always names a finish reason; where not, the end of the stream is taken for one.
    pub(crate) finish_reason: bool,
    pub(crate) max_tokens_field: MaxTokensField,
    pub(crate) thinking_format: Option<ThinkingFormat>,
    /// Send the session as the key of the prompt cache.
    pub(crate) cache_key: bool,
    /// The model decides by itself how long it thinks.
    pub(crate) adaptive_thinking: bool,
    pub(crate) tool_result_name: bool,
}

/// What the limit of an answer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MaxTokensField {
    MaxCompletionTokens,
    MaxTokens,
}

/// How a Chat Completions server is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThinkingFormat {
    Openai,
    Openrouter,
    Deepseek,
    Zai,
    Together,
    Qwen,
    QwenChatTemplate,
}

impl Endpoint {
    /// Tokens that the answer may have: what is asked for, below the model's limit and within what the prompt leaves.
    pub(crate) fn answer_limit(&self, request: &ModelRequest, prompt_tokens: u64) -> Option<u32> {
        let wanted = match (request.max_tokens, self.info.max_tokens) {
            (Some(asked), Some(limit)) => Some(asked.min(limit)),
            (asked, limit) => asked.or(limit),
        }?;
        Some(self.within_window(wanted, prompt_tokens))
    }

    /// `tokens` of answer, or as many as the context window has left; at least one.
    pub(crate) fn within_window(&self, tokens: u32, prompt_tokens: u64) -> u32 {
        let Some(window) = self.info.context_window else { return tokens };
        let left = u64::from(window).saturating_sub(prompt_tokens + MARGIN).max(1);
        tokens.min(u32::try_from(left).unwrap_or(u32::MAX))
    }
}

/// System prompts as JSON strings. Thousands of sessions share few prompts, and each is sent with every request.
#[derive(Debug, Default)]
pub(crate) struct PromptCache(Mutex<Vec<(Arc<str>, Bytes)>>);

impl PromptCache {
    pub(crate) fn encoded(&self, prompt: &Arc<str>) -> Bytes {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(known, _)| Arc::ptr_eq(known, prompt) || known == prompt);
        let entry = if let Some(at) = found {
            kept.remove(at)
        } else {
            let mut bytes = Vec::with_capacity(prompt.len() + prompt.len() / 16);
            put_string(&mut bytes, prompt);
            if kept.len() == KEPT_PROMPTS {
                kept.remove(0);
            }
            (Arc::clone(prompt), bytes.into())
        };
        let bytes = entry.1.clone();
        kept.push(entry);
        bytes
    }
}
