//! Going on with an agent that has ended.

use protocol::{AgentResultParams, AgentResumeParams, AgentSeenParams, ErrorCode, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentId, AgentStatus};

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
