//! Writes a reply as the events of OpenAI Chat Completions or of Anthropic Messages.

use serde_json::{Value, json};

use super::script::{Call, Reply};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The body of a failed response.
    pub(super) fn error(self, kind: &str, message: &str) -> Value {
        let error = json!({ "type": kind, "message": message });
        match self {
            Self::OpenAi => json!({ "error": error }),
            Self::Anthropic => json!({ "type": "error", "error": error }),
        }
    }
}

/// One response being written.
#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) api: Api,
    pub(super) seq: u64,
    pub(super) model: String,
    pub(super) input_tokens: u64,
}

impl Encoder {
    pub(super) fn start(&self) -> String {
        match self.api {
            Api::OpenAi => self.chunk(&json!({ "role": "assistant", "content": "" }), None),
            Api::Anthropic => {
                let message = json!({
                    "id": format!("msg_{}", self.seq), "type": "message", "role": "assistant", "model": self.model,
                    "content": [], "stop_reason": null, "stop_sequence": null,
                    "usage": { "input_tokens": self.input_tokens, "output_tokens": 1 },
                });
                event("message_start", &json!({ "type": "message_start", "message": message }))
                    + &block_start(0, &json!({ "type": "text", "text": "" }))
            }
        }
    }

    pub(super) fn text(&self, text: &str) -> String {
        match self.api {
            Api::OpenAi => self.chunk(&json!({ "content": text }), None),
            Api::Anthropic => block_delta(0, &json!({ "type": "text_delta", "text": text })),
        }
    }

    /// Tool calls, stop reason, usage and the end.
    pub(super) fn finish(&self, reply: &Reply, sent_tokens: usize) -> String {
        match self.api {
            Api::OpenAi => self.finish_openai(reply, sent_tokens),
            Api::Anthropic => self.finish_anthropic(reply, sent_tokens),
        }
    }

    fn finish_openai(&self, reply: &Reply, sent_tokens: usize) -> String {
        let mut out = String::new();
        for (index, call) in reply.calls.iter().enumerate() {
            let mut call = self.openai_call(index, call);
            call["index"] = index.into();
            out += &self.chunk(&json!({ "tool_calls": [call] }), None);
        }
        let reason = finish_reason(reply);
        out += &self.chunk(&json!({}), Some(reason));
        out += &data(&json!({
            "id": format!("chatcmpl-{}", self.seq), "object": "chat.completion.chunk", "created": 0,
            "model": self.model, "choices": [], "usage": self.usage(sent_tokens),
        }));
        out + "data: [DONE]\n\n"
    }

    fn finish_anthropic(&self, reply: &Reply, sent_tokens: usize) -> String {
        let mut out = block_stop(0);
        for (at, call) in reply.calls.iter().enumerate() {
            let index = at + 1;
            let block = json!({ "type": "tool_use", "id": self.call_id(at), "name": call.name, "input": {} });
            out += &block_start(index, &block);
            out +=
                &block_delta(index, &json!({ "type": "input_json_delta", "partial_json": call.arguments }));
            out += &block_stop(index);
        }
        out += &event(
            "message_delta",
            &json!({
                "type": "message_delta",
                "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
                "usage": { "output_tokens": sent_tokens + 1 },
            }),
        );
        out + &event("message_stop", &json!({ "type": "message_stop" }))
    }

    /// The whole reply as one JSON document, for a request that does not stream.
    pub(super) fn document(&self, reply: &Reply, text: &str) -> Value {
        match self.api {
            Api::OpenAi => {
                let mut message = json!({ "role": "assistant", "content": text });
                if !reply.calls.is_empty() {
                    let calls =
                        reply.calls.iter().enumerate().map(|(index, call)| self.openai_call(index, call));
                    message["tool_calls"] = calls.collect();
                }
                let reason = finish_reason(reply);
                json!({
                    "id": format!("chatcmpl-{}", self.seq), "object": "chat.completion", "created": 0,
                    "model": self.model, "usage": self.usage(reply.tokens),
                    "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
                })
            }
            Api::Anthropic => {
                let mut content = vec![json!({ "type": "text", "text": text })];
                content.extend(reply.calls.iter().enumerate().map(|(at, call)| {
                    let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                    json!({ "type": "tool_use", "id": self.call_id(at), "name": call.name, "input": input })
                }));
                json!({
                    "id": format!("msg_{}", self.seq), "type": "message", "role": "assistant", "model": self.model,
                    "content": content, "stop_reason": stop_reason(reply), "stop_sequence": null,
                    "usage": { "input_tokens": self.input_tokens, "output_tokens": reply.tokens + 1 },
                })
            }
        }
    }

    pub(super) fn error_event(&self) -> String {
        match self.api {
            Api::OpenAi => data(&self.api.error("overloaded_error", "injected overload")),
            Api::Anthropic => event("error", &self.api.error("overloaded_error", "injected overload")),
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        data(&json!({
            "id": format!("chatcmpl-{}", self.seq), "object": "chat.completion.chunk", "created": 0,
            "model": self.model, "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }))
    }

    fn openai_call(&self, index: usize, call: &Call) -> Value {
        json!({
            "id": self.call_id(index), "type": "function",
            "function": { "name": call.name, "arguments": call.arguments },
        })
    }

    fn usage(&self, sent_tokens: usize) -> Value {
        json!({
            "prompt_tokens": self.input_tokens, "completion_tokens": sent_tokens + 1,
            "total_tokens": self.input_tokens + sent_tokens as u64 + 1,
        })
    }

    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.seq)
    }
}

fn stop_reason(reply: &Reply) -> &'static str {
    match (reply.too_long, reply.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    }
}

fn finish_reason(reply: &Reply) -> &'static str {
    match (reply.too_long, reply.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    }
}

fn block_start(index: usize, block: &Value) -> String {
    let value = json!({ "type": "content_block_start", "index": index, "content_block": block });
    event("content_block_start", &value)
}

fn block_delta(index: usize, delta: &Value) -> String {
    event("content_block_delta", &json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn block_stop(index: usize) -> String {
    event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}
