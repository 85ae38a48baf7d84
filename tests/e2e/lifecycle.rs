//! Start, negotiation, health and the orderly end.

use protocol::{ClientCapability, METHODS, PROTOCOL_VERSION, PingParams, method};
use serde_json::json;
use support::client::{Introduction, StdioClient};
use support::lab::Lab;

#[test]
fn a_client_of_ours_is_told_what_there_is() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let ours = &client.initialized["capabilities"]["experimental"]["adjutant"];
    assert_eq!(ours["protocolVersion"], PROTOCOL_VERSION);
    let methods: Vec<_> =
        ours["methods"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(methods, METHODS.iter().map(|row| row.name).collect::<Vec<_>>());
    assert!(ours["limits"]["maxConcurrent"].as_u64().unwrap() > 0);
    let capabilities = &client.initialized["capabilities"];
    assert_eq!(capabilities["textDocumentSync"]["change"], 2, "incremental");
    assert!(!capabilities["executeCommandProvider"]["commands"].as_array().unwrap().is_empty());
    let ping = client.request::<method::Ping>(&PingParams {});
    assert_eq!((ping.protocol_version, ping.agents.running), (PROTOCOL_VERSION, 0));
    client.finish();
}

#[test]
fn utf_8_positions_where_they_are_offered() {
    let lab = Lab::new();
    let mut introduction = Introduction::default();
    introduction.capabilities["general"] = json!({ "positionEncodings": ["utf-16", "utf-8"] });
    let client = StdioClient::introduced(&lab, introduction);
    assert_eq!(client.initialized["capabilities"]["positionEncoding"], "utf-8");
    client.finish();
    let client = StdioClient::start(&lab);
    assert_ne!(client.initialized["capabilities"]["positionEncoding"], "utf-8");
    client.finish();
}

#[test]
fn another_version_is_served_as_any_editor_and_told_once() {
    let lab = Lab::new();
    let capability =
        ClientCapability { protocol_version: 99, fleet: true, viewer: true, ..ClientCapability::default() };
    let introduction = Introduction { capability: Some(capability), ..Introduction::default() };
    let mut client = StdioClient::introduced(&lab, introduction);
    client.wait_message("99");
    lab.model.script("quick", vec![support::fake_model::Line::text("done")]);
    client.command(
        "adjutant.server.delegate",
        &json!({ "type": "general-purpose", "prompt": "[[script quick]]" }),
    );
    client.wait_message("done");
    let ours = client.notes().into_iter().filter(|note| note.method.starts_with("adjutant/")).count();
    assert_eq!(ours, 0, "nothing of ours is sent");
    let told = client.notes().iter().filter(|note| note.params.to_string().contains("99")).count();
    assert_eq!(told, 1);
    client.finish();
}

#[test]
fn nothing_but_initialize_is_answered_before_it() {
    let lab = Lab::new();
    let mut client = StdioClient::spawn(&lab);
    let error = client.refused_raw("adjutant/ping", &json!({}));
    assert_eq!(error.code, -32002);
    client.introduce(&lab, Introduction::default());
    client.request::<method::Ping>(&PingParams {});
    client.finish();
}

#[test]
fn shutdown_is_answered_at_once_while_agents_run() {
    let lab = Lab::new();
    super::waiting(&lab.model, "slow");
    let mut client = StdioClient::start(&lab);
    client.spawn_agent("[[script slow]]");
    lab.model.wait_request("its request", |record| record.id == "slow");
    let pending = client.send_raw("shutdown", &serde_json::Value::Null);
    let (answer, took) = client.wait_for(&pending, support::LIMIT);
    answer.unwrap();
    assert!(took.as_millis() <= 400, "shutdown took {took:?}");
    client.notify("exit", &serde_json::Value::Null);
    assert!(client.wait_end(std::time::Duration::from_secs(2)).success());
    assert!(client.seen::<method::AgentCompleted>().is_empty(), "no completion is announced");
}

#[test]
fn exit_without_shutdown_is_told_by_the_exit_code() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.notify("exit", &serde_json::Value::Null);
    assert_eq!(client.wait_end(std::time::Duration::from_secs(2)).code(), Some(1));
}
