//! Going on with an agent that has ended.

use protocol::{
    AgentResultParams, AgentResumeParams, AgentSeenParams, ErrorCode, SessionAbortParams, method,
};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::{Fault, Line};
use support::lab::Lab;
use vocab::{AgentId, AgentStatus, EndedBy};

fn resume(agent: &AgentId, prompt: &str) -> AgentResumeParams {
    serde_json::from_value(json!({ "agentId": agent, "prompt": prompt })).expect("a resume has this shape")
}

#[test]
fn a_resumed_agent_knows_what_was_said_and_each_run_has_its_result() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("the first answer"), Line::text("the second answer")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]] count the doors");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    let resumed = client.request::<method::AgentResume>(&resume(&spawned.agent_id, "and the windows?"));
    assert_eq!((&resumed.agent_id, resumed.run), (&spawned.agent_id, 2));
    client.wait_agent(&spawned.agent_id, "ended again", |agent| agent.run == 2 && agent.status.is_final());
    let request = lab.model.requests().pop().unwrap().text();
    assert!(request.contains("count the doors") && request.contains("and the windows?"), "{request}");
    for (run, text) in
        [(Some(1), "the first answer"), (Some(2), "the second answer"), (None, "the second answer")]
    {
        let params = AgentResultParams { agent_id: spawned.agent_id.clone(), run, verbose: false };
        let result = client.request::<method::AgentResult>(&params);
        assert_eq!((result.text.as_str(), result.partial), (text, false), "run {run:?}");
    }
    let announced: Vec<_> = client
        .seen::<method::AgentCompleted>()
        .into_iter()
        .flat_map(|note| note.completions)
        .map(|completion| completion.run)
        .collect();
    assert_eq!(announced, [1, 2]);
    client.request::<method::AgentSeen>(&AgentSeenParams { agent_id: spawned.agent_id.clone(), run: 2 });
    client.wait_agent(&spawned.agent_id, "is read", |agent| agent.run == 2 && !agent.unread);
    client.finish();
}

#[test]
fn a_running_agent_is_not_resumed() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let error = client.refused::<method::AgentResume>(&json!(resume(&spawned.agent_id, "more")));
    assert_eq!(error.code, ErrorCode::Conflict.code(), "{error:?}");
    lab.model.open_gate("kid");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    client.finish();
}

#[test]
fn the_model_resumes_by_name() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("seven doors")]);
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::spawn("[[script kid]]");
    params.name = Some("counter".into());
    client.run("hello");
    client.request::<method::AgentSpawn>(&params);
    client.wait_ended(1);
    lab.model.script("boss", vec![
        Line::call("Agent", &json!({
            "prompt": "are you sure?", "description": "d", "resume": "counter", "run_in_background": false,
        })),
        Line::text("it is sure"),
    ]);
    assert_eq!(client.run("[[script boss]]").text.as_deref(), Some("it is sure"));
    let asked = lab.model.requests().into_iter().find(|record| record.text().contains("are you sure?"));
    assert!(asked.is_some());
    let resumed = client.wait_any_agent("ran again", |agent| agent.run == 2 && agent.status.is_final());
    assert_eq!(resumed.status, AgentStatus::Completed);
    client.finish();
}

/// A call of `Agent` that goes on with `kid`.
fn again(script: &str, background: bool) -> Line {
    let prompt = format!("[[script {script}]]");
    let arguments = json!({
        "prompt": prompt, "description": "again", "resume": "kid", "run_in_background": background,
    });
    Line::call("Agent", &arguments)
}

/// A lab whose session has had an agent called `kid`, which has answered.
fn answered(lines: Vec<Line>) -> Lab {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1, "retry": { "enabled": false } }));
    let mut first = super::agent("[[script kid]]", false);
    first["name"] = "kid".into();
    lab.model.script("boss", [Line::call("Agent", &first)].into_iter().chain(lines).collect());
    lab.model.script("kid", vec![Line::text("my early answer")]);
    lab
}

#[test]
fn a_resumed_run_that_fails_shows_only_what_it_wrote_itself() {
    let lab = answered(vec![again("fails", false), again("breaks", false), Line::text("so be it")]);
    let fault = || Line::text("never seen").failing(Fault::new("400", 9));
    lab.model.script("fails", vec![fault()]);
    let half = Line::text("half of it").and_call("ls", &json!({ "path": "." }));
    lab.model.script("breaks", vec![half, fault()]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let body = lab.model.requests_of("boss")[3].body.clone();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let told: Vec<_> =
        messages.iter().filter(|message| message["role"] == "tool").map(ToString::to_string).collect();
    assert!(told[0].contains("my early answer"), "{}", told[0]);
    for failed in &told[1..] {
        assert!(failed.contains("Agent failed") && failed.contains("injected 400"), "{failed}");
        assert!(!failed.contains("my early answer"), "{failed}");
    }
    assert!(!told[1].contains("Partial output"), "{}", told[1]);
    assert!(told[2].contains("Partial output") && told[2].contains("half of it"), "{}", told[2]);
    client.finish();
}

#[test]
fn a_background_resume_outlives_the_run_that_asked_for_it() {
    let lab = answered(vec![again("later", true), Line::text("meanwhile").gated("boss")]);
    super::waiting(&lab.model, "later");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the second run", |record| record.id == "later");
    lab.model.wait_request("the next turn", |record| record.id == "boss" && record.step == 2);
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&pending).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(lab.model.requests_of("later")[0].t_end, 0, "it goes on");
    lab.model.open_gate("later");
    let row = client.wait_any_agent("has ended again", |agent| agent.run == 2 && agent.status.is_final());
    assert_eq!(row.status, AgentStatus::Completed);
    let news = lab.model.wait_request("the news", |record| record.text().contains("<task-id>")).text();
    assert!(news.contains("later is at work") && news.matches("<task-id>").count() == 1, "{news}");
    // Where the words of the aborted turn are not kept, the woken one says them again.
    lab.model.open_gate("boss");
    super::wait_idle(&lab.model);
    client.finish();
}

#[test]
fn a_foreground_resume_ends_with_the_run_that_asked_for_it() {
    let lab = answered(vec![again("later", false), Line::text("never")]);
    super::waiting(&lab.model, "later");
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the second run", |record| record.id == "later");
    let kid = client.fleet().remove(0).agent_id;
    let mut transcript = client.open_agent(&kid);
    client.follow_agent(&kid, &mut transcript, "the words of the second run", |seen| {
        seen.texts.values().any(|text| text.contains("later is at work"))
    });
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&pending).unwrap();
    let row = client.wait_any_agent("is stopped", |agent| agent.run == 2 && agent.status.is_final());
    assert_eq!((row.status, row.ended_by), (AgentStatus::Stopped, Some(EndedBy::User)));
    super::wait_idle(&lab.model);
    client.run("what do you have?");
    let asked = lab.model.requests().into_iter().rfind(|record| record.text().contains("what do you have?"));
    let text = asked.expect("the prompt was asked").text();
    assert!(text.contains("STOPPED BY THE USER") && text.contains("later is at work"), "{text}");
    client.finish();
}

#[test]
fn a_resume_waits_for_a_place_and_asks_nothing_before() {
    let lab = answered(vec![Line::text("done")]);
    super::waiting(&lab.model, "first");
    lab.model.script("later", vec![Line::text("my late answer")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let kid = client.fleet().remove(0).agent_id;
    client.spawn_agent("[[script first]]");
    lab.model.wait_request("the first", |record| record.id == "first");
    let resumed = client.request::<method::AgentResume>(&resume(&kid, "[[script later]]"));
    assert_eq!((resumed.run, resumed.status), (2, AgentStatus::Queued));
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(lab.model.requests_of("later").is_empty());
    lab.model.open_gate("first");
    client.wait_agent(&kid, "has ended again", |agent| {
        agent.run == 2 && agent.status == AgentStatus::Completed
    });
    client.finish();
}
