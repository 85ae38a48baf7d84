//! The Messages API: what is sent, and what is made of what comes back.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{ThinkingLevel, Usage};

use super::body::body;
use crate::endpoint::Endpoint;
use crate::testing::{self, calls_message, request, result};
use crate::wire::Dialect;
use crate::{
    AssistantBlock, AssistantMessage, ContentBlock, FinishReason, History, Message, ModelError, ModelRequest,
    ToolSet, ToolSpec,
};

fn sent(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    let encoded = request.history.encode(&endpoint.profile).expect("a good history");
    serde_json::from_str(&body(endpoint, request, encoded).to_text()).expect("valid JSON")
}

fn tool(name: &str) -> ToolSpec {
    let parameters =
        json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
    ToolSpec { name: name.into(), description: "Does".into(), parameters }
}

#[test]
fn a_request_has_all_parts_and_its_cache_marks() {
    let endpoint = testing::endpoint(Dialect::Anthropic, |_| {});
    let mark = json!({"type": "ephemeral"});
    let mut history = History::new();
    history.push(Message::user("go"));
    history.push(Message::Assistant(calls_message(&[("a", "x", "{\"p\":1}"), ("b", "y", "nonsense")])));
    history.push(result("b", vec![]));
    let image = ContentBlock::Image { mime_type: "image/png".into(), data: "QUJD".into() };
    history.push(result("a", vec![ContentBlock::text("see"), image]));
    let mut request = request(&history);
    request.tools = Arc::new(ToolSet::new(vec![tool("x"), tool("y")]));
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
    assert_eq!(
        sent(&endpoint, &request),
        json!({
            "model": "m", "stream": true, "max_tokens": 8000,
            "system": [{"type": "text", "text": "You help.", "cache_control": mark}],
            "tools": [
                {"name": "x", "description": "Does", "input_schema": schema},
                {"name": "y", "description": "Does", "input_schema": schema, "cache_control": mark},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "a", "name": "x", "input": {"p": 1}},
                    {"type": "tool_use", "id": "b", "name": "y", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "b", "content": "(no tool output)"},
                    {"type": "tool_result", "tool_use_id": "a", "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                    ], "cache_control": mark},
                ]},
            ],
        })
    );
}

#[test]
fn there_are_at_most_four_marks_however_long_the_history() {
    let endpoint = testing::endpoint(Dialect::Anthropic, |_| {});
    let mut history = History::new();
    for n in 0..300 {
        history.push(Message::user(format!("u{n} }}]}}")));
        let mut request = request(&history);
        request.tools = Arc::new(ToolSet::new(vec![tool("x")]));
        let value = sent(&endpoint, &request);
        let marks = value.to_string().matches("cache_control").count();
        assert_eq!(marks, if n == 0 { 3 } else { 4 });
        let messages = value["messages"].as_array().expect("a list");
        assert_eq!(messages.len(), 2 * n + 1);
        assert!(messages[2 * n]["content"][0]["cache_control"].is_object());
        history.push(Message::Assistant(testing::said("a")));
    }
}

#[test]
fn errors_are_marked_and_blank_messages_left_out() {
    let endpoint = testing::endpoint(Dialect::Anthropic, |_| {});
    let mut history = History::new();
    history.push(Message::user(" \n"));
    history.push(Message::user("go"));
    history.push(Message::Assistant(testing::said(" ")));
    history.push(Message::Assistant(calls_message(&[("a", "x", "")])));
    let Message::ToolResult(mut failed) =
        result("a", vec![ContentBlock::text("one"), ContentBlock::text("two")])
    else {
        unreachable!("it is a result");
    };
    failed.is_error = true;
    history.push(Message::ToolResult(failed));
    let messages = sent(&endpoint, &request(&history))["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
    assert_eq!(messages[2]["content"][0]["is_error"], true);
    assert_eq!(messages[2]["content"][0]["content"], "one\ntwo");
}

#[test]
fn thinking_goes_back_with_its_signature_and_only_home() {
    let endpoint = testing::endpoint(Dialect::Anthropic, |_| {});
    let thinking = |origin: &str, signature: Option<&str>, redacted: bool| AssistantBlock::Thinking {
        text: if redacted { String::new() } else { "hm".into() },
        signature: signature.map(str::to_owned),
        origin: Some(origin.to_owned()),
        redacted,
    };
    let mut history = History::new();
    history.push(Message::user("go"));
    let content = vec![
        thinking("lab/m", Some("sig"), false),
        thinking("lab/m", Some("secret"), true),
        thinking("lab/m", None, false),
        thinking("lab/other", Some("sig"), false),
        AssistantBlock::Text { text: "yes".into() },
    ];
    history.push(Message::Assistant(AssistantMessage { content, ..Default::default() }));
    history.push(Message::user("and"));
    let messages = sent(&endpoint, &request(&history))["messages"].clone();
    assert_eq!(
        messages[1]["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "text", "text": "yes"},
        ])
    );
}

#[test]
fn thinking_has_a_budget_that_leaves_room_for_the_answer() {
    let head = |change: &dyn Fn(&mut Endpoint, &mut ModelRequest)| {
        let mut endpoint = testing::endpoint(Dialect::Anthropic, |info| {
            info.reasoning = true;
            info.max_tokens = Some(64_000);
            info.context_window = Some(200_000);
        });
        let mut history = History::new();
        history.push(Message::user("go"));
        let mut request = request(&history);
        change(&mut endpoint, &mut request);
        let value = sent(&endpoint, &request);
        (value["max_tokens"].clone(), value["thinking"].clone(), value["output_config"].clone())
    };
    let none = Value::Null;
    let enabled = |budget: u32| json!({"type": "enabled", "budget_tokens": budget});
    assert_eq!(head(&|_, _| {}), (json!(64_000), none.clone(), none.clone()));
    let high = head(&|_, request| request.thinking = ThinkingLevel::High);
    assert_eq!(high, (json!(64_000), enabled(16_384), none.clone()));
    let asked = head(&|_, request| {
        request.thinking = ThinkingLevel::Low;
        request.max_tokens = Some(4_000);
    });
    assert_eq!(
        asked,
        (json!(6_048), enabled(2_048), none.clone()),
        "the budget comes on top of what is asked for"
    );
    let small = head(&|endpoint, request| {
        endpoint.info.max_tokens = Some(2_000);
        request.thinking = ThinkingLevel::Low;
    });
    assert_eq!(small, (json!(2_000), none.clone(), none.clone()), "no room to think");
    let unknown = head(&|endpoint, _| {
        endpoint.info.max_tokens = None;
        endpoint.info.context_window = None;
    });
    assert_eq!(unknown.0, json!(16_384));
    let adaptive = head(&|endpoint, request| {
        endpoint.compat.adaptive_thinking = true;
        request.thinking = ThinkingLevel::Minimal;
    });
    let summarized = json!({"type": "adaptive", "display": "summarized"});
    assert_eq!(adaptive, (json!(64_000), summarized, json!({"effort": "low"})));
    let off = head(&|endpoint, _| endpoint.compat.adaptive_thinking = true);
    assert_eq!(off, (json!(64_000), json!({"type": "disabled"}), none.clone()));
}

#[test]
fn calls_that_began_without_thinking_are_continued_without() {
    let endpoint = testing::endpoint(Dialect::Anthropic, |info| info.reasoning = true);
    let mut history = History::new();
    history.push(Message::user("go"));
    history.push(Message::Assistant(calls_message(&[("a", "x", "")])));
    history.push(result("a", vec![]));
    let mut request = request(&history);
    request.thinking = ThinkingLevel::Low;
    assert!(sent(&endpoint, &request)["thinking"].is_null());
    history.push(Message::Assistant(testing::said("done")));
    history.push(Message::user("more"));
    request.history = history.snapshot();
    assert!(sent(&endpoint, &request)["thinking"].is_object());
}

fn answered(events: &str) -> Result<AssistantMessage, ModelError> {
    testing::same_however_cut(Dialect::Anthropic, events)
}

fn event(json: &str) -> String {
    let kind = serde_json::from_str::<Value>(json).ok().and_then(|v| v["type"].as_str().map(str::to_owned));
    format!("event: {}\ndata: {json}\n\n", kind.unwrap_or_default())
}

const START: &str = concat!(
    r#"{"type":"message_start","message":{"id":"msg_5","model":"m-2026","usage":{"input_tokens":420,"output_tokens":1,"#,
    r#""cache_read_input_tokens":900,"cache_creation_input_tokens":60}}}"#
);
const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const SAYS: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn ends(reason: &str) -> String {
    event(&format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}},"usage":{{"output_tokens":57}}}}"#
    ))
}

#[test]
fn an_ordinary_stream_is_assembled() {
    let events: String = [
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Small "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"file."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"QUJD"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Let "}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"me"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_8","name":"Agent","input":{}}}"#,
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_9","name":"read","input":{"p":1}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"prompt\":\"rev"}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"iew\"}"}}"#,
        r#"{"type":"content_block_start","index":5,"content_block":{"type":"new_thing","stuff":[]}}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"new_delta","text":"lost"}}"#,
        r#"{"type":"new_event","delta":{"x":1}}"#,
    ]
    .into_iter()
    .map(event)
    .chain([ends("\"tool_use\""), event(STOP)])
    .collect();
    let message = answered(&events).expect("complete");
    let thinking = |text: &str, signature: &str, redacted| AssistantBlock::Thinking {
        text: text.into(),
        signature: Some(signature.into()),
        origin: Some("lab/m".into()),
        redacted,
    };
    let call = |id: &str, name: &str, arguments: &str| AssistantBlock::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let expected = [
        thinking("Small file.", "QUJD", false),
        thinking("", "xyz", true),
        AssistantBlock::Text { text: "Let me".into() },
        call("toolu_8", "Agent", "{\"prompt\":\"review\"}"),
        call("toolu_9", "read", "{\"p\":1}"),
    ];
    assert_eq!(message.content, expected);
    assert_eq!(message.finish, Some(FinishReason::ToolUse));
    assert_eq!(message.model, "lab/m", "the model that was asked, not the alias that answered");
    assert_eq!(message.usage, Usage::of_tokens(420, 57, 900, 60));
}

#[test]
fn only_a_known_end_completes_a_message() {
    use FinishReason::{Length, Refusal, Stop};
    let said = event(START) + &event(TEXT) + &event(SAYS);
    let good = [
        ("\"end_turn\"", Stop),
        ("\"pause_turn\"", Stop),
        ("\"stop_sequence\"", Stop),
        ("\"tool_use\"", Stop),
        ("\"max_tokens\"", Length),
        ("\"refusal\"", Refusal),
        ("\"sensitive\"", Refusal),
    ];
    for (reason, finish) in good {
        let answer = answered(&(said.clone() + &ends(reason) + &event(STOP)));
        assert_eq!(answer.map(|message| message.finish), Ok(Some(finish)), "{reason}");
    }
    let cut = [
        ("nothing", String::new()),
        ("start only", event(START)),
        ("text and bare end", said.clone()),
        ("reason, but no stop", said.clone() + &ends("\"end_turn\"")),
        ("stop, but no reason", said.clone() + &event(STOP)),
        ("null reason", said.clone() + &ends("null") + &event(STOP)),
        ("unknown reason", said.clone() + &ends("\"tired\"") + &event(STOP)),
        ("tool_use with nothing", event(START) + &ends("\"tool_use\"") + &event(STOP)),
        ("done marker", said.clone() + "data: [DONE]\n\n"),
        ("half an event", said.clone() + "data: {\"type\":\"mess"),
    ];
    for (what, events) in cut {
        let answer = answered(&events);
        assert!(
            matches!(&answer, Err(error @ ModelError::Cut { .. }) if error.retryable()),
            "{what}: {answer:?}"
        );
    }
    let overloaded = event(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    let answer = answered(&(said.clone() + &overloaded));
    assert!(matches!(&answer, Err(error @ ModelError::ErrorEvent { .. }) if error.retryable()), "{answer:?}");
    let invalid = event(r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#);
    let answer = answered(&(said.clone() + &invalid));
    assert!(
        matches!(&answer, Err(error @ ModelError::ErrorEvent { .. }) if !error.retryable()),
        "{answer:?}"
    );
    let bare = answered(&(said + &event(r#"{"type":"error"}"#)));
    assert!(matches!(bare, Err(ModelError::ErrorEvent { .. })), "{bare:?}");
    assert!(matches!(answered("data: {{\n\ndata: x\n\n"), Err(ModelError::Malformed { .. })));
}
