//! Delegation as an extension of the session host: the tools that a model delegates with, and the way completions come
//! back to it. It uses the host's seam and nothing else of it.

mod agent;
mod report;
mod result;
mod steer;
pub(crate) mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::Card;
use roster::{Completion, Input, Owner};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use session::{BoundaryKind, CustomMessage, Delivery, ExtensionFactory, ToolError, inside_child_context};
use tokio::sync::watch;
use vocab::{AgentStatus, SessionId};

use crate::failure::Failure;
use crate::launch::LaunchContext;
use crate::manager::ManagerHandle;
use crate::output_transcript;

pub use agent::AgentParams;
pub use result::ResultParams;
pub use steer::SteerParams;

/// The tool that starts agents.
pub(crate) const AGENT_TOOL: &str = "Agent";
pub(crate) const RESULT_TOOL: &str = "get_subagent_result";
pub(crate) const STEER_TOOL: &str = "steer_subagent";

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

/// What the tools of one session share.
#[derive(Debug, Clone)]
struct Delegation {
    manager: ManagerHandle,
    session: SessionId,
    context: watch::Receiver<Arc<LaunchContext>>,
    /// The session's turn: agents that one turn starts in the background are reported together.
    turn: Arc<AtomicU64>,
}

/// Whether a tool is one of these: what they start passes the gate itself.
pub(crate) fn is_own_tool(name: &str) -> bool {
    [AGENT_TOOL, RESULT_TOOL, STEER_TOOL].contains(&name)
}

/// The extension. In a child it installs nothing: a child gets tools to delegate with only where its definition grants
/// them. `context` is that of the parent session; a child has none.
pub(crate) fn extension(
    manager: ManagerHandle,
    context: Option<watch::Receiver<Arc<LaunchContext>>>,
) -> ExtensionFactory {
    Arc::new(move |api| {
        if inside_child_context() {
            return;
        }
        let Some(context) = context.clone() else { return };
        let delegation = Delegation {
            manager: manager.clone(),
            session: api.session_id().clone(),
            context,
            turn: Arc::default(),
        };
        let tools = [agent::tool, result::tool, steer::tool].map(|tool| tool(delegation.clone()));
        for tool in tools {
            api.register_tool(report::with_usage(tool, delegation.context.clone()));
        }
        let log = api.handle();
        api.on_session_start(move |reason| {
            tracing::debug!(session = %log.id(), ?reason, "delegation is ready");
            Box::pin(async {})
        });
        let ending = delegation.clone();
        api.on_session_shutdown(move |_| {
            let session = ending.session.clone();
            ending.manager.tell(move |_| Input::CloseSession { session });
            Box::pin(async {})
        });
        let entries = api.handle();
        api.on_before_turn(move |boundary| {
            let delegation = delegation.clone();
            let entries = entries.clone();
            Box::pin(async move { delegation.at_boundary(boundary.at, &entries).await })
        });
    })
}

impl Delegation {
    /// Takes the completions that wait for this session. They are acknowledged once they are in its history, and wait
    /// again if they never get there.
    async fn at_boundary(&self, at: BoundaryKind, entries: &session::SessionHandle) -> Vec<Delivery> {
        let owner = Owner::Session(self.session.clone());
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
        Arc::clone(&self.context.borrow())
    }

    /// Finds an agent of this session by id, handle or alias.
    async fn find(&self, reference: &str) -> Result<vocab::AgentId, Failure> {
        let (session, reference) =
            (self.session.clone(), reference.trim().trim_start_matches('@').to_owned());
        self.manager.call(move |manager| manager.find_own_agent(&session, &reference)).await?
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
