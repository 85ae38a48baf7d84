//! Dirt on the wire: each piece is answered with an error or skipped, and the stream goes on.

use protocol::{ErrorCode, PingParams, method};
use serde_json::json;
use support::client::StdioClient;
use support::lab::Lab;

fn lives(client: &mut StdioClient) {
    client.request::<method::Ping>(&PingParams {});
}

#[test]
fn bodies_that_are_no_json_get_a_parse_error() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for body in [&b"{\"jsonrpc\": \"2.0\", "[..], b"not json", b"", b"\xff\xfe\x00", b"{\"a\": \"\xc3\x28\"}"]
    {
        client.write_frame(body);
        client.wait_stray_error(ErrorCode::ParseError);
        lives(&mut client);
    }
    client.finish();
}

#[test]
fn json_that_is_no_request_is_invalid() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for body in
        ["[]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"adjutant/ping\"}]", "7", "null", "{\"id\": null}"]
    {
        client.write_frame(body.as_bytes());
        client.wait_stray_error(ErrorCode::InvalidRequest);
        lives(&mut client);
    }
    client.finish();
}

#[test]
fn headers_in_any_case_and_order_are_read() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let body = json!({ "jsonrpc": "2.0", "method": "$/setTrace", "params": { "value": "off" } }).to_string();
    let length = body.len();
    for head in [
        format!("content-length: {length}\r\n\r\n"),
        format!("CONTENT-LENGTH:{length}\r\n\r\n"),
        format!(
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
        ),
    ] {
        client.write(format!("{head}{body}").as_bytes());
        lives(&mut client);
    }
    client.finish();
}

#[test]
fn heads_that_say_nothing_useful_are_skipped() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.tolerate();
    for dirt in [
        "Content-Length: many\r\n\r\n",
        "Content-Length: -5\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "X-Nothing: 1\r\n\r\n",
        "hello there\r\n\r\n",
    ] {
        client.write(dirt.as_bytes());
        lives(&mut client);
    }
    client.finish();
}

#[test]
fn a_message_over_the_limit_is_refused_and_skipped() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.tolerate();
    let size = (64 << 20) + 1;
    client.write(format!("Content-Length: {size}\r\n\r\n").as_bytes());
    let piece = vec![b' '; 1 << 20];
    for _ in 0..64 {
        client.write(&piece);
    }
    client.write(b" ");
    lives(&mut client);
    assert!(support::process::Usage::of(client.pid()).peak_rss_mib < 120.0, "it was not kept");
    client.finish();
}

#[test]
fn answers_to_nothing_are_ignored() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    client.write_frame(br#"{"jsonrpc":"2.0","id":12345,"result":null}"#);
    client.write_frame(br#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#);
    lives(&mut client);
    client.finish();
}
