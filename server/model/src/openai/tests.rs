//! Chat Completions: what is sent, and what is made of what comes back.

use serde_json::{Value, json};

use super::body::body;
use super::parse::read_usage;
use crate::endpoint::{Endpoint, MaxTokensField, ThinkingFormat};
use crate::testing::{self, calls_message, request, result};
use crate::wire::Dialect;
use crate::{
    AssistantBlock, AssistantMessage, ContentBlock, FinishReason, History, Message, ModelError, ToolSet,
    ToolSpec,
};
use vocab::{ThinkingLevel, Usage};

fn sent(endpoint: &Endpoint, history: &History) -> Value {
    let request = request(history);
    let encoded = request.history.encode(&endpoint.profile).expect("a good history");
    serde_json::from_str(&body(endpoint, &request, encoded).to_text()).expect("valid JSON")
}

#[test]
fn a_request_has_all_parts() {
    let endpoint = testing::endpoint(Dialect::OpenAi, |_| {});
    let mut history = History::new();
    history.push(Message::user("hello \"you\"\n"));
    let mut request = request(&history);
    request.tools = std::sync::Arc::new(ToolSet::new(vec![ToolSpec {
        name: "ls".into(),
        description: "List".into(),
        parameters: json!({"type": "object", "required": ["x"]}),
    }]));
    let encoded = request.history.encode(&endpoint.profile).expect("good");
    let text = body(&endpoint, &request, encoded).to_text();
    let value: Value = serde_json::from_str(&text).expect("valid JSON");
    assert_eq!(
        value,
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 8000,
            "messages": [
                {"role": "system", "content": "You help."},
                {"role": "user", "content": "hello \"you\"\n"},
            ],
            "tools": [{"type": "function", "function": {"name": "ls", "description": "List",
                "parameters": {"type": "object", "required": ["x"], "properties": {}}}}],
        })
    );
}

#[test]
fn an_empty_system_prompt_is_left_out() {
    let endpoint = testing::endpoint(Dialect::OpenAi, |_| {});
    let mut history = History::new();
    history.push(Message::user("a"));
    history.push(Message::Assistant(testing::said("b")));
    history.push(Message::user("c"));
    let mut request = request(&history);
    request.system = "".into();
    let encoded = request.history.encode(&endpoint.profile).expect("good");
    let value: Value =
        serde_json::from_str(&body(&endpoint, &request, encoded).to_text()).expect("valid JSON");
    let roles: Vec<_> =
        value["messages"].as_array().expect("a list").iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn calls_results_and_images_are_encoded() {
    let mut endpoint = testing::endpoint(Dialect::OpenAi, |_| {});
    let mut history = History::new();
    history.push(Message::user("go"));
    let mut message =
        calls_message(&[("c1", "read", "{\"path\":\"a\"}"), ("c2", "shot", "  "), ("c3", "x", "{\"a\":")]);
    message.content.insert(0, AssistantBlock::Text { text: " ".into() });
    history.push(Message::Assistant(message));
    history.push(result("c1", vec![ContentBlock::text("one"), ContentBlock::text("two")]));
    let image = ContentBlock::Image { mime_type: "image/png".into(), data: "QUJD".into() };
    history.push(result("c2", vec![image.clone(), image]));
    history.push(result("c3", vec![]));
    let value = sent(&endpoint, &history);
    assert_eq!(
        value["messages"].as_array().expect("a list")[2..],
        [
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "shot", "arguments": "{}"}},
                {"id": "c3", "type": "function", "function": {"name": "x", "arguments": "{}"}},
            ]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "one\ntwo"}),
            json!({"role": "tool", "tool_call_id": "c2", "content": "(see the attached image)"}),
            json!({"role": "tool", "tool_call_id": "c3", "content": "(no tool output)"}),
            json!({"role": "user", "content": [
                {"type": "text", "text": "Images of the tool results above:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ]}),
        ]
    );
    std::sync::Arc::make_mut(&mut endpoint.profile).images = false;
    let value = sent(&endpoint, &history);
    let note = "(An image is left out: this model takes text only.)";
    assert_eq!(value["messages"][4]["content"], note, "one note for a run of images");
}

#[test]
fn reasoning_goes_back_only_to_the_model_that_wrote_it() {
    let endpoint = testing::endpoint(Dialect::OpenAi, |_| {});
    let with_origin = |origin: &str, signature: &str| {
        let mut history = History::new();
        history.push(Message::user("go"));
        let thinking = AssistantBlock::Thinking {
            text: "hm".into(),
            signature: Some(signature.into()),
            origin: Some(origin.into()),
            redacted: false,
        };
        let text = AssistantBlock::Text { text: "yes".into() };
        history.push(Message::Assistant(AssistantMessage {
            content: vec![thinking, text],
            ..Default::default()
        }));
        history.push(Message::user("and"));
        sent(&endpoint, &history)["messages"][2].clone()
    };
    assert_eq!(
        with_origin("lab/m", "reasoning_content"),
        json!({"role": "assistant", "content": "yes", "reasoning_content": "hm"})
    );
    for (origin, signature) in [("lab/other", "reasoning_content"), ("lab/m", "EqBCD=")] {
        assert_eq!(with_origin(origin, signature), json!({"role": "assistant", "content": "yes"}));
    }
}

#[test]
fn thinking_is_asked_for_in_the_servers_words() {
    let mut history = History::new();
    history.push(Message::user("go"));
    let mut table = vec![
        (ThinkingFormat::Openai, ThinkingLevel::High, json!({"reasoning_effort": "high"})),
        (ThinkingFormat::Openai, ThinkingLevel::Off, json!({})),
        (ThinkingFormat::Openrouter, ThinkingLevel::Low, json!({"reasoning": {"effort": "low"}})),
        (ThinkingFormat::Zai, ThinkingLevel::Off, json!({"thinking": {"type": "disabled"}})),
        (ThinkingFormat::Qwen, ThinkingLevel::Low, json!({"enable_thinking": true})),
        (ThinkingFormat::Together, ThinkingLevel::Off, json!({"reasoning": {"enabled": false}})),
    ];
    table.push((
        ThinkingFormat::QwenChatTemplate,
        ThinkingLevel::Off,
        json!({"chat_template_kwargs": {"enable_thinking": false, "preserve_thinking": true}}),
    ));
    for (format, level, expected) in table {
        let mut endpoint = testing::endpoint(Dialect::OpenAi, |info| info.reasoning = true);
        endpoint.compat.thinking_format = Some(format);
        endpoint.compat.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        endpoint.compat.developer_role = true;
        endpoint.compat.cache_key = true;
        endpoint.compat.store = true;
        let mut request = request(&history);
        request.thinking = level;
        request.max_tokens = Some(100);
        let encoded = request.history.encode(&endpoint.profile).expect("good");
        let text = body(&endpoint, &request, encoded).to_text();
        let mut value: Value = serde_json::from_str(&text).expect("valid JSON");
        let fields = value.as_object_mut().expect("an object");
        assert_eq!(fields.remove("max_completion_tokens"), Some(json!(100)));
        assert_eq!(fields.remove("prompt_cache_key"), Some(json!("s")));
        assert_eq!(fields.remove("store"), Some(json!(false)));
        let messages = fields.remove("messages").expect("messages");
        assert_eq!(messages[0]["role"], "developer");
        for known in ["model", "stream", "stream_options"] {
            fields.remove(known);
        }
        assert_eq!(value, expected, "{format:?} {level:?}");
    }
}

#[test]
fn the_answer_fits_into_the_window() {
    let endpoint = testing::endpoint(Dialect::OpenAi, |info| info.context_window = Some(10_000));
    let mut history = History::new();
    history.push(Message::user("x".repeat(4 * 3_000)));
    let limit = sent(&endpoint, &history)["max_tokens"].as_u64().expect("a number");
    assert_eq!(limit, 10_000 - 3_000 - 2 - 4_096);
    let mut history = History::new();
    history.push(Message::user("x".repeat(400_000)));
    assert_eq!(sent(&endpoint, &history)["max_tokens"], 1);
}

/// A whole stream, fed whole and in single bytes.
fn answered(events: &str) -> Result<AssistantMessage, ModelError> {
    testing::same_however_cut(Dialect::OpenAi, events)
}

#[test]
fn an_ordinary_stream_is_assembled() {
    let message = answered(concat!(
        "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"lo\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"ok\",\"content\":\"\"}}]}\n\n",
        ": keep-alive\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Lis\\u0074\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"ing ä\"}}],\"usage\":null,\"error\":null}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_2\",\"type\":\"function\",",
        "\"function\":{\"name\":\"ls\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\\\"src\\\"}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":210,\"completion_tokens\":18,",
        "\"prompt_tokens_details\":{\"cached_tokens\":128}}}\n\n",
        "data: [DONE]\n\n",
    ));
    let message = message.expect("complete");
    let expected = [
        AssistantBlock::Thinking {
            text: "look".into(),
            signature: Some("reasoning_content".into()),
            origin: Some("lab/m".into()),
            redacted: false,
        },
        AssistantBlock::Text { text: "Listing ä".into() },
        AssistantBlock::ToolCall {
            id: "call_2".into(),
            name: "ls".into(),
            arguments: "{\"path\":\"src\"}".into(),
        },
    ];
    assert_eq!(message.content, expected);
    assert_eq!(message.finish, Some(FinishReason::ToolUse));
    assert_eq!(message.usage, Usage::of_tokens(82, 18, 128, 0));
}

fn chunk(inner: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,{inner}}}]}}\n\n")
}

fn says(text: &str) -> String {
    chunk(&format!("\"delta\":{{\"content\":\"{text}\"}}"))
}

fn ends(reason: &str) -> String {
    chunk(&format!("\"delta\":{{}},\"finish_reason\":\"{reason}\"")) + "data: [DONE]\n\n"
}

#[test]
fn only_a_known_end_completes_a_message() {
    use FinishReason::{Length, Refusal, Stop, ToolUse};
    let done = "data: [DONE]\n\n";
    let call =
        chunk(r#""delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{}"}}]}"#);
    let good: Vec<(&str, String, FinishReason)> = vec![
        ("stop", says("a") + &ends("stop"), Stop),
        ("stop without done marker", says("a") + &chunk("\"delta\":{},\"finish_reason\":\"stop\""), Stop),
        ("end", says("a") + &ends("end"), Stop),
        ("nothing said", ends("stop"), Stop),
        ("length", says("a") + &ends("length"), Length),
        ("filter", says("a") + &ends("content_filter"), Refusal),
        ("refusal", chunk(r#""delta":{"refusal":"I will not."}"#) + &ends("stop"), Refusal),
        ("calls", call.clone() + &ends("tool_calls"), ToolUse),
        ("calls that end with stop", call.clone() + &ends("stop"), Stop),
        ("tool_calls without calls", says("a") + &ends("tool_calls"), Stop),
        ("text and end in one chunk", chunk(r#""delta":{"content":"a"},"finish_reason":"stop""#), Stop),
        ("end, then empty reason", chunk(r#""delta":{},"finish_reason":"stop""#) + &says("") + done, Stop),
        (
            "empty error object",
            "data: {\"error\":{},\"choices\":[]}\n\n".to_owned() + &says("a") + &ends("stop"),
            Stop,
        ),
        ("more after the end", says("a") + &ends("stop") + "data: {nonsense\n\n", Stop),
        ("no blank line at the end", says("a") + chunk(r#""finish_reason":"stop""#).trim_end(), Stop),
    ];
    for (what, events, finish) in good {
        assert_eq!(answered(&events).map(|message| message.finish), Ok(Some(finish)), "{what}");
    }
    let cut: Vec<(&str, String)> = vec![
        ("nothing at all", String::new()),
        ("done marker alone", done.to_owned()),
        ("text and bare end", says("a")),
        ("text and done marker", says("a") + done),
        ("call and bare end", call.clone()),
        ("call and done marker", call.clone() + done),
        ("unknown reason", says("a") + &ends("network_error")),
        ("null reason", says("a") + &chunk(r#""delta":{},"finish_reason":null"#) + done),
        ("empty reason", says("a") + &ends("")),
        ("tool_calls with nothing", ends("tool_calls")),
        ("usage only", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n".to_owned() + done),
        ("half an event", says("a") + "data: {\"choices\":[{\"de"),
        ("only comments", ": a\n\n: b\n\n".to_owned()),
    ];
    for (what, events) in cut {
        let answer = answered(&events);
        assert!(
            matches!(&answer, Err(error @ ModelError::Cut { .. }) if error.retryable()),
            "{what}: {answer:?}"
        );
    }
    let error = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"overloaded_error\"}}\n\n";
    for events in [error.to_owned(), says("a") + error, says("a") + &ends("stop").replace(done, error)] {
        let answer = answered(&events);
        assert!(
            matches!(&answer, Err(error @ ModelError::ErrorEvent { .. }) if error.retryable()),
            "{answer:?}"
        );
    }
    let malformed =
        ["data: hello\n\n", "data: {\"choices\":3}\n\n", "data: {\"choices\":[{\"delta\":\n\ndata: x\n\n"];
    for events in malformed {
        let answer = answered(events);
        assert!(matches!(answer, Err(ModelError::Malformed { .. })), "{events}: {answer:?}");
    }
}

#[test]
fn a_server_without_finish_reasons_is_taken_at_its_end() {
    let infers = |events: &str| testing::parse_with(super::parse::Parser::new(true), events);
    let done = "data: [DONE]\n\n";
    assert_eq!(infers(&(says("a") + done)).map(|m| m.finish), Ok(Some(FinishReason::Stop)));
    assert!(infers(done).is_err());
}

/// One delta of tool calls.
fn piece(json: &str) -> String {
    chunk(&format!("\"delta\":{{\"tool_calls\":[{json}]}}"))
}

/// What a stream is like, its pieces, and name and arguments of each call that it makes.
type Shape = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const SHAPES: &[Shape] = &[
    (
        "two calls at two indexes, interleaved",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}"#,
            r#"{"index":1,"id":"b","function":{"name":"y","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
            r#"{"index":1,"function":{"arguments":"{}"}}"#,
        ],
        &[("x", "{\"n\":1}"), ("y", "{}")],
    ),
    (
        "two ids at one index",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"y","arguments":"{\"n\":2}"}}"#,
        ],
        &[("x", "{\"n\":1}"), ("y", "{\"n\":2}")],
    ),
    (
        "one id at two indexes, each with a name",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#,
            r#"{"index":1,"id":"a","function":{"name":"y","arguments":"{}"}}"#,
        ],
        &[("x", "{}"), ("y", "{}")],
    ),
    (
        "id repeated with every piece",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}"#,
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}"#,
        ],
        &[("x", "{\"n\":1}")],
    ),
    (
        "pieces with neither index nor id",
        &[
            r#"{"id":"a","function":{"name":"x","arguments":"{\"n\""}}"#,
            r#"{"function":{"arguments":":1}"}}"#,
            r#"{"id":"b","function":{"name":"y","arguments":"{"}}"#,
            r#"{"function":{"arguments":"}"}}"#,
        ],
        &[("x", "{\"n\":1}"), ("y", "{}")],
    ),
    (
        "no ids, whole calls, all at index 0",
        &[
            r#"{"index":0,"function":{"name":"x","arguments":"{\"n\":1}"}}"#,
            r#"{"index":0,"function":{"name":"y","arguments":"{\"n\":2}"}}"#,
        ],
        &[("x", "{\"n\":1}"), ("y", "{\"n\":2}")],
    ),
    (
        "the id comes after the name",
        &[
            r#"{"index":0,"function":{"name":"x","arguments":""}}"#,
            r#"{"index":0,"id":"late","function":{"arguments":"{}"}}"#,
        ],
        &[("x", "{}")],
    ),
    (
        "empty id and null name in later pieces",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}"#,
            r#"{"index":0,"id":"","function":{"name":null,"arguments":"}"}}"#,
            r#"{"index":0,"id":null,"function":{"name":"","arguments":""}}"#,
        ],
        &[("x", "{}")],
    ),
    (
        "arguments as an object, an index that is text",
        &[r#"{"index":"0","id":"a","function":{"name":"x","arguments":{"n":[1]}}}"#],
        &[("x", "{\"n\":[1]}")],
    ),
    (
        "broken arguments stay as they are",
        &[
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}{\"n\":2}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"y"}}"#,
            r#"{"index":2,"id":"c","function":{"name":"z","arguments":"[1,2"}}"#,
        ],
        &[("x", "{\"n\":1}{\"n\":2}"), ("y", ""), ("z", "[1,2")],
    ),
    (
        "several in one list",
        &[concat!(
            r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},"#,
            r#"{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}"#
        )],
        &[("x", "{}"), ("y", "{}")],
    ),
];

#[test]
fn tool_calls_are_told_apart_however_they_are_numbered() {
    for (what, pieces, expected) in SHAPES {
        let events: String = pieces.iter().map(|json| piece(json)).chain([ends("tool_calls")]).collect();
        let message = answered(&events).expect(what);
        let calls: Vec<_> = message.tool_calls().map(|(_, name, arguments)| (name, arguments)).collect();
        assert_eq!(calls, *expected, "{what}");
        let mut ids: Vec<_> = message.tool_calls().map(|(id, ..)| id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), expected.len(), "{what}: every call has an id of its own");
    }
}

#[test]
fn a_tool_name_that_no_provider_would_take_back_is_made_one() {
    let long = "n".repeat(100);
    for (given, kept) in [("read", "read"), ("", "unnamed"), ("../../x é", "______x__"), (&long, &long[..64])]
    {
        let events =
            piece(&format!(r#"{{"index":0,"id":"c1","function":{{"name":"{given}","arguments":"{{}}"}}}}"#))
                + &ends("tool_calls");
        let message = answered(&events).expect("complete");
        assert_eq!(message.tool_calls().map(|(_, name, _)| name).collect::<Vec<_>>(), [kept], "{given}");
    }
    let late = piece(r#"{"index":0,"id":"c1"}"#)
        + &piece(r#"{"index":0,"function":{"name":"ls","arguments":"{}"}}"#)
        + &ends("tool_calls");
    let message = answered(&late).expect("complete");
    assert_eq!(message.tool_calls().map(|(_, name, _)| name).collect::<Vec<_>>(), ["ls"]);
}

#[test]
fn the_old_function_call_and_lists_of_parts_are_understood() {
    let events = chunk(r#""delta":{"function_call":{"name":"x","arguments":"{\"n\""}}"#)
        + &chunk(r#""delta":{"function_call":{"arguments":":1}"}}"#)
        + &chunk(
            r#""delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"x"}]}"#,
        )
        + &ends("function_call");
    let message = answered(&events).expect("complete");
    assert_eq!(message.text(), "ab");
    assert_eq!(message.tool_calls().map(|(_, n, a)| (n, a)).collect::<Vec<_>>(), [("x", "{\"n\":1}")]);
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let mut bytes = says("a?b").into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').expect("it is there");
    bytes[at] = 0xFF;
    bytes.extend_from_slice(ends("stop").as_bytes());
    let message = testing::parse_bytes(Dialect::OpenAi, [bytes.as_slice()]).expect("complete");
    assert_eq!(message.text(), "a\u{fffd}b");
}

#[test]
fn usage_is_read_from_wherever_it_is() {
    let table = [
        (json!({"prompt_tokens": 10, "completion_tokens": 3}), Some((10, 3, 0, 0))),
        (json!({"prompt_tokens": 1e30, "completion_tokens": -3}), Some((1_000_000_000_000, 0, 0, 0))),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}),
            Some((6, 3, 4, 0)),
        ),
        (json!({"prompt_tokens": 10, "cached_tokens": 40}), Some((0, 0, 10, 0))),
        (
            json!({"prompt_tokens": 10.0, "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2}}),
            Some((7, 2, 1, 2)),
        ),
        (json!({"prompt_tokens": "10"}), None),
        (json!(null), None),
    ];
    for (usage, expected) in table {
        let expected = expected.map(|(i, o, r, w)| Usage::of_tokens(i, o, r, w));
        assert_eq!(read_usage(&usage), expected, "{usage}");
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let piece = says(&"x".repeat(1 << 20));
    let answer = testing::parse_bytes(Dialect::OpenAi, std::iter::repeat_n(piece.as_bytes(), 40));
    assert!(matches!(answer, Err(ModelError::Malformed { .. })));
}

#[test]
fn no_stream_however_broken_does_harm() {
    let good = says("a")
        + &piece(r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#)
        + &ends("stop");
    for _ in 0..3_000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..fastrand::usize(1..8) {
            let at = fastrand::usize(..bytes.len());
            match fastrand::u8(..4) {
                0 => bytes[at] = fastrand::u8(..),
                1 => bytes.insert(at, *fastrand::choice(b"{}[]\",:\\\n\r0u").expect("some")),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
            if let Ok(message) = testing::parse_bytes(dialect, bytes.chunks(fastrand::usize(1..64))) {
                assert!(message.finish.is_some());
            }
        }
    }
}
