//! The permission gate: a hook before every tool call, in parents and children alike. It decides by mode and rules, and
//! where they leave it open it asks a person; until one has answered, the tool has not run.

mod rules;
mod shell;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use project::settings::PermissionSettings;
use session::environment::Environment;
use session::{ExtensionFactory, ToolCallDecision, ToolCallEvent};
use tokio::sync::watch;
use vocab::{PermissionMode, ToolKind, WaitingOn};

use self::rules::{Rule, Subject};
use crate::delegation;
use crate::delegation::text::one_line;
use crate::launch::LaunchContext;
use crate::outbox::{Answer, Outbox};
use crate::workspace::Workspace;

/// A question that was closed unanswered is asked again after this long, then ever more rarely.
const ASK_AGAIN: Duration = Duration::from_secs(30);
const ASK_AGAIN_AT_MOST: Duration = Duration::from_mins(10);

const ALLOW: &str = "Allow once";
const REFUSE: &str = "Refuse";

/// What decides about the calls of one session.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) mode: Mode,
    /// Handles from the root to the agent that calls; empty for the parent session.
    pub(crate) path: Vec<String>,
    pub(crate) outbox: Outbox,
    /// Whether nobody can be asked.
    pub(crate) headless: bool,
}

/// Where a session's mode comes from.
#[derive(Debug, Clone)]
pub(crate) enum Mode {
    /// Fixed when the child was launched.
    Fixed(PermissionMode),
    /// The parent session's, as its settings are now.
    OfSession(watch::Receiver<Arc<LaunchContext>>),
}

/// What is to happen with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Allow,
    Refuse(String),
    Ask,
}

/// The gate as an extension.
pub(crate) fn extension(gate: Gate) -> ExtensionFactory {
    let gate = Arc::new(gate);
    Arc::new(move |api| {
        let gate = Arc::clone(&gate);
        api.on_tool_call(move |event| {
            let gate = Arc::clone(&gate);
            Box::pin(async move { gate.decide(event).await })
        });
    })
}

impl Gate {
    async fn decide(&self, event: ToolCallEvent) -> ToolCallDecision {
        let refused = match self.verdict(&event) {
            Verdict::Allow => None,
            Verdict::Refuse(reason) => Some(reason),
            Verdict::Ask if self.headless => Some(format!(
                "{} needs a person's permission, and nobody can be asked in a headless run. Use --permission-mode, or an \
                 allow rule in the settings.",
                event.tool_name
            )),
            Verdict::Ask => {
                let _waiting = event.context.waiting(WaitingOn::Approval);
                self.ask(&event).await
            }
        };
        match refused {
            None => ToolCallDecision::Proceed { arguments: event.arguments },
            Some(reason) => ToolCallDecision::Block { reason, terminate: false },
        }
    }

    fn mode(&self) -> PermissionMode {
        match &self.mode {
            Mode::Fixed(mode) => *mode,
            Mode::OfSession(context) => context.borrow().mode(),
        }
    }

    fn verdict(&self, event: &ToolCallEvent) -> Verdict {
        // Our own tools do nothing themselves; what an agent does passes its own gate.
        if delegation::is_own_tool(&event.tool_name) {
            return Verdict::Allow;
        }
        let environment = &*self.workspace.environment;
        let root = environment.real_path(environment.root());
        let paths = real_paths(environment, event);
        let command = (event.kind == ToolKind::Execute)
            .then(|| event.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default());
        let subject = Subject { tool: &event.tool_name, command, paths: &paths, root: &root };
        let permissions = &self.workspace.settings.permissions;
        if rules::denies(&parsed(&permissions.deny), &subject) {
            return Verdict::Refuse(format!("A rule of the settings denies this {} call.", event.tool_name));
        }
        let mode = self.mode();
        let inside = paths.iter().all(|path| path.starts_with(&root));
        let reads = matches!(event.kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        match mode {
            PermissionMode::Auto => Verdict::Allow,
            _ if reads && inside => Verdict::Allow,
            PermissionMode::Plan => Verdict::Refuse(if reads {
                "This path is outside the workspace; in plan mode only the workspace can be read.".to_owned()
            } else {
                format!("{} is not available in plan mode: only reading is.", event.tool_name)
            }),
            _ if rules::allows(&parsed(&permissions.allow), &subject) => Verdict::Allow,
            PermissionMode::AutoEdit if event.kind == ToolKind::Edit && inside && !paths.is_empty() => {
                Verdict::Allow
            }
            _ => Verdict::Ask,
        }
    }

    /// Asks until somebody answers. A closed question is neither consent nor denial: the call waits, and is asked about
    /// again. Stopping the run, or the end of the server, drops this future with the tool not run.
    async fn ask(&self, event: &ToolCallEvent) -> Option<String> {
        let who = if self.path.is_empty() { "The session".to_owned() } else { self.path.join(" › ") };
        let text = format!("{who} wants to {}: {}", verb(event.kind), one_line(&what(event), 300));
        let limit = match self.workspace.settings.permissions.answer_limit_ms {
            0 => None,
            ms => Some(tokio::time::Instant::now() + Duration::from_millis(ms)),
        };
        let mut pause = ASK_AGAIN;
        loop {
            let asked = self.outbox.ask(text.clone(), vec![ALLOW.to_owned(), REFUSE.to_owned()]);
            let Some(answer) = before(limit, asked).await else { return Some(too_late(event)) };
            match answer {
                Answer::Button(button) if button == ALLOW => return None,
                Answer::Button(_) => return Some(format!("The user refused this {} call.", event.tool_name)),
                Answer::Nobody => {
                    return Some(format!(
                        "{} needs a person's permission, and the editor cannot ask for it.",
                        event.tool_name
                    ));
                }
                Answer::Dismissed => {
                    if before(limit, tokio::time::sleep(pause)).await.is_none() {
                        return Some(too_late(event));
                    }
                    pause = (pause * 2).min(ASK_AGAIN_AT_MOST);
                }
            }
        }
    }
}

/// What a future answers, unless the limit comes first.
async fn before<T>(limit: Option<tokio::time::Instant>, wait: impl Future<Output = T>) -> Option<T> {
    match limit {
        None => Some(wait.await),
        Some(limit) => tokio::time::timeout_at(limit, wait).await.ok(),
    }
}

fn too_late(event: &ToolCallEvent) -> String {
    format!("Nobody answered in time whether {} may run; it was not run.", event.tool_name)
}

fn verb(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read | ToolKind::Search => "read outside the workspace",
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => "change files",
        ToolKind::Execute => "run a command",
        ToolKind::Fetch => "fetch from the network",
        ToolKind::Think | ToolKind::Other => "use a tool",
    }
}

/// What a person has to know to decide: the command itself, else the call's title.
fn what(event: &ToolCallEvent) -> String {
    match event.arguments.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => command.to_owned(),
        None if event.title.title.is_empty() => event.tool_name.to_string(),
        None => event.title.title.clone(),
    }
}

/// The paths that a call touches, with links followed: a link in the workspace must not lead out of it unasked.
fn real_paths(environment: &dyn Environment, event: &ToolCallEvent) -> Vec<PathBuf> {
    let places = event.title.locations.iter().map(|place| place.path.as_path());
    let resolve = |path: &Path| match path.to_str().map(|path| environment.resolve(path)) {
        Some(Ok(path)) => environment.real_path(&path),
        // What cannot be resolved is in no workspace.
        _ => PathBuf::from("/"),
    };
    places.map(resolve).collect()
}

fn parsed(texts: &[String]) -> Vec<Rule> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// What is wrong with the rules of the settings, for a person: a rule that cannot be read does nothing.
pub(crate) fn faulty_rules(permissions: &PermissionSettings) -> Vec<String> {
    let rules = permissions.allow.iter().chain(&permissions.deny);
    rules.filter_map(|rule| rule.parse::<Rule>().err()).map(|error| error.to_string()).collect()
}
