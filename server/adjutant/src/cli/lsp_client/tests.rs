//! The client against a server that the test plays.

use std::time::Duration;

use protocol::{PingParams, method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc;

use super::{LspClient, LspError, Notification, read_frame};

const LIMIT: Duration = Duration::from_secs(5);

struct Server {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Server {
    async fn heard(&mut self) -> Value {
        let body = read_frame(&mut self.input).await.expect("a frame").expect("not the end");
        serde_json::from_slice(&body).expect("JSON")
    }

    async fn say(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len())).await;
    }

    async fn raw(&mut self, text: &str) {
        self.output.write_all(text.as_bytes()).await.expect("the client reads");
    }
}

fn connected() -> (LspClient, mpsc::Receiver<Notification>, Server) {
    let (near, far) = duplex(64 << 10);
    let (input, output) = split(near);
    let (client, notifications) = LspClient::over(input, output);
    let (input, output) = split(far);
    (client, notifications, Server { input: BufReader::new(input), output })
}

#[tokio::test]
async fn requests_get_their_own_answers() {
    let (client, mut notifications, mut server) = connected();
    let first = client.call("a", json!({}), LIMIT);
    let second = client.request::<method::Ping>(&PingParams {}, LIMIT);
    let play = async {
        let (a, b) = (server.heard().await, server.heard().await);
        assert_eq!((&a["method"], &b["method"]), (&json!("a"), &json!("adjutant/ping")));
        server.say(&json!({ "jsonrpc": "2.0", "method": "n", "params": { "x": 1 } })).await;
        let pong = json!({
            "protocolVersion": 1, "serverVersion": "0", "uptimeMs": 3, "sessions": 0,
            "agents": { "queued": 0, "running": 0, "finished": 0 },
        });
        server.say(&json!({ "jsonrpc": "2.0", "id": b["id"], "result": pong })).await;
        let error =
            json!({ "code": -32010, "message": "no", "data": { "kind": "unknownAgent", "hint": "look" } });
        server.say(&json!({ "jsonrpc": "2.0", "id": a["id"], "error": error })).await;
    };
    let (first, second, ()) = tokio::join!(first, second, play);
    let hint = Some("look".to_owned());
    assert_eq!(first, Err(LspError::Refused { method: "a", code: -32010, message: "no".into(), hint }));
    assert_eq!(second.expect("an answer").uptime_ms, 3);
    let expected = Notification { method: "n".into(), params: json!({ "x": 1 }) };
    assert_eq!(notifications.recv().await, Some(expected));
}

#[tokio::test]
async fn the_server_gets_answers_to_what_it_asks() {
    let (_client, _notifications, mut server) = connected();
    for (method, params) in [
        ("window/workDoneProgress/create", json!({ "token": 1 })),
        ("window/showMessageRequest", json!({})),
        ("workspace/configuration", json!({ "items": [{}, {}] })),
        ("workspace/applyEdit", json!({})),
    ] {
        server.say(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params })).await;
    }
    for expected in [json!(null), json!(null), json!([null, null])] {
        assert_eq!(server.heard().await["result"], expected);
    }
    assert_eq!(server.heard().await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_late_answer_is_taken_back_and_ignored() {
    let (client, _notifications, mut server) = connected();
    let answer = client.call("slow", json!({}), Duration::from_millis(50)).await;
    assert_eq!(answer, Err(LspError::TimedOut { method: "slow", limit: Duration::from_millis(50) }));
    let id = server.heard().await["id"].clone();
    let cancel = server.heard().await;
    assert_eq!((&cancel["method"], &cancel["params"]["id"]), (&json!("$/cancelRequest"), &id));
    server.say(&json!({ "jsonrpc": "2.0", "id": id, "result": 1 })).await;
    let (next, ()) = tokio::join!(client.call("next", json!({}), LIMIT), async {
        let id = server.heard().await["id"].clone();
        server.say(&json!({ "jsonrpc": "2.0", "id": id, "result": 2 })).await;
    });
    assert_eq!(next, Ok(json!(2)));
}

#[tokio::test]
async fn a_server_that_goes_answers_nothing_and_ends_the_notifications() {
    let (client, mut notifications, server) = connected();
    let (answer, ()) = tokio::join!(client.call("a", json!({}), LIMIT), async { drop(server) });
    assert_eq!(answer, Err(LspError::Closed));
    assert_eq!(notifications.recv().await, None);
    assert_eq!(client.call("b", json!({}), LIMIT).await, Err(LspError::Closed));
    assert_eq!(client.fault(), None);
}

#[tokio::test]
async fn broken_frames_end_the_connection_with_a_reason() {
    let endless = "x".repeat(3_000);
    for (frame, reason) in [
        ("Content-Length: 99999999\r\n\r\n", "bytes long"),
        ("X: 1\r\n\r\n", "does not say how long"),
        (endless.as_str(), "broken header"),
        ("Content-Length: 3\r\n\r\nabc", "expected value"),
    ] {
        let (client, mut notifications, mut server) = connected();
        server.raw(frame).await;
        assert_eq!(notifications.recv().await, None);
        assert!(
            client.fault().is_some_and(|fault| fault.contains(reason)),
            "{frame:.40}: {:?}",
            client.fault()
        );
    }
}

#[tokio::test]
async fn dropping_the_client_closes_the_servers_input() {
    let (client, notifications, mut server) = connected();
    drop((client, notifications));
    let mut rest = Vec::new();
    server.input.read_to_end(&mut rest).await.expect("the end");
    assert!(rest.is_empty());
}
