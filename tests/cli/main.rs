//! The command line: headless runs, the demo, the schemas, and what a person reads when something is wrong.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::fake_model::{Fault, Line};
use support::lab::{self, Lab};
use support::process;

/// Runs it to its end, with a limit.
fn finish(command: &mut Command) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let pid = child.id();
    let watchdog = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(150);
        while Instant::now() < deadline {
            if process::Process::of(pid).is_none() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    });
    let output = child.wait_with_output().expect("it ends");
    let _ = watchdog.join();
    output
}

fn run(lab: &Lab, arguments: &[&str]) -> Output {
    finish(lab.command().args(arguments))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn agent(prompt: &str, background: bool) -> Value {
    json!({
        "prompt": prompt, "description": "a task", "subagent_type": "general-purpose",
        "run_in_background": background,
    })
}

#[test]
fn a_headless_run_prints_its_answer() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::call("read", &json!({ "path": "README.md" })), Line::text("It is small.")],
    );
    let output = run(&lab, &["run", "--model", lab::MODEL, "[[script boss]]"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "It is small.");
    assert!(lab.model.requests_of("boss")[1].text().contains("# A small project"));
}

#[test]
fn it_waits_for_background_agents_and_the_runs_that_they_wake() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &agent("[[script kid]]", true)),
            Line::text("I wait."),
            Line::text("The kid found it."),
        ],
    );
    let kid = Line { delay: Duration::from_millis(500), ..Line::text("here it is") };
    lab.model.script("kid", vec![kid]);
    let output = run(&lab, &["run", "--model", lab::MODEL, "[[script boss]]"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("The kid found it."), "{}", text(&output.stdout));
}

#[test]
fn json_is_one_event_a_line() {
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::call("ls", &json!({})), Line::text("done")]);
    let output = run(&lab, &["run", "--json", "--model", lab::MODEL, "[[script boss]]"]);
    assert!(output.status.success());
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let events: Vec<_> = lines.iter().filter(|line| line["event"].is_object()).collect();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], at + 1, "no event is missing: {event}");
        serde_json::from_value::<protocol::SessionEvent>(event["event"].clone()).expect("as in the contract");
    }
    assert_eq!(events.first().map(|event| &event["event"]["type"]), Some(&json!("runStart")));
    let result = &lines.last().expect("there are lines")["result"];
    assert_eq!((&result["stopReason"], &result["text"]), (&json!("endTurn"), &json!("done")));
}

#[test]
fn the_permission_mode_holds() {
    for (mode, ran) in [("plan", false), ("ask", false), ("auto", true)] {
        let lab = Lab::new();
        lab.model
            .script("boss", vec![Line::call("bash", &json!({ "command": "touch mark" })), Line::text("ok")]);
        let output = run(&lab, &["run", "--model", lab::MODEL, "--permission-mode", mode, "[[script boss]]"]);
        assert!(output.status.success(), "{mode}: {}", text(&output.stderr));
        assert_eq!(lab.work().join("mark").exists(), ran, "{mode}");
    }
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::call("bash", &json!({ "command": "touch mark" })), Line::text("ok")]);
    run(&lab, &["run", "--model", lab::MODEL, "[[script boss]]"]);
    assert!(!lab.work().join("mark").exists(), "plan is the default without an editor");
}

#[test]
fn only_a_run_that_ended_well_is_a_success() {
    let lab = Lab::new();
    lab.settings(&json!({ "retry": { "maxRetries": 0 } }));
    lab.model
        .script("boss", vec![Line::text("half").streaming(3, Duration::ZERO).failing(Fault::new("eof", 99))]);
    let output = run(&lab, &["run", "--model", lab::MODEL, "[[script boss]]"]);
    assert!(!output.status.success());
    assert!(!text(&output.stderr).trim().is_empty(), "it says why");
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let lab = Lab::new();
    std::fs::remove_file(lab.home().join("models.json")).expect("it was there");
    let output = run(&lab, &["run", "hello"]);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("models.json") && said.contains("_API_KEY"), "{said}");
    let lab = Lab::new();
    let output = run(&lab, &["run", "--model", "moon/cheese", "hello"]);
    assert!(!output.status.success() && text(&output.stderr).contains("moon/cheese"));
    let output = run(&lab, &["dance"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("dance"));
    let output = run(&lab, &["run", "--permission-mode", "yolo", "hello"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("auto-edit"), "it says what there is");
}

#[test]
fn another_models_file() {
    let lab = Lab::new();
    let models = std::fs::read_to_string(lab.home().join("models.json")).expect("it is there");
    std::fs::remove_file(lab.home().join("models.json")).expect("it was there");
    lab.write("mine.json", models);
    let output = run(&lab, &["run", "--models", "mine.json", "--model", lab::MODEL, "hello"]);
    assert_eq!(text(&output.stdout).trim(), "ack", "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_ends_a_run_and_all_that_it_started() {
    let lab = Lab::new();
    lab.model.script("boss", vec![Line::call("bash", &json!({ "command": "sleep 98771" })), Line::text("x")]);
    let mut child = lab
        .command()
        .args(["run", "--model", lab::MODEL, "--permission-mode", "auto", "[[script boss]]"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let all = support::wait_until("the command", support::LIMIT, || {
        let tree = process::tree(child.id());
        tree.iter().any(|process| process.name == "sleep").then_some(tree)
    });
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
    let status =
        support::wait_until("the end", Duration::from_secs(4), || child.try_wait().expect("it can be asked"));
    assert_eq!(status.code(), Some(130));
    process::wait_gone("after Ctrl-C", &all, Duration::from_secs(2));
}

#[test]
fn help_and_version() {
    let lab = Lab::new();
    let output = run(&lab, &["--help"]);
    let said = text(&output.stdout);
    assert!(output.status.success());
    for word in ["run", "demo", "schema", "agents", "models", "--stdio", "ADJUTANT_HOME"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("exec-guard"));
    assert!(text(&run(&lab, &["--version"]).stdout).contains(env!("CARGO_PKG_VERSION")));
    assert!(text(&run(&lab, &["run", "--help"]).stdout).contains("--permission-mode"));
}

#[test]
fn the_schemas_are_those_of_the_repository() {
    let lab = Lab::new();
    let out = lab.work().join("schemas");
    let output = run(&lab, &["schema", "--out", &out.to_string_lossy()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(out.join("methods.json")).expect("it is written");
    let kept = std::fs::read_to_string(support::root().join("schemas/methods.json")).expect("it is kept");
    assert_eq!(written.trim(), kept.trim());
    let printed = run(&lab, &["schema"]);
    serde_json::from_slice::<Value>(&printed.stdout).expect("one JSON document");
}

#[test]
fn agents_and_models_are_listed() {
    let lab = Lab::new();
    lab.write(".adjutant/agents/mine.md", "---\nname: mine\ndescription: My own\n---\nDo it.\n");
    lab.write(".adjutant/agents/broken.md", "---\nname: [broken\n---\nDo it.\n");
    let said = text(&run(&lab, &["agents"]).stdout);
    assert!(said.contains("Explore") && !said.contains("mine"), "{said}");
    let output = run(&lab, &["agents", "--trust"]);
    assert!(text(&output.stdout).contains("mine"));
    assert!(text(&output.stderr).contains("broken.md"), "{}", text(&output.stderr));
    let said = text(&run(&lab, &["models"]).stdout);
    assert!(said.contains(lab::MODEL) && said.contains(lab::ANTHROPIC), "{said}");
    assert!(!said.contains("test-key"));
}

/// A small project that a report can be checked against.
fn project(lab: &Lab) {
    lab.write("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    lab.write(
        "src/main.rs",
        "//! Tiny.\n\nfn main() {\n    // TODO: greet the reader\n    hello();\n}\n\nfn hello() {}\n",
    );
    lab.write("src/largest.rs", "//! Many lines.\n".repeat(300));
    lab.write("tools/build.py", "def main():\n    pass  # FIXME: build something\n");
}

#[test]
fn the_demo_reports_what_is_true_of_the_folder_and_leaves_nothing() {
    let lab = Lab::new();
    project(&lab);
    let mut command = lab.command();
    // A machine without any set-up.
    command.arg("demo").env_remove("ADJUTANT_HOME");
    let before = Instant::now();
    let output = finish(&mut command);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(before.elapsed() < Duration::from_mins(1), "{:?}", before.elapsed());
    for word in ["not a language model", "src/main.rs", "TODO", "greet the reader", "src/largest.rs"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let explorers = said.to_lowercase().matches("explore").count();
    assert!(explorers >= 3, "at least three agents: {said}");
    let left = process::running(&format!("{} --stdio", support::binary::adjutant().display()));
    let of_this = left.iter().filter(|process| process::is_in(process.pid, lab.work())).count();
    assert_eq!(of_this, 0);
    assert!(lab.model.requests().is_empty(), "no model was asked");
}

#[test]
fn ctrl_c_ends_the_demo() {
    let lab = Lab::new();
    project(&lab);
    let mut child = lab
        .command()
        .arg("demo")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let all = support::wait_until("the server", support::LIMIT, || {
        let tree = process::tree(child.id());
        (tree.len() >= 2).then_some(tree)
    });
    std::thread::sleep(Duration::from_millis(300));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let status =
        support::wait_until("the end", Duration::from_secs(5), || child.try_wait().expect("it can be asked"));
    assert_eq!(status.code(), Some(130));
    process::wait_gone("after Ctrl-C", &all, Duration::from_secs(2));
}
