//! Who runs when an agent is asked for: types, stand-ins, models and limits, by the model's tool and by the editor.

use std::time::Duration;

use protocol::{AgentSummary, method};
use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::{ANTHROPIC, Lab, MODEL};
use vocab::{AgentStatus, DeliveryState, EndReason, ThinkingLevel};

/// What the model was told about one call.
struct Told {
    text: String,
    /// The call is marked as failed.
    refused: bool,
}

/// A client whose session speaks a protocol in which a failed call is marked as one.
fn start(lab: &Lab) -> StdioClient {
    let mut introduction = Introduction::default();
    introduction.options["model"] = ANTHROPIC.into();
    StdioClient::introduced(lab, introduction)
}

/// Lets the session's model make this one call of `Agent`.
fn call(lab: &Lab, client: &mut StdioClient, arguments: &Value) -> Told {
    let name = format!("boss{}", lab.model.requests().len());
    lab.model.script(&name, vec![Line::call("Agent", arguments), Line::text("so be it")]);
    client.run(&format!("[[script {name}]]"));
    let body =
        lab.model.requests_of(&name).into_iter().find(|record| record.step == 1).expect("a second turn").body;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find_map(|message| {
        let blocks = message["content"].as_array()?;
        blocks.iter().find(|block| block["type"] == "tool_result").cloned()
    });
    let result = last.expect("the call has its result");
    Told { text: result["content"].to_string(), refused: result["is_error"] == true }
}

fn agent(more: &Value) -> Value {
    let mut arguments = super::agent("[[script kid]]", false);
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    arguments
}

fn only(client: &mut StdioClient) -> AgentSummary {
    let mut fleet = client.fleet();
    assert_eq!(fleet.len(), 1, "{fleet:?}");
    fleet.remove(0)
}

#[test]
fn a_refused_call_is_a_failed_call_and_nothing_runs() {
    let lab = Lab::new();
    lab.settings(&json!({ "fallbackSubagent": "none" }));
    lab.write_home("agents/retired.md", "---\nname: retired\nenabled: false\n---\nRest.\n");
    for name in ["Twin", "TWIN"] {
        lab.write_home(
            &format!("agents/{name}-file.md"),
            &format!("---\nname: {name}\n---\nBe one of two.\n"),
        );
    }
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    for asked in ["nope", "retired", " ", "twin"] {
        let told = call(&lab, &mut client, &agent(&json!({ "subagent_type": asked })));
        assert!(told.refused, "{asked}: {}", told.text);
        assert!(told.text.contains("[unknownType]"), "{asked}: {}", told.text);
        let listed = told.text.split("Available types: ").nth(1).unwrap_or_default();
        assert!(listed.contains("general-purpose") && !listed.contains("retired"), "{asked}: {}", told.text);
    }
    for (field, value) in [
        ("model", json!("no/such-model")),
        ("max_turns", json!(0)),
        ("thinking", json!("banana")),
        ("prompt", json!("  ")),
        ("schedule", json!("every day")),
    ] {
        let told = call(&lab, &mut client, &agent(&json!({ field: value })));
        assert!(told.refused, "{field}: {}", told.text);
        assert!(told.text.contains(field), "it names what is wrong, {field}: {}", told.text);
    }
    assert!(client.fleet().is_empty());
    assert!(lab.model.requests_of("kid").is_empty());
    assert!(client.seen::<method::AgentCompleted>().is_empty());
    let told = call(&lab, &mut client, &agent(&json!({ "subagent_type": "TWIN" })));
    assert!(!told.refused && told.text.contains("I ran"), "{}", told.text);
    assert_eq!(only(&mut client).agent_type, "TWIN");
    client.finish();
}

#[test]
fn a_model_that_is_not_there_is_refused_with_those_that_are() {
    let lab = Lab::new();
    let mut client = start(&lab);
    let told = call(&lab, &mut client, &agent(&json!({ "model": "no/such-model" })));
    assert!(told.refused && told.text.contains("scripted/fake"), "{}", told.text);
    assert!(client.fleet().is_empty());
    client.finish();
}

#[test]
fn an_unknown_type_has_the_stand_in_of_the_settings() {
    for (fallback, expected) in
        [(Value::Null, Some("general-purpose")), (json!("explore"), Some("Explore")), (json!("gone"), None)]
    {
        let lab = Lab::new();
        lab.settings(&json!({ "fallbackSubagent": fallback }));
        lab.model.script("kid", vec![Line::text("I ran")]);
        let mut client = start(&lab);
        let asked = agent(&json!({ "subagent_type": "nope", "run_in_background": true }));
        let told = call(&lab, &mut client, &asked);
        if let Some(expected) = expected {
            assert!(!told.refused, "{}", told.text);
            assert!(told.text.contains("nope") && told.text.contains(expected), "{}", told.text);
            assert_eq!(only(&mut client).agent_type, expected);
            client.wait_ended(1);
        } else {
            assert!(
                told.refused && told.text.contains("nope") && told.text.contains("gone"),
                "{}",
                told.text
            );
            assert!(client.fleet().is_empty());
        }
        super::wait_idle(&lab.model);
        client.finish();
    }
}

#[test]
fn a_new_file_is_a_new_type_at_once() {
    let lab = Lab::new();
    lab.settings(&json!({ "fallbackSubagent": "none" }));
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    client.run("hello");
    lab.write_home("agents/late.md", "---\nname: late\n---\nCome late.\n");
    let told = call(&lab, &mut client, &agent(&json!({ "subagent_type": "late" })));
    assert!(!told.refused && told.text.contains("I ran"), "{}", told.text);
    let asked = lab.model.requests_of("kid").pop().expect("the child asked");
    assert!(asked.text().contains("Come late."), "its own instructions: {}", asked.text());
    client.finish();
}

#[test]
fn a_definition_beats_the_call_by_every_door() {
    let lab = Lab::new();
    lab.write_home(
        "agents/firm.md",
        "---\nname: firm\nmodel: SCRIPTED\nthinking: low\nmax_turns: 3\nrun_in_background: false\n---\nBe firm.\n",
    );
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    let contrary = json!({
        "subagent_type": "firm", "model": ANTHROPIC, "thinking": "high", "max_turns": 9, "run_in_background": true,
    });
    let told = call(&lab, &mut client, &agent(&contrary));
    assert!(told.text.contains("I ran"), "inline: {}", told.text);
    let by_tool = only(&mut client);
    let spawn = json!({
        "type": "firm", "prompt": "[[script kid]]", "model": ANTHROPIC, "thinking": "high", "maxTurns": 9,
    });
    let spawned = client.request::<method::AgentSpawn>(&serde_json::from_value(spawn).unwrap());
    let by_editor = client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    for row in [&by_tool, &by_editor] {
        assert_eq!((row.model.as_str(), row.thinking), (MODEL, Some(ThinkingLevel::Low)), "{row:?}");
        assert_eq!(row.max_turns, Some(3), "{row:?}");
    }
    assert!(!by_tool.is_background && by_editor.is_background, "where it runs is a person's choice");
    client.finish();
}

#[test]
fn a_definitions_model_that_is_not_there_gives_way_and_says_so() {
    let lab = Lab::new();
    lab.write_home("agents/old.md", "---\nname: old\nmodel: retired/model\n---\nBe old.\n");
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    let told = call(&lab, &mut client, &agent(&json!({ "subagent_type": "old" })));
    assert!(!told.refused && told.text.contains("I ran"), "{}", told.text);
    assert!(told.text.contains("retired/model") && told.text.contains(ANTHROPIC), "{}", told.text);
    let row = only(&mut client);
    assert_eq!((row.model.as_str(), row.requested_model.as_deref()), (ANTHROPIC, Some("retired/model")));
    client.finish();
}

#[test]
fn a_resume_takes_nothing_but_its_prompt_from_the_call() {
    let lab = Lab::new();
    lab.settings(&json!({ "fallbackSubagent": "none" }));
    lab.write_home("agents/brief.md", "---\nname: brief\nmax_turns: 4\n---\nBe brief and kind.\n");
    lab.model.script("kid", vec![Line::text("I ran"), Line::text("I ran again")]);
    let mut client = start(&lab);
    call(&lab, &mut client, &agent(&json!({ "subagent_type": "brief", "name": "bee" })));
    std::fs::remove_file(lab.home().join("agents/brief.md")).unwrap();
    let again = json!({
        "prompt": "go on", "description": "d", "resume": "@BEE", "run_in_background": false, "subagent_type": "nope",
        "model": "no/such-model",
    });
    let told = call(&lab, &mut client, &again);
    assert!(!told.refused && told.text.contains("I ran again"), "{}", told.text);
    let row = only(&mut client);
    assert_eq!((row.run, row.agent_type.as_str(), row.max_turns), (2, "brief", Some(4)));
    let asked = lab.model.requests_of("kid").pop().expect("the child asked");
    assert!(asked.text().contains("Be brief and kind."), "its own instructions: {}", asked.text());
    client.finish();
}

#[test]
fn a_queued_agent_runs_as_it_was_launched() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    lab.write_home("agents/brief.md", "---\nname: brief\ntools: read\n---\nBe brief and kind.\n");
    super::waiting(&lab.model, "first");
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    client.spawn_agent("[[script first]]");
    let spawn = json!({ "type": "brief", "prompt": "[[script kid]]" });
    let spawned = client.request::<method::AgentSpawn>(&serde_json::from_value(spawn).unwrap());
    assert_eq!(spawned.status, AgentStatus::Queued);
    std::fs::remove_file(lab.home().join("agents/brief.md")).unwrap();
    lab.model.open_gate("first");
    let row = client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert_eq!((row.model.as_str(), row.agent_type.as_str()), (ANTHROPIC, "brief"));
    let body = lab.model.requests_of("kid").pop().expect("the child asked").body;
    assert!(body.to_string().contains("Be brief and kind."), "{body}");
    let tools: Vec<_> =
        body["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
    assert_eq!(tools, ["read"], "never wider than it was");
    client.finish();
}

#[test]
fn definitions_come_from_the_workspace_and_not_from_where_the_server_was_started() {
    let lab = Lab::new();
    lab.write(".adjutant/agents/local.md", "---\nname: local\n---\nYou are from the workspace.\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let agents = elsewhere.path().join(".adjutant/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("local.md"), "---\nname: local\n---\nYou are from elsewhere.\n").unwrap();
    lab.model.script("kid", vec![Line::call("read", &json!({ "path": "README.md" })), Line::text("I ran")]);
    let mut command = lab.command();
    command.arg("--stdio").current_dir(elsewhere.path());
    let mut client = StdioClient::of(command);
    client.introduce(&lab, Introduction::default());
    let spawn = json!({ "type": "local", "prompt": "[[script kid]]" });
    let spawned = client.request::<method::AgentSpawn>(&serde_json::from_value(spawn).unwrap());
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    let asked = lab.model.requests_of("kid").pop().expect("the child asked").text();
    assert!(asked.contains("You are from the workspace.") && !asked.contains("from elsewhere"), "{asked}");
    assert!(asked.contains("A small project"), "its tools work there: {asked}");
    client.finish();
}

#[test]
fn a_slash_is_just_text() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![Line::text("looking").gated("go").and_call("ls", &json!({})), Line::text("I ran")],
    );
    let mut client = start(&lab);
    let spawned = client.spawn_agent("/compact everything [[script kid]]");
    lab.model.wait_request("its request", |record| record.id == "kid");
    let steer = json!({ "agentId": spawned.agent_id, "message": "/stop and listen" });
    client.request::<method::AgentSteer>(&serde_json::from_value(steer).unwrap());
    lab.model.open_gate("go");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    let asked = lab.model.requests_of("kid").pop().expect("the child asked").text();
    assert!(asked.contains("/compact everything") && asked.contains("/stop and listen"), "{asked}");
    client.finish();
}

#[test]
fn equal_launches_have_names_of_their_own() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line { delay: Duration::from_millis(1), ..Line::text("I ran") }]);
    let mut client = start(&lab);
    let mut handles: Vec<_> = (0..3).map(|_| client.spawn_agent("[[script kid]]").handle).collect();
    client.wait_ended(3);
    handles.sort();
    handles.dedup();
    assert_eq!(handles.len(), 3, "{handles:?}");
    client.finish();
}

#[test]
fn a_folder_that_is_gone_is_an_error_of_that_agent_and_the_queue_moves_on() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "first");
    lab.model.script("kid", vec![Line::text("I ran")]);
    let mut client = start(&lab);
    client.spawn_agent("[[script first]]");
    let queued: Vec<_> = (0..2).map(|_| client.spawn_agent("[[script kid]]").agent_id).collect();
    let steer = json!({ "agentId": queued[0], "message": "and hurry" });
    client.request::<method::AgentSteer>(&serde_json::from_value(steer).unwrap());
    let away = lab.work().with_extension("gone");
    std::fs::rename(lab.work(), &away).unwrap();
    lab.model.open_gate("first");
    for agent in &queued {
        let row = client.wait_agent(agent, "has ended", |row| row.status.is_final());
        assert_eq!((row.status, row.reason), (AgentStatus::Error, Some(EndReason::Setup)), "{row:?}");
        assert!(row.error.is_some_and(|error| error.contains("folder")));
    }
    assert!(lab.model.requests_of("kid").is_empty(), "it asked nothing");
    std::fs::rename(&away, lab.work()).unwrap();
    client.wait_agent(&queued[1], "can be told", |row| row.delivery == Some(DeliveryState::Pending));
    client.run("[[script none]] what became of them?");
    let asked =
        lab.model.requests().into_iter().rfind(|record| record.text().contains("what became of them?"));
    let text = asked.expect("the prompt was asked").text();
    assert!(text.contains("is not there any more") && text.contains("and hurry"), "{text}");
    client.finish();
}
