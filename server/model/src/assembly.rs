//! An answer as it is put together from its pieces, whatever the API they come in.
//!
//! Tool calls are kept in slots of our own: what a provider says of index and id only decides which slot a piece
//! belongs to, since some number every call 0, some repeat an id, and some name neither.

use serde_json::value::RawValue;
use vocab::{ToolCallId, Usage};

use crate::history::KnownCalls;
use crate::json::append_string;
use crate::message::is_json_object;
use crate::{AssistantBlock, AssistantMessage, FinishReason, ModelError};

/// The longest answer that is taken, in bytes; no real one comes near.
const MAX_ANSWER: usize = 32 << 20;
const MAX_BLOCKS: usize = 4_096;
/// The longest id that every provider takes back.
const MAX_CALL_ID: usize = 40;
/// The longest name of a tool that every provider takes back.
const MAX_TOOL_NAME: usize = 64;
/// The name of a call that came without one: providers refuse a history in which a call has none.
const UNNAMED: &str = "unnamed";

/// The message under construction.
#[derive(Debug)]
pub(crate) struct Assembly {
    pub(crate) message: AssistantMessage,
    slots: Vec<Slot>,
    known: KnownCalls,
    bytes: usize,
    /// Something was added since the flag was last taken down.
    pub(crate) grown: bool,
}

/// What a provider says of one tool call, and where we keep it.
#[derive(Debug)]
struct Slot {
    block: usize,
    index: Option<u32>,
    id: String,
    named: bool,
}

/// The kind of a running text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thinking,
}

impl Assembly {
    pub(crate) fn new(model: String, known: KnownCalls) -> Self {
        let message = AssistantMessage { model, ..AssistantMessage::default() };
        Self { message, slots: Vec::new(), known, bytes: 0, grown: false }
    }

    /// Opens a block and returns its place.
    pub(crate) fn open(&mut self, kind: Kind) -> Result<usize, ModelError> {
        let text = String::new();
        self.push(match kind {
            Kind::Text => AssistantBlock::Text { text },
            Kind::Thinking => {
                let origin = Some(self.message.model.clone());
                AssistantBlock::Thinking { text, signature: None, origin, redacted: false }
            }
        })
    }

    fn push(&mut self, block: AssistantBlock) -> Result<usize, ModelError> {
        if self.message.content.len() == MAX_BLOCKS {
            return Err(ModelError::Malformed {
                detail: format!("more than {MAX_BLOCKS} blocks in one answer"),
            });
        }
        self.grown = true;
        self.message.content.push(block);
        Ok(self.message.content.len() - 1)
    }

    /// The last block of a kind that could be appended to, or a new one.
    pub(crate) fn current(&mut self, kind: Kind) -> Result<usize, ModelError> {
        let wanted = |block: &AssistantBlock| {
            matches!(
                (kind, block),
                (Kind::Text, AssistantBlock::Text { .. }) | (Kind::Thinking, AssistantBlock::Thinking { .. })
            )
        };
        match self.message.content.iter().rposition(wanted) {
            Some(place) => Ok(place),
            None => self.open(kind),
        }
    }

    /// Appends a raw JSON string to the text of a block: its text, thinking or arguments.
    pub(crate) fn append(&mut self, place: usize, raw: &RawValue) -> Result<(), ModelError> {
        self.count(raw)?;
        if let Some(block) = self.message.content.get_mut(place) {
            let (AssistantBlock::Text { text }
            | AssistantBlock::Thinking { text, .. }
            | AssistantBlock::ToolCall { arguments: text, .. }) = block;
            append_string(raw, text);
        }
        Ok(())
    }

    /// Appends a raw JSON string to the signature of a thinking block.
    pub(crate) fn append_signature(&mut self, place: usize, raw: &RawValue) -> Result<(), ModelError> {
        self.count(raw)?;
        if let Some(AssistantBlock::Thinking { signature, .. }) = self.message.content.get_mut(place) {
            append_string(raw, signature.get_or_insert_default());
        }
        Ok(())
    }

    /// Sets what a thinking block must be sent back with.
    pub(crate) fn sign(&mut self, place: usize, with: &str, hidden: bool) {
        if let Some(AssistantBlock::Thinking { signature, redacted, .. }) =
            self.message.content.get_mut(place)
        {
            *signature = Some(with.to_owned());
            *redacted = hidden;
        }
    }

    /// Sets arguments that came whole.
    pub(crate) fn set_arguments(&mut self, place: usize, json: &str) {
        if let Some(AssistantBlock::ToolCall { arguments, .. }) = self.message.content.get_mut(place) {
            arguments.clear();
            arguments.push_str(json);
        }
    }

    fn count(&mut self, raw: &RawValue) -> Result<(), ModelError> {
        self.grown = true;
        self.bytes += raw.get().len();
        if self.bytes > MAX_ANSWER {
            return Err(ModelError::Malformed {
                detail: format!("the answer is longer than {MAX_ANSWER} bytes"),
            });
        }
        Ok(())
    }

    /// Opens the slot of a new call and returns the place of its block.
    pub(crate) fn open_call(
        &mut self,
        index: Option<u32>,
        id: &str,
        name: &str,
    ) -> Result<usize, ModelError> {
        let call =
            AssistantBlock::ToolCall { id: self.own_id(id), name: own_name(name), arguments: String::new() };
        let block = self.push(call)?;
        self.slots.push(Slot { block, index, id: id.to_owned(), named: !name.is_empty() });
        Ok(block)
    }

    /// The block that a piece of a tool call belongs to. A new id opens a slot, and so does a known id with another
    /// index and a name; a piece without id goes by its index, else to the last slot, unless that slot holds a whole
    /// call already and the piece brings a name, which begins another.
    pub(crate) fn call(
        &mut self,
        index: Option<u32>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<usize, ModelError> {
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let found = match (id, index) {
            (Some(id), _) => self
                .slots
                .iter()
                .rposition(|slot| slot.id == id)
                .filter(|at| name.is_none() || index.is_none() || self.slots[*at].index == index)
                .or_else(|| self.unnamed_at(index, name)),
            (None, Some(_)) => self.slots.iter().rposition(|slot| slot.index == index),
            (None, None) => self.slots.len().checked_sub(1),
        };
        let found =
            found.filter(|at| id.is_some() || name.is_none() || !self.is_whole(self.slots[*at].block));
        let Some(at) = found else {
            return self.open_call(index, id.unwrap_or_default(), name.unwrap_or_default());
        };
        let slot = &mut self.slots[at];
        if let Some(id) = id
            && slot.id.is_empty()
        {
            id.clone_into(&mut slot.id);
        }
        let place = slot.block;
        if let (Some(first), Some(AssistantBlock::ToolCall { name, .. })) =
            (name, self.message.content.get_mut(place))
            && !slot.named
        {
            slot.named = true;
            *name = own_name(first);
            self.grown = true;
        }
        Ok(place)
    }

    /// A slot at `index` whose id has not come yet; a piece that names a tool begins its own.
    fn unnamed_at(&self, index: Option<u32>, name: Option<&str>) -> Option<usize> {
        if name.is_some() || index.is_none() {
            return None;
        }
        self.slots.iter().rposition(|slot| slot.index == index && slot.id.is_empty())
    }

    fn is_whole(&self, place: usize) -> bool {
        match &self.message.content[place] {
            AssistantBlock::ToolCall { arguments, .. } => {
                arguments.ends_with('}') && is_json_object(arguments)
            }
            _ => false,
        }
    }

    /// An id that every provider takes back and that no other call of the history has.
    fn own_id(&self, given: &str) -> ToolCallId {
        let clean = clean(given, MAX_CALL_ID);
        let taken = |id: &str| {
            self.known.contains(id) || self.message.tool_calls().any(|(known, ..)| known.as_str() == id)
        };
        // A shortened id may have lost what told it from its neighbours.
        if !clean.is_empty() && given.len() <= MAX_CALL_ID && !taken(&clean) {
            return ToolCallId::from(clean);
        }
        loop {
            let drawn: String = (0..20).map(|_| fastrand::alphanumeric()).collect();
            let id = format!("call_{drawn}");
            if !taken(&id) {
                return ToolCallId::from(id);
            }
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Whether the model has said anything at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.message.content.is_empty()
    }

    pub(crate) fn set_usage(&mut self, usage: Usage) {
        self.message.usage = usage;
        self.grown = true;
    }

    /// Closes the message as complete.
    pub(crate) fn finish(&mut self, reason: FinishReason) {
        self.message.finish = Some(reason);
    }
}

/// A name that every provider takes back, whatever the model has called.
fn own_name(given: &str) -> String {
    match clean(given, MAX_TOOL_NAME) {
        name if name.is_empty() => UNNAMED.to_owned(),
        name => name,
    }
}

/// The first `limit` characters, with a `_` for each that ids and names cannot have.
fn clean(given: &str, limit: usize) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    given.chars().map(|c| if fits(c) { c } else { '_' }).take(limit).collect()
}
