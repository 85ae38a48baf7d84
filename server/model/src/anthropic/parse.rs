//! The stream of the Messages API.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use vocab::Usage;

use crate::assembly::{Assembly, Kind};
use crate::classify;
use crate::json::{Text, malformed, number, tokens};
use crate::{FinishReason, ModelError};

/// Reads one stream.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Which of our blocks each block of the stream is.
    places: Vec<(u32, usize)>,
    finish: Option<FinishReason>,
    unknown: Option<String>,
    stopped: bool,
    usage: Counts,
}

/// The last known number of each kind of token.
#[derive(Debug, Default)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    message: Option<Start<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Parser {
    pub(crate) fn event(&mut self, data: &str, out: &mut Assembly) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" || self.stopped {
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if let Some(error) = event.error.filter(|error| error.get() != "null") {
            return Err(classify::event_error(error));
        }
        match event.kind.as_ref().map_or("", |kind| &kind.0) {
            "message_start" => {
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    self.usage.update(usage);
                    out.set_usage(self.usage.total());
                }
                Ok(())
            }
            "content_block_start" => {
                event.content_block.map_or(Ok(()), |block| self.start(number(event.index), &block, out))
            }
            "content_block_delta" => {
                event.delta.map_or(Ok(()), |delta| self.delta(number(event.index), &delta, out))
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    self.usage.update(usage);
                }
                if let Some(Text(reason)) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.ends_with(&reason);
                }
                Ok(())
            }
            "message_stop" => {
                self.stopped = true;
                Ok(())
            }
            "error" => Err(ModelError::ErrorEvent {
                kind: "an error".to_owned(),
                message: "without saying which".to_owned(),
                retry: true,
            }),
            // Pings, ends of blocks, and whatever is invented later.
            _ => Ok(()),
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.stopped
    }

    /// The API closes every message explicitly; a reason alone does not end one.
    pub(crate) fn is_complete(&self) -> bool {
        self.stopped && self.finish.is_some() && self.unknown.is_none()
    }

    /// The stream is over: how the message ended, or why it is none.
    pub(crate) fn end(&mut self, out: &mut Assembly) -> Result<FinishReason, ModelError> {
        out.set_usage(self.usage.total());
        let cut = |detail: &str| Err(ModelError::Cut { detail: detail.to_owned() });
        if let Some(reason) = &self.unknown {
            return cut(&format!("it ended for an unknown reason, \"{reason}\""));
        }
        match self.finish {
            _ if !self.stopped => cut("the stream ended before the end of the message"),
            None => cut("the message ended without a reason"),
            Some(FinishReason::ToolUse) if !out.has_calls() && out.is_empty() => {
                cut("it ended to call tools, but called none")
            }
            Some(FinishReason::ToolUse) if !out.has_calls() => Ok(FinishReason::Stop),
            Some(finish) => Ok(finish),
        }
    }

    fn start(&mut self, index: Option<u32>, block: &Block<'_>, out: &mut Assembly) -> Result<(), ModelError> {
        let text =
            |text: &Option<Text<'_>>| text.as_ref().map_or_else(String::new, |text| text.0.to_string());
        let place = match block.kind.as_ref().map_or("", |kind| &kind.0) {
            "text" => {
                let place = out.open(Kind::Text)?;
                block.text.map_or(Ok(()), |raw| out.append(place, raw))?;
                place
            }
            "thinking" => {
                let place = out.open(Kind::Thinking)?;
                block.thinking.map_or(Ok(()), |raw| out.append(place, raw))?;
                if let Some(raw) = block.signature.filter(|raw| raw.get() != "\"\"") {
                    out.append_signature(place, raw)?;
                }
                place
            }
            "redacted_thinking" => {
                let place = out.open(Kind::Thinking)?;
                out.sign(place, &text(&block.data), true);
                place
            }
            "tool_use" => {
                let place = out.open_call(index, &text(&block.id), &text(&block.name))?;
                // Usually empty and followed by pieces; some servers send all of it here.
                if let Some(input) =
                    block.input.filter(|input| input.get().starts_with('{') && input.get().len() > 2)
                {
                    out.set_arguments(place, input.get());
                }
                place
            }
            // A kind that is not known has no place, and its pieces are passed over.
            _ => return Ok(()),
        };
        self.places.push((index.unwrap_or(0), place));
        Ok(())
    }

    fn delta(&self, index: Option<u32>, delta: &Delta<'_>, out: &mut Assembly) -> Result<(), ModelError> {
        let index = index.unwrap_or(0);
        let Some((_, place)) = self.places.iter().rev().find(|(known, _)| *known == index) else {
            return Ok(());
        };
        for piece in [delta.text, delta.thinking, delta.partial_json].into_iter().flatten() {
            out.append(*place, piece)?;
        }
        delta.signature.map_or(Ok(()), |raw| out.append_signature(*place, raw))
    }

    fn ends_with(&mut self, reason: &str) {
        let known = match reason {
            "end_turn" | "pause_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolUse,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" | "sensitive" => FinishReason::Refusal,
            other => {
                self.unknown = Some(other.chars().take(60).collect());
                return;
            }
        };
        self.finish = Some(known);
    }
}

impl Counts {
    /// Takes over each number that a report has.
    fn update(&mut self, usage: &RawValue) {
        let Ok(usage) = serde_json::from_str::<Value>(usage.get()) else { return };
        let take = |name: &str, count: &mut u64| {
            if let Some(number) = usage.get(name).and_then(tokens) {
                *count = number;
            }
        };
        take("input_tokens", &mut self.input);
        take("output_tokens", &mut self.output);
        take("cache_read_input_tokens", &mut self.cache_read);
        take("cache_creation_input_tokens", &mut self.cache_write);
    }

    fn total(&self) -> Usage {
        Usage::of_tokens(self.input, self.output, self.cache_read, self.cache_write)
    }
}
