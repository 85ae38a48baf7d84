//! The parent's conversation as it comes in: what is to be shown of it, and where it stands.

use protocol::{Entry, Role, SessionEvent, SessionEventParams, SessionSubscribeResult, ToolOutcome};
use vocab::{EntryId, RunStop};

/// Bytes of one message that are kept; the planner's answers are far shorter.
const MESSAGE_BYTES: usize = 1 << 20;

/// What is to be shown of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// A run begins; whether a prompt asked for it.
    Run { number: u32, asked: bool },
    /// A whole line of the parent's text.
    Line(String),
    /// A call of the parent, or what went wrong with one.
    Call(String),
    /// News of its agents has reached it.
    News(String),
    /// A run ended otherwise than well.
    Trouble(String),
}

/// What an event came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Show(Vec<Shown>),
    /// An event was missed: subscribe again.
    SubscribeAgain,
}

/// Where the conversation stands.
#[derive(Debug, Default)]
pub(super) struct Story {
    next_seq: u64,
    running: bool,
    last_stop: Option<RunStop>,
    /// Model requests so far.
    pub(super) turns: u32,
    message: Option<Message>,
    /// The last message that was said whole.
    answer: String,
}

/// The message that is being written.
#[derive(Debug)]
struct Message {
    entry: EntryId,
    text: String,
    /// Bytes of it that were shown.
    shown: usize,
}

impl Story {
    /// Takes up where a subscription begins. What was said meanwhile comes whole.
    pub(super) fn subscribed(&mut self, answer: &SessionSubscribeResult) -> Vec<Shown> {
        let known = self.next_seq;
        self.next_seq = answer.next_seq;
        if known == 0 {
            return Vec::new();
        }
        let mut shown = Vec::new();
        for entry in answer.page.entries.iter().filter(|entry| entry.seq() >= known) {
            match entry {
                Entry::Assistant { entry_id, text: Some(text), .. } => {
                    shown.extend(self.end_message(entry_id, Some(text)));
                }
                Entry::Run { stop_reason, .. } => self.last_stop = Some(*stop_reason),
                _ => {}
            }
        }
        let last_ended = matches!(answer.page.entries.last(), Some(Entry::Run { .. }));
        self.running = answer.page.partial.is_some() || !last_ended;
        shown
    }

    pub(super) fn event(&mut self, params: SessionEventParams) -> Step {
        if params.seq < self.next_seq {
            return Step::Show(Vec::new());
        }
        if params.seq > self.next_seq {
            return Step::SubscribeAgain;
        }
        self.next_seq += 1;
        Step::Show(self.take(params.event))
    }

    fn take(&mut self, event: SessionEvent) -> Vec<Shown> {
        match event {
            SessionEvent::RunStart { run, prompt_id, .. } => {
                self.running = true;
                vec![Shown::Run { number: run, asked: prompt_id.is_some() }]
            }
            SessionEvent::RunEnd { stop_reason, error, .. } => {
                self.running = false;
                self.last_stop = Some(stop_reason);
                let mut shown = self.flush();
                if stop_reason != RunStop::EndTurn {
                    shown.push(Shown::Trouble(
                        error.unwrap_or_else(|| format!("the run ended: {stop_reason:?}")),
                    ));
                }
                shown
            }
            SessionEvent::TurnStart { .. } => {
                self.turns += 1;
                Vec::new()
            }
            SessionEvent::TextDelta { entry_id, offset, text } => self.grow(entry_id, offset, &text),
            SessionEvent::MessageEnd { entry_id, role: Role::Assistant, text, .. } => {
                self.end_message(&entry_id, text.as_deref())
            }
            SessionEvent::ToolStart { title, .. } => vec![Shown::Call(title)],
            SessionEvent::ToolEnd { outcome, text, .. } if outcome != ToolOutcome::Ok => {
                let why = text.unwrap_or_else(|| format!("{outcome:?}"));
                vec![Shown::Call(format!("did not work: {}", why.lines().next().unwrap_or_default()))]
            }
            SessionEvent::CustomMessage { card, .. } => vec![Shown::News(card.title)],
            _ => Vec::new(),
        }
    }

    fn grow(&mut self, entry: EntryId, offset: u64, text: &str) -> Vec<Shown> {
        let begun = self.message.as_ref().is_some_and(|message| message.entry == entry);
        let mut shown = if begun { Vec::new() } else { self.flush() };
        let message = self.message.get_or_insert(Message { entry, text: String::new(), shown: 0 });
        if offset == message.text.len() as u64 && message.text.len() + text.len() <= MESSAGE_BYTES {
            message.text.push_str(text);
        }
        shown.extend(message.lines(false));
        shown
    }

    /// A message is whole: what of it was not shown yet, and its text as the answer so far.
    fn end_message(&mut self, entry: &EntryId, text: Option<&str>) -> Vec<Shown> {
        let mut shown = Vec::new();
        if self.message.as_ref().is_some_and(|message| message.entry != *entry) {
            shown = self.flush();
        }
        let message =
            self.message.get_or_insert(Message { entry: entry.clone(), text: String::new(), shown: 0 });
        // Deltas may have been missed; what was shown already is not shown again.
        if let Some(text) = text.filter(|text| text.is_char_boundary(message.shown)) {
            text.clone_into(&mut message.text);
        }
        shown.extend(self.flush());
        shown
    }

    /// Shows the rest of the message that was being written, and closes it.
    fn flush(&mut self) -> Vec<Shown> {
        let Some(mut message) = self.message.take() else { return Vec::new() };
        let shown = message.lines(true);
        if !message.text.trim().is_empty() {
            self.answer = message.text;
        }
        shown
    }

    /// The line that is being written.
    pub(super) fn partial(&self) -> &str {
        self.message.as_ref().map_or("", |message| message.text.get(message.shown..).unwrap_or_default())
    }

    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    /// Whether the last run ended well, with an answer.
    pub(super) fn ended_well(&self) -> bool {
        self.last_stop == Some(RunStop::EndTurn) && !self.answer.trim().is_empty()
    }
}

impl Message {
    /// The lines that are whole and were not shown; the last one too where there is no more to come.
    fn lines(&mut self, to_the_end: bool) -> Vec<Shown> {
        let rest = self.text.get(self.shown..).unwrap_or_default();
        let whole = if to_the_end { rest.len() } else { rest.rfind('\n').map_or(0, |at| at + 1) };
        let lines = rest[..whole].lines().map(|line| Shown::Line(line.to_owned())).collect();
        self.shown += whole;
        lines
    }
}
