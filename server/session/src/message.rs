//! What people, hosts and extensions put into a conversation.

use std::fmt;

use model::{ContentBlock, Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocab::{EntryId, PromptId, SteerId};

/// A request to a session: it starts a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Names it until it is answered or withdrawn; none where nobody needs to withdraw it.
    pub prompt_id: Option<PromptId>,
    pub text: String,
    /// Attachments, already as content.
    pub content: Vec<ContentBlock>,
    pub origin: PromptOrigin,
    /// The run's number where the caller counts runs itself, as for an agent that is resumed; else the session counts.
    pub run: Option<u32>,
}

impl Prompt {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            prompt_id: None,
            text: text.into(),
            content: Vec::new(),
            origin: PromptOrigin::User,
            run: None,
        }
    }

    /// The prompt as a model gets it.
    pub(crate) fn message(&self) -> Message {
        let text = (!self.text.is_empty()).then(|| ContentBlock::text(self.text.clone()));
        Message::User { content: text.into_iter().chain(self.content.iter().cloned()).collect() }
    }
}

/// Who asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptOrigin {
    #[default]
    User,
    Command,
    /// Another session: the task of a child.
    Parent,
    Extension,
}

/// Who steers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerAuthor {
    #[default]
    User,
    /// The model of the session that owns this one.
    Parent,
    /// The host itself, as with the word to wrap up at a turn limit.
    Host,
}

/// A word to a session that is at work; it enters the conversation at the next turn boundary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SteerRequest {
    pub steer_id: SteerId,
    pub text: String,
    #[serde(default)]
    pub author: SteerAuthor,
}

/// A message that an extension adds to the conversation; the model reads it as a user's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// Chooses the renderer.
    pub custom_type: String,
    pub content: Vec<ContentBlock>,
    /// Whether people see it in the transcript.
    #[serde(default)]
    pub display: bool,
    /// For renderers; never sent to a model.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// Names what is delivered, so that a restart can tell from the session file what has been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl CustomMessage {
    /// A displayed message of one text.
    pub fn text(custom_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            custom_type: custom_type.into(),
            content: vec![ContentBlock::text(text)],
            display: true,
            ..Self::default()
        }
    }

    pub fn message(&self) -> Message {
        Message::User { content: self.content.clone() }
    }
}

/// When a custom message enters the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverAs {
    /// At the next turn boundary of the active run.
    Steer,
    /// When the active run would stop.
    FollowUp,
    /// After the next prompt; it never starts a run.
    NextTurn,
}

/// Told of the entry once the message is in the history and its line is in the session file (or the disk refused it,
/// or there is no file). Dropped uncalled, the message was not delivered.
pub type Acknowledge = Box<dyn FnOnce(EntryId) + Send>;

/// A message that its owner wants to know delivered.
pub struct Delivery {
    pub message: CustomMessage,
    pub acknowledge: Option<Acknowledge>,
}

impl Delivery {
    pub fn new(message: CustomMessage, acknowledge: impl FnOnce(EntryId) + Send + 'static) -> Self {
        Self { message, acknowledge: Some(Box::new(acknowledge)) }
    }
}

impl From<CustomMessage> for Delivery {
    fn from(message: CustomMessage) -> Self {
        Self { message, acknowledge: None }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("message", &self.message).finish_non_exhaustive()
    }
}
