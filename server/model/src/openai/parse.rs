//! The stream of Chat Completions.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use vocab::Usage;

use crate::assembly::{Assembly, Kind};
use crate::classify;
use crate::json::{First, Text, each, malformed, number, tokens};
use crate::{AssistantBlock, FinishReason, ModelError};

/// Where servers put a model's thinking. The name of the field is kept as the signature of the block.
pub(crate) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// Reads one stream.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The server names no finish reason: the end of the stream stands for one.
    infers_finish: bool,
    finish: Option<FinishReason>,
    /// A finish reason that is not known, which is no end at all.
    unknown: Option<String>,
    refused: bool,
    done: bool,
    /// The last report of usage, as it came: some servers send one with every chunk, and only the last counts.
    usage: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: First<Choice<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Parser {
    pub(crate) fn new(infers_finish: bool) -> Self {
        Self { infers_finish, ..Self::default() }
    }

    pub(crate) fn event(&mut self, data: &str, out: &mut Assembly) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || self.done {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if let Some(error) = chunk.error.filter(|error| is_something(error)) {
            return Err(classify::event_error(error));
        }
        if let Some(usage) = chunk.usage {
            self.keep_usage(usage);
        }
        let Some(choice) = chunk.choices.0 else { return Ok(()) };
        if let Some(usage) = choice.usage {
            self.keep_usage(usage);
        }
        // What a chunk brings counts before the end that it may bring as well.
        if let Some(delta) = choice.delta {
            self.delta(&delta, out)?;
        }
        if let Some(Text(reason)) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
            self.ends_with(&reason);
        }
        Ok(())
    }

    /// Nothing more is needed of the stream.
    pub(crate) fn is_settled(&self) -> bool {
        self.done
    }

    /// A good end has been named; only the usage may still come.
    pub(crate) fn is_complete(&self) -> bool {
        self.finish.is_some() && self.unknown.is_none()
    }

    /// The stream is over: how the message ended, or why it is none.
    pub(crate) fn end(&mut self, out: &mut Assembly) -> Result<FinishReason, ModelError> {
        if let Some(usage) = serde_json::from_str(&self.usage).ok().and_then(|usage| read_usage(&usage)) {
            out.set_usage(usage);
        }
        let cut = |detail: &str| Err(ModelError::Cut { detail: detail.to_owned() });
        if let Some(reason) = &self.unknown {
            return cut(&format!("it ended for an unknown reason, \"{reason}\""));
        }
        let finish = match self.finish {
            Some(finish) => finish,
            None if self.infers_finish && !out.is_empty() && out.has_calls() => FinishReason::ToolUse,
            None if self.infers_finish && !out.is_empty() => FinishReason::Stop,
            None if out.is_empty() => return cut("the stream ended without a message"),
            None => return cut("the stream ended without a finish reason"),
        };
        match finish {
            FinishReason::ToolUse if !out.has_calls() && out.is_empty() => {
                cut("it ended to call tools, but called none")
            }
            FinishReason::ToolUse if !out.has_calls() => Ok(FinishReason::Stop),
            FinishReason::Stop if self.refused => Ok(FinishReason::Refusal),
            finish => Ok(finish),
        }
    }

    fn keep_usage(&mut self, usage: &RawValue) {
        self.usage.clear();
        self.usage.push_str(usage.get());
    }

    fn ends_with(&mut self, reason: &str) {
        let known = match reason {
            "stop" | "end" => FinishReason::Stop,
            "tool_calls" | "function_call" => FinishReason::ToolUse,
            "length" => FinishReason::Length,
            "content_filter" => FinishReason::Refusal,
            other => {
                self.unknown = Some(other.chars().take(60).collect());
                return;
            }
        };
        self.finish = Some(known);
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Assembly) -> Result<(), ModelError> {
        let reasoning = [delta.reasoning_content, delta.reasoning, delta.reasoning_text];
        let said = reasoning.into_iter().zip(REASONING_FIELDS).find_map(|(raw, field)| {
            raw.filter(|raw| raw.get().starts_with('"') && raw.get() != "\"\"").map(|raw| (raw, field))
        });
        if let Some((raw, field)) = said {
            let place = out.current(Kind::Thinking)?;
            out.append(place, raw)?;
            if matches!(&out.message.content[place], AssistantBlock::Thinking { signature: None, .. }) {
                out.sign(place, field, false);
            }
        }
        if let Some(raw) = delta.content {
            content(raw, out)?;
        }
        if let Some(raw) = delta.refusal.filter(|raw| raw.get() != "\"\"") {
            self.refused = true;
            content(raw, out)?;
        }
        if let Some(raw) = delta.tool_calls {
            each(raw, |call: CallDelta<'_>| {
                let function = call.function.as_ref();
                let place = out.call(
                    number(call.index),
                    text(call.id.as_ref()),
                    function.and_then(|f| text(f.name.as_ref())),
                )?;
                arguments(function, place, out)
            })?;
        }
        if let Some(function) = &delta.function_call {
            let place = out.call(None, None, text(function.name.as_ref()))?;
            arguments(Some(function), place, out)?;
        }
        Ok(())
    }
}

fn text<'t>(text: Option<&'t Text<'_>>) -> Option<&'t str> {
    text.map(|text| text.0.as_ref())
}

/// Text is a string; some servers send a list of typed parts instead.
fn content(raw: &RawValue, out: &mut Assembly) -> Result<(), ModelError> {
    #[derive(Deserialize)]
    struct TextPart<'a> {
        #[serde(borrow)]
        text: Option<&'a RawValue>,
    }
    if raw.get() == "\"\"" {
        return Ok(());
    }
    if raw.get().starts_with('[') {
        return each(raw, |part: TextPart<'_>| part.text.map_or(Ok(()), |text| content(text, out)));
    }
    let place = out.current(Kind::Text)?;
    out.append(place, raw)
}

/// Arguments come as text; some servers send the object itself, whole.
fn arguments(function: Option<&Function<'_>>, place: usize, out: &mut Assembly) -> Result<(), ModelError> {
    match function.and_then(|function| function.arguments) {
        Some(raw) if raw.get().starts_with('{') => {
            out.append(place, raw)?;
            out.set_arguments(place, raw.get());
            Ok(())
        }
        Some(raw) => out.append(place, raw),
        None => Ok(()),
    }
}

/// Some servers send an empty error with every chunk.
fn is_something(error: &RawValue) -> bool {
    !matches!(error.get(), "null" | "\"\"" | "{}" | "false")
}

/// Usage in our words, where cached tokens are no part of the input.
pub(crate) fn read_usage(usage: &Value) -> Option<Usage> {
    let at = |pointer: &str| usage.pointer(pointer).and_then(tokens);
    let prompt = at("/prompt_tokens");
    let output = at("/completion_tokens");
    if prompt.is_none() && output.is_none() {
        return None;
    }
    let prompt = prompt.unwrap_or(0);
    let read = at("/prompt_tokens_details/cached_tokens")
        .or_else(|| at("/prompt_cache_hit_tokens"))
        .or_else(|| at("/cached_tokens"))
        .unwrap_or(0)
        .min(prompt);
    let written = at("/prompt_tokens_details/cache_write_tokens").unwrap_or(0).min(prompt - read);
    Some(Usage::of_tokens(prompt - read - written, output.unwrap_or(0), read, written))
}
