//! Real requests over real sockets.

mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::server::{Server, Step, chunk, document, end, event, saying, stream_head};
use crate::testing::{request, result};
use crate::{
    Advance, AssistantMessage, FinishReason, History, HistoryError, Message, ModelClient, ModelError,
    ModelStream, Registry, RegistryOptions, Timeouts, advance,
};

const KEY: &str = "sk-canary-0123456789";

fn registry(server: &Server, idle: Duration, connections: usize) -> Registry {
    let address = server.address;
    let entry = |api: &str, path: &str| {
        json!({"api": api, "baseUrl": format!("http://{address}{path}"), "apiKey": "$THE_KEY",
            "models": [{"id": "m", "cost": {"input": 1, "output": 10}}]})
    };
    let providers =
        json!({"chat": entry("openai-completions", "/v1"), "claude": entry("anthropic-messages", "")});
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("models.json");
    std::fs::write(&path, json!({"providers": providers}).to_string()).expect("written");
    let options = RegistryOptions {
        timeouts: Timeouts { idle, ..Timeouts::default() },
        connections,
        env: Arc::new(|name| (name == "THE_KEY").then(|| KEY.to_owned())),
    };
    let (registry, diagnostics) = Registry::load_with(&path, options);
    assert_eq!(diagnostics, []);
    registry
}

fn chat(server: &Server) -> Arc<dyn ModelClient> {
    registry(server, Duration::from_secs(5), 1000).resolve("chat/m").expect("described")
}

/// A client that gives up after this many milliseconds of silence.
fn impatient(server: &Server, ms: u64) -> Arc<dyn ModelClient> {
    registry(server, Duration::from_millis(ms), 1000).resolve("chat/m").expect("described")
}

fn history() -> History {
    let mut history = History::new();
    history.push(Message::user("hello"));
    history
}

async fn finish(mut stream: Box<dyn ModelStream>) -> Result<AssistantMessage, ModelError> {
    while advance(stream.as_mut()).await? != Advance::Finished {}
    Ok(stream.into_message())
}

async fn ask(client: &dyn ModelClient) -> Result<AssistantMessage, ModelError> {
    finish(client.start(request(&history()))).await
}

#[tokio::test]
async fn text_usage_and_price_come_through_and_connections_are_used_again() {
    let server = Server::start([saying("hi"), saying("again")]).await;
    let client = chat(&server);
    let mut stream = client.start(request(&history()));
    assert_eq!(advance(stream.as_mut()).await, Ok(Advance::Connected));
    assert_eq!(advance(stream.as_mut()).await, Ok(Advance::Delta));
    assert_eq!((stream.message().text().as_str(), stream.message().finish), ("hi", None));
    let message = finish(stream).await.expect("complete");
    assert_eq!((message.text().as_str(), message.finish), ("hi", Some(FinishReason::Stop)));
    assert_eq!((message.usage.total, message.usage.cost_usd), (1100, Some(0.002)));
    assert_eq!(message.model, "chat/m");
    assert_eq!(ask(client.as_ref()).await.expect("complete").text(), "again");
    assert_eq!(server.connections(), 1);
    let requests = server.requests();
    assert!(requests[0].0.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", requests[0].0);
    assert!(requests[0].0.contains(&format!("authorization: Bearer {KEY}")));
    let body: Value = serde_json::from_str(&requests[0].1).expect("JSON");
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "hello"}));
}

#[tokio::test]
async fn a_conversation_with_tools_over_the_messages_api() {
    let events = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"same","name":"read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answer = || -> Vec<Step> {
        [stream_head()].into_iter().chain(events.iter().map(|json| event(json))).chain([end()]).collect()
    };
    let server = Server::start([answer(), answer()]).await;
    let registry = registry(&server, Duration::from_secs(5), 10);
    let client = registry.resolve("claude/m").expect("described");
    let mut history = history();
    for turn in 0..2 {
        let message = finish(client.start(request(&history))).await.expect("complete");
        assert_eq!((message.finish, message.usage.output), (Some(FinishReason::ToolUse), 9));
        let call = message.tool_calls().next().map(|(id, ..)| id.clone()).expect("a call");
        assert_eq!(call.as_str() == "same", turn == 0, "an id that was used before is replaced");
        history.push(Message::Assistant(message));
        history.push(result(call.as_str(), vec![]));
    }
    let (head, body) = server.requests()[1].clone();
    assert!(head.starts_with("POST /v1/messages"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}")) && head.contains("anthropic-version: "), "{head}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "same");
}

#[tokio::test]
async fn a_bad_history_opens_no_connection() {
    let server = Server::start([]).await;
    let mut history = history();
    history.push(result("nobody", vec![]));
    let answer = finish(chat(&server).start(request(&history))).await;
    assert_eq!(answer, Err(ModelError::History(HistoryError::OrphanResult("nobody".into()))));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_refusal_is_explained_without_the_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key: {KEY}."}}}}"#);
    let server = Server::start([document("401 Unauthorized", "", &body)]).await;
    let error = ask(chat(&server).as_ref()).await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "127.0.0.1:".to_owned()
            + &server.address.port().to_string()
            + " answered 401: Incorrect API key: [key]. (check the provider's key, and whether it may use this model)"
    );
    assert!(!error.retryable() && !format!("{error:?}").contains("canary"));
}

#[tokio::test]
async fn a_hint_to_wait_holds_for_the_neighbours() {
    let server =
        Server::start([document("429 Too Many Requests", "retry-after: 0.3\r\n", "slow down"), saying("ok")])
            .await;
    let client = chat(&server);
    let error = ask(client.as_ref()).await.expect_err("refused");
    assert_eq!(error.retry_after(), Some(Duration::from_millis(300)));
    assert!(error.retryable());
    let start = Instant::now();
    ask(client.as_ref()).await.expect("later it works");
    let waited = start.elapsed().as_millis();
    assert!((280..1000).contains(&waited), "{waited}");
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let text = event(r#"{"choices":[{"delta":{"content":"a"}}]}"#);
    let server = Server::start([vec![Step::Hang], vec![stream_head(), text, Step::Hang]]).await;
    let client = chat(&server);
    let mut stream = client.start(request(&history()));
    let waiting = tokio::time::timeout(Duration::from_millis(100), advance(stream.as_mut())).await;
    assert!(waiting.is_err() && server.requests().len() == 1, "it waits for the head");
    drop(stream);
    server.closed().await;
    let mut stream = client.start(request(&history()));
    while advance(stream.as_mut()).await != Ok(Advance::Delta) {}
    let message = stream.into_message();
    server.closed().await;
    assert_eq!((message.text().as_str(), message.finish), ("a", None), "what had come is kept");
}

#[tokio::test]
async fn silence_is_noticed_wherever_it_begins() {
    let text = || event(r#"{"choices":[{"delta":{"content":"a"}}]}"#);
    for answer in [
        vec![Step::Hang],
        vec![Step::Send("HTTP/1.1 200".into()), Step::Hang],
        vec![stream_head(), Step::Hang],
        vec![stream_head(), text(), Step::Hang],
        vec![stream_head(), text(), Step::Send("ff\r\ndata: {\"cho".into()), Step::Hang],
    ] {
        let server = Server::start([answer.clone()]).await;
        let start = Instant::now();
        let error = ask(impatient(&server, 200).as_ref()).await.expect_err("silent");
        assert!(matches!(error, ModelError::Idle { .. }) && error.retryable(), "{answer:?}: {error}");
        assert!((190..1500).contains(&start.elapsed().as_millis()), "{answer:?}");
        server.closed().await;
    }
}

#[tokio::test]
async fn signs_of_life_keep_a_slow_stream_alive() {
    let beat = [chunk(": still here\n\n"), Step::Pause(100)];
    let slow = saying("late");
    let answer: Vec<_> = [stream_head()]
        .into_iter()
        .chain(beat.into_iter().cycle().take(12))
        .chain(slow.into_iter().skip(1))
        .collect();
    let server = Server::start([answer]).await;
    let message = ask(impatient(&server, 300).as_ref()).await.expect("600 ms, but never silent for 300");
    assert_eq!(message.text(), "late");
}

#[tokio::test]
async fn a_complete_message_does_not_wait_for_a_server_that_does_not_close() {
    let mut answer = saying("done");
    answer.truncate(3);
    answer.push(Step::Hang);
    let server = Server::start([answer]).await;
    let start = Instant::now();
    let message = ask(chat(&server).as_ref()).await.expect("it has ended");
    assert_eq!((message.text().as_str(), message.usage.is_empty()), ("done", true));
    assert!(start.elapsed() < Duration::from_secs(4));
    server.closed().await;
}

#[tokio::test]
async fn a_late_terminator_costs_neither_time_nor_the_connection() {
    let mut late = saying("one");
    late.insert(late.len() - 1, Step::Pause(150));
    let server = Server::start([late, saying("two")]).await;
    let client = chat(&server);
    let start = Instant::now();
    ask(client.as_ref()).await.expect("complete");
    assert!(start.elapsed() < Duration::from_millis(120));
    tokio::time::sleep(Duration::from_millis(300)).await;
    ask(client.as_ref()).await.expect("complete");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_request_that_fails_or_is_given_up_has_its_price() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":1000,"output_tokens":0}}}"#;
    let begun = |end: Step| vec![stream_head(), event(start), end];
    let server = Server::start([begun(Step::Close), begun(Step::Hang)]).await;
    let client = registry(&server, Duration::from_secs(5), 10).resolve("claude/m").expect("described");
    let mut failed = client.start(request(&history()));
    while advance(failed.as_mut()).await.is_ok() {}
    let mut given_up = client.start(request(&history()));
    while given_up.message().usage.is_empty() {
        advance(given_up.as_mut()).await.expect("it has begun");
    }
    for stream in [failed, given_up] {
        let usage = stream.into_message().usage;
        assert_eq!((usage.input, usage.cost_usd), (1000, Some(0.001)));
    }
}

#[tokio::test]
async fn a_cut_stream_is_never_taken_for_an_answer() {
    let text = || event(r#"{"choices":[{"delta":{"content":"half"}}]}"#);
    for answer in [
        vec![stream_head(), Step::Close],
        vec![stream_head(), text(), Step::Close],
        vec![stream_head(), text(), end()],
        vec![stream_head(), text(), Step::Send("ffff\r\ndata: {\"choices\":[{\"delta\"".into()), Step::Close],
        vec![stream_head(), text(), event("[DONE]"), end()],
    ] {
        let server = Server::start([answer.clone()]).await;
        let mut stream = chat(&server).start(request(&history()));
        let error = loop {
            match advance(stream.as_mut()).await {
                Ok(Advance::Finished) => panic!("{answer:?} is no answer"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ModelError::Cut { .. }) && error.retryable(), "{answer:?}: {error}");
        let message = stream.into_message();
        assert!(message.finish.is_none() && message.error.is_some());
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named() {
    let server = Server::start([vec![Step::Close]]).await;
    let error = ask(chat(&server).as_ref()).await.expect_err("hung up");
    assert!(matches!(error, ModelError::Connect { .. }) && error.retryable(), "{error}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut nobody = server.clone();
    nobody.address = free;
    let error = ask(chat(&nobody).as_ref()).await.expect_err("nobody there");
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot reach {free}: ")) && text.contains("refused"), "{text}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::start([saying("stolen")]).await;
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("location: http://{}/v1/chat/completions\r\n", elsewhere.address);
        let server = Server::start([document(status, &location, "")]).await;
        let error = ask(chat(&server).as_ref()).await.expect_err("refused");
        assert!(error.to_string().contains("redirects") && !error.retryable(), "{error}");
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn documents_are_no_streams() {
    let json = "content-type: application/json\r\n";
    let server = Server::start([
        document("200 OK", json, r#"{"choices":[{"message":{"content":"whole"}}]}"#),
        document("200 OK", json, r#"{"error":{"message":"no such model","code":404}}"#),
        document("200 OK", "content-type: text/html\r\n", "<html>a login page</html>"),
        document("200 OK", "", ""),
    ])
    .await;
    let client = chat(&server);
    assert!(matches!(ask(client.as_ref()).await, Err(ModelError::Malformed { .. })));
    let error = ask(client.as_ref()).await.expect_err("an error");
    assert!(error.to_string().contains("no such model") && !error.retryable(), "{error}");
    assert!(matches!(ask(client.as_ref()).await, Err(ModelError::Cut { .. })));
    assert!(matches!(ask(client.as_ref()).await, Err(ModelError::Cut { .. })));
}

#[tokio::test]
async fn an_endless_explanation_is_cut_short() {
    let mut answer = vec![Step::Send("HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n".into())];
    answer.extend(std::iter::repeat_n(chunk(&"x".repeat(16 << 10)), 8));
    answer.push(Step::Hang);
    let slow = vec![Step::Send("HTTP/1.1 503 Oops\r\ncontent-length: 100\r\n\r\nbusy".into()), Step::Hang];
    let server = Server::start([answer, slow]).await;
    let client = impatient(&server, 300);
    let ModelError::Http { status, message, .. } = ask(client.as_ref()).await.expect_err("refused") else {
        panic!("an HTTP error")
    };
    assert_eq!((status, message.len() < 3000), (500, true));
    let error = ask(client.as_ref()).await.expect_err("refused");
    assert!(error.to_string().ends_with("answered 503: busy"), "{error}");
}

#[tokio::test]
async fn past_the_limit_of_connections_requests_wait() {
    let mut slow = saying("first");
    slow.insert(1, Step::Pause(200));
    let server = Server::start([slow, saying("second")]).await;
    let registry = registry(&server, Duration::from_secs(5), 1);
    let client = registry.resolve("chat/m").expect("described");
    let (first, second) = tokio::join!(ask(client.as_ref()), ask(client.as_ref()));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_error_inside_a_stream_ends_it() {
    let answer = vec![
        stream_head(),
        event(r#"{"choices":[{"delta":{"content":"a"}}]}"#),
        event(&format!(r#"{{"error":{{"message":"broke with {KEY}","code":500}}}}"#)),
        event("[DONE]"),
        end(),
    ];
    let server = Server::start([answer]).await;
    let error = ask(chat(&server).as_ref()).await.expect_err("it broke");
    assert_eq!(error.to_string(), "the provider reported 500: broke with [key]");
    assert!(error.retryable());
}
