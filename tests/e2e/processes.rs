//! No process outlives its reason: not the server its client, not a command its server.

use std::time::Duration;

use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use support::process::{self, Process};

const SOON: Duration = Duration::from_secs(2);

/// A server with a child that runs a command which defends itself: it ignores signals that ask, and has children.
fn with_a_command(lab: &Lab, introduction: Introduction) -> (StdioClient, Vec<Process>) {
    let command = "trap '' TERM INT HUP; sleep 98764 & (trap '' TERM; sleep 98765) & sleep 98766; wait";
    lab.model.script("kid", vec![Line::call("bash", &json!({ "command": command })), Line::text("never")]);
    let mut client = StdioClient::introduced(lab, introduction);
    client.tolerate();
    client.spawn_agent("[[script kid]]");
    let all = support::wait_until("the commands run", support::LIMIT, || {
        let tree = process::tree(client.pid());
        (tree.iter().filter(|process| process.name == "sleep").count() == 3).then_some(tree)
    });
    (client, all)
}

fn none_left(lab: &Lab, what: &str, all: &[Process]) {
    process::wait_gone(what, all, SOON);
    let left = lab.processes();
    assert!(left.is_empty(), "{what}: {left:?}");
}

#[test]
fn after_exit() {
    let lab = Lab::new();
    let (mut client, all) = with_a_command(&lab, Introduction::default());
    let pending = client.send_raw("shutdown", &Value::Null);
    client.wait(&pending).unwrap();
    client.notify("exit", &Value::Null);
    none_left(&lab, "after exit", &all);
}

#[test]
fn after_the_end_of_the_input() {
    let lab = Lab::new();
    let (client, all) = with_a_command(&lab, Introduction::default());
    client.close_input();
    none_left(&lab, "after the end of the input", &all);
}

#[test]
fn after_the_death_of_the_client() {
    let lab = Lab::new();
    // Another process plays the client whose pid the server was told; our own pipe stays open.
    let mut editor = std::process::Command::new("sleep").arg("98767").spawn().unwrap();
    let introduction = Introduction { process_id: Some(editor.id()), ..Introduction::default() };
    let (_client, all) = with_a_command(&lab, introduction);
    editor.kill().unwrap();
    editor.wait().unwrap();
    none_left(&lab, "after kill -9 of the client", &all);
}

#[test]
fn after_a_client_that_was_killed_with_its_pipes() {
    let lab = Lab::new();
    let call = Line::call("bash", &json!({ "command": "sleep 98768" }));
    lab.model.script("boss", vec![call]);
    // The shell plays the editor: it starts the server, speaks to it, and is killed with -9.
    let message = |value: &Value| {
        let body = value.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "processId": null, "rootUri": support::lab::file_uri(lab.work()), "capabilities": {},
        "initializationOptions": { "model": support::lab::MODEL, "settings": { "permissions": { "mode": "auto" } } },
    } });
    let prompt = json!({ "jsonrpc": "2.0", "id": 2, "method": "adjutant/session/prompt",
        "params": { "text": "[[script boss]]" } });
    lab.write("1.msg", message(&initialize));
    let initialized = json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} });
    lab.write("2.msg", message(&initialized) + &message(&prompt));
    let script = format!(
        "(cat 1.msg; sleep 1; cat 2.msg; exec sleep 98769) | '{}' --stdio >/dev/null",
        support::binary::adjutant().display()
    );
    let mut command = lab.command();
    let envs: Vec<_> =
        command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
    let _ = command.env_clear();
    let mut editor = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.work())
        .env_clear()
        .envs(envs)
        .spawn()
        .unwrap();
    let all = support::wait_until("the command runs", support::LIMIT, || {
        let tree = process::tree(editor.id());
        tree.iter().any(|process| process.name == "sleep" && is_sleeping(process, "98768")).then_some(tree)
    });
    // All of the editor's side at once, as a crash of it would.
    for process in &all {
        if process.name == "sh" || (process.name == "sleep" && is_sleeping(process, "98769")) {
            let _ = std::process::Command::new("kill").args(["-9", &process.pid.to_string()]).status();
        }
    }
    let _ = editor.wait();
    none_left(&lab, "after kill -9 of the client", &all);
}

fn is_sleeping(process: &Process, seconds: &str) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(seconds)
}

#[test]
fn after_kill_9_of_the_server_no_command_is_left() {
    let lab = Lab::new();
    let command = "sleep 98770";
    lab.model.script("kid", vec![Line::call("bash", &json!({ "command": command }))]);
    let mut client = StdioClient::start(&lab);
    client.tolerate();
    client.spawn_agent("[[script kid]]");
    let all = support::wait_until("the command runs", support::LIMIT, || {
        let tree = process::tree(client.pid());
        tree.iter().any(|process| process.name == "sleep").then_some(tree)
    });
    let status = std::process::Command::new("kill").args(["-9", &client.pid().to_string()]).status().unwrap();
    assert!(status.success());
    let direct: Vec<_> = all.into_iter().filter(|process| process.pid != client.pid()).collect();
    let _ = client.wait_end(SOON);
    process::wait_gone("after kill -9 of the server", &direct, SOON);
}

#[test]
fn the_model_is_left_alone_too() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    client.spawn_agent("[[script kid]]");
    lab.model.wait_request("its request", |record| record.id == "kid");
    client.tolerate();
    client.finish();
    super::wait_idle(&lab.model);
}
