//! Sessions whose files are long are read beside everything else: nobody waits for them but those who asked.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use protocol::{AgentOpenParams, AgentResumeParams, AgentStopParams, PingParams, SessionOpenParams, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::{Line, Record};
use support::lab::Lab;
use vocab::{AgentId, AgentStatus};

/// Sessions of settled agents that a server keeps in memory; those before them are on disk alone.
const KEPT: usize = 64;

/// The files of that name, anywhere below.
fn files_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_named(&path, name));
        } else if path.file_name().is_some_and(|file| file == name) {
            found.push(path);
        }
    }
    found
}

/// Appends 60 MB of entries.
fn lengthen(file: &Path) {
    let mut file = OpenOptions::new().append(true).open(file).expect("the file is there");
    let text = "a long story ".repeat(100);
    for at in 0..45_000 {
        let seq = 1_000_000 + at;
        let line =
            json!({ "id": format!("e{seq}"), "seq": seq, "at": 1, "run": 1, "kind": "notice", "text": text });
        writeln!(file, "{line}").expect("the disk has room");
    }
}

#[test]
fn while_a_long_session_is_opened_others_are_answered_and_all_who_want_it_get_it() {
    let lab = Lab::new();
    let open = SessionOpenParams { session_id: Some("s-long".into()), ..SessionOpenParams::default() };
    let mut client = StdioClient::start(&lab);
    client.request::<method::SessionOpen>(&open);
    client.run("once upon a time");
    client.finish();
    let files = files_named(&lab.home(), "session.jsonl");
    assert_eq!(files.len(), 1);
    lengthen(&files[0]);

    let mut client = StdioClient::start(&lab);
    let first = client.send::<method::SessionOpen>(&open);
    let second = client.send::<method::SessionOpen>(&open);
    let prompt = client.prompt("and then?");
    let ping = client.send::<method::Ping>(&PingParams {});
    client.wait(&ping).unwrap();
    let other = client.request::<method::SessionOpen>(&SessionOpenParams {
        session_id: Some("s-other".into()),
        ..SessionOpenParams::default()
    });
    assert_eq!(other.entry_count, 0);
    assert!(!client.is_answered(&first) && !client.is_answered(&second) && !client.is_answered(&prompt));
    let (first, second) = (client.wait(&first).unwrap(), client.wait(&second).unwrap());
    assert_eq!((first.session_id.as_str(), second.session_id.as_str()), ("s-long", "s-long"));
    assert!(first.entry_count > 45_000);
    client.wait(&prompt).unwrap();
    let asked = lab.model.requests().pop().unwrap().text();
    assert!(asked.contains("once upon a time") && asked.contains("and then?"));
    client.finish();
}

#[test]
fn a_session_that_cannot_be_read_is_refused_to_all_who_want_it() {
    let lab = Lab::new();
    let open = SessionOpenParams { session_id: Some("s-odd".into()), ..SessionOpenParams::default() };
    let mut client = StdioClient::start(&lab);
    client.request::<method::SessionOpen>(&open);
    client.run("hello");
    client.finish();
    std::fs::write(&files_named(&lab.home(), "session.jsonl")[0], "this is somebody else's\n").unwrap();

    let mut client = StdioClient::start(&lab);
    let pending = client.send::<method::SessionOpen>(&open);
    let prompt = client.prompt("are you there?");
    for refused in [client.wait(&pending).unwrap_err(), client.wait(&prompt).unwrap_err()] {
        assert!(refused.message.contains("not a session file"), "{refused:?}");
    }
    // What is not ours is left as it is, and another session works.
    assert_eq!(
        std::fs::read_to_string(&files_named(&lab.home(), "session.jsonl")[0]).unwrap(),
        "this is somebody else's\n"
    );
    client.request::<method::SessionOpen>(&SessionOpenParams {
        session_id: Some("s-new".into()),
        ..SessionOpenParams::default()
    });
    client.run("hello");
    client.finish();
}

#[test]
fn agents_are_read_back_stopped_and_steered_while_their_files_are_read() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let agents: Vec<AgentId> =
        (0..KEPT + 3).map(|at| client.spawn_agent(&format!("task {at}")).agent_id).collect();
    client.wait_ended(agents.len());
    let [read, stopped, steered] = [&agents[0], &agents[1], &agents[2]];
    for agent in [read, stopped, steered] {
        lengthen(&files_named(&lab.home(), &format!("{agent}.jsonl"))[0]);
    }

    let open =
        |agent: &AgentId| -> AgentOpenParams { serde_json::from_value(json!({ "agentId": agent })).unwrap() };
    let (first, second) =
        (client.send::<method::AgentOpen>(&open(read)), client.send::<method::AgentOpen>(&open(read)));
    let resume = |agent: &AgentId| -> AgentResumeParams {
        serde_json::from_value(json!({ "agentId": agent, "prompt": "[[script more]] go on" })).unwrap()
    };
    lab.model.script("more", vec![Line::text("gone on").gated("more"), Line::text("heard it")]);
    for agent in [stopped, steered] {
        let resumed = client.request::<method::AgentResume>(&resume(agent));
        assert_eq!(resumed.run, 2);
    }
    let stop: AgentStopParams = serde_json::from_value(json!({ "agentId": stopped })).unwrap();
    client.request::<method::AgentStop>(&stop);
    let row = client.wait_agent(stopped, "is stopped", |agent| agent.run == 2 && agent.status.is_final());
    assert_eq!(row.status, AgentStatus::Stopped);
    let steer = serde_json::from_value(json!({ "agentId": steered, "message": "look left" })).unwrap();
    client.request::<method::AgentSteer>(&steer);
    client.request::<method::Ping>(&PingParams {});
    assert!(!client.is_answered(&first) && !client.is_answered(&second));
    for opened in [client.wait(&first).unwrap(), client.wait(&second).unwrap()] {
        assert!(opened.page.total > 45_000 && opened.page.has_more, "{}", opened.page.total);
    }
    lab.model.open_gate("more");
    let row = client.wait_agent(steered, "has ended", |agent| agent.run == 2 && agent.status.is_final());
    assert_eq!(row.status, AgentStatus::Completed);
    let asked: String = lab.model.requests_of("more").iter().map(Record::text).collect();
    assert!(asked.contains("look left") && asked.contains("task 2") && !asked.contains("task 1\""));
    // The stopped run asked for nothing, and the agent can be gone on with.
    let again = client.request::<method::AgentResume>(&resume(stopped));
    assert_eq!(again.run, 3);
    client.wait_agent(stopped, "has ended again", |agent| agent.run == 3 && agent.status.is_final());
    client.finish();
}
