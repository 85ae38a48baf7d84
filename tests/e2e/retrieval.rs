//! Results that the model reads by itself: waiting or not, of agents in every state, and without being told twice.

use std::time::Duration;

use protocol::{SessionAbortParams, method};
use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::{Line, Record};
use support::lab::Lab;
use vocab::{AgentId, AgentStatus, DeliveryState};

/// A background call of `Agent` for this script, under the script's name.
fn launch(name: &str) -> Line {
    let mut arguments = super::agent(&format!("[[script {name}]]"), true);
    arguments["name"] = name.into();
    Line::call("Agent", &arguments)
}

fn read(agent: &str, wait: bool) -> Line {
    Line::call("get_subagent_result", &json!({ "agent_id": agent, "wait": wait }))
}

/// The results of calls that a request holds, in order.
fn results(record: &Record) -> Vec<String> {
    let messages = record.body["messages"].as_array().cloned().unwrap_or_default();
    let results = messages.into_iter().filter(|message| message["role"] == "tool");
    results.map(|message| text_of(&message["content"])).collect()
}

fn text_of(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// Starts an agent whose news holds no directive for the scripted model: its description is not its prompt.
fn person_starts(client: &mut StdioClient, name: &str) -> AgentId {
    let mut params = support::client::spawn(&format!("[[script {name}]]"));
    params.description = Some(name.to_owned());
    client.request::<method::AgentSpawn>(&params).agent_id
}

fn notices(lab: &Lab) -> usize {
    let requests = lab.model.requests_of("boss");
    requests.iter().map(|record| record.text().matches("<task-id>").count()).max().unwrap_or(0)
}

#[test]
fn a_queued_agent_says_that_it_waits_and_its_news_still_comes() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "first");
    lab.model.script("second", vec![Line::text("second has run")]);
    lab.model.script(
        "boss",
        vec![launch("second"), read("second", false), Line::text("later then"), Line::text("thanks")],
    );
    let mut client = StdioClient::start(&lab);
    person_starts(&mut client, "first");
    client.run("[[script boss]]");
    let told = results(&lab.model.requests_of("boss")[2]);
    assert!(told[0].contains("queued") && told[0].contains("limit"), "{}", told[0]);
    assert!(told[1].contains("queued at position 1") && !told[1].contains("(no output)"), "{}", told[1]);
    lab.model.open_gate("first");
    lab.model
        .wait_request("the news", |record| record.id == "boss" && record.text().contains("second has run"));
    super::wait_idle(&lab.model);
    let told = lab.model.requests_of("boss").pop().expect("it was told").text();
    assert_eq!(told.matches("<result>second has run</result>").count(), 1, "{told}");
    client.finish();
}

#[test]
fn a_wait_lasts_from_the_queue_to_the_end() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "first");
    lab.model.script("second", vec![Line::text("second has run")]);
    lab.model.script("boss", vec![launch("second"), read("second", true), Line::text("I have it")]);
    let mut client = StdioClient::start(&lab);
    let first = person_starts(&mut client, "first");
    let pending = client.prompt("[[script boss]]");
    client.wait_any_agent("is queued", |agent| agent.status == AgentStatus::Queued);
    lab.model.wait_request("the read", |record| record.id == "boss" && record.step == 1 && record.t_end > 0);
    lab.model.open_gate("first");
    client.wait_status(&first, AgentStatus::Completed);
    assert_eq!(client.wait(&pending).unwrap().text.as_deref(), Some("I have it"));
    let told = results(&lab.model.requests_of("boss")[2]);
    assert!(told[1].contains("second has run"), "{}", told[1]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((notices(&lab), lab.model.requests_of("boss").len()), (0, 3), "it was read");
    client.finish();
}

#[test]
fn an_aborted_wait_leaves_the_agent_alone_and_its_news_comes_once() {
    let lab = Lab::new();
    super::waiting(&lab.model, "kid");
    lab.model.script("boss", vec![launch("kid"), read("kid", true), Line::text("never")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the child", |record| record.id == "kid");
    lab.model.wait_request("the read", |record| record.id == "boss" && record.step == 1 && record.t_end > 0);
    std::thread::sleep(Duration::from_millis(100));
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&pending).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(lab.model.requests_of("kid")[0].t_end == 0, "the child is still at it");
    lab.model.open_gate("kid");
    let woken = lab.model.wait_request("the news", |record| record.text().contains("<task-id>"));
    let told = results(&woken);
    assert_eq!(told.len(), 2, "the call that was cut off has its result: {told:?}");
    assert!(!told[1].contains("kid is at work"), "{}", told[1]);
    client.wait_any_agent("is delivered", |agent| agent.delivery == Some(DeliveryState::Delivered));
    client.run("and now?");
    let last = lab.model.requests().pop().expect("it was asked");
    assert_eq!(last.text().matches("<task-id>").count(), 1, "{}", last.text());
    client.finish();
}

#[test]
fn every_name_in_any_case_gives_the_same_text_each_time() {
    let lab = Lab::new();
    lab.model.script("finder", vec![Line::text("behind the clock")]);
    lab.model.script(
        "boss",
        vec![
            launch("finder"),
            read("@FINDER", true),
            read("finder", false),
            read("General-Purpose", true),
            Line::text("I have it"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let told = results(&lab.model.requests_of("boss")[4]);
    assert!(told[1].contains("behind the clock"), "{}", told[1]);
    assert_eq!((&told[1], &told[1]), (&told[2], &told[3]));
    assert_eq!(notices(&lab), 0);
    client.finish();
}

#[test]
fn a_look_at_a_running_agent_takes_nothing() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![
            Line::text("my first words").and_call("ls", &json!({ "path": "." })),
            Line::text("my last words").gated("kid"),
        ],
    );
    let verbose = json!({ "agent_id": "kid", "verbose": true });
    let pause = json!({ "command": "while [ ! -e go ]; do sleep 0.02; done" });
    lab.model.script(
        "boss",
        vec![
            launch("kid"),
            Line::call("bash", &pause),
            Line::call("get_subagent_result", &verbose),
            Line::text("carry on"),
            Line::text("thanks"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("its second turn", |record| record.id == "kid" && record.step == 1);
    lab.write("go", "");
    client.wait(&pending).unwrap();
    let told = results(&lab.model.requests_of("boss")[3]);
    assert!(told[2].contains("my first words") && told[2].contains("no result yet"), "{}", told[2]);
    lab.model.open_gate("kid");
    lab.model
        .wait_request("the news", |record| record.id == "boss" && record.text().contains("my last words"));
    assert_eq!(notices(&lab), 1);
    super::wait_idle(&lab.model);
    client.finish();
}

#[test]
fn an_agent_that_is_not_there_is_not_found() {
    let lab = Lab::new();
    let steer = Line::call("steer_subagent", &json!({ "agent_id": "nobody", "message": "hurry" }));
    let resume = Line::call("Agent", &json!({ "prompt": "go on", "description": "d", "resume": "nobody" }));
    lab.model.script("boss", vec![read("nobody", true), steer, resume, Line::text("so be it")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    for told in results(&lab.model.requests_of("boss")[3]) {
        assert!(told.contains("[unknownAgent]") && told.contains("nobody"), "{told}");
    }
    assert!(client.fleet().is_empty());
    client.finish();
}

#[test]
fn what_ended_while_the_session_was_busy_costs_one_turn() {
    let lab = Lab::new();
    for name in ["one", "two", "three"] {
        lab.model.script(name, vec![Line::text(format!("{name} is done"))]);
    }
    lab.model.script(
        "boss",
        vec![
            launch("one"),
            launch("two").and_call("bash", &json!({ "command": "true" })),
            launch("three"),
            Line::text("busy").gated("boss"),
            Line::text("thanks"),
        ],
    );
    // Nothing is told before all have ended.
    lab.settings(&json!({ "delivery": { "holdMs": 1500 } }));
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("its last turn", |record| record.id == "boss" && record.step == 3);
    client.wait_ended(3);
    support::wait_until("all three are announced", support::LIMIT, || {
        let notes = client.seen::<method::AgentCompleted>();
        (notes.iter().map(|note| note.completions.len()).sum::<usize>() == 3).then_some(())
    });
    lab.model.open_gate("boss");
    client.wait(&pending).unwrap();
    lab.model.wait_request("the news", |record| record.id == "boss" && record.step == 4);
    super::wait_idle(&lab.model);
    let requests = lab.model.requests_of("boss");
    assert_eq!(requests.len(), 5, "one turn for all three");
    assert_eq!(requests[4].text().matches("<task-id>").count(), 3, "{}", requests[4].text());
    client.finish();
}
