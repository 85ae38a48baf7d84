//! Tests of the seven tools over a real folder.

mod changing;
mod commands;
mod looking;

use std::path::Path;
use std::sync::{Arc, Mutex};

use model::ContentBlock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Invocation, TOOLS, builtin_tools};
use crate::environment::{Environment, LocalDisk};
use crate::tool::{ToolError, ToolOutput};

struct Desk {
    folder: TempDir,
    environment: Arc<dyn Environment>,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::new(folder.path().canonicalize().unwrap())
            .with_spill_folder(folder.path().join("spill"));
        Self { folder, environment: Arc::new(disk) }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.root().join(name), bytes).unwrap();
    }

    fn holds(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call_watched(name, arguments, &CancellationToken::new()).await.0
    }

    async fn call_watched(
        &self,
        name: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> (Result<ToolOutput, ToolError>, Vec<ToolOutput>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        let result = (tool.run)(Invocation {
            environment: Arc::clone(&self.environment),
            arguments,
            cancel: cancel.clone(),
            updates: Arc::new(move |partial| sink.lock().unwrap().push(partial)),
        })
        .await;
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        (result, seen)
    }

    async fn text(&self, name: &str, arguments: Value) -> String {
        text(&self.call(name, arguments).await.unwrap()).to_owned()
    }

    async fn error(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap_err().0
    }
}

fn text(output: &ToolOutput) -> &str {
    match output.content.as_slice() {
        [ContentBlock::Text { text }, ..] => text,
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn the_tools_come_in_their_order_with_plain_schemas() {
    let desk = Desk::new();
    let tools = builtin_tools(&desk.environment);
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write", "grep", "find", "ls"]);
    for tool in &tools {
        let schema = tool.parameters.to_string();
        for word in ["$ref", "$defs", "$schema", "\"format\"", "\"title\"", "\"null\"", "anyOf", "oneOf"] {
            assert!(!schema.contains(word), "{} has {word}: {schema}", tool.name);
        }
        assert_eq!(tool.parameters["type"], "object");
        let properties = tool.parameters["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["description"].is_string()), "{schema}");
    }
    assert_eq!(tools[2].parameters["required"], json!(["path", "edits"]));
    assert_eq!(
        tools[2].parameters["properties"]["edits"]["items"]["required"],
        json!(["oldText", "newText"])
    );
    assert_eq!(tools[4].parameters["required"], json!(["pattern"]));
}

#[test]
fn a_call_is_described_from_any_arguments() {
    let desk = Desk::new();
    for tool in builtin_tools(&desk.environment) {
        for arguments in
            [json!({}), json!(null), json!({ "path": 5, "command": [], "offset": "x", "pattern": {} })]
        {
            assert!(!(tool.describe)(&arguments).title.is_empty());
        }
    }
    let tools = builtin_tools(&desk.environment);
    let read = (tools[0].describe)(&json!({ "path": "a b", "offset": 7 }));
    assert_eq!(read.title, "Read a b");
    assert_eq!((read.locations[0].path.as_path(), read.locations[0].line), (Path::new("a b"), Some(7)));
    assert_eq!((tools[1].describe)(&json!({ "command": "cargo test\nls" })).title, "cargo test…");
    assert_eq!((tools[4].describe)(&json!({ "pattern": "x", "path": "" })).title, "Search `x` in .");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told() {
    let desk = Desk::new();
    assert!(desk.error("read", json!({})).await.contains("path"));
    assert!(desk.error("edit", json!({ "path": "x", "edits": "no" })).await.contains("do not fit"));
    assert!(desk.error("ls", json!({ "limit": -1 })).await.contains("do not fit"));
}
