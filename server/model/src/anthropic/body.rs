//! The request body of the Messages API, with its marks for the prompt cache.

use bytes::Bytes;
use vocab::ThinkingLevel;

use crate::endpoint::Endpoint;
use crate::history::Encoded;
use crate::json::{put_field, put_string};
use crate::thinking::budget;
use crate::wire::{Segments, UnitKind};
use crate::{ModelRequest, ToolSet};

/// The answer's limit of a model that has none of its own: the API demands one.
const DEFAULT_MAX_TOKENS: u32 = 16_384;
/// Tokens of answer that thinking must leave.
const ANSWER_ROOM: u32 = 1_024;
/// The least budget that is accepted.
const LEAST_BUDGET: u32 = 1_024;
const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
/// How every user message ends: its last block, its list, itself.
const USER_END: &[u8] = b"}]}";

pub(crate) fn body(endpoint: &Endpoint, request: &ModelRequest, history: Encoded) -> Segments {
    let tools = tools(&request.tools);
    let prompt_tokens = history.tokens + (request.system.len() + tools.len()) as u64 / 4;
    let mut body = Segments::default();
    body.push(head(endpoint, request, prompt_tokens, history.calls_without_thinking));
    if !request.system.is_empty() {
        body.push(Bytes::from_static(b",\"system\":[{\"type\":\"text\",\"text\":"));
        body.push(endpoint.prompts.encoded(&request.system));
        body.push(Bytes::from_static(b",\"cache_control\":{\"type\":\"ephemeral\"}}]"));
    }
    body.push(tools);
    body.push(Bytes::from_static(b",\"messages\":["));
    messages(history, &mut body);
    body.push(Bytes::from_static(b"]}"));
    body
}

/// The messages, with marks on the last one of the user and on the one before it: what this request writes to the
/// cache, and what the one before it wrote, in case the batch between them is longer than the look-back of the cache.
fn messages(history: Encoded, body: &mut Segments) {
    let users = history.tail.iter().enumerate().rev().filter(|(_, piece)| piece.kind == UnitKind::User);
    let marked: Vec<usize> = users.take(2).map(|(at, _)| at).collect();
    let mut comma = 1;
    for block in history.folded {
        body.push(block.slice(comma..));
        comma = 0;
    }
    for (at, piece) in history.tail.into_iter().enumerate() {
        let bytes = piece.bytes.slice(comma..);
        comma = 0;
        if marked.contains(&at) {
            body.push(bytes.slice(..bytes.len() - USER_END.len()));
            body.push(Bytes::from_static(CACHE_MARK.as_bytes()));
            body.push(Bytes::from_static(USER_END));
        } else {
            body.push(bytes);
        }
    }
}

fn head(
    endpoint: &Endpoint,
    request: &ModelRequest,
    prompt_tokens: u64,
    calls_without_thinking: bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    out.push(b'{');
    put_field(&mut out, "model", &endpoint.info.id);
    out.extend_from_slice(b",\"stream\":true");
    let level =
        if endpoint.info.reasoning { endpoint.levels.clamp(request.thinking) } else { ThinkingLevel::Off };
    let limit = endpoint.answer_limit(request, prompt_tokens);
    let limit = limit.unwrap_or_else(|| endpoint.within_window(DEFAULT_MAX_TOKENS, prompt_tokens));
    if endpoint.compat.adaptive_thinking && endpoint.info.reasoning {
        out.extend_from_slice(format!(",\"max_tokens\":{limit}").as_bytes());
        adaptive(endpoint, level, &mut out);
        return out;
    }
    // A batch of calls that began without thinking cannot be continued with it.
    let wanted = if calls_without_thinking { 0 } else { budget(level) };
    let roof = endpoint.info.max_tokens.unwrap_or(u32::MAX);
    let limit = endpoint.within_window(limit.saturating_add(wanted).min(roof), prompt_tokens);
    let budget = wanted.min(limit.saturating_sub(ANSWER_ROOM));
    out.extend_from_slice(format!(",\"max_tokens\":{limit}").as_bytes());
    if budget >= LEAST_BUDGET {
        let thinking = format!(",\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":{budget}}}");
        out.extend_from_slice(thinking.as_bytes());
    }
    out
}

fn adaptive(endpoint: &Endpoint, level: ThinkingLevel, out: &mut Vec<u8>) {
    let effort = endpoint.levels.named(level).unwrap_or(match level {
        ThinkingLevel::Off => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"disabled\"}");
            return;
        }
        ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
    });
    out.extend_from_slice(
        b",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},\"output_config\":{",
    );
    put_field(out, "effort", effort);
    out.push(b'}');
}

/// `,"tools":[…]` with a mark on the last one, or nothing.
fn tools(set: &ToolSet) -> Bytes {
    let encode = || {
        let mut out = Vec::new();
        for (n, tool) in set.tools().iter().enumerate() {
            out.extend_from_slice(if n == 0 { b",\"tools\":[".as_slice() } else { b"," });
            out.push(b'{');
            put_field(&mut out, "name", &tool.name);
            put_field(&mut out, "description", &tool.description);
            out.push(b',');
            put_string(&mut out, "input_schema");
            out.push(b':');
            out.extend_from_slice(tool.schema().as_bytes());
            if n + 1 == set.tools().len() {
                out.extend_from_slice(CACHE_MARK.as_bytes());
            }
            out.push(b'}');
        }
        if !out.is_empty() {
            out.push(b']');
        }
        out.into()
    };
    set.anthropic.get_or_init(encode).clone()
}
