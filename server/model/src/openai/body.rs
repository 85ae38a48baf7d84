//! The request body of Chat Completions.

use bytes::Bytes;
use vocab::ThinkingLevel;

use crate::endpoint::{Endpoint, MaxTokensField, ThinkingFormat};
use crate::history::Encoded;
use crate::json::{put_field, put_string};
use crate::wire::Segments;
use crate::{ModelRequest, ToolSet};

/// The longest cache key that is taken, in characters.
const MAX_CACHE_KEY: usize = 64;

pub(crate) fn body(endpoint: &Endpoint, request: &ModelRequest, history: Encoded) -> Segments {
    let tools = tools(&request.tools);
    let prompt_tokens = history.tokens + (request.system.len() + tools.len()) as u64 / 4;
    let has_system = !request.system.is_empty();
    let mut body = Segments::default();
    body.push(head(endpoint, request, prompt_tokens));
    if has_system {
        body.push(endpoint.prompts.encoded(&request.system));
        body.push(Bytes::from_static(b"}"));
    }
    let pieces = history.folded.into_iter().chain(history.tail.into_iter().map(|piece| piece.bytes));
    for (n, piece) in pieces.enumerate() {
        body.push(if n == 0 && !has_system { piece.slice(1..) } else { piece });
    }
    body.push(Bytes::from_static(b"]"));
    body.push(tools);
    body.push(Bytes::from_static(b"}"));
    body
}

/// All up to the first message of the history, or up to the text of the system prompt.
fn head(endpoint: &Endpoint, request: &ModelRequest, prompt_tokens: u64) -> Vec<u8> {
    let compat = &endpoint.compat;
    let mut out = Vec::with_capacity(256);
    out.push(b'{');
    put_field(&mut out, "model", &endpoint.info.id);
    out.extend_from_slice(b",\"stream\":true");
    if compat.usage_in_streaming {
        out.extend_from_slice(b",\"stream_options\":{\"include_usage\":true}");
    }
    if compat.store {
        out.extend_from_slice(b",\"store\":false");
    }
    if let Some(limit) = endpoint.answer_limit(request, prompt_tokens) {
        let field = match compat.max_tokens_field {
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            MaxTokensField::MaxTokens => "max_tokens",
        };
        out.extend_from_slice(format!(",\"{field}\":{limit}").as_bytes());
    }
    if endpoint.info.reasoning {
        thinking(endpoint, request.thinking, &mut out);
    }
    if compat.cache_key {
        let key: String = request.session.as_str().chars().take(MAX_CACHE_KEY).collect();
        put_field(&mut out, "prompt_cache_key", &key);
    }
    out.extend_from_slice(b",\"messages\":[");
    if !request.system.is_empty() {
        let developer = compat.developer_role && endpoint.info.reasoning;
        out.push(b'{');
        put_field(&mut out, "role", if developer { "developer" } else { "system" });
        out.extend_from_slice(b",\"content\":");
    }
    out
}

fn thinking(endpoint: &Endpoint, wanted: ThinkingLevel, out: &mut Vec<u8>) {
    let Some(format) = endpoint.compat.thinking_format else { return };
    let level = endpoint.levels.clamp(wanted);
    let on = level != ThinkingLevel::Off;
    let effort = endpoint.levels.effort(level);
    match format {
        ThinkingFormat::Openai => {}
        ThinkingFormat::Openrouter => {
            out.extend_from_slice(b",\"reasoning\":{");
            put_field(out, "effort", effort.unwrap_or("none"));
            out.push(b'}');
        }
        ThinkingFormat::Deepseek | ThinkingFormat::Zai => {
            out.extend_from_slice(b",\"thinking\":{");
            put_field(out, "type", if on { "enabled" } else { "disabled" });
            out.push(b'}');
        }
        ThinkingFormat::Together => {
            out.extend_from_slice(format!(",\"reasoning\":{{\"enabled\":{on}}}").as_bytes());
        }
        ThinkingFormat::Qwen => out.extend_from_slice(format!(",\"enable_thinking\":{on}").as_bytes()),
        ThinkingFormat::QwenChatTemplate => {
            out.extend_from_slice(
                format!(",\"chat_template_kwargs\":{{\"enable_thinking\":{on},\"preserve_thinking\":true}}")
                    .as_bytes(),
            );
        }
    }
    let takes_effort =
        matches!(format, ThinkingFormat::Openai | ThinkingFormat::Deepseek | ThinkingFormat::Zai);
    if let Some(effort) = effort.filter(|_| takes_effort) {
        put_field(out, "reasoning_effort", effort);
    }
}

/// `,"tools":[…]`, or nothing: servers refuse an empty list.
fn tools(set: &ToolSet) -> Bytes {
    let encode = || {
        let mut out = Vec::new();
        for tool in set.tools() {
            out.extend_from_slice(if out.is_empty() { b",\"tools\":[".as_slice() } else { b"," });
            out.extend_from_slice(b"{\"type\":\"function\",\"function\":{");
            put_field(&mut out, "name", &tool.name);
            put_field(&mut out, "description", &tool.description);
            out.push(b',');
            put_string(&mut out, "parameters");
            out.push(b':');
            out.extend_from_slice(tool.schema().as_bytes());
            out.extend_from_slice(b"}}");
        }
        if !out.is_empty() {
            out.push(b']');
        }
        out.into()
    };
    set.openai.get_or_init(encode).clone()
}
