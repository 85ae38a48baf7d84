//! What the types promise beyond their shape.

use serde_json::{Value, json};

use crate::documents::generate;
use crate::*;

#[test]
fn a_type_is_read_as_it_is_written() {
    let (read, written) = generate();
    for (name, schema) in &read {
        if let Some(other) = written.get(name) {
            assert_eq!(schema, other, "`{name}` would need two names");
        }
    }
}

#[test]
fn a_method_name_is_used_once_and_says_whose_it_is() {
    let mut names: Vec<&str> = METHODS.iter().map(|row| row.name).collect();
    assert!(names.iter().all(|name| name.starts_with("adjutant/")));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METHODS.len());
    assert!(COMMANDS.iter().all(|row| row.name.starts_with("adjutant.server.")));
}

#[test]
fn every_message_of_the_server_has_a_gate() {
    let ungated: Vec<&str> = METHODS
        .iter()
        .filter(|row| !row.direction.is_from_client() && row.gate.is_none())
        .map(|row| row.name)
        .collect();
    assert!(ungated.is_empty(), "{ungated:?} would be sent to clients that did not declare them");
}

#[test]
fn a_gate_opens_for_its_flag_in_this_version_only() {
    let client =
        ClientCapability { protocol_version: PROTOCOL_VERSION, fleet: true, ..ClientCapability::default() };
    assert!(method::FleetChanged::is_open_to(&client));
    assert!(!method::AgentEvent::is_open_to(&client));
    let newer = ClientCapability { protocol_version: PROTOCOL_VERSION + 1, ..client };
    assert!(!method::FleetChanged::is_open_to(&newer));
    assert!(method::Ping::is_open_to(&ClientCapability::default()), "what has no gate is open to all");
}

#[test]
fn a_refusal_names_the_field() {
    let field = |params: Value| parse::<SessionPromptParams>(params).expect_err("bad params").field;
    assert_eq!(field(json!({})), "text");
    assert_eq!(field(Value::Null), "text");
    assert_eq!(field(json!({ "text": 1 })), "text");
    assert_eq!(field(json!({ "text": "a", "origin": "cat" })), "origin");
    assert_eq!(field(json!({ "text": "a", "attachments": [{ "type": "file" }] })), "attachments[0].uri");
    assert_eq!(
        field(json!({ "text": "a", "attachments": [{ "type": "file", "uri": "x" }, { "type": "?" }] })),
        "attachments[1].type"
    );
    assert_eq!(field(json!({ "text": "a", "workDoneToken": 1.5 })), "workDoneToken");
    assert_eq!(field(json!(["text"])), "");
}

#[test]
fn a_refusal_does_not_repeat_a_large_value() {
    let error = parse::<AgentResultParams>(json!({ "agentId": "a", "run": "x".repeat(100_000) }))
        .expect_err("no number");
    assert_eq!(error.field, "run");
    assert!(error.to_string().len() < 1_000, "{} bytes", error.to_string().len());
}

#[test]
fn absent_parameters_and_unknown_fields_are_no_fault() {
    assert_eq!(parse::<FleetListParams>(Value::Null), Ok(FleetListParams { cursor: None, limit: 500 }));
    assert_eq!(parse::<PingParams>(json!({ "later": { "version": [1] } })), Ok(PingParams {}));
}

#[test]
fn what_is_left_out_has_the_default_of_the_contract() {
    let spawn: AgentSpawnParams =
        parse(json!({ "type": "explore", "prompt": "look" })).expect("it is enough");
    assert!(spawn.background && !spawn.wake_model);
    let stop: AgentStopParams = parse(json!({ "handle": "explore" })).expect("it is enough");
    assert_eq!(stop.scope, StopScope::Subtree);
    assert_eq!(stop.target(), Ok(AgentRef::Handle { handle: "explore", session_id: None }));
}

#[test]
fn an_agent_has_to_be_named() {
    let steer: AgentSteerParams = parse(json!({ "message": "on" })).expect("the shape is right");
    assert_eq!(steer.target().expect_err("nobody is meant").field, "agentId");
    let both: AgentSteerParams =
        parse(json!({ "agentId": "a", "handle": "b", "message": "on" })).expect("right");
    assert_eq!(both.target(), Ok(AgentRef::Id(&"a".into())), "an id says more than a handle");
}

#[test]
fn what_this_version_does_not_have_is_refused_not_dropped() {
    let with = |name: &str, value: Value| {
        let mut params = json!({ "type": "explore", "prompt": "look" });
        params[name] = value;
        parse::<AgentSpawnParams>(params).expect("the shape is open").unavailable()
    };
    assert_eq!(with("isolation", json!("worktree")), None);
    assert_eq!(with("isolated", json!(false)), None);
    assert_eq!(with("inheritContext", json!(true)), Some("inheritContext"));
    assert_eq!(with("budget", json!({ "tokens": 1 })), None);
    assert_eq!(with("isolation", Value::Null), None, "`null` is how some clients write nothing");
    let open: SessionOpenParams = parse(json!({ "fork": "e1" })).expect("the shape is open");
    assert_eq!(open.unavailable(), Some("fork"));
}

#[test]
fn an_error_has_one_number_and_one_word() {
    for code in ErrorCode::ALL {
        assert_eq!(ErrorCode::from_code(code.code()), Some(*code), "{code:?} shares its number");
        assert_eq!(json!(code), json!(code.kind()));
    }
    assert_eq!(ErrorCode::from_code(0), None);
}

#[test]
fn a_progress_token_keeps_its_kind() {
    for token in [json!(7), json!("7"), json!(-1)] {
        let read: ProgressToken = serde_json::from_value(token.clone()).expect("a token");
        assert_eq!(json!(read), token);
    }
    for wrong in [json!(1.5), json!(true), json!({}), json!(u64::MAX)] {
        assert!(serde_json::from_value::<ProgressToken>(wrong).is_err());
    }
}

#[test]
fn a_document_says_nothing_of_null() {
    assert!(!protocol_schema().to_string().contains("null"));
}

#[test]
fn a_document_is_sorted() {
    let document = Document { file: String::new(), content: json!({ "b": { "d": 1, "c": 2 }, "a": [] }) };
    assert_eq!(document.text(), "{\n  \"a\": [],\n  \"b\": {\n    \"c\": 2,\n    \"d\": 1\n  }\n}\n");
}
