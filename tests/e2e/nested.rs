//! Agents that start agents: who may, who owns whom, and who waits for whom.

use protocol::method;
use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, EndedBy, WaitingOn};

/// A lab with agent types: `lead` may start `worker` and nothing else, and both have all tools.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(
        ".adjutant/agents/lead.md",
        "---\ndescription: leads\nallowed_subagents: [worker, lead]\n---\nYou lead.\n",
    );
    lab.write(
        ".adjutant/agents/worker.md",
        "---\ndescription: works\nallowed_subagents: all\n---\nYou work.\n",
    );
    lab.write(".adjutant/agents/loner.md", "---\ndescription: alone\n---\nYou are alone.\n");
    lab
}

fn call(agent_type: &str, prompt: &str, background: Option<bool>) -> Value {
    let mut call = json!({ "prompt": prompt, "description": "a task", "subagent_type": agent_type });
    if let Some(background) = background {
        call["run_in_background"] = background.into();
    }
    call
}

fn spawn(client: &mut StdioClient, agent_type: &str, prompt: &str) -> protocol::AgentSpawnResult {
    let mut params = support::client::spawn(prompt);
    params.agent_type = agent_type.into();
    client.request::<method::AgentSpawn>(&params)
}

/// A client that has started the lead.
fn led(lab: &Lab) -> (StdioClient, protocol::AgentSpawnResult) {
    let mut client = StdioClient::start(lab);
    client.open_session();
    let lead = spawn(&mut client, "lead", "[[script lead]]");
    (client, lead)
}

/// The names of the tools that a request offers.
fn offered(lab: &Lab, id: &str) -> Vec<String> {
    let request = lab.model.requests_of(id).into_iter().next().expect("it was asked");
    let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_granted_agent_waits_for_its_own_and_gets_the_answer_in_line() {
    let lab = lab();
    lab.model.script(
        "lead",
        vec![
            Line::call("Agent", &call("worker", "[[script worker]]", None)),
            Line::text("the worker says it is done"),
        ],
    );
    lab.model.script("worker", vec![Line::text("the work is done")]);
    let (mut client, lead) = led(&lab);
    client.wait_status(&lead.agent_id, AgentStatus::Completed);
    let request = lab.model.requests_of("lead")[1].text();
    assert!(request.contains("the work is done"), "{request}");
    let rows = client.fleet();
    let worker =
        rows.iter().find(|row| row.parent_id.as_ref() == Some(&lead.agent_id)).expect("a nested row");
    assert_eq!((worker.depth, worker.is_background, worker.status), (2, false, AgentStatus::Completed));
    let row = rows.iter().find(|row| row.agent_id == lead.agent_id).expect("its owner");
    assert_eq!(row.subtree.agents, 1);
    assert_eq!(
        row.subtree.usage.total,
        row.usage.total + worker.usage.total,
        "spending is summed over the tree"
    );
    for tool in ["Agent", "get_subagent_result", "steer_subagent", "list_subagents", "stop_subagent"] {
        assert!(offered(&lab, "lead").iter().any(|name| name == tool), "{tool}");
        assert!(!offered(&lab, "worker").iter().any(|name| name == tool), "the deepest is offered no {tool}");
    }
    client.finish();
}

#[test]
fn only_what_is_allowed_is_started_and_nothing_stands_in() {
    let lab = lab();
    let refused = ["loner", "general-purpose", "nobody", ""].into_iter();
    let tried = refused.fold(Line::default(), |line, name| line.and_call("Agent", &call(name, "x", None)));
    lab.model.script("lead", vec![tried, Line::text("I may not")]);
    let (mut client, lead) = led(&lab);
    client.wait_status(&lead.agent_id, AgentStatus::Completed);
    let request = lab.model.requests_of("lead")[1].text();
    assert_eq!(request.matches("[unknownType] this agent may not start").count(), 4, "{request}");
    assert!(request.contains("it may start: ") && request.contains("worker"), "{request}");
    assert_eq!(client.fleet().len(), 1);
    client.finish();
}

#[test]
fn an_agent_without_a_grant_or_at_the_limit_of_depth_starts_nothing() {
    let lab = lab();
    lab.model
        .script("loner", vec![Line::call("Agent", &call("worker", "x", None)), Line::text("no such tool")]);
    lab.model.script(
        "lead",
        vec![Line::call("Agent", &call("worker", "[[script worker]]", None)), Line::text("done")],
    );
    lab.model.script("worker", vec![Line::call("Agent", &call("worker", "x", None)), Line::text("too deep")]);
    let mut client = StdioClient::start(&lab);
    client.open_session();
    let loner = spawn(&mut client, "loner", "[[script loner]]");
    client.wait_status(&loner.agent_id, AgentStatus::Completed);
    let lead = spawn(&mut client, "lead", "[[script lead]]");
    client.wait_status(&lead.agent_id, AgentStatus::Completed);
    for name in ["loner", "worker"] {
        let request = lab.model.requests_of(name)[1].text();
        assert!(request.contains("There is no tool named"), "{name}: {request}");
    }
    assert_eq!(client.fleet().len(), 3);
    client.finish();
}

#[test]
fn an_agent_stays_open_for_what_it_started_in_the_background() {
    let lab = lab();
    lab.model.script(
        "lead",
        vec![
            Line::call("Agent", &call("worker", "[[script worker]]", Some(true))),
            Line::text("I wait for it"),
            Line::text("it was the gardener"),
        ],
    );
    lab.model.script("worker", vec![Line::text("the gardener").gated("worker")]);
    let (client, lead) = led(&lab);
    client.wait_agent(&lead.agent_id, "waits for its own", |row| {
        row.status == AgentStatus::Running && row.waiting_on == Some(WaitingOn::Child) && row.turns == 2
    });
    lab.model.open_gate("worker");
    let row = client.wait_status(&lead.agent_id, AgentStatus::Completed);
    assert_eq!(row.result_preview.as_deref(), Some("it was the gardener"));
    let request = lab.model.requests_of("lead")[2].text();
    assert_eq!(request.matches("<task-notification>").count(), 1, "{request}");
    client.finish();
}

#[test]
fn a_waiting_agent_hears_a_steer_and_a_stop_ends_all_of_it() {
    let lab = lab();
    lab.model.script(
        "lead",
        vec![
            Line::call("Agent", &call("worker", "[[script worker]]", Some(true))),
            Line::text("I wait for it"),
            Line::text("I heard you"),
        ],
    );
    lab.model.script("worker", vec![Line::text("never").gated("worker")]);
    let (mut client, lead) = led(&lab);
    client.wait_agent(&lead.agent_id, "waits", |row| {
        row.waiting_on == Some(WaitingOn::Child) && row.turns == 2
    });
    let params = json!({ "agentId": lead.agent_id, "message": "look left" });
    client.request::<method::AgentSteer>(&serde_json::from_value(params).expect("a steer"));
    client.wait_agent(&lead.agent_id, "has read it", |row| row.turns == 3);
    assert!(lab.model.requests_of("lead")[2].text().contains("look left"));
    let params = json!({ "agentId": lead.agent_id });
    let stopped = client.request::<method::AgentStop>(&serde_json::from_value(params).expect("a stop"));
    assert_eq!(stopped.stopped.len(), 2);
    let rows = client.wait_ended(2);
    assert!(rows.iter().all(|row| row.status == AgentStatus::Stopped && row.ended_by == Some(EndedBy::User)));
    super::wait_idle(&lab.model);
    client.finish();
}

#[test]
fn an_agent_of_somebody_else_is_not_there() {
    let lab = lab();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &call("lead", "[[script lead]]", Some(false))),
            Line::call("get_subagent_result", &json!({ "agent_id": "worker" }))
                .and_call("steer_subagent", &json!({ "agent_id": "worker", "message": "hello" }))
                .and_call("stop_subagent", &json!({ "agent_id": "worker" }))
                .and_call("Agent", &json!({ "prompt": "x", "description": "d", "resume": "worker" }))
                .and_call("list_subagents", &json!({})),
            Line::text("it is not mine"),
        ],
    );
    lab.model.script(
        "lead",
        vec![
            Line::call("Agent", &call("worker", "[[script worker]]", None)),
            Line::call("get_subagent_result", &json!({ "agent_id": "lead" }))
                .and_call("list_subagents", &json!({})),
            Line::text("done"),
        ],
    );
    lab.model.script("worker", vec![Line::text("the secret")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let boss = lab.model.requests_of("boss")[2].text();
    assert_eq!(boss.matches("[unknownAgent] there is no agent").count(), 4, "{boss}");
    assert!(boss.contains("1 agent\\n- ") && !boss.contains("the secret"), "{boss}");
    let lead = lab.model.requests_of("lead")[2].text();
    assert_eq!(lead.matches("[unknownAgent] there is no agent").count(), 1, "{lead}");
    client.finish();
}

#[test]
fn a_model_stops_what_it_does_not_need() {
    let lab = lab();
    super::waiting(&lab.model, "kid");
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]]", true)),
            Line::call("stop_subagent", &json!({ "all": true })),
            Line::call("stop_subagent", &json!({}))
                .and_call("stop_subagent", &json!({ "agent_id": "nobody" })),
            Line::text("stopped"),
            Line::text("I know"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let kid = client.wait_any_agent("stopped", |row| row.status == AgentStatus::Stopped);
    assert_eq!(kid.ended_by, Some(EndedBy::Parent));
    let request = lab.model.requests_of("boss")[2].text();
    assert!(request.contains("is being stopped"), "{request}");
    let request = lab.model.requests_of("boss")[3].text();
    assert!(request.contains("[badParams] agent_id") && request.contains("there is no agent"), "{request}");
    client.finish();
}
