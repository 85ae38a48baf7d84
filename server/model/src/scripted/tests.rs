//! The scripted model itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vocab::{SessionId, ThinkingLevel};

use super::ScriptedModel;
use crate::{
    Advance, AssistantMessage, ContentBlock, Door, FinishReason, History, HistoryError, Message,
    ModelClient as _, ModelError, ModelRequest, Reply, ToolResultMessage, ToolSet, advance,
};

fn request(history: &History) -> ModelRequest {
    ModelRequest {
        system: Arc::from("You help."),
        tools: Arc::new(ToolSet::default()),
        history: history.snapshot(),
        thinking: ThinkingLevel::Off,
        max_tokens: None,
        session: SessionId::from("s"),
    }
}

async fn run(model: &ScriptedModel, history: &History) -> Result<AssistantMessage, ModelError> {
    let mut stream = model.start(request(history));
    while advance(stream.as_mut()).await? != Advance::Finished {}
    Ok(stream.into_message())
}

fn result(id: &str) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content: vec![ContentBlock::text("out")],
        is_error: false,
    })
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_through_its_script() {
    let model = ScriptedModel::new([
        Reply::new().text("I ").text("look").call("read", &json!({"path": "a"})).call("read", &json!({})),
        Reply::new().delay(Duration::from_secs(5)).text("done"),
    ]);
    let mut history = History::new();
    history.push(Message::user("go"));
    let first = run(&model, &history).await.expect("scripted");
    assert_eq!(first.finish, Some(FinishReason::ToolUse));
    assert_eq!(first.text(), "I look");
    let ids: Vec<_> = first.tool_calls().map(|(id, ..)| id.as_str().to_owned()).collect();
    assert_eq!(ids, ["call_1", "call_2"]);
    assert!(first.usage.total > 0);
    history.push(Message::Assistant(first));
    history.push(result("call_2"));
    history.push(result("call_1"));
    let start = Instant::now();
    let second = run(&model, &history).await.expect("scripted");
    assert_eq!((second.text().as_str(), start.elapsed().as_secs()), ("done", 5));
    assert_eq!((model.requests().len(), model.turns_left(), model.live(), model.aborted()), (2, 0, 0, 0));
    assert!(matches!(run(&model, &history).await, Err(ModelError::Unavailable { .. })));
}

#[tokio::test]
async fn a_history_with_an_open_call_is_refused_and_remembered() {
    let model = ScriptedModel::new([Reply::new().call("read", &json!({})), Reply::say("never")]);
    let mut history = History::new();
    history.push(Message::user("go"));
    let first = run(&model, &history).await.expect("scripted");
    history.push(Message::Assistant(first));
    history.push(Message::user("and?"));
    let fault = HistoryError::MissingResult("call_1".into());
    assert_eq!(run(&model, &history).await, Err(ModelError::History(fault.clone())));
    assert_eq!(model.take_faults(), [fault]);
}

#[tokio::test]
async fn doors_aborts_and_errors() {
    let door = Door::new();
    let model = ScriptedModel::new([
        Reply::new().text("a").wait(&door).text("b"),
        Reply::new().text("partial").fail(ModelError::Cut { detail: "x".into() }),
        Reply::new().hang(),
    ]);
    let mut history = History::new();
    history.push(Message::user("go"));
    let mut stream = model.start(request(&history));
    assert_eq!(advance(stream.as_mut()).await, Ok(Advance::Connected));
    assert_eq!(advance(stream.as_mut()).await, Ok(Advance::Delta));
    let step = tokio::time::timeout(Duration::from_millis(20), advance(stream.as_mut())).await;
    assert!(step.is_err(), "the door is closed");
    door.open();
    assert_eq!(advance(stream.as_mut()).await, Ok(Advance::Delta));
    assert_eq!(stream.message().text(), "ab");
    assert_eq!(model.live(), 1);
    drop(stream);
    assert_eq!((model.live(), model.aborted()), (0, 1));

    let mut stream = model.start(request(&history));
    while advance(stream.as_mut()).await.is_ok() {}
    let message = stream.into_message();
    assert_eq!((message.text().as_str(), message.finish, message.error.is_some()), ("partial", None, true));
    assert_eq!(model.aborted(), 1, "an error is no abort");
}

#[tokio::test]
async fn a_function_can_answer() {
    let model = ScriptedModel::answering(|request| {
        Reply::say(format!("{} messages", request.history.messages().len()))
    });
    let mut history = History::new();
    history.push(Message::user("go"));
    assert_eq!(run(&model, &history).await.expect("answers").text(), "1 messages");
}
