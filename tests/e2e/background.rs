//! Agents that run beside the session: receipts, completions, delivery to the model exactly once.

use protocol::method;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, DeliveryState, EndedBy};

/// How many requests tell the model of this agent's end for the first time, as one message each.
fn deliveries(lab: &Lab, agent: &str) -> usize {
    let last = lab.model.requests().into_iter().filter(|record| record.text().contains("task-notification"));
    let most = last.map(|record| record.text().matches(&format!("<task-id>{agent}</task-id>")).count());
    most.max().unwrap_or(0)
}

#[test]
fn a_completion_wakes_the_idle_model_and_is_announced_once() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]]", true)),
            Line::text("waiting for it"),
            Line::text("the agent found a door"),
        ],
    );
    lab.model.script("kid", vec![Line::text("at it").gated("kid")]);
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let mut transcript = client.subscribe(&session);
    assert_eq!(client.run("[[script boss]]").text.as_deref(), Some("waiting for it"));
    let receipt = lab.model.requests_of("boss")[1].text();
    assert!(receipt.contains("started in the background"), "{receipt}");
    lab.model.open_gate("kid");
    let completed = client.wait_note::<method::AgentCompleted>("one", |note| !note.completions.is_empty());
    let completion = &completed.completions[0];
    assert_eq!((completion.status, completion.ended_by), (AgentStatus::Completed, EndedBy::Itself));
    assert_eq!(completion.result_preview, "at it");
    client.follow_session(&mut transcript, "the woken run has ended", |seen| {
        let ends = seen.events.iter().filter(|event| matches!(event, protocol::SessionEvent::RunEnd { .. }));
        ends.count() == 2
    });
    assert_eq!(deliveries(&lab, completion.agent_id.as_str()), 1);
    client.wait_agent(&completion.agent_id, "is delivered", |agent| {
        agent.delivery == Some(DeliveryState::Delivered)
    });
    client.run("anything else?");
    assert_eq!(deliveries(&lab, completion.agent_id.as_str()), 1, "never again");
    assert_eq!(client.seen::<method::AgentCompleted>().len(), 1);
    client.finish();
}

#[test]
fn completions_of_one_turn_come_together() {
    let lab = Lab::new();
    let calls =
        (0..3).fold(Line::default(), |line, _| line.and_call("Agent", &super::agent("[[script kid]]", true)));
    lab.model.script("boss", vec![calls, Line::text("waiting"), Line::text("thanks")]);
    lab.model.script("kid", vec![Line::text("found it").gated("kid")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    lab.model.open_gate("kid");
    lab.model.wait_request("the news", |record| record.text().contains("task-notification"));
    super::wait_idle(&lab.model);
    let last = lab.model.requests_of("boss").pop().unwrap();
    assert_eq!(last.step, 2, "one wake for all three");
    assert_eq!(last.text().matches("<task-id>").count(), 3, "{}", last.text());
    let announced: usize =
        client.seen::<method::AgentCompleted>().iter().map(|note| note.completions.len()).sum();
    assert_eq!(announced, 3);
    client.finish();
}

#[test]
fn a_completion_during_a_run_joins_its_next_turn() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]]", true)),
            Line::call("bash", &serde_json::json!({ "command": "while [ ! -e go ]; do sleep 0.05; done" })),
            Line::text("told"),
        ],
    );
    lab.model.script("kid", vec![Line::text("short work")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    client.wait_note::<method::AgentCompleted>("the child's", |_| true);
    lab.write("go", "");
    client.wait(&pending).unwrap();
    super::wait_idle(&lab.model);
    let requests = lab.model.requests_of("boss");
    assert_eq!(requests.len(), 3, "no further run was needed");
    assert!(requests[2].text().contains("short work"), "{}", requests[2].text());
    client.finish();
}

#[test]
fn a_result_that_the_model_fetched_is_not_told_again() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call(
                "Agent",
                &serde_json::json!({
                    "prompt": "[[script kid]]", "description": "a task", "subagent_type": "general-purpose",
                    "run_in_background": true, "name": "finder",
                }),
            ),
            Line::call("get_subagent_result", &serde_json::json!({ "agent_id": "finder", "wait": true })),
            Line::text("I have it"),
        ],
    );
    lab.model.script("kid", vec![Line::text("behind the clock")]);
    let mut client = StdioClient::start(&lab);
    assert_eq!(client.run("[[script boss]]").text.as_deref(), Some("I have it"));
    assert!(lab.model.requests_of("boss")[2].text().contains("behind the clock"));
    let agent = client.wait_any_agent("is consumed", |agent| agent.delivery == Some(DeliveryState::Consumed));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(deliveries(&lab, agent.agent_id.as_str()), 0);
    client.finish();
}

#[test]
fn an_agent_that_a_person_started_wakes_no_model_but_is_told_at_the_next_turn() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("a person's errand")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_note::<method::AgentCompleted>("it", |note| note.completions[0].agent_id == spawned.agent_id);
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(lab.model.requests().len(), 1, "only the child asked a model");
    client.run("hello");
    assert_eq!(deliveries(&lab, spawned.agent_id.as_str()), 1);
    client.run("again");
    assert_eq!(deliveries(&lab, spawned.agent_id.as_str()), 1);
    client.finish();
}

#[test]
fn wake_model_wakes_it() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let mut params = support::client::spawn("[[script kid]]");
    params.wake_model = true;
    let spawned = client.request::<method::AgentSpawn>(&params);
    lab.model.wait_request("the wake", |record| record.text().contains("task-notification"));
    assert_eq!(deliveries(&lab, spawned.agent_id.as_str()), 1);
    client.finish();
}

#[test]
fn a_full_house_queues_and_the_queue_moves_up() {
    let lab = Lab::new();
    lab.settings(&serde_json::json!({ "maxConcurrent": 2 }));
    for name in ["a", "b", "c"] {
        super::waiting(&lab.model, name);
    }
    let mut client = StdioClient::start(&lab);
    let spawned: Vec<_> =
        ["a", "b", "c"].map(|name| client.spawn_agent(&format!("[[script {name}]]"))).into();
    assert_eq!(spawned[2].status, AgentStatus::Queued);
    let queued =
        client.wait_agent(&spawned[2].agent_id, "is queued", |agent| agent.status == AgentStatus::Queued);
    assert_eq!(queued.queue_position, Some(1));
    assert!(lab.model.requests_of("c").is_empty());
    lab.model.open_gate("a");
    client.wait_status(&spawned[2].agent_id, AgentStatus::Running);
    lab.model.open_gate("b");
    lab.model.open_gate("c");
    client.wait_ended(3);
    client.finish();
}
