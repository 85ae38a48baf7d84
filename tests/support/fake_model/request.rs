//! Reads a request: what the scripts look at, and the rules that a client of a real provider has to keep.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::script::{Role, Turn};
use super::wire::Api;

#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    #[serde(default)]
    pub(super) model: String,
    #[serde(borrow)]
    pub(super) messages: Vec<Message<'a>>,
    #[serde(default)]
    pub(super) stream: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    role: &'a str,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_call_id: Option<std::borrow::Cow<'a, str>>,
}

impl Message<'_> {
    /// Role and text; only text of users and tools is ever looked at, and only where it can matter.
    pub(super) fn turn(&self) -> Turn {
        let role = match self.role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => Role::Other,
        };
        let raw = self.content.map_or("", RawValue::get);
        let matters = raw.contains("[[") || raw.contains("child-done:") || raw.contains("tool_result");
        if role == Role::Assistant || !matters {
            return Turn { role, text: String::new() };
        }
        let value: Value = serde_json::from_str(raw).unwrap_or_default();
        let mut text = String::new();
        let has_result = flatten(&value, &mut text);
        // Anthropic's tool results are in messages of users.
        Turn { role: if role == Role::User && has_result { Role::Tool } else { role }, text }
    }
}

/// Adds the text of a content value; true if there is a tool result in it.
fn flatten(value: &Value, text: &mut String) -> bool {
    let mut has_result = false;
    match value {
        Value::String(string) => {
            text.push_str(string);
            text.push('\n');
        }
        Value::Array(blocks) => {
            for block in blocks {
                if block["type"] == "tool_result" {
                    has_result = true;
                    flatten(&block["content"], text);
                } else {
                    has_result |= flatten(&block["text"], text);
                }
            }
        }
        _ => {}
    }
    has_result
}

/// What a provider would refuse: a call without its result, a result without its call, two of one, one without a name.
pub(super) fn violation(api: Api, messages: &[Message<'_>]) -> Option<String> {
    let (mut open, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (at, message) in messages.iter().enumerate() {
        let Some((calls, results)) = (match api {
            Api::OpenAi => openai_ids(message),
            Api::Anthropic => anthropic_ids(message),
        }) else {
            return Some(format!(
                "message {at} ({}): a call or a result without an id, or not its place",
                message.role
            ));
        };
        for id in results {
            if !open.remove(&id) {
                return Some(format!("message {at}: a result of {id}, which is no open call"));
            }
        }
        let between = api == Api::OpenAi && message.role == "tool";
        if !open.is_empty() && !between {
            return Some(format!("message {at} ({}): {open:?} still had no result", message.role));
        }
        for id in calls {
            if !seen.insert(id.clone()) {
                return Some(format!("message {at}: call {id} twice"));
            }
            open.insert(id);
        }
    }
    (!open.is_empty()).then(|| format!("at the end {open:?} had no result"))
}

/// The ids of the calls and of the results in a message.
type Ids = (Vec<String>, Vec<String>);

/// None where one has no id, or is in a message of somebody who does not send it.
fn openai_ids(message: &Message<'_>) -> Option<Ids> {
    let calls: Value =
        message.tool_calls.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let calls: Vec<_> =
        calls.as_array().into_iter().flatten().map(|call| id_of(call, "id")).collect::<Option<_>>()?;
    let result = message.tool_call_id.as_deref().filter(|id| !id.is_empty());
    let fits =
        (calls.is_empty() || message.role == "assistant") && result.is_some() == (message.role == "tool");
    fits.then(|| (calls, result.map(str::to_owned).into_iter().collect()))
}

/// As [`openai_ids`].
fn anthropic_ids(message: &Message<'_>) -> Option<Ids> {
    let raw = message.content.map_or("", RawValue::get);
    if !raw.contains("\"tool_use\"") && !raw.contains("\"tool_result\"") {
        return Some(Ids::default());
    }
    let content: Value = serde_json::from_str(raw).unwrap_or_default();
    let ids = |kind: &str, field: &str| {
        let blocks = content.as_array().into_iter().flatten().filter(|block| block["type"] == kind);
        blocks.map(|block| id_of(block, field)).collect::<Option<Vec<_>>>()
    };
    let (calls, results) = (ids("tool_use", "id")?, ids("tool_result", "tool_use_id")?);
    let fits =
        (calls.is_empty() || message.role == "assistant") && (results.is_empty() || message.role == "user");
    fits.then_some((calls, results))
}

fn id_of(block: &Value, field: &str) -> Option<String> {
    block[field].as_str().filter(|id| !id.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(api: Api, messages: &str) -> Option<String> {
        let messages: Vec<Message<'_>> = serde_json::from_str(messages).unwrap();
        violation(api, &messages)
    }

    #[test]
    fn every_call_has_its_one_result() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]}"#;
        let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#);
        let user = r#"{"role":"user","content":"hi"}"#;
        let both = format!("[{user},{call},{},{}]", result("b"), result("a"));
        assert_eq!(of(Api::OpenAi, &both), None);
        assert!(of(Api::OpenAi, &format!("[{user},{call},{}]", result("a"))).is_some());
        assert!(of(Api::OpenAi, &format!("[{user},{call},{},{user}]", result("a"))).is_some());
        assert!(of(Api::OpenAi, &format!("[{user},{}]", result("a"))).is_some());
        assert!(of(Api::OpenAi, &format!("[{call},{},{},{call}]", result("a"), result("b"))).is_some());
    }

    #[test]
    fn calls_and_results_have_ids_and_come_from_who_sends_them() {
        for messages in [
            r#"[{"role":"assistant","tool_calls":[{"type":"function"}]}]"#,
            r#"[{"role":"assistant","tool_calls":[{"id":""}]}]"#,
            r#"[{"role":"tool","content":"x"}]"#,
            r#"[{"role":"user","tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a"}]"#,
            r#"[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","tool_call_id":"a"}]"#,
        ] {
            assert!(of(Api::OpenAi, messages).is_some(), "{messages}");
        }
        for messages in [
            r#"[{"role":"assistant","content":[{"type":"tool_use","name":"n"}]}]"#,
            r#"[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]"#,
            r#"[{"role":"user","content":[{"type":"tool_use","id":"a"}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
        ] {
            assert!(of(Api::Anthropic, messages).is_some(), "{messages}");
        }
    }

    #[test]
    fn anthropic_results_come_in_the_next_message() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}"#;
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}"#;
        assert_eq!(of(Api::Anthropic, &format!("[{call},{result}]")), None);
        assert!(of(Api::Anthropic, &format!("[{call},{{\"role\":\"user\",\"content\":\"hi\"}}]")).is_some());
    }
}
