//! What both wire forms share: how a history falls into wire messages, and a body that is sent in segments.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::{AssistantBlock, AssistantMessage, ContentBlock, Message, ToolResultMessage, anthropic, openai};

/// What a model is told in place of an image that it cannot see.
const NO_IMAGES: &str = "(An image is left out: this model takes text only.)";
/// What a model is told of a tool that put out nothing.
pub(crate) const NO_OUTPUT: &str = "(no tool output)";

/// All that the wire form of a history depends on. Where two are equal, encoded bytes can be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) dialect: Dialect,
    /// `provider/id`: opaque reasoning is sent back only to the model that wrote it.
    pub(crate) model: String,
    pub(crate) images: bool,
    /// Some servers want a tool's name beside its result.
    pub(crate) tool_result_name: bool,
}

/// An API that this version speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

/// Who speaks in a wire message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    User,
    Assistant,
}

/// Messages that are encoded together: all results of one batch of calls are one.
#[derive(Debug)]
pub(crate) enum Unit<'a> {
    User(&'a [ContentBlock]),
    Assistant(&'a AssistantMessage),
    Results(Vec<&'a ToolResultMessage>),
}

impl Unit<'_> {
    pub(crate) fn kind(&self) -> UnitKind {
        match self {
            Self::Assistant(_) => UnitKind::Assistant,
            Self::User(_) | Self::Results(_) => UnitKind::User,
        }
    }
}

/// The units of a list that does not begin inside a batch of results.
pub(crate) fn units(messages: &[Arc<Message>]) -> impl Iterator<Item = Unit<'_>> {
    messages
        .chunk_by(|a, b| matches!((&**a, &**b), (Message::ToolResult(_), Message::ToolResult(_))))
        .filter_map(|batch| match batch.first()?.as_ref() {
            Message::User { content } => Some(Unit::User(content)),
            Message::Assistant(message) => Some(Unit::Assistant(message)),
            Message::ToolResult(_) => Some(Unit::Results(
                batch
                    .iter()
                    .filter_map(|message| match message.as_ref() {
                        Message::ToolResult(result) => Some(result),
                        _ => None,
                    })
                    .collect(),
            )),
        })
}

impl Profile {
    /// Writes a unit with a leading comma, or nothing where it says nothing.
    pub(crate) fn encode(&self, unit: &Unit<'_>, out: &mut Vec<u8>) {
        match self.dialect {
            Dialect::OpenAi => openai::encode::unit(self, unit, out),
            Dialect::Anthropic => anthropic::encode::unit(self, unit, out),
        }
    }

    /// Whether some thinking of the message is sent back with it.
    pub(crate) fn replays_thinking(&self, message: &AssistantMessage) -> bool {
        message.content.iter().any(|block| self.replayed(block).is_some())
    }

    /// Text, signature and redaction of a thinking block that is sent back.
    pub(crate) fn replayed<'a>(&self, block: &'a AssistantBlock) -> Option<(&'a str, &'a str, bool)> {
        match block {
            AssistantBlock::Thinking { text, signature: Some(signature), origin: Some(origin), redacted }
                if *origin == self.model =>
            {
                Some((text, signature, *redacted))
            }
            _ => None,
        }
    }
}

/// A piece of content as one model can take it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Image { mime_type: &'a str, data: &'a str },
}

/// Content without what says nothing, and with one note for each run of images that the model cannot see.
pub(crate) fn parts(content: &[ContentBlock], images: bool) -> impl Iterator<Item = Part<'_>> {
    let mut after_note = false;
    content.iter().filter_map(move |block| match block {
        ContentBlock::Text { text } if text.trim().is_empty() => None,
        ContentBlock::Text { text } => {
            after_note = false;
            Some(Part::Text(text.as_str()))
        }
        ContentBlock::Image { mime_type, data } if images => Some(Part::Image { mime_type, data }),
        ContentBlock::Image { .. } if after_note => None,
        ContentBlock::Image { .. } => {
            after_note = true;
            Some(Part::Text(NO_IMAGES))
        }
    })
}

/// Arguments as a provider takes them back: exactly what the model wrote where that is a JSON object, else an empty
/// one, since many servers parse them and refuse the whole request. The result of such a call says what was wrong.
pub(crate) fn sent_arguments(raw: &str) -> &str {
    let raw = raw.trim();
    if crate::message::is_json_object(raw) { raw } else { "{}" }
}

/// A request body of known length, sent from the segments it consists of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    list: VecDeque<Bytes>,
    bytes: u64,
}

impl Segments {
    pub(crate) fn push(&mut self, segment: impl Into<Bytes>) {
        let segment = segment.into();
        if !segment.is_empty() {
            self.bytes += segment.len() as u64;
            self.list.push_back(segment);
        }
    }

    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8(self.list.iter().flatten().copied().collect()).expect("JSON is text")
    }
}

impl Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.list.pop_front();
        self.bytes -= next.as_ref().map_or(0, |segment| segment.len() as u64);
        Poll::Ready(next.map(|segment| Ok(Frame::data(segment))))
    }

    fn is_end_stream(&self) -> bool {
        self.list.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}
