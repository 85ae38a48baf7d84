//! Transcripts in the types of the wire: a session's entries and events become those of a client.

use std::sync::Arc;

use model::{AssistantBlock, ContentBlock, FinishReason, Message};
use protocol::{
    Author, Card, Entry, Location, NoticeLevel, PartialMessage, Position, Range, Role, SessionEvent, TextRef,
    ToolOutcome, TranscriptPage,
};
use session::{
    Delta, EntryBody, Page, PromptOrigin, SteerAuthor, SteerEvent, ToolCallTitle, ToolOutput, ToolResultEntry,
};
use vocab::{AgentId, EntryId, RunId, ToolKind, Usage};

use super::file_uri;
use crate::delegation::text::clip;

/// Longer texts go by reference, so that an event stays a small message.
const INLINE_BYTES: usize = 32 << 10;
/// Text of a delta or a partial message that is sent at once.
const PARTIAL_BYTES: usize = 16 << 10;

/// Characters of a steer that are told.
const STEER_CHARS: usize = 4 << 10;

/// A page of a transcript. `owner` is the document of the transcript's session, such as `adjutant://agent/a-1`.
pub(crate) fn page(page: &Page, owner: &str) -> TranscriptPage {
    TranscriptPage {
        entries: page.entries.iter().filter_map(|stored| entry(stored, owner)).collect(),
        partial: page.partial.as_ref().map(|partial| {
            let (text, thinking) = texts(&partial.message.content);
            let (text_offset, text) = tail(&text);
            let (thinking_offset, thinking) = tail(&thinking);
            PartialMessage {
                entry_id: partial.entry_id.clone(),
                text,
                text_offset,
                thinking,
                thinking_offset,
            }
        }),
        as_of_seq: page.as_of_seq,
        has_more: page.has_more,
        total: page.total as u64,
    }
}

/// The end of a long text, and where it begins.
fn tail(text: &str) -> (u64, String) {
    let mut start = text.len().saturating_sub(PARTIAL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    (start as u64, text[start..].to_owned())
}

/// An entry as people see it; nothing where it is only for the machine.
pub(crate) fn entry(stored: &session::Entry, owner: &str) -> Option<Entry> {
    let (entry_id, seq, at, run) = (stored.id.clone(), stored.seq, stored.at, stored.run);
    Some(match &stored.body {
        EntryBody::Prompt { prompt_id, origin, message } => {
            let (text, text_ref) = by_reference(content_text(message), &entry_id, owner);
            let author = prompt_author(*origin);
            Entry::Prompt { entry_id, seq, at, run, text, text_ref, author, prompt_id: prompt_id.clone() }
        }
        EntryBody::Steer { steer_id, author, message } => Entry::Steer {
            entry_id,
            seq,
            at,
            run,
            text: shortened(&content_text(message)),
            author: steer_author(*author),
            steer_id: steer_id.clone(),
        },
        EntryBody::Assistant { message, discarded } => {
            let Message::Assistant(answer) = &**message else { return None };
            let (text, thinking) = texts(&answer.content);
            let (text, text_ref) = by_reference(text, &entry_id, owner);
            let stop_reason = match (discarded, answer.finish) {
                (true, _) => "discarded",
                (_, Some(FinishReason::Stop)) => "stop",
                (_, Some(FinishReason::ToolUse)) => "toolUse",
                (_, Some(FinishReason::Length)) => "length",
                (_, Some(FinishReason::Refusal)) => "refusal",
                (_, None) if answer.error.is_some() => "error",
                (_, None) => "aborted",
            };
            Entry::Assistant {
                entry_id,
                seq,
                at,
                run,
                text,
                text_ref,
                thinking: (!thinking.is_empty()).then(|| clip(&thinking, PARTIAL_BYTES).0.to_owned()),
                stop_reason: stop_reason.to_owned(),
                model: answer.model.clone(),
                usage: answer.usage,
            }
        }
        EntryBody::ToolResult(result) => tool_entry(stored, result, owner),
        EntryBody::CustomMessage { message } if message.display => Entry::CustomMessage {
            entry_id,
            seq,
            at,
            run,
            custom_type: message.custom_type.clone(),
            card: custom_card(message),
        },
        EntryBody::Notice { text } => {
            Entry::Notice { entry_id, seq, at, run, level: NoticeLevel::Info, text: text.to_string() }
        }
        EntryBody::ModelChange { model, .. } => Entry::Notice {
            entry_id,
            seq,
            at,
            run,
            level: NoticeLevel::Info,
            text: format!("The model is now {model}."),
        },
        EntryBody::RunEnd(end) => Entry::Run {
            entry_id,
            seq,
            at,
            run,
            run_id: None,
            started_at: at,
            stop_reason: end.stop,
            turns: end.turns,
            error: end.error.as_deref().map(str::to_owned),
            usage: end.usage,
        },
        EntryBody::Header(_)
        | EntryBody::RunStart { .. }
        | EntryBody::CustomMessage { .. }
        | EntryBody::CustomEntry { .. }
        | EntryBody::Unknown { .. } => return None,
    })
}

fn tool_entry(stored: &session::Entry, result: &ToolResultEntry, owner: &str) -> Entry {
    let text = match &*result.message {
        Message::ToolResult(message) => blocks_text(&message.content),
        _ => String::new(),
    };
    let name = match &*result.message {
        Message::ToolResult(message) => message.tool_name.clone(),
        _ => String::new(),
    };
    let (text, text_ref) = by_reference(text, &stored.id, owner);
    Entry::Tool {
        entry_id: stored.id.clone(),
        seq: stored.seq,
        at: stored.at,
        run: stored.run,
        tool_call_id: result.tool_call_id.clone(),
        name,
        tool_kind: result.tool_kind,
        title: result.title.to_string(),
        locations: locations(&result.locations),
        outcome: Some(tool_outcome(result.outcome)),
        text,
        text_ref,
        card: None,
        agent_id: agent_of(&result.details),
    }
}

/// Turns a session's events into those of a client, one for one, so that their numbers keep without a gap.
#[derive(Debug)]
pub(crate) struct Events {
    owner: String,
    /// Repeated where an event has no counterpart on the wire: it says nothing new and keeps the count.
    usage: Usage,
    context_percent: Option<f64>,
}

impl Events {
    /// Events of the transcript whose document is `owner`.
    pub(crate) fn of(owner: String) -> Self {
        Self { owner, usage: Usage::default(), context_percent: None }
    }

    pub(crate) fn project(&mut self, event: session::SessionEvent) -> SessionEvent {
        use session::SessionEvent as From;
        match event {
            From::RunStart { entry } => run_start(&entry),
            From::RunEnd { entry } => run_end(&entry).unwrap_or_else(|| self.nothing_new()),
            From::TurnStart { turn } => SessionEvent::TurnStart { turn },
            From::TurnEnd { turn } => SessionEvent::TurnEnd { turn, usage: self.usage },
            From::MessageStart { entry_id } => SessionEvent::MessageStart { entry_id, role: Role::Assistant },
            From::TextDelta(Delta { entry_id, offset, text }) => {
                SessionEvent::TextDelta { entry_id, offset: offset as u64, text }
            }
            From::ThinkingDelta(Delta { entry_id, offset, text }) => {
                SessionEvent::ThinkingDelta { entry_id, offset: offset as u64, text }
            }
            From::ToolCallDelta { tool_call_id, name, delta: Delta { entry_id, offset, text } } => {
                let (name, offset) = (name.to_string(), offset as u64);
                SessionEvent::ToolCallDelta { entry_id, tool_call_id, name, offset, text }
            }
            From::MessageEnd { entry } => self.message_end(&entry),
            From::ToolStart { tool_call_id, name, kind, title } => {
                tool_start(tool_call_id, &name, kind, &title)
            }
            From::ToolUpdate { tool_call_id, partial, .. } => {
                let text = blocks_text(&partial.content);
                SessionEvent::ToolUpdate { tool_call_id, card: None, text: Some(tail(&text).1) }
            }
            From::ToolEnd { tool_call_id, outcome, output, .. } => tool_end(tool_call_id, outcome, &output),
            From::CustomMessage { entry } | From::EntryAppended { entry } => {
                shown_message(&entry).unwrap_or_else(|| self.nothing_new())
            }
            From::ToolResult { .. } => self.nothing_new(),
            From::PromptQueued { prompt_id } => SessionEvent::PromptQueued { prompt_id },
            From::PromptStarted { prompt_id } => SessionEvent::PromptStarted { prompt_id },
            From::PromptWithdrawn { prompt_id } => SessionEvent::PromptWithdrawn { prompt_id },
            From::SteerQueued(SteerEvent { steer_id, text, author }) => {
                SessionEvent::SteerQueued { steer_id, text: shortened(&text), author: steer_author(author) }
            }
            From::SteerDelivered(SteerEvent { steer_id, text, author }) => SessionEvent::SteerDelivered {
                steer_id,
                text: shortened(&text),
                author: steer_author(author),
            },
            From::SteerWithdrawn(SteerEvent { steer_id, text, author }) => SessionEvent::SteerWithdrawn {
                steer_id,
                text: shortened(&text),
                author: steer_author(author),
            },
            From::SteerExpired(SteerEvent { steer_id, text, author }) => {
                SessionEvent::SteerExpired { steer_id, text: shortened(&text), author: steer_author(author) }
            }
            From::Retry(retry) => SessionEvent::Retry {
                attempt: retry.attempt,
                max_attempts: retry.max_attempts,
                delay_ms: retry.delay_ms,
                error: retry.error.to_string(),
            },
            From::CompactionStart => SessionEvent::CompactionStart {},
            From::CompactionEnd { error } => {
                let error = error.as_deref().map(str::to_owned);
                SessionEvent::CompactionEnd { tokens_before: None, tokens_after: None, error }
            }
            From::ModelChanged { model, thinking, .. } => {
                SessionEvent::ModelChanged { model: model.to_string(), thinking: Some(thinking) }
            }
            From::Usage { run, context_percent, .. } => {
                self.usage = run;
                self.context_percent = context_percent.map(f64::from);
                self.nothing_new()
            }
        }
    }

    fn nothing_new(&self) -> SessionEvent {
        SessionEvent::Usage { usage: self.usage, context_percent: self.context_percent }
    }

    fn message_end(&self, entry: &Arc<session::Entry>) -> SessionEvent {
        let (role, text, thinking, author) = match &entry.body {
            EntryBody::Prompt { origin, message, .. } => {
                (Role::User, content_text(message), String::new(), Some(prompt_author(*origin)))
            }
            EntryBody::Steer { author, message, .. } => {
                (Role::User, content_text(message), String::new(), Some(steer_author(*author)))
            }
            EntryBody::Assistant { message, .. } => match &**message {
                Message::Assistant(answer) => {
                    let (text, thinking) = texts(&answer.content);
                    (Role::Assistant, text, thinking, None)
                }
                _ => return self.nothing_new(),
            },
            _ => return self.nothing_new(),
        };
        let (text, text_ref) = by_reference(text, &entry.id, &self.owner);
        SessionEvent::MessageEnd {
            entry_id: entry.id.clone(),
            role,
            text,
            text_ref,
            thinking: (!thinking.is_empty()).then(|| clip(&thinking, PARTIAL_BYTES).0.to_owned()),
            author,
        }
    }
}

/// A steer as it is told: a long one by its beginning, since no message may be long. The model gets all of it.
fn shortened(text: &str) -> String {
    match clip(text, STEER_CHARS) {
        (whole, false) => whole.to_owned(),
        (beginning, true) => format!("{beginning}…"),
    }
}

fn run_start(entry: &session::Entry) -> SessionEvent {
    let (prompt_id, origin) = match &entry.body {
        EntryBody::RunStart { prompt_id, origin } => (prompt_id.clone(), *origin),
        _ => (None, PromptOrigin::default()),
    };
    let run_id = prompt_id.as_ref().map(|prompt| RunId::new(format!("run-{prompt}")));
    SessionEvent::RunStart { run: entry.run, run_id, prompt_id, author: prompt_author(origin) }
}

fn run_end(entry: &session::Entry) -> Option<SessionEvent> {
    let EntryBody::RunEnd(end) = &entry.body else { return None };
    Some(SessionEvent::RunEnd {
        run: entry.run,
        run_id: None,
        stop_reason: end.stop,
        error: end.error.as_deref().map(str::to_owned),
        usage: end.usage,
    })
}

/// A message or a notice that people see; nothing for what is only kept.
fn shown_message(entry: &session::Entry) -> Option<SessionEvent> {
    let (custom_type, card) = match &entry.body {
        EntryBody::CustomMessage { message } if message.display => {
            (message.custom_type.clone(), custom_card(message))
        }
        EntryBody::Notice { text } => {
            let card = Card { icon: "info".to_owned(), title: text.to_string(), ..Card::default() };
            ("notice".to_owned(), card)
        }
        _ => return None,
    };
    Some(SessionEvent::CustomMessage { entry_id: entry.id.clone(), custom_type, card })
}

fn tool_end(
    tool_call_id: vocab::ToolCallId,
    outcome: session::ToolOutcome,
    output: &ToolOutput,
) -> SessionEvent {
    let text = blocks_text(&output.content);
    // The entry does not exist yet, so a long text is cut here; the page that is read later has the reference.
    let text = if text.len() > INLINE_BYTES { tail(&text).1 } else { text };
    SessionEvent::ToolEnd {
        tool_call_id,
        outcome: tool_outcome(outcome),
        card: None,
        text: Some(text),
        text_ref: None,
    }
}

fn tool_start(
    tool_call_id: vocab::ToolCallId,
    name: &str,
    kind: ToolKind,
    title: &Arc<ToolCallTitle>,
) -> SessionEvent {
    SessionEvent::ToolStart {
        tool_call_id,
        name: name.to_owned(),
        kind,
        title: title.title.clone(),
        locations: locations(&title.locations),
        agent_id: None,
    }
}

fn prompt_author(origin: PromptOrigin) -> Author {
    match origin {
        PromptOrigin::User | PromptOrigin::Command => Author::User,
        PromptOrigin::Parent => Author::Parent,
        PromptOrigin::Extension => Author::Host,
    }
}

fn steer_author(author: SteerAuthor) -> Author {
    match author {
        SteerAuthor::User => Author::User,
        SteerAuthor::Parent => Author::Parent,
        SteerAuthor::Host => Author::Host,
    }
}

fn tool_outcome(outcome: session::ToolOutcome) -> ToolOutcome {
    match outcome {
        session::ToolOutcome::Ok => ToolOutcome::Ok,
        session::ToolOutcome::Error => ToolOutcome::Error,
        session::ToolOutcome::Blocked => ToolOutcome::Denied,
        session::ToolOutcome::Aborted | session::ToolOutcome::Interrupted => ToolOutcome::Cancelled,
    }
}

fn locations(places: &[session::Location]) -> Vec<Location> {
    let range = |line: u32| {
        let at = Position { line: line.saturating_sub(1), character: 0 };
        Range { start: at, end: at }
    };
    places.iter().map(|place| Location { uri: file_uri(&place.path), range: place.line.map(range) }).collect()
}

/// The agent that a delegation tool's result is about.
fn agent_of(details: &serde_json::Value) -> Option<AgentId> {
    details.get("agentId").and_then(serde_json::Value::as_str).map(AgentId::from)
}

/// What people see of a custom message: its details' card where its maker gave one, else its type and first lines.
fn custom_card(message: &session::CustomMessage) -> Card {
    if let Some(card) = message.details.get("card").and_then(|card| serde_json::from_value(card.clone()).ok())
    {
        return card;
    }
    let lines = blocks_text(&message.content).lines().take(12).map(str::to_owned).collect();
    Card { icon: "info".to_owned(), title: message.custom_type.clone(), lines, actions: Vec::new() }
}

fn by_reference(text: String, entry_id: &EntryId, owner: &str) -> (Option<String>, Option<TextRef>) {
    if text.is_empty() {
        return (None, None);
    }
    if text.len() <= INLINE_BYTES {
        return (Some(text), None);
    }
    let uri = format!("{owner}/entry/{entry_id}");
    (None, Some(TextRef { bytes: text.len() as u64, entry_id: entry_id.clone(), uri }))
}

/// The text of an entry, whole.
pub(crate) fn entry_text(stored: &session::Entry) -> String {
    match &stored.body {
        EntryBody::Prompt { message, .. }
        | EntryBody::Steer { message, .. }
        | EntryBody::Assistant { message, .. } => content_text(message),
        EntryBody::ToolResult(result) => content_text(&result.message),
        EntryBody::CustomMessage { message } => blocks_text(&message.content),
        EntryBody::Notice { text } => text.to_string(),
        _ => String::new(),
    }
}

fn content_text(message: &Message) -> String {
    match message {
        Message::User { content } => blocks_text(content),
        Message::Assistant(answer) => texts(&answer.content).0,
        Message::ToolResult(result) => blocks_text(&result.content),
    }
}

fn blocks_text(content: &[ContentBlock]) -> String {
    let texts = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.as_str(),
        ContentBlock::Image { .. } => "[image]",
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Text and thinking of a model's message.
fn texts(content: &[AssistantBlock]) -> (String, String) {
    let (mut text, mut thinking) = (String::new(), String::new());
    for block in content {
        match block {
            AssistantBlock::Text { text: piece } => text.push_str(piece),
            AssistantBlock::Thinking { text: piece, .. } => thinking.push_str(piece),
            AssistantBlock::ToolCall { .. } => {}
        }
    }
    (text, thinking)
}
