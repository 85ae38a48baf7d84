//! Sessions, agents and the fleet as documents, and the editor's open documents as the truth.

use protocol::{DocumentParams, ErrorCode, method};
use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;

fn text(client: &mut StdioClient, uri: &str) -> String {
    let document = client.request::<method::Document>(&DocumentParams { uri: uri.to_owned() });
    assert_eq!(document.language_id, "markdown");
    document.text
}

#[test]
fn an_agent_a_session_and_the_fleet_are_documents() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![Line::call("read", &json!({ "path": "README.md" })), Line::text("a poem about rain")],
    );
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("good morning");
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    let agent = text(&mut client, &format!("adjutant://agent/{}", spawned.agent_id));
    assert!(agent.contains("a poem about rain") && agent.contains("README.md"), "{agent}");
    let fleet = text(&mut client, "adjutant://fleet");
    assert!(fleet.contains(&spawned.handle), "{fleet}");
    let of_session = text(&mut client, &format!("adjutant://session/{session}"));
    assert!(of_session.contains("good morning") && of_session.contains("ack"), "{of_session}");
    for (uri, code) in [
        ("adjutant://agent/nobody", ErrorCode::UnknownAgent),
        ("adjutant://session/none", ErrorCode::UnknownSession),
        ("adjutant://moon", ErrorCode::BadParams),
        ("file:///etc/passwd", ErrorCode::BadParams),
        ("adjutant://agent/../../etc/passwd", ErrorCode::UnknownAgent),
    ] {
        let error = client.refused::<method::Document>(&json!({ "uri": uri }));
        assert!([code.code(), ErrorCode::BadParams.code()].contains(&error.code), "{uri}: {error:?}");
    }
    client.finish();
}

#[test]
fn show_commands_write_plain_files_and_ask_the_editor_to_open_them() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    client.run("hello");
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    for (command, argument) in [
        ("adjutant.server.showFleet", Value::Null),
        ("adjutant.server.showAgent", json!({ "agentId": spawned.agent_id })),
        ("adjutant.server.showSession", Value::Null),
    ] {
        let uri = client.command(command, &argument)["uri"].as_str().unwrap().to_owned();
        client.wait_asked("window/showDocument", |asked| asked.params["uri"] == uri.as_str());
        let text = std::fs::read_to_string(uri.strip_prefix("file://").unwrap()).unwrap();
        assert!(!text.is_empty());
    }
    client.finish();
}

#[test]
fn a_selection_is_what_the_editor_shows() {
    let lab = Lab::new();
    lab.write("draft.txt", "what is on disk\n");
    let mut client = StdioClient::start(&lab);
    let uri = lab.uri("draft.txt");
    let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": "é what is on disk\n" });
    client.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    let range = json!({ "start": { "line": 0, "character": 13 }, "end": { "line": 0, "character": 17 } });
    let change = json!([{ "range": range, "text": "the screen" }]);
    client.notify(
        "textDocument/didChange",
        &json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": change }),
    );
    let mut params = support::client::prompt("read it");
    let all = json!({ "start": { "line": 0, "character": 2 }, "end": { "line": 1, "character": 0 } });
    params.attachments =
        serde_json::from_value(json!([{ "type": "selection", "uri": uri, "range": all }])).unwrap();
    client.request::<method::SessionPrompt>(&params);
    let request = lab.model.requests()[0].text();
    assert!(request.contains("what is on the screen"), "{request}");
    client.finish();
}
