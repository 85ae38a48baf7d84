//! The planner against made-up histories and a made-up folder.

mod children;
mod folder;
mod parents;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{OfflineModel, SELF_DESCRIPTION, next, pieces};
use crate::{
    AssistantMessage, ContentBlock, FinishReason, History, Message, ModelClient, ModelRequest,
    ToolResultMessage, ToolSet, ToolSpec, advance,
};
use vocab::{SessionId, ThinkingLevel};

/// A conversation with the planner.
struct Talk {
    history: History,
    tools: Arc<ToolSet>,
}

/// A call that waits for its result.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    id: String,
    tool: String,
    arguments: serde_json::Value,
}

impl Talk {
    fn new(tools: &[&str]) -> Self {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
        };
        Self { history: History::new(), tools: Arc::new(ToolSet::new(tools.iter().map(spec).collect())) }
    }

    fn parent() -> Self {
        Self::new(&["read", "bash", "edit", "write", "grep", "find", "ls", "Agent", "get_subagent_result"])
    }

    fn child() -> Self {
        Self::new(&["read", "bash", "grep", "find", "ls"])
    }

    fn say(&mut self, text: &str) {
        self.history.push(Message::user(text));
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            system: "You are a test.".into(),
            tools: Arc::clone(&self.tools),
            history: self.history.snapshot(),
            thinking: ThinkingLevel::Off,
            max_tokens: None,
            session: SessionId::from("s"),
        }
    }

    /// One turn: its text and its calls.
    async fn turn(&mut self) -> (String, Vec<Open>) {
        assert_eq!(next(&self.request()), next(&self.request()), "the same history, the same turn");
        let message = run(&self.request()).await;
        let open = message.tool_calls().map(|(id, tool, raw)| Open {
            id: id.to_string(),
            tool: tool.to_owned(),
            arguments: serde_json::from_str(raw).expect("arguments are JSON"),
        });
        let open: Vec<Open> = open.collect();
        for call in &open {
            fits(call);
        }
        let text = message.text();
        self.history.push(Message::Assistant(message));
        (text, open)
    }

    fn result(&mut self, call: &Open, text: &str, is_error: bool) {
        self.history.push(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.as_str().into(),
            tool_name: call.tool.clone(),
            content: vec![ContentBlock::text(text)],
            is_error,
        }));
    }

    /// Takes turns until one calls nothing; `answer` gives the results. Gives the last text and all calls by turns.
    async fn finish(
        &mut self,
        mut answer: impl FnMut(&Open) -> Result<String, String>,
    ) -> (String, Vec<Vec<Open>>) {
        let mut turns = Vec::new();
        loop {
            let (text, calls) = self.turn().await;
            if calls.is_empty() {
                return (text, turns);
            }
            for call in &calls {
                match answer(call) {
                    Ok(text) => self.result(call, &text, false),
                    Err(text) => self.result(call, &text, true),
                }
            }
            turns.push(calls);
            assert!(turns.len() < 40, "no end in sight");
        }
    }
}

async fn run(request: &ModelRequest) -> AssistantMessage {
    let mut stream = OfflineModel::new().start(request.clone());
    while advance(&mut *stream).await.expect("the planner does not fail") != crate::Advance::Finished {}
    stream.into_message()
}

/// What the tools take, written down here so that a change on either side is seen: a name and its kind, and which of
/// them must be there.
fn fits(call: &Open) {
    let (known, needed): (&[(&str, &str)], &[&str]) = match call.tool.as_str() {
        "ls" => (&[("path", "text"), ("limit", "number")], &[]),
        "find" => (&[("pattern", "text"), ("path", "text"), ("limit", "number")], &["pattern"]),
        "grep" => (
            &[
                ("pattern", "text"),
                ("path", "text"),
                ("glob", "text"),
                ("ignoreCase", "flag"),
                ("literal", "flag"),
                ("context", "number"),
                ("limit", "number"),
            ],
            &["pattern"],
        ),
        "read" => (&[("path", "text"), ("offset", "number"), ("limit", "number")], &["path"]),
        "Agent" => (
            &[
                ("prompt", "text"),
                ("description", "text"),
                ("subagent_type", "text"),
                ("name", "text"),
                ("run_in_background", "flag"),
            ],
            &["prompt", "description"],
        ),
        "get_subagent_result" => {
            (&[("agent_id", "text"), ("wait", "flag"), ("verbose", "flag")], &["agent_id"])
        }
        other => panic!("{other} is no tool that the planner knows"),
    };
    let arguments = call.arguments.as_object().expect("an object");
    for name in needed {
        assert!(arguments.contains_key(*name), "{call:?} lacks {name}");
    }
    for (name, value) in arguments {
        let kind =
            known.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{call:?}: no {name}")).1;
        let right = match kind {
            "text" => value.as_str().is_some_and(|text| !text.is_empty()),
            "number" => value.as_u64().is_some_and(|n| n > 0),
            _ => value.is_boolean(),
        };
        assert!(right, "{call:?}: {name} is no {kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_in_pieces_and_costs_nothing() {
    let mut talk = Talk::parent();
    talk.say("hello");
    let began = tokio::time::Instant::now();
    let mut stream = OfflineModel::new().start(talk.request());
    let mut deltas = 0;
    loop {
        match advance(&mut *stream).await.expect("no fault") {
            crate::Advance::Delta => deltas += 1,
            crate::Advance::Connected => {}
            crate::Advance::Finished => break,
        }
    }
    let message = stream.into_message();
    assert!((2..=5).contains(&deltas), "{deltas} pieces");
    assert!(began.elapsed() <= Duration::from_millis(60), "{:?}", began.elapsed());
    assert_eq!(message.finish, Some(FinishReason::Stop));
    assert_eq!(message.usage.cost_usd, Some(0.0));
    assert!(message.usage.input > 0 && message.usage.output > 0);
    assert!(message.text().contains(SELF_DESCRIPTION));
    assert_eq!(message.model, "offline/planner");
}

#[test]
fn pieces_are_the_text_whatever_its_characters() {
    for text in ["", "a", "äöüß€😀", "one two three four five six seven"] {
        assert_eq!(pieces(text).concat(), text);
        assert!(pieces(text).len() <= 5);
    }
}

#[tokio::test(start_paused = true)]
async fn without_tools_it_only_says_what_it_is() {
    let mut talk = Talk::new(&[]);
    talk.say("Summarise the conversation.");
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.contains(SELF_DESCRIPTION));
}

#[tokio::test(start_paused = true)]
async fn a_history_that_no_provider_takes_is_refused() {
    let mut stream = OfflineModel::new().start(Talk::parent().request());
    assert!(advance(&mut *stream).await.is_err());
}
