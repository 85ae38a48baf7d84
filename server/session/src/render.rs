//! Cards: what people see of a custom message or a tool result in place of its raw content.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::ContentBlock;
use serde::{Deserialize, Serialize};

use crate::message::CustomMessage;

/// Lines of a card that no renderer made.
const PLAIN_LINES: usize = 12;

/// Makes a card of a message.
pub type MessageRenderer = Arc<dyn Fn(&CustomMessage) -> Card + Send + Sync>;

/// A rendered message, still without colours or controls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// A name from the editors' common icon set; empty for none.
    pub icon: String,
    pub title: String,
    pub lines: Vec<String>,
}

/// The renderers of a session.
#[derive(Default)]
pub struct Renderers {
    by_type: HashMap<String, MessageRenderer>,
}

impl Renderers {
    pub(crate) fn new(by_type: HashMap<String, MessageRenderer>) -> Self {
        Self { by_type }
    }

    /// Whether a renderer of this type, or of a tool of this name, is there.
    pub fn has(&self, custom_type: &str) -> bool {
        self.by_type.contains_key(custom_type)
    }

    /// The card of a message: its renderer's, or, where it has none or the renderer fails, its type and first lines.
    pub fn card(&self, message: &CustomMessage) -> Card {
        let Some(renderer) = self.by_type.get(&message.custom_type) else { return plain(message) };
        catch_unwind(AssertUnwindSafe(|| renderer(message))).unwrap_or_else(|_| {
            tracing::error!(custom_type = message.custom_type, "a message renderer panicked");
            plain(message)
        })
    }
}

impl fmt::Debug for Renderers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_type.keys()).finish()
    }
}

fn plain(message: &CustomMessage) -> Card {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Image { .. } => None,
    });
    let lines = texts.flat_map(str::lines).take(PLAIN_LINES).map(str::to_owned).collect();
    Card { icon: String::new(), title: message.custom_type.clone(), lines }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use super::{Card, MessageRenderer, Renderers};
    use crate::message::CustomMessage;

    #[test]
    fn a_message_without_a_working_renderer_is_shown_plainly() {
        let faulty: MessageRenderer = Arc::new(|_| panic!("a faulty renderer"));
        let renderers = Renderers::new(HashMap::from([("b".to_owned(), faulty)]));
        for custom_type in ["a", "b"] {
            let card = renderers.card(&CustomMessage::text(custom_type, "one\ntwo"));
            let expected = Card {
                icon: String::new(),
                title: custom_type.into(),
                lines: vec!["one".into(), "two".into()],
            };
            assert_eq!(card, expected);
        }
    }
}
