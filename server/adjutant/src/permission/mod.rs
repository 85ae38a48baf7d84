//! The permission gate: a hook before every tool call, in parents and children alike. It decides by mode and rules, and
//! where they leave it open it asks a person; until one has answered, the tool has not run.

mod loose;
mod question;
mod rules;
mod shell;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use project::settings::PermissionSettings;
use serde_json::Value;
use session::environment::Environment;
use session::{ExtensionFactory, ToolCallDecision, ToolCallEvent, ToolCallTitle};
use tokio::sync::watch;
use vocab::{PermissionMode, ToolKind, WaitingOn};

use self::question::question;
use self::rules::{Denial, Rule, Subject};
use crate::delegation;
use crate::launch::LaunchContext;
use crate::outbox::{Answer, Outbox};

/// A question that was closed unanswered is asked again after this long, then ever more rarely.
const ASK_AGAIN: Duration = Duration::from_secs(30);
const ASK_AGAIN_AT_MOST: Duration = Duration::from_mins(10);

const ALLOW: &str = "Allow once";
const REFUSE: &str = "Refuse";

/// What decides about the calls of one conversation. Mode and rules are those of its root session at the time of the call:
/// what a person narrows holds for everything that runs already.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    /// The root session's settings as they are now.
    pub(crate) session: watch::Receiver<Arc<LaunchContext>>,
    /// The mode that an agent was launched with: it runs in no wider one, whatever its session may do later.
    pub(crate) at_most: Option<PermissionMode>,
    /// What the calls reach.
    pub(crate) environment: Arc<dyn Environment>,
    /// Handles from the root to the agent that calls; empty for the parent session.
    pub(crate) path: Vec<String>,
    pub(crate) outbox: Outbox,
    /// Whether nobody can be asked.
    pub(crate) headless: bool,
}

/// A tool call, as far as it is decided about.
#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    tool: &'a str,
    kind: ToolKind,
    title: &'a ToolCallTitle,
    arguments: &'a Value,
}

impl<'a> Call<'a> {
    fn of(event: &'a ToolCallEvent) -> Self {
        Self { tool: &event.tool_name, kind: event.kind, title: &event.title, arguments: &event.arguments }
    }

    fn command(&self) -> Option<&'a str> {
        self.arguments.get("command").and_then(Value::as_str)
    }
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
        let call = Call::of(&event);
        let refused = match self.verdict(&call) {
            Verdict::Allow => None,
            Verdict::Refuse(reason) => Some(reason),
            Verdict::Ask if self.headless => Some(format!(
                "{} needs a person's permission, and nobody can be asked in a headless run. Use --permission-mode, or an \
                 allow rule in the settings.",
                call.tool
            )),
            Verdict::Ask => {
                let _waiting = event.context.waiting(WaitingOn::Approval);
                tokio::select! {
                    biased;
                    refused = self.decided(&call) => refused,
                    refused = self.ask(&call) => refused.or_else(|| match self.verdict(&call) {
                        // The answer may be older than a rule.
                        Verdict::Refuse(reason) => Some(reason),
                        Verdict::Allow | Verdict::Ask => None,
                    }),
                }
            }
        };
        match refused {
            None => ToolCallDecision::Proceed { arguments: event.arguments },
            Some(reason) => ToolCallDecision::Block { reason, terminate: false },
        }
    }

    /// Waits until changed settings decide about a call that is being asked about.
    async fn decided(&self, call: &Call<'_>) -> Option<String> {
        let mut session = self.session.clone();
        loop {
            if session.changed().await.is_err() {
                return std::future::pending().await;
            }
            match self.verdict(call) {
                Verdict::Allow => return None,
                Verdict::Refuse(reason) => return Some(reason),
                Verdict::Ask => {}
            }
        }
    }

    fn verdict(&self, call: &Call<'_>) -> Verdict {
        // Our own tools do nothing themselves; what an agent does passes its own gate.
        if delegation::is_own_tool(call.tool) {
            return Verdict::Allow;
        }
        let session = Arc::clone(&self.session.borrow());
        let permissions = &session.workspace.settings.permissions;
        let environment = &*self.environment;
        let root = environment.real_path(environment.root());
        let paths = real_paths(environment, call);
        let command = (call.kind == ToolKind::Execute).then(|| call.command().unwrap_or_default());
        let subject = Subject { tool: call.tool, command, paths: &paths, root: &root };
        let denying: Vec<Rule> = permissions.deny.iter().filter_map(|text| Rule::denying(text)).collect();
        let unclear = denying.len() < permissions.deny.len();
        let denial = rules::denies(&denying, &subject);
        if denial == Denial::Denied {
            return Verdict::Refuse(format!("A rule of the settings denies this {} call.", call.tool));
        }
        let mode = self.at_most.map_or(session.mode(), |at_most| at_most.min(session.mode()));
        let inside = paths.iter().all(|path| path.starts_with(&root));
        let reads = matches!(call.kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        match mode {
            _ if reads && inside => Verdict::Allow,
            PermissionMode::Plan => Verdict::Refuse(if reads {
                "This path is outside the workspace; in plan mode only the workspace can be read.".to_owned()
            } else {
                format!("{} is not available in plan mode: only reading is.", call.tool)
            }),
            // A rule may deny what it runs: only a person can tell.
            _ if denial == Denial::Hidden || unclear => Verdict::Ask,
            PermissionMode::Auto => Verdict::Allow,
            _ if rules::allows(&parsed(&permissions.allow), &subject) => Verdict::Allow,
            PermissionMode::AutoEdit if call.kind == ToolKind::Edit && inside && !paths.is_empty() => {
                if paths.iter().any(|path| decides_what_runs(path, &root)) {
                    Verdict::Ask
                } else {
                    Verdict::Allow
                }
            }
            _ => Verdict::Ask,
        }
    }

    /// Asks until somebody answers. A closed question is neither consent nor denial: the call waits, and is asked about
    /// again. Stopping the run, or the end of the server, drops this future with the tool not run.
    async fn ask(&self, call: &Call<'_>) -> Option<String> {
        let text = question(&self.path, call, &*self.environment);
        let limit = match self.session.borrow().workspace.settings.permissions.answer_limit_ms {
            0 => None,
            ms => Some(tokio::time::Instant::now() + Duration::from_millis(ms)),
        };
        let mut pause = ASK_AGAIN;
        loop {
            let asked = self.outbox.ask(text.clone(), vec![ALLOW.to_owned(), REFUSE.to_owned()]);
            let Some(answer) = before(limit, asked).await else { return Some(too_late(call)) };
            match answer {
                Answer::Button(button) if button == ALLOW => return None,
                Answer::Button(_) => return Some(format!("The user refused this {} call.", call.tool)),
                Answer::Nobody => {
                    return Some(format!(
                        "{} needs a person's permission, and the editor cannot ask for it.",
                        call.tool
                    ));
                }
                Answer::Dismissed => {
                    if before(limit, tokio::time::sleep(pause)).await.is_none() {
                        return Some(too_late(call));
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

fn too_late(call: &Call<'_>) -> String {
    format!("Nobody answered in time whether {} may run; it was not run.", call.tool)
}

/// Whether a file in the workspace is one from which commands or rights come: a hook of Git, its configuration, or ours.
/// Who may edit files may not, by that, run commands.
fn decides_what_runs(path: &Path, root: &Path) -> bool {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().any(|part| match part {
        // Some file systems do not tell case apart.
        Component::Normal(name) => {
            name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(project::PROJECT_FOLDER)
        }
        _ => false,
    })
}

/// The paths that a call touches, with links followed: a link in the workspace must not lead out of it unasked.
fn real_paths(environment: &dyn Environment, call: &Call<'_>) -> Vec<PathBuf> {
    let places = call.title.locations.iter().map(|place| place.path.as_path());
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

/// What is wrong with the rules of the settings, for a person.
pub(crate) fn faulty_rules(permissions: &PermissionSettings) -> Vec<String> {
    let allow = permissions.allow.iter().filter_map(|rule| rule.parse::<Rule>().err());
    let allow = allow.map(|error| format!("{error}. It allows nothing."));
    let deny = permissions.deny.iter().filter_map(|text| {
        let error = text.parse::<Rule>().err()?;
        Some(match Rule::denying(text) {
            None => format!("{error}. Until it is mended, every edit and every command is asked."),
            Some(rule) => format!("{error}. Until it is mended, every call of {} is denied.", rule.tool()),
        })
    });
    allow.chain(deny).collect()
}
