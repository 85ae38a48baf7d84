//! A server that ends before its agents do, and the one that comes after it.

use std::collections::BTreeMap;
use std::process::Command;

use protocol::{AgentResultParams, AgentResumeParams, ErrorCode, SessionOpenParams, method};
use serde_json::json;
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentId, AgentStatus, DeliveryState, EndedBy, SessionId};

/// Ends a server as a crash does.
fn kill(mut client: StdioClient) {
    client.tolerate();
    let killed = Command::new("kill").args(["-9", &client.pid().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    client.wait_end(std::time::Duration::from_secs(5));
}

fn resume(agent: &AgentId, prompt: &str) -> AgentResumeParams {
    serde_json::from_value(json!({ "agentId": agent, "prompt": prompt })).expect("a resume has this shape")
}

/// Opens a session again, as a person who goes on in it.
fn reopen(client: &mut StdioClient, session: &SessionId) {
    let open = SessionOpenParams { resume: Some(session.to_string()), ..SessionOpenParams::default() };
    client.request::<method::SessionOpen>(&open);
}

/// How often the news of an agent stands in the longest conversation that the model was sent.
fn told(lab: &Lab, agent: &str) -> usize {
    let id = format!("<task-id>{agent}</task-id>");
    lab.model.requests().iter().map(|record| record.text().matches(&id).count()).max().unwrap_or(0)
}

#[test]
fn a_killed_agent_is_interrupted_and_goes_on_from_its_transcript() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]] count the doors", true)),
            Line::text("waiting"),
        ],
    );
    lab.model.script(
        "kid",
        vec![
            Line::call("read", &json!({ "path": "README.md" })),
            Line::text("half of them").gated("kid"),
            Line::text("all seven"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let kid = client.wait_any_agent("reads", |agent| agent.tool_uses == 1);
    kill(client);

    let requests = lab.model.requests().len();
    let mut client = StdioClient::start(&lab);
    let restored = client.fleet();
    let [row] = restored.as_slice() else { panic!("one agent: {restored:?}") };
    assert_eq!(
        (&row.agent_id, &row.handle, row.status),
        (&kid.agent_id, &kid.handle, AgentStatus::Interrupted)
    );
    assert_eq!((row.ended_by, row.resumable, row.read_only), (Some(EndedBy::Host), true, None));
    assert_eq!(lab.model.requests().len(), requests, "no model is started by a restart");
    assert!(client.seen::<method::AgentCompleted>().is_empty(), "an interruption is no completion");

    lab.model.open_gate("kid");
    let resumed = client.request::<method::AgentResume>(&resume(&row.agent_id, "please go on"));
    assert_eq!(resumed.run, 2);
    client.wait_agent(&row.agent_id, "has ended", |agent| {
        agent.run == 2 && agent.status == AgentStatus::Completed
    });
    let request = lab.model.requests().pop().expect("a request").text();
    for known in ["count the doors", "A small project", "please go on"] {
        assert!(request.contains(known), "{known} is in {request}");
    }
    client.finish();
}

#[test]
fn what_was_cut_off_is_told_the_parent_once_when_a_person_goes_on() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", true)), Line::text("waiting")],
    );
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("[[script boss]]");
    let kid = client.wait_any_agent("runs", |agent| agent.status == AgentStatus::Running);
    kill(client);
    let resumed = |client: &mut StdioClient, text: &str| {
        reopen(client, &session);
        client.run(text);
        lab.model.requests().pop().expect("a request").text()
    };
    let mut client = StdioClient::start(&lab);
    let request = resumed(&mut client, "where were we?");
    assert_eq!(request.matches("The server ended before").count(), 1, "{request}");
    assert!(request.contains(kid.agent_id.as_str()), "{request}");
    client.wait_agent(&kid.agent_id, "is told", |agent| agent.delivery == Some(DeliveryState::Delivered));
    client.finish();
    let mut client = StdioClient::start(&lab);
    let request = resumed(&mut client, "and now?");
    assert_eq!(request.matches("The server ended before").count(), 1, "{request}");
    client.finish();
}

#[test]
fn a_result_that_no_model_has_had_enters_its_session_once_and_is_not_announced_again() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("found a door")]);
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("hello");
    let kid = client.spawn_agent("[[script kid]]");
    client.wait_note::<method::AgentCompleted>("it", |note| !note.completions.is_empty());
    client.wait_agent(&kid.agent_id, "waits", |agent| agent.delivery == Some(DeliveryState::Pending));
    // The announcement is kept once it is in the client's stream.
    std::thread::sleep(std::time::Duration::from_millis(100));
    kill(client);
    for prompts in 1..=2 {
        let mut client = StdioClient::start(&lab);
        reopen(&mut client, &session);
        assert_eq!(client.fleet()[0].status, AgentStatus::Completed);
        client.run("go on");
        assert_eq!(told(&lab, kid.agent_id.as_str()), 1, "prompt {prompts}");
        assert!(client.seen::<method::AgentCompleted>().is_empty());
        let params = AgentResultParams { agent_id: kid.agent_id.clone(), run: None, verbose: false };
        assert_eq!(client.request::<method::AgentResult>(&params).text, "found a door");
        client.finish();
    }
}

#[test]
fn a_long_result_is_whole_after_a_restart() {
    let lab = Lab::new();
    let answer = "seven doors and a window. ".repeat(2_000);
    lab.model.script("kid", vec![Line::text(&answer)]);
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("hello");
    let mut params = support::client::spawn("[[script kid]]");
    params.description = Some("count".into());
    let kid = client.request::<method::AgentSpawn>(&params);
    client.wait_status(&kid.agent_id, AgentStatus::Completed);
    client.finish();
    let mut client = StdioClient::start(&lab);
    let params = AgentResultParams { agent_id: kid.agent_id.clone(), run: None, verbose: false };
    assert!(client.request::<method::AgentResult>(&params).text == answer);
    let read = |offset: Option<u64>| {
        let mut arguments = json!({ "agent_id": kid.agent_id });
        if let Some(offset) = offset {
            arguments["offset"] = offset.into();
        }
        Line::call("get_subagent_result", &arguments)
    };
    lab.model.script("boss", vec![read(None), read(Some(32 << 10)), Line::text("read")]);
    reopen(&mut client, &session);
    client.run("[[script boss]]");
    let request = lab.model.requests_of("boss").pop().expect("a request").text();
    assert!(request.contains("read on with offset 32768"), "{request}");
    // A piece of the text may lie on the cut.
    assert!(request.matches("seven doors and a window").count() + 1 >= 2_000);
    client.finish();
}

#[test]
fn a_queued_agent_gets_its_task_when_it_is_resumed_and_names_stay_taken() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    client.open_session();
    client.spawn_agent("[[script kid]]");
    let queued = client.spawn_agent("look behind the curtain");
    assert_eq!(queued.status, AgentStatus::Queued);
    client.finish();

    let mut client = StdioClient::start(&lab);
    let rows = client.fleet();
    assert!(rows.iter().all(|row| row.status == AgentStatus::Interrupted), "{rows:?}");
    client.request::<method::AgentResume>(&resume(&queued.agent_id, "now, please"));
    client.wait_status(&queued.agent_id, AgentStatus::Completed);
    let request = lab.model.requests().pop().expect("a request").text();
    assert!(request.contains("look behind the curtain") && request.contains("now, please"), "{request}");
    let session = rows[0].session_id.clone();
    let mut more = support::client::spawn("something else");
    more.session_id = Some(session);
    let more = client.request::<method::AgentSpawn>(&more);
    assert!(rows.iter().all(|row| row.handle != more.handle), "{} is taken", more.handle);
    client.finish();
}

#[test]
fn agents_of_another_server_are_shown_and_left_alone() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut first = StdioClient::start(&lab);
    first.open_session();
    let kid = first.spawn_agent("[[script kid]]");
    first.wait_status(&kid.agent_id, AgentStatus::Running);
    let mut second = StdioClient::start(&lab);
    let rows = second.fleet();
    let [row] = rows.as_slice() else { panic!("one agent: {rows:?}") };
    assert_eq!((row.read_only, row.status), (Some(true), AgentStatus::Running));
    for (method, params) in [
        ("adjutant/agent/stop", json!({ "agentId": kid.agent_id })),
        ("adjutant/agent/steer", json!({ "agentId": kid.agent_id, "message": "hello" })),
        ("adjutant/agent/resume", json!({ "agentId": kid.agent_id, "prompt": "hello" })),
        ("adjutant/agent/result", json!({ "agentId": kid.agent_id })),
        ("adjutant/agent/seen", json!({ "agentId": kid.agent_id, "run": 1 })),
        ("adjutant/agent/open", json!({ "agentId": kid.agent_id })),
        ("adjutant/agent/transcript", json!({ "agentId": kid.agent_id, "limit": 5 })),
    ] {
        assert_eq!(second.refused_raw(method, &params).code, ErrorCode::Conflict.code(), "{method}");
    }
    lab.model.open_gate("kid");
    first.wait_status(&kid.agent_id, AgentStatus::Completed);
    first.finish();
    // Now it is free.
    let rows = second.fleet();
    assert_eq!((rows[0].read_only, rows[0].status), (None, AgentStatus::Completed));
    second.request::<method::AgentResume>(&resume(&kid.agent_id, "again"));
    second.wait_agent(&kid.agent_id, "ran here", |agent| agent.run == 2 && agent.status.is_final());
    second.finish();
}

/// One story with two background agents, in which a limit of the size of files kills the server at some write.
fn killed_at(bytes: u64) -> (Lab, BTreeMap<AgentId, usize>) {
    let lab = Lab::new();
    lab.settings(&json!({ "delivery": { "holdMs": 1 } }));
    let calls =
        (0..2).fold(Line::default(), |line, _| line.and_call("Agent", &super::agent("[[script kid]]", true)));
    lab.model.script("boss", vec![calls, Line::text("waiting"), Line::text("thanks")]);
    lab.model.script("kid", vec![Line::text("found it")]);
    let inner = lab.command();
    let mut command = Command::new("prlimit");
    command.args([&format!("--fsize={bytes}"), "--core=0", "--"]).arg(inner.get_program()).arg("--stdio");
    command.current_dir(lab.work()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut client = StdioClient::of(command);
    client.tolerate();
    client.introduce(&lab, Introduction::default());
    let prompt = client.prompt("[[script boss]]");
    // It ends by the limit, or does all that there is to do.
    let done = |client: &mut StdioClient| {
        client.is_answered(&prompt)
            && client.seen::<method::AgentCompleted>().iter().map(|n| n.completions.len()).sum::<usize>() == 2
    };
    support::wait_until("the end of the server or of its work", std::time::Duration::from_secs(20), || {
        (client.has_ended() || done(&mut client)).then_some(())
    });
    let mut announced = BTreeMap::new();
    for completion in client.seen::<method::AgentCompleted>().into_iter().flat_map(|note| note.completions) {
        *announced.entry(completion.agent_id).or_default() += 1;
    }
    if !client.has_ended() {
        kill(client);
    }
    (lab, announced)
}

#[test]
fn whatever_write_it_dies_at_nothing_is_lost_and_nothing_told_twice() {
    let mut killed = 0;
    for step in 0..28 {
        let bytes = step * 450;
        let (lab, mut announced) = killed_at(bytes);
        let before = lab.model.requests().len();
        let mut client = StdioClient::start(&lab);
        let rows = client.fleet();
        assert!(rows.iter().all(|row| row.status.is_final()), "killed at {bytes}: {rows:?}");
        assert_eq!(lab.model.requests().len(), before, "killed at {bytes}: a model was started");
        killed +=
            usize::from(rows.len() < 2 || rows.iter().any(|row| row.status == AgentStatus::Interrupted));
        if let Some(row) = rows.first() {
            reopen(&mut client, &row.session_id);
        }
        client.run("what came of it?");
        let again: Vec<_> =
            client.seen::<method::AgentCompleted>().into_iter().flat_map(|note| note.completions).collect();
        for completion in again {
            // The model may have started others meanwhile.
            if !rows.iter().any(|row| row.agent_id == completion.agent_id) {
                continue;
            }
            assert_eq!(completion.restored, Some(true));
            *announced.entry(completion.agent_id).or_default() += 1;
        }
        let request = lab.model.requests().pop().expect("a request").text();
        for row in &rows {
            let id = row.agent_id.as_str();
            let completed = request.matches(&format!("<task-id>{id}</task-id>")).count();
            let cut_off = request.matches(&format!("({id}), ")).count();
            assert_eq!(completed + cut_off, 1, "killed at {bytes}: {id} in {request}");
            let times = announced.get(&row.agent_id).copied().unwrap_or(0);
            if row.status == AgentStatus::Completed {
                assert!((1..=2).contains(&times), "killed at {bytes}: {id} was announced {times} times");
            }
        }
        client.finish();
    }
    assert!(killed >= 3, "the limits hit the story: {killed}");
}
