//! What this crate's tests share.

use std::sync::Arc;

use vocab::{SessionId, ThinkingLevel};

use crate::assembly::Assembly;
use crate::endpoint::{Compat, Endpoint, MaxTokensField, PromptCache};
use crate::history::KnownCalls;
use crate::sse::Decoder;
use crate::stream::Parser;
use crate::thinking::Levels;
use crate::wire::{Dialect, Profile};
use crate::{
    Api, AssistantBlock, AssistantMessage, ContentBlock, EmbeddedModel, FinishReason, History, Message,
    ModelError, ModelInfo, ModelRequest, ToolResultMessage, ToolSet, anthropic, openai,
};

/// The model `lab/m`, changed as a test wants it.
pub(crate) fn endpoint(dialect: Dialect, change: impl FnOnce(&mut ModelInfo)) -> Endpoint {
    let mut info = EmbeddedModel::plain_info("lab", "m");
    info.api = match dialect {
        Dialect::OpenAi => Api::OpenAiCompletions,
        Dialect::Anthropic => Api::AnthropicMessages,
    };
    info.max_tokens = Some(8_000);
    change(&mut info);
    let profile =
        Profile { dialect, model: info.full_id(), images: info.sees_images(), tool_result_name: false };
    Endpoint {
        info,
        profile: Arc::new(profile),
        compat: Compat {
            developer_role: false,
            store: false,
            usage_in_streaming: true,
            finish_reason: true,
            max_tokens_field: MaxTokensField::MaxTokens,
            thinking_format: None,
            cache_key: false,
            adaptive_thinking: false,
            tool_result_name: false,
        },
        levels: Levels::default(),
        prompts: PromptCache::default(),
    }
}

pub(crate) fn request(history: &History) -> ModelRequest {
    ModelRequest {
        system: Arc::from("You help."),
        tools: Arc::new(ToolSet::default()),
        history: history.snapshot(),
        thinking: ThinkingLevel::Off,
        max_tokens: None,
        session: SessionId::from("s"),
    }
}

pub(crate) fn said(text: &str) -> AssistantMessage {
    AssistantMessage {
        content: vec![AssistantBlock::Text { text: text.to_owned() }],
        finish: Some(FinishReason::Stop),
        ..AssistantMessage::default()
    }
}

pub(crate) fn calls_message(calls: &[(&str, &str, &str)]) -> AssistantMessage {
    let block = |(id, name, arguments): &(&str, &str, &str)| AssistantBlock::ToolCall {
        id: (*id).into(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    AssistantMessage {
        content: calls.iter().map(block).collect(),
        finish: Some(FinishReason::ToolUse),
        ..AssistantMessage::default()
    }
}

pub(crate) fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "tool".into(),
        content,
        is_error: false,
    })
}

fn parser(dialect: Dialect) -> Parser {
    match dialect {
        Dialect::OpenAi => Parser::OpenAi(openai::parse::Parser::default()),
        Dialect::Anthropic => Parser::Anthropic(anthropic::parse::Parser::default()),
    }
}

/// The message of a stream in these chunks.
pub(crate) fn parse_bytes<'a>(
    dialect: Dialect,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<AssistantMessage, ModelError> {
    parse(parser(dialect), chunks)
}

pub(crate) fn parse_with(
    parser: openai::parse::Parser,
    events: &str,
) -> Result<AssistantMessage, ModelError> {
    parse(Parser::OpenAi(parser), [events.as_bytes()])
}

fn parse<'a>(
    parser: Parser,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<AssistantMessage, ModelError> {
    let assembly = Assembly::new("lab/m".to_owned(), KnownCalls::default());
    let mut reading = crate::stream::Parsing { decoder: Decoder::default(), parser, assembly };
    for chunk in chunks {
        if reading.take(chunk)? {
            break;
        }
    }
    if !reading.parser.is_settled() {
        reading.close()?;
    }
    let finish = reading.parser.end(&mut reading.assembly)?;
    reading.assembly.finish(finish);
    Ok(reading.assembly.message)
}

/// The message of a stream, which must be the same wherever the network cuts it.
pub(crate) fn same_however_cut(dialect: Dialect, events: &str) -> Result<AssistantMessage, ModelError> {
    let whole = parse_bytes(dialect, [events.as_bytes()]);
    assert_eq!(
        no_ids(parse_bytes(dialect, events.as_bytes().chunks(1))),
        no_ids(whole.clone()),
        "single bytes"
    );
    for size in [2, 3, 7, 61] {
        let cut = parse_bytes(dialect, events.as_bytes().chunks(size));
        assert_eq!(no_ids(cut), no_ids(whole.clone()), "chunks of {size}");
    }
    whole
}

/// Ids that we draw ourselves differ from one reading to the next.
fn no_ids(mut answer: Result<AssistantMessage, ModelError>) -> Result<AssistantMessage, ModelError> {
    for block in answer.iter_mut().flat_map(|message| &mut message.content) {
        if let AssistantBlock::ToolCall { id, .. } = block {
            *id = "".into();
        }
    }
    answer
}
