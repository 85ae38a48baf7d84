//! What the tests of sessions share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use vocab::{Timestamp, ToolKind};

use super::script::Scripted;
use crate::{
    Clock, Entry, EntryBody, Location, NextRun, PageRequest, Prompt, RunOutcome, Session, SessionConfig,
    SessionEvent, SessionHandle, SteerAuthor, SteerRequest, ToolCall, ToolCallTitle, ToolDefinition,
    ToolError, ToolExecute, ToolOutput, Toolbox,
};

/// Events that a session told, with their numbers.
pub(crate) type Told = Arc<Mutex<Vec<(u64, SessionEvent)>>>;

/// A session with this model, tools that do what their name says, and paused time as its clock.
pub(crate) fn config(model: &Arc<Scripted>) -> SessionConfig {
    let start = tokio::time::Instant::now();
    let model = Arc::clone(model);
    SessionConfig {
        tools: Toolbox::new(tools()),
        system_prompt: "be brief".into(),
        clock: Clock::new(move || Timestamp(1_000_000 + start.elapsed().as_millis() as u64)),
        ..SessionConfig::new("s1".into(), "/srv/app", model)
    }
}

pub(crate) fn told(config: &mut SessionConfig) -> Told {
    let told = Told::default();
    let sink = Arc::clone(&told);
    config.observer = Box::new(move |seq, event| sink.lock().unwrap().push((seq, event)));
    told
}

/// Runs one prompt on a session of its own.
pub(crate) async fn run(model: &Arc<Scripted>, prompt: &str) -> (Session, RunOutcome) {
    run_with(config(model), prompt).await
}

pub(crate) async fn run_with(config: SessionConfig, prompt: &str) -> (Session, RunOutcome) {
    let (mut session, _) = Session::new(config).unwrap();
    let outcome = session.run(Prompt::new(prompt), CancellationToken::new()).await;
    (session, outcome)
}

/// A run in a task of its own.
pub(crate) struct Running {
    pub(crate) handle: SessionHandle,
    pub(crate) cancel: CancellationToken,
    task: JoinHandle<(Session, RunOutcome)>,
}

impl Running {
    pub(crate) fn start(config: SessionConfig, prompt: &str) -> Self {
        let (session, handle) = Session::new(config).unwrap();
        Self::resume(session, handle, Prompt::new(prompt))
    }

    pub(crate) fn resume(mut session: Session, handle: SessionHandle, next: impl Into<NextRun>) -> Self {
        let cancel = CancellationToken::new();
        let (token, next) = (cancel.clone(), next.into());
        let task = tokio::spawn(async move {
            let outcome = session.run(next, token).await;
            (session, outcome)
        });
        Self { handle, cancel, task }
    }

    pub(crate) async fn end(self) -> (Session, RunOutcome) {
        tokio::time::timeout(Duration::from_hours(1), self.task).await.expect("a run that ends").unwrap()
    }
}

/// Drives a session as its owner does, until it is closed.
pub(crate) fn drive(mut session: Session) -> JoinHandle<(Session, Vec<RunOutcome>)> {
    tokio::spawn(async move {
        let mut outcomes = Vec::new();
        while let Some(next) = session.idle().await {
            outcomes.push(session.run(next, CancellationToken::new()).await);
        }
        (session, outcomes)
    })
}

pub(crate) fn steer(id: &str, text: &str) -> SteerRequest {
    SteerRequest { steer_id: id.into(), text: text.into(), author: SteerAuthor::User }
}

/// Lets everything that can run do so, without time passing.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.page(PageRequest { limit: 10_000, ..PageRequest::default() }).entries
}

/// The kinds of the entries, as their lines have them.
pub(crate) fn kinds(session: &Session) -> Vec<String> {
    let kind =
        |entry: &Arc<Entry>| serde_json::to_value(&**entry).unwrap()["kind"].as_str().unwrap().to_owned();
    entries(session).iter().map(kind).collect()
}

pub(crate) fn results(session: &Session) -> Vec<(String, crate::ToolOutcome)> {
    entries(session)
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ToolResult(result) => Some((result.tool_call_id.to_string(), result.outcome)),
            _ => None,
        })
        .collect()
}

type Body = fn(ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// A tool that is a function.
pub(crate) struct Plain(pub(crate) Body);

impl ToolExecute for Plain {
    fn execute(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        (self.0)(call)
    }
}

pub(crate) fn tool(name: &'static str, parameters: Value, body: Body) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        label: name.into(),
        kind: if name == "read" { ToolKind::Read } else { ToolKind::Other },
        description: name.into(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters,
        sequential: name.starts_with("lonely"),
        execute: Arc::new(Plain(body)),
        describe: |arguments| {
            let path = arguments["path"].as_str();
            ToolCallTitle {
                title: path.unwrap_or("a call").to_owned(),
                locations: path.map(|path| Location { path: path.into(), line: None }).into_iter().collect(),
            }
        },
    }
}

fn tools() -> Vec<ToolDefinition> {
    let any = || json!({ "type": "object", "properties": {} });
    let path = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "limit": { "type": "integer" } },
        "required": ["path"]
    });
    let slow = json!({
        "type": "object", "properties": { "ms": { "type": "integer" } }, "required": ["ms"]
    });
    let sleep: Body = |call| {
        Box::pin(async move {
            let time = Duration::from_millis(call.arguments["ms"].as_u64().unwrap());
            tokio::select! {
                () = tokio::time::sleep(time) => Ok(ToolOutput::text(format!("slept {}", time.as_millis()))),
                () = call.cancel.cancelled() => Err(ToolError::new("stopped sleeping")),
            }
        })
    };
    vec![
        tool("read", path, |call| {
            Box::pin(async move { Ok(ToolOutput::text(format!("read {}", call.arguments))) })
        }),
        tool("sleep", slow.clone(), sleep),
        tool("lonely_sleep", slow, sleep),
        tool("deaf", any(), |_| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_mins(1)).await;
                Ok(ToolOutput::text("never heard"))
            })
        }),
        tool("fail", any(), |_| Box::pin(async { Err(ToolError::new("it failed")) })),
        tool("panic", any(), |_| Box::pin(async { panic!("a faulty tool") })),
        tool("flood", any(), |_| Box::pin(async { Ok(ToolOutput::text("x\n".repeat(1 << 20))) })),
        tool("same", any(), |_| Box::pin(async { Ok(ToolOutput::text("same")) })),
        tool("done", any(), |_| {
            Box::pin(async { Ok(ToolOutput { terminate: true, ..ToolOutput::text("done") }) })
        }),
        tool("chatty", any(), |call| {
            Box::pin(async move {
                for n in 0..100 {
                    call.updates.send(ToolOutput::text(format!("update {n}")));
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let late = call.updates.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    late.send(ToolOutput::text("too late"));
                });
                Ok(ToolOutput::text("said all"))
            })
        }),
    ]
}
