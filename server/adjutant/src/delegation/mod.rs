//! Delegation as an extension of the session host: the tools that a model delegates with, and the way completions come
//! back to it. It uses the host's seam and nothing else of it.

mod agent;
mod list;
mod report;
mod result;
mod steer;
mod stop;
pub(crate) mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use protocol::Card;
use roster::{Completion, Input, Owner};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use session::{
    BoundaryKind, CustomMessage, Delivery, ExtensionApi, ExtensionFactory, ToolCall, ToolCallTitle,
    ToolDefinition, ToolError, ToolExecute, ToolOutput, inside_child_context,
};
use tokio::sync::watch;
use vocab::{AgentStatus, SessionId};

use crate::failure::Failure;
use crate::launch::{AgentOwner, LaunchContext};
use crate::manager::ManagerHandle;
use crate::output_transcript;

pub use agent::AgentParams;
pub use list::ListParams;
pub use result::ResultParams;
pub use steer::SteerParams;
pub use stop::StopParams;

/// The tool that starts agents.
pub(crate) const AGENT_TOOL: &str = "Agent";
pub(crate) const RESULT_TOOL: &str = "get_subagent_result";
pub(crate) const STEER_TOOL: &str = "steer_subagent";
pub(crate) const LIST_TOOL: &str = "list_subagents";
pub(crate) const STOP_TOOL: &str = "stop_subagent";

/// All of them.
pub(crate) const TOOLS: &[&str] = &[AGENT_TOOL, RESULT_TOOL, STEER_TOOL, LIST_TOOL, STOP_TOOL];

/// The custom message that carries completions to a model.
pub(crate) const NOTIFICATION: &str = "subagent-notification";
/// The custom entry that keeps them for people and programs; no model reads it.
const RECORD: &str = "subagents:record";

/// The `Agent` tool in a system prompt's list of tools.
pub(crate) const SNIPPET: &str = "Start an agent for a task of its own";

/// Advice for the system prompt of a session that has the `Agent` tool.
pub(crate) const GUIDELINES: &[&str] = &[
    "Give an agent's task to the type that fits it, and do not do delegated work a second time yourself.",
    "Use a searching agent for broad exploration, and your own tools for a place that you know.",
    "Background agents announce themselves when they end: do not wait, poll or sleep for them.",
    "Verify what an agent reports before you build on it; the user does not see its report, so pass on what matters.",
];

/// What the tools of one owner share.
#[derive(Debug, Clone)]
struct Delegation {
    manager: ManagerHandle,
    /// The root session.
    session: SessionId,
    /// The agent that delegates; none where the session itself does.
    agent: Option<Arc<AgentOwner>>,
    context: watch::Receiver<Arc<LaunchContext>>,
    /// The owner's turn: agents that one turn starts in the background are reported together.
    turn: Arc<AtomicU64>,
}

/// Whether a tool is one of these: what they start passes the gate itself.
pub(crate) fn is_own_tool(name: &str) -> bool {
    TOOLS.contains(&name)
}

/// The extension of a parent session. Built in a child it installs nothing.
pub(crate) fn parent_extension(
    manager: ManagerHandle,
    context: watch::Receiver<Arc<LaunchContext>>,
) -> ExtensionFactory {
    Arc::new(move |api| {
        if inside_child_context() {
            return;
        }
        let delegation = Delegation::new(manager.clone(), api.session_id().clone(), None, context.clone());
        for tool in delegation.tools() {
            api.register_tool(report::with_usage(tool, context.clone()));
        }
        let ending = delegation.clone();
        api.on_session_shutdown(move |_| {
            let session = ending.session.clone();
            ending.manager.tell(move |_| Input::CloseSession { session });
            Box::pin(async {})
        });
        delegation.listen(api);
    })
}

/// The extension of a child: tools to delegate with only where it is granted them, and a run that stays open while
/// agents of its own are at work. `granted` has the root session's settings.
pub(crate) fn extension(
    manager: ManagerHandle,
    granted: Option<(Arc<AgentOwner>, watch::Receiver<Arc<LaunchContext>>)>,
) -> ExtensionFactory {
    Arc::new(move |api| {
        let Some((agent, context)) = granted.clone() else { return };
        let session = context.borrow().session.clone();
        let delegation = Delegation::new(manager.clone(), session, Some(agent), context);
        for tool in delegation.tools() {
            api.register_tool(tool);
        }
        let waiting = delegation.clone();
        api.on_would_stop(move |_| {
            let waiting = waiting.clone();
            Box::pin(async move { waiting.has_more_to_come().await })
        });
        delegation.listen(api);
    })
}

/// The working part of one of these tools.
struct Verb<F> {
    delegation: Delegation,
    run: F,
}

impl<F, R> ToolExecute for Verb<F>
where
    F: Fn(Delegation, ToolCall) -> R + Send + Sync,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn execute(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin((self.run)(self.delegation.clone(), call))
    }
}

/// What a call is about, for people: the agent that its arguments name.
fn titled(verb: &str, arguments: &serde_json::Value, unnamed: &str) -> ToolCallTitle {
    let agent = arguments.get("agent_id").and_then(serde_json::Value::as_str).unwrap_or(unnamed);
    ToolCallTitle { title: text::one_line(&format!("{verb} {agent}"), 120), locations: Vec::new() }
}

impl Delegation {
    fn executes<F, R>(&self, run: F) -> Arc<dyn ToolExecute>
    where
        F: Fn(Self, ToolCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Arc::new(Verb { delegation: self.clone(), run })
    }

    fn new(
        manager: ManagerHandle,
        session: SessionId,
        agent: Option<Arc<AgentOwner>>,
        context: watch::Receiver<Arc<LaunchContext>>,
    ) -> Self {
        Self { manager, session, agent, context, turn: Arc::default() }
    }

    fn tools(&self) -> [ToolDefinition; 5] {
        [agent::tool, result::tool, steer::tool, list::tool, stop::tool].map(|tool| tool(self))
    }

    /// Brings completions to the owner's model at its turn boundaries.
    fn listen(self, api: &mut ExtensionApi) {
        let entries = api.handle();
        api.on_before_turn(move |boundary| {
            let delegation = self.clone();
            let entries = entries.clone();
            Box::pin(async move { delegation.at_boundary(boundary.at, &entries).await })
        });
    }

    fn owner(&self) -> Owner {
        match &self.agent {
            Some(owner) => Owner::Agent(owner.agent.clone()),
            None => Owner::Session(self.session.clone()),
        }
    }

    /// Whether agents of this owner are still at work, or have news for it.
    async fn has_more_to_come(&self) -> bool {
        let owner = self.owner();
        self.manager.call(move |manager| manager.has_more_to_come(&owner)).await.unwrap_or(false)
    }

    /// Takes the completions that wait for this owner. They are acknowledged once they are in its history, and wait
    /// again if they never get there.
    async fn at_boundary(&self, at: BoundaryKind, entries: &session::SessionHandle) -> Vec<Delivery> {
        let owner = self.owner();
        if at != BoundaryKind::WouldStop {
            let turn = self.turn.fetch_add(1, Ordering::AcqRel);
            let owner = owner.clone();
            self.manager.tell(move |_| Input::TurnOver { owner, turn });
        }
        let idle = matches!(at, BoundaryKind::WouldStop | BoundaryKind::Wake);
        let Ok(batch) = self.manager.drain(owner, idle).await else { return Vec::new() };
        if batch.completions.is_empty() {
            return Vec::new();
        }
        for completion in &batch.completions {
            entries.append_entry(RECORD, record(completion));
        }
        let message = notification(&batch.completions, batch.partial, &self.context());
        vec![Delivery::new(message, move |_| batch.delivered())]
    }

    fn turn(&self) -> u64 {
        self.turn.load(Ordering::Acquire)
    }

    fn context(&self) -> Arc<LaunchContext> {
        let context = Arc::clone(&self.context.borrow());
        match &self.agent {
            Some(owner) => Arc::new(context.for_owner(owner)),
            None => context,
        }
    }

    /// Finds an agent of this owner by id, handle or alias.
    async fn find(&self, reference: &str) -> Result<vocab::AgentId, Failure> {
        let (session, owner) = (self.session.clone(), self.owner());
        let reference = reference.trim().trim_start_matches('@').to_owned();
        self.manager.call(move |manager| manager.find_own_agent(&session, &owner, &reference)).await?
    }
}

fn notification(completions: &[Completion], partial: bool, context: &LaunchContext) -> CustomMessage {
    let output_file = |completion: &Completion| {
        output_transcript::existing(context.files.as_ref(), &completion.agent, completion.run)
    };
    let extras = text::Extras { show_cost: context.show_cost(), output_file: &output_file };
    let lines = completions.iter().map(|completion| {
        let text = text::one_line(&completion.outcome.text, 80);
        let mark = if matches!(completion.status(), AgentStatus::Completed | AgentStatus::Steered) {
            "✓"
        } else {
            "✗"
        };
        let seconds = text::seconds(completion.duration_ms());
        format!("{mark} {} · {} · {seconds} · {text}", completion.handle, text::status_label(completion))
    });
    let title = match completions {
        [only] if only.status() == AgentStatus::Interrupted => format!("{} was interrupted", only.handle),
        [only] => format!("{} has ended", only.handle),
        several => format!("{} agents have ended", several.len()),
    };
    let card = Card { icon: "bell".to_owned(), title, lines: lines.collect(), actions: Vec::new() };
    let keys: Vec<_> = completions.iter().map(|done| format!("{}/{}", done.agent, done.run)).collect();
    CustomMessage {
        details: serde_json::json!({ "card": card, "agents": keys }),
        key: Some(keys.join(",")),
        ..CustomMessage::text(NOTIFICATION, text::notification(completions, partial, &extras))
    }
}

fn record(completion: &Completion) -> serde_json::Value {
    serde_json::json!({
        "id": completion.agent,
        "run": completion.run,
        "type": completion.agent_type,
        "description": completion.description,
        "status": completion.status(),
        "result": completion.outcome.text,
        "error": completion.outcome.error,
        "startedAt": completion.started_at,
        "completedAt": completion.completed_at,
    })
}

/// The JSON schema of a tool's parameters, in the plain form that strict providers take: inlined, without `null`s.
fn parameters<P: JsonSchema>() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<P>().to_value();
    simplify(&mut schema);
    schema
}

/// Drops titles and number formats, and writes an optional field by its own type: it is optional by not being required.
fn simplify(schema: &mut serde_json::Value) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("format");
    object.remove("title");
    object.remove("default");
    if let Some(serde_json::Value::Array(types)) = object.get("type")
        && let [first, second] = types.as_slice()
        && second == "null"
    {
        let first = first.clone();
        object.insert("type".to_owned(), first);
    }
    if let Some(serde_json::Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(serde_json::Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        Self::new(format!("[{}] {failure}", failure.code.kind()))
    }
}

/// The tools' parameter schemas, for `schemas/`.
pub fn tool_schemas() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("agent", parameters::<AgentParams>()),
        ("get_subagent_result", parameters::<ResultParams>()),
        ("steer_subagent", parameters::<SteerParams>()),
        ("list_subagents", parameters::<ListParams>()),
        ("stop_subagent", parameters::<StopParams>()),
    ]
}

/// Reads validated arguments. Unknown ones of a later version are refused by name, never ignored.
fn read<P: serde::de::DeserializeOwned>(
    arguments: serde_json::Value,
    unavailable: &[&str],
) -> Result<P, ToolError> {
    if let Some(field) =
        unavailable.iter().find(|field| arguments.get(**field).is_some_and(|value| !value.is_null()))
    {
        return Err(Failure::unavailable(field).into());
    }
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::new(format!("the arguments do not fit: {error}")))
}
