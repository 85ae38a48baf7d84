//! What agents use: sums over runs, budgets, the session's limit, and what is reported to the session.

use std::fs;

use protocol::{AgentSpawnParams, ErrorCode, SessionInfo, method};
use serde_json::{Value, json};
use support::client::{Introduction, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use vocab::{AgentStatus, EndReason, EndedBy, Usage};

/// A place whose model `paid/fake` takes a dollar a token.
fn priced() -> Lab {
    let lab = Lab::new();
    let cost = json!({ "input": 1e6, "output": 1e6, "cacheRead": 1e6, "cacheWrite": 1e6 });
    lab.models(&json!({ "paid": {
        "baseUrl": format!("http://127.0.0.1:{}/v1", lab.model.port()), "api": "openai-completions",
        "apiKey": "test-key", "models": [{ "id": "fake", "contextWindow": 200_000, "cost": cost }],
    }}));
    lab
}

/// A script that calls a tool again and again.
fn endless(lab: &Lab, name: &str) {
    let line = |step: usize| Line::call("ls", &json!({ "path": ".", "limit": step + 1 }));
    lab.model.script(name, (0..20).map(line).collect());
}

fn spawn(more: &Value) -> AgentSpawnParams {
    let mut params = json!({ "type": "general-purpose", "prompt": "[[script kid]]" });
    for (key, value) in more.as_object().expect("an object") {
        params[key] = value.clone();
    }
    serde_json::from_value(params).expect("a spawn has this shape")
}

fn ended_usage(client: &StdioClient) -> Vec<Usage> {
    let notes = client.seen::<method::AgentCompleted>();
    notes.into_iter().flat_map(|note| note.completions).map(|completion| completion.usage).collect()
}

fn entries(session: &SessionInfo) -> Vec<Value> {
    let file = fs::read_to_string(session.file.as_ref().expect("it is kept")).expect("it is there");
    file.lines().map(|line| serde_json::from_str(line).expect("each line is whole")).collect()
}

/// The tokens that each result of a tool says others have spent.
fn reported(entries: &[Value]) -> Vec<Option<u64>> {
    let results = entries.iter().filter(|entry| entry["kind"] == "toolResult");
    results.map(|entry| entry["usage"]["total"].as_u64()).collect()
}

#[test]
fn a_rows_usage_is_that_of_all_runs_and_a_completions_that_of_its_run() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("one"), Line::text("two")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    let resume = json!({ "agentId": spawned.agent_id, "prompt": "go on" });
    client.request::<method::AgentResume>(&serde_json::from_value(resume).unwrap());
    let row = client
        .wait_agent(&spawned.agent_id, "ended again", |agent| agent.run == 2 && agent.status.is_final());
    support::wait_until("both runs are told", std::time::Duration::from_secs(10), || {
        (ended_usage(&client).len() == 2).then_some(())
    });
    let runs = ended_usage(&client);
    assert!(runs.iter().all(|usage| usage.total > 0), "{runs:?}");
    assert_eq!(row.usage.total, runs[0].total + runs[1].total);
    assert_eq!(row.subtree.usage, row.usage);
    assert_eq!(row.usage.cost_usd, None, "the price is unknown");
    assert_eq!(row.budget, None);
    client.finish();
}

#[test]
fn a_budget_of_the_call_or_of_the_type_ends_each_run_by_itself() {
    let lab = priced();
    endless(&lab, "kid");
    lab.write_home("agents/frugal.md", "---\ndescription: Saves.\nbudget_tokens: 1\n---\nSave.\n");
    let mut client = StdioClient::start(&lab);
    let cases = [
        (json!({ "budget": { "tokens": 1 } }), EndReason::Tokens, (Some(1), None)),
        (json!({ "budget": { "costUsd": 0.5 }, "model": "paid/fake" }), EndReason::Cost, (None, Some(0.5))),
        (
            json!({ "type": "frugal", "budget": { "tokens": 1_000_000, "costUsd": 1e6 } }),
            EndReason::Tokens,
            (Some(1), Some(1e6)),
        ),
    ];
    for (more, reason, budget) in cases {
        let spawned = client.request::<method::AgentSpawn>(&spawn(&more));
        let row = client.wait_status(&spawned.agent_id, AgentStatus::Aborted);
        assert_eq!((row.reason, row.ended_by), (Some(reason), Some(EndedBy::Limit)), "{more}");
        assert_eq!(row.budget.map(|budget| (budget.tokens, budget.cost_usd)), Some(budget), "{more}");
        assert_eq!(row.turns, 1, "the request that used it up was the last: {more}");
        assert!(row.error.is_some_and(|error| error.contains("its budget")), "{more}");
        // A budget is a run's: the next has one of its own.
        let resume = json!({ "agentId": spawned.agent_id, "prompt": "[[script kid]]" });
        client.request::<method::AgentResume>(&serde_json::from_value(resume).unwrap());
        let row = client.wait_agent(&spawned.agent_id, "ended again", |agent| {
            agent.run == 2 && agent.status == AgentStatus::Aborted
        });
        assert_eq!((row.reason, row.turns), (Some(reason), 1), "{more}");
    }
    client.finish();
}

#[test]
fn a_model_gives_a_budget_too_and_is_told_what_came_of_it() {
    let lab = Lab::new();
    endless(&lab, "kid");
    let mut call = super::agent("[[script kid]]", false);
    call["budget"] = json!({ "tokens": 1, "cost_usd": 2 });
    let mut wrong = super::agent("[[script kid]]", false);
    wrong["budget"] = json!({ "tokens": 0 });
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &call), Line::call("Agent", &wrong), Line::text("so be it")],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let requests = lab.model.requests_of("boss");
    let told = requests[1].text();
    assert!(told.contains("was aborted") && told.contains("ended by a limit"), "{told}");
    assert!(told.contains("the price of scripted/fake is unknown"), "{told}");
    assert!(requests[2].text().contains("budget"), "{}", requests[2].text());
    assert_eq!(client.fleet().len(), 1);
    client.finish();
}

#[test]
fn what_is_no_budget_is_refused_by_name() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    for (budget, field) in [
        (json!({ "tokens": 0 }), "budget.tokens"),
        (json!({ "tokens": -5 }), "budget.tokens"),
        (json!({ "tokens": 1.5 }), "budget.tokens"),
        (json!({ "costUsd": 0 }), "budget.costUsd"),
        (json!({ "costUsd": -0.1 }), "budget.costUsd"),
        (json!({ "costUsd": "1" }), "budget.costUsd"),
        (json!(7), "budget"),
    ] {
        let params = json!({ "type": "general-purpose", "prompt": "x", "budget": budget });
        let error = client.refused::<method::AgentSpawn>(&params);
        assert_eq!(error.code, ErrorCode::BadParams.code(), "{budget}: {error:?}");
        assert!(error.message.contains(field), "{budget}: {error:?}");
    }
    assert_eq!(client.fleet().len(), 0);
    client.finish();
}

#[test]
fn a_sessions_limit_ends_its_agents_and_itself_and_lets_no_other_start() {
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "tokens": 1 } }));
    endless(&lab, "kid");
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let row = client.wait_status(&spawned.agent_id, AgentStatus::Aborted);
    assert_eq!((row.reason, row.turns), (Some(EndReason::Tokens), 1));
    assert!(row.error.is_some_and(|error| error.contains("the session's limit of 1 tokens")));
    let spawn = json!({ "type": "general-purpose", "prompt": "[[script kid]]" });
    let resume = json!({ "agentId": spawned.agent_id, "prompt": "go on" });
    for error in
        [client.refused::<method::AgentSpawn>(&spawn), client.refused::<method::AgentResume>(&resume)]
    {
        assert_eq!(error.code, ErrorCode::LimitReached.code(), "{error:?}");
        assert!(error.message.contains("limits.tokens") && error.message.contains("final"), "{error:?}");
    }
    let requests = lab.model.requests().len();
    let ended = client.run("hello?");
    assert_eq!(ended.stop_reason, vocab::RunStop::Limit);
    assert_eq!(lab.model.requests().len(), requests, "nothing is asked of the model any more");
    client.finish();
}

#[test]
fn agents_usage_is_reported_once_with_the_next_result_of_a_tool_for_agents() {
    let lab = Lab::new();
    lab.settings(&json!({ "reportUsage": true }));
    lab.model.script("fore", vec![Line::text("found it")]);
    lab.model.script("back", vec![Line::text("found more").gated("back")]);
    let ask = |agent: &str| json!({ "agent_id": agent });
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script fore]]", false)),
            Line::call("Agent", &super::agent("[[script back]]", true)),
            Line::text("waiting"),
            Line::call("get_subagent_result", &ask("nobody")),
            Line::call("get_subagent_result", &ask("general-purpose")),
            Line::call("get_subagent_result", &ask("general-purpose")),
            Line::text("all done"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    let mut transcript = client.subscribe(&session);
    client.run("[[script boss]]");
    lab.model.open_gate("back");
    client.follow_session(&mut transcript, "the woken run has ended", |seen| {
        let ends = seen.events.iter().filter(|event| matches!(event, protocol::SessionEvent::RunEnd { .. }));
        ends.count() == 2
    });
    let open = json!({ "sessionId": session });
    let info = client.request::<method::SessionOpen>(&serde_json::from_value(open).unwrap());
    let rows = client.fleet();
    let agents: Vec<u64> = rows.iter().map(|row| row.usage.total).collect();
    client.finish();

    let entries = entries(&info);
    assert_eq!(reported(&entries), [Some(agents[0]), None, None, Some(agents[1]), None]);
    let own = entries.iter().filter(|entry| entry["kind"] == "assistant");
    let own: u64 = own.filter_map(|entry| entry["message"]["usage"]["total"].as_u64()).sum();
    assert_eq!(info.usage.total, own + agents.iter().sum::<u64>());
}

#[test]
fn what_waits_to_be_reported_is_forgotten_when_nobody_wants_it_any_more() {
    let lab = Lab::new();
    let settings = |report: bool| json!({ "permissions": { "mode": "auto" }, "reportUsage": report });
    let call = |name: &str| Line::call("Agent", &super::agent(&format!("[[script {name}]]"), false));
    lab.model.script("kid", vec![Line::text("one")]);
    lab.model.script("other", vec![Line::text("two")]);
    lab.model.script("boss", vec![call("other"), Line::text("done")]);
    let mut client = StdioClient::introduced(&lab, Introduction::default().with_settings(settings(true)));
    let session = client.open_session();
    let kid = client.spawn_agent("[[script kid]]");
    client.wait_status(&kid.agent_id, AgentStatus::Completed);
    for report in [false, true] {
        let changed = json!({ "settings": { "adjutant": settings(report) } });
        client.notify("workspace/didChangeConfiguration", &changed);
    }
    client.run("[[script boss]]");
    let open = json!({ "sessionId": session });
    let info = client.request::<method::SessionOpen>(&serde_json::from_value(open).unwrap());
    let other = client.fleet().pop().unwrap();
    client.finish();
    assert_ne!(other.agent_id, kid.agent_id);
    assert_eq!(reported(&entries(&info)), [Some(other.usage.total)]);
}

#[test]
fn a_sessions_limit_outlives_its_server() {
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "tokens": 1 } }));
    let mut client = StdioClient::start(&lab);
    let session = client.open_session();
    client.run("hello");
    client.finish();
    let requests = lab.model.requests().len();

    let mut client = StdioClient::start(&lab);
    let open = json!({ "resume": session });
    client.request::<method::SessionOpen>(&serde_json::from_value(open).unwrap());
    let spawn = json!({ "sessionId": session, "type": "general-purpose", "prompt": "look" });
    let error = client.refused::<method::AgentSpawn>(&spawn);
    assert_eq!(error.code, ErrorCode::LimitReached.code(), "{error:?}");
    assert_eq!(client.run("hello again").stop_reason, vocab::RunStop::Limit);
    assert_eq!(lab.model.requests().len(), requests);
    client.finish();
}

#[test]
fn an_agent_keeps_its_totals_its_budget_and_its_part_of_the_limit() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("one"), Line::text("two"), Line::text("three")]);
    let mut client = StdioClient::start(&lab);
    let params = spawn(&json!({ "budget": { "tokens": 900_000 } }));
    let spawned = client.request::<method::AgentSpawn>(&params);
    let before = client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    client.finish();

    let mut client = StdioClient::start(&lab);
    let after = client.fleet().remove(0);
    assert_eq!((after.usage, after.budget), (before.usage, before.budget));
    let resume = json!({ "agentId": spawned.agent_id, "prompt": "go on" });
    client.request::<method::AgentResume>(&serde_json::from_value(resume.clone()).unwrap());
    let twice = client.wait_agent(&spawned.agent_id, "ended again", |agent| {
        agent.run == 2 && agent.status == AgentStatus::Completed
    });
    assert!(twice.usage.total > before.usage.total, "{twice:?}");
    assert_eq!((twice.subtree.usage, twice.budget), (twice.usage, before.budget));
    client.finish();

    lab.settings(&json!({ "limits": { "tokens": twice.usage.total } }));
    let mut client = StdioClient::start(&lab);
    assert_eq!(client.fleet()[0].usage, twice.usage);
    let error = client.refused::<method::AgentResume>(&resume);
    assert_eq!(error.code, ErrorCode::LimitReached.code(), "{error:?}");
    assert_eq!(client.fleet()[0].run, 2);
    client.finish();
}
