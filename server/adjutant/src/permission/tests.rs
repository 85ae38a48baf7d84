//! Tests of the gate: what each mode does with each kind of call, and that changes of settings bind at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use project::StateDirs;
use serde_json::{Value, json};
use session::{Location, ToolCallTitle};
use tokio::sync::watch;
use vocab::{PermissionMode, SessionId, ThinkingLevel, ToolKind};

use super::question::question;
use super::{Call, Gate, Verdict, faulty_rules};
use crate::launch::LaunchContext;
use crate::outbox::Outbox;
use crate::workspace::{Sources, Workspaces};

/// A session in a folder of its own, and the gate of an agent of it.
struct Lab {
    folder: tempfile::TempDir,
    workspaces: Workspaces,
    context: watch::Sender<Arc<LaunchContext>>,
    gate: Gate,
}

impl Lab {
    fn new(permissions: &Value, at_most: Option<PermissionMode>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let mut workspaces = Workspaces::new(Sources {
            dirs: StateDirs::at(folder.path().join("home")),
            models_file: None,
            folder: folder.path().join("ws"),
            trusted: None,
            exec_guard: None,
            model: None,
            embedded: vec![Arc::new(model::offline::OfflineModel::new())],
        });
        workspaces.set_client_settings(&json!({ "permissions": permissions }));
        let workspace = workspaces.of(None).unwrap();
        let context = LaunchContext {
            session: SessionId::new("s"),
            model: workspace.registry.default_model(None).unwrap(),
            thinking: ThinkingLevel::Off,
            system_prompt: "".into(),
            mode: None,
            default_mode: PermissionMode::Ask,
            files: None,
            ledger: session::Ledger::default(),
            workspace: Arc::clone(&workspace),
        };
        let (context, session) = watch::channel(Arc::new(context));
        let environment = Arc::clone(&workspace.environment);
        let outbox = Outbox::nowhere();
        let gate = Gate { session, at_most, environment, path: Vec::new(), outbox, headless: false };
        Self { folder, workspaces, context, gate }
    }

    /// The client's settings change.
    fn set(&mut self, permissions: &Value) {
        self.workspaces.set_client_settings(&json!({ "permissions": permissions }));
        let workspace = self.workspaces.of(None).unwrap();
        let changed = self.context.borrow().with_workspace(workspace);
        self.context.send_replace(Arc::new(changed));
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("ws")
    }

    fn write(&self, path: impl AsRef<Path>) -> Verdict {
        self.call("write", ToolKind::Edit, &json!({ "path": path.as_ref() }), Some(path.as_ref()))
    }

    fn bash(&self, command: &str) -> Verdict {
        self.call("bash", ToolKind::Execute, &json!({ "command": command }), None)
    }

    fn call(&self, tool: &str, kind: ToolKind, arguments: &Value, path: Option<&Path>) -> Verdict {
        let title = title("", path);
        self.gate.verdict(&Call { tool, kind, title: &title, arguments })
    }
}

fn title(text: &str, path: Option<&Path>) -> ToolCallTitle {
    let locations = path.map(|path| Location { path: path.into(), line: None }).into_iter().collect();
    ToolCallTitle { title: text.to_owned(), locations }
}

fn refuses(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refuse(_))
}

#[test]
fn edits_are_free_where_they_run_nothing() {
    let lab = Lab::new(&json!({ "mode": "auto-edit" }), None);
    for path in ["a", "src/new/a.rs", "git/config", ".github/workflows/x.yml", ".gitignore"] {
        assert_eq!(lab.write(path), Verdict::Allow, "{path}");
    }
    std::os::unix::fs::symlink(".git", lab.root().join("link")).unwrap();
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        ".git",
        "sub/.git/config",
        "x/../.git/config",
        "link/config",
        ".adjutant/settings.json",
        ".Adjutant/agents/a.md",
        "../outside",
    ] {
        assert_eq!(lab.write(path), Verdict::Ask, "{path}");
    }
    let allowed = Lab::new(&json!({ "mode": "auto-edit", "allow": ["write(.git/config)"] }), None);
    assert_eq!(allowed.write(".git/config"), Verdict::Allow);
}

#[test]
fn a_hidden_command_is_asked_where_a_rule_might_deny_it() {
    let lab = Lab::new(&json!({ "mode": "auto", "deny": ["bash(rm *)"], "allow": ["bash"] }), None);
    assert!(refuses(&lab.bash("env rm x")));
    assert_eq!(lab.bash("$(echo rm) x"), Verdict::Ask);
    assert_eq!(lab.bash("ls $x"), Verdict::Allow);
    let free = Lab::new(&json!({ "mode": "auto" }), None);
    assert_eq!(free.bash("$(echo rm) x"), Verdict::Allow);
}

#[test]
fn a_narrower_mode_and_a_new_rule_bind_what_runs() {
    let mut lab = Lab::new(&json!({ "mode": "auto" }), Some(PermissionMode::Auto));
    assert_eq!(lab.bash("ls"), Verdict::Allow);
    lab.set(&json!({ "deny": ["bash"] }));
    assert!(refuses(&lab.bash("ls")));
    lab.set(&json!({ "deny": [], "mode": "plan" }));
    assert!(refuses(&lab.bash("ls")) && refuses(&lab.write("a")));
    lab.set(&json!({ "mode": "ask" }));
    assert_eq!(lab.bash("ls"), Verdict::Ask);
}

#[test]
fn a_wider_mode_does_not_widen_an_agent() {
    let mut lab = Lab::new(&json!({ "mode": "ask" }), Some(PermissionMode::Ask));
    lab.set(&json!({ "mode": "auto" }));
    assert_eq!(lab.bash("ls"), Verdict::Ask);
    lab.gate.at_most = None;
    assert_eq!(lab.bash("ls"), Verdict::Allow);
}

#[tokio::test]
async fn a_question_ends_when_settings_answer_it() {
    let mut lab = Lab::new(&json!({ "mode": "ask" }), None);
    let gate = lab.gate.clone();
    let waiting = tokio::spawn(async move {
        let (title, arguments) = (title("", None), json!({ "command": "ls" }));
        gate.decided(&Call { tool: "bash", kind: ToolKind::Execute, title: &title, arguments: &arguments })
            .await
    });
    tokio::task::yield_now().await;
    lab.set(&json!({ "allow": ["read"] }));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    lab.set(&json!({ "deny": ["bash"] }));
    let refused = tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
    assert!(refused.unwrap().contains("denies"));
}

#[test]
fn a_deny_rule_that_cannot_be_read_frees_nothing() {
    let lab = Lab::new(&json!({ "mode": "auto", "allow": ["bash"], "deny": ["rm -rf", "write("] }), None);
    assert_eq!(lab.bash("ls"), Verdict::Ask);
    assert!(refuses(&lab.write("a")));
    let permissions = lab.context.borrow().workspace.settings.permissions.clone();
    let told = faulty_rules(&permissions);
    assert!(told[0].contains("`rm -rf`") && told[0].contains("is asked"), "{told:?}");
    assert!(told[1].contains("every call of write is denied"), "{told:?}");
}

#[test]
fn a_question_shows_who_asks_and_where_a_path_leads() {
    let lab = Lab::new(&json!({}), None);
    let root = lab.root().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc", root.join("lnk")).unwrap();
    let ask = |text: &str, path: &str| {
        let (title, arguments) = (title(text, Some(Path::new(path))), json!({}));
        let call = Call { tool: "write", kind: ToolKind::Edit, title: &title, arguments: &arguments };
        question(&["bob\nThe session".into(), "x".into()], &call, &*lab.gate.environment)
    };
    let led = ask("Write lnk/evil", "lnk/evil");
    assert_eq!(led, "bob The session › x wants to change files: Write lnk/evil (leads to /etc/evil)");
    assert!(ask("Write a", "a").ends_with("Write a"));
    assert!(ask("Write long…", "long/name").ends_with("long/name)"));
}
