//! A run's transcript as a file, for people and other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::method;
use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::AgentStatus;

/// The transcripts of all sessions.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.parent().is_some_and(|folder| folder.ends_with("transcripts")) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("each line is whole")).collect()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["type"].as_str()).collect()
}

#[test]
fn each_run_has_its_file_and_the_model_is_told_where() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]] look", true)),
            Line::text("waiting"),
            Line::text("ok"),
        ],
    );
    let ls = Line::call("ls", &json!({ "path": "." }));
    lab.model.script("kid", vec![ls, Line::text("a readme").gated("kid"), Line::text("nothing else")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let file = files(&lab.home()).pop().expect("it is made before the run");
    let shown = file.display().to_string();
    let receipt = lab.model.requests_of("boss")[1].text();
    assert!(receipt.contains(&format!("Output file: {shown}")), "{receipt}");
    lab.model.open_gate("kid");
    let news = lab.model.wait_request("the news", |record| record.text().contains("task-notification"));
    assert!(news.text().contains(&format!("<output-file>{shown}</output-file>")), "{}", news.text());

    let agent = client.fleet().remove(0).agent_id;
    let resume = json!({ "agentId": agent, "prompt": "and else?" });
    client.request::<method::AgentResume>(&serde_json::from_value(resume).unwrap());
    client.wait_agent(&agent, "ended again", |agent| agent.run == 2 && agent.status.is_final());
    super::wait_idle(&lab.model);
    client.finish();

    let all = files(&lab.home());
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(
        all.iter().map(name).collect::<Vec<_>>(),
        [format!("{agent}.1.jsonl"), format!("{agent}.2.jsonl")]
    );
    let (first, second) = (lines(&all[0]), lines(&all[1]));
    assert_eq!(kinds(&first), ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(kinds(&second), ["user", "assistant"]);
    assert!(first[0]["message"].to_string().contains("[[script kid]] look"), "{}", first[0]);
    assert!(second[0]["message"].to_string().contains("and else?"), "{}", second[0]);
    for line in first.iter().chain(&second) {
        assert_eq!((&line["isSidechain"], &line["agentId"]), (&json!(true), &json!(agent)));
        assert_eq!(line["cwd"], json!(lab.work()));
        assert!(line["timestamp"].as_str().is_some_and(|at| at.contains('T') && at.ends_with('Z')), "{line}");
    }
    assert_eq!((&first[0]["run"], &second[0]["run"]), (&json!(1), &json!(2)));
    for file in &all {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_definition_or_the_setting_or_a_passing_session_leaves_none() {
    let quiet = "---\ndescription: Leaves no trace.\noutput_transcript: false\n---\nBe quiet.\n";
    let loud = "---\ndescription: Leaves one.\noutput_transcript: true\n---\nBe loud.\n";
    for (setting, agent_type, ephemeral, expected) in [
        (true, "quiet", false, 0),
        (false, "general-purpose", false, 0),
        (false, "loud", false, 1),
        (true, "general-purpose", true, 0),
    ] {
        let lab = Lab::new();
        lab.settings(&json!({ "outputTranscript": setting }));
        lab.write_home("agents/quiet.md", quiet);
        lab.write_home("agents/loud.md", loud);
        let mut call = super::agent("[[script kid]]", true);
        call["subagent_type"] = json!(agent_type);
        lab.model.script("boss", vec![Line::call("Agent", &call), Line::text("waiting"), Line::text("ok")]);
        lab.model.script("kid", vec![Line::text("done").gated("kid")]);
        let mut client = StdioClient::start(&lab);
        let open = json!({ "ephemeral": ephemeral });
        let session =
            client.request::<method::SessionOpen>(&serde_json::from_value(open).unwrap()).session_id;
        let prompt = json!({ "sessionId": session, "text": "[[script boss]]" });
        client.request::<method::SessionPrompt>(&serde_json::from_value(prompt).unwrap());
        lab.model.open_gate("kid");
        let news = lab.model.wait_request("the news", |record| record.text().contains("task-notification"));
        let receipt = lab.model.requests_of("boss")[1].text();
        let case = format!("{agent_type}, setting {setting}, ephemeral {ephemeral}");
        assert_eq!(receipt.contains("Output file"), expected == 1, "{case}: {receipt}");
        assert_eq!(news.text().contains("output-file"), expected == 1, "{case}: {}", news.text());
        super::wait_idle(&lab.model);
        client.finish();
        assert_eq!(files(&lab.home()).len(), expected, "{case}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_does_not_touch_the_run() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("hello");
    let open = json!({ "sessionId": session });
    let info = client.request::<method::SessionOpen>(&serde_json::from_value(open).unwrap());
    let folder = PathBuf::from(info.file.expect("it is kept")).parent().unwrap().to_owned();
    fs::write(folder.join("transcripts"), "in the way").unwrap();
    let spawned = client.spawn_agent("[[script kid]]");
    let row = client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert_eq!(row.result_preview.as_deref(), Some("done"));
    std::thread::sleep(Duration::from_millis(50));
    client.finish();
}
