//! One test's place: a state folder, a workspace, and a scripted model that `models.json` points at.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary;
use crate::fake_model::ScriptedServer;

/// The model of every test that says nothing else.
pub const MODEL: &str = "scripted/fake";
/// The same over Anthropic Messages.
pub const ANTHROPIC: &str = "claudish/fake";
/// The variable that marks every process that a lab started, at any depth.
const MARK: &str = "ADJUTANT_HOME";

/// Dropping it removes the folders and ends the model.
#[derive(Debug)]
pub struct Lab {
    pub model: ScriptedServer,
    work: PathBuf,
    folder: TempDir,
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

impl Lab {
    /// A workspace with a `README.md`.
    pub fn new() -> Self {
        Self::named("work")
    }

    /// A workspace of this name.
    pub fn named(name: &str) -> Self {
        Self::with(name, ScriptedServer::start())
    }

    /// A workspace and a model made for figures.
    pub fn for_figures() -> Self {
        Self::with("work", ScriptedServer::start_lean())
    }

    fn with(name: &str, model: ScriptedServer) -> Self {
        let folder = tempfile::Builder::new().prefix("adjutant-test-").tempdir().expect("a temporary folder");
        let base = folder.path().canonicalize().expect("a temporary folder has a path");
        let work = base.join(name);
        fs::create_dir_all(&work).expect("the workspace can be made");
        let lab = Self { model, work, folder };
        lab.write("README.md", "# A small project\n");
        fs::create_dir_all(lab.home()).expect("the state folder can be made");
        lab.models(&json!({}));
        lab
    }

    /// Writes `models.json`: the scripted model over both protocols, and `more` providers.
    pub fn models(&self, more: &Value) {
        let base = format!("http://127.0.0.1:{}/v1", self.model.port());
        let models = json!([{ "id": "fake", "contextWindow": 200_000, "maxTokens": 8192, "input": ["text", "image"] }]);
        let mut providers = json!({
            "scripted": { "baseUrl": base, "api": "openai-completions", "apiKey": "test-key", "models": models },
            "claudish": {
                "baseUrl": base.trim_end_matches("/v1"), "api": "anthropic-messages", "apiKey": "test-key",
                "models": models,
            },
        });
        if let (Some(all), Some(more)) = (providers.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        self.write_home("models.json", &json!({ "providers": providers }).to_string());
    }

    /// Writes the user's settings.
    pub fn settings(&self, settings: &Value) {
        self.write_home("settings.json", &settings.to_string());
    }

    /// `ADJUTANT_HOME`.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The workspace.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// A file of the workspace as a URI.
    pub fn uri(&self, file: &str) -> String {
        file_uri(&self.work.join(file))
    }

    /// Writes a file of the workspace, with its folders.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        write(&self.work.join(file), content.as_ref());
    }

    /// Writes a file of the state folder.
    pub fn write_home(&self, file: &str, content: &str) {
        write(&self.home().join(file), content.as_bytes());
    }

    /// A file of the workspace.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.work.join(file)).unwrap_or_default()
    }

    /// The program under test, in this lab, with nothing of this machine's settings or keys.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary::adjutant());
        command.current_dir(&self.work).env_clear().env(MARK, self.home()).env("HOME", self.folder.path());
        for name in ["PATH", "TMPDIR", "LANG", "TERM"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Every living process of this lab: it has the lab's state folder in its environment.
    pub fn processes(&self) -> Vec<crate::process::Process> {
        crate::process::marked(MARK, &self.home().to_string_lossy())
    }
}

fn write(path: &Path, content: &[u8]) {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("a folder can be made");
    }
    fs::write(path, content).expect("a file can be written");
}

/// A path as a `file:` URI, with everything but unreserved characters escaped.
pub fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(byte as char);
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
