//! The roster on the wire: epochs, revisions, pages, rates.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{ErrorCode, FleetListParams, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;

/// A child of many short turns.
fn busy(lab: &Lab, name: &str, turns: usize) {
    lab.settings(&json!({ "limits": { "identicalCalls": 0, "noProgressTurns": 0 } }));
    let step = || Line {
        delay: Duration::from_millis(15),
        ..Line::text("step ")
            .streaming(5, Duration::from_millis(2))
            .and_call("read", &json!({ "path": "README.md" }))
    };
    lab.model.script(name, (0..turns).map(|_| step()).chain([Line::text("done")]).collect());
}

#[test]
fn changes_follow_on_from_each_other_and_add_up_to_the_list() {
    let lab = Lab::new();
    busy(&lab, "kid", 10);
    let mut client = StdioClient::start(&lab);
    let list = client.request::<method::FleetList>(&FleetListParams::default());
    let spawned: Vec<_> = (0..5).map(|_| client.spawn_agent("[[script kid]]").agent_id).collect();
    client.wait_ended(5);
    std::thread::sleep(Duration::from_millis(700));
    let last = client.request::<method::FleetList>(&FleetListParams::default());
    assert_eq!(list.epoch, last.epoch);
    let (mut revision, mut agents) = (None, BTreeMap::new());
    for change in client.seen::<method::FleetChanged>() {
        assert_eq!(change.epoch, last.epoch);
        assert!(change.revision >= change.base_revision);
        if let Some(revision) = revision {
            assert_eq!(change.base_revision, revision, "no change is missing");
        }
        revision = Some(change.revision);
        for agent in change.removed {
            agents.remove(&agent);
        }
        agents.extend(change.upserted.into_iter().map(|agent| (agent.agent_id.clone(), agent)));
    }
    assert_eq!(revision, Some(last.revision));
    assert_eq!(agents.len(), spawned.len());
    for agent in &last.agents {
        assert_eq!(agents[&agent.agent_id], *agent, "what the changes made of it is what the list says");
    }
    client.finish();
}

#[test]
fn progress_keeps_its_rates() {
    let lab = Lab::new();
    busy(&lab, "kid", 40);
    let mut client = StdioClient::start(&lab);
    for _ in 0..8 {
        client.spawn_agent("[[script kid]]");
    }
    client.wait_ended(8);
    let notes: Vec<_> =
        client.notes().into_iter().filter(|note| note.method == "adjutant/fleet/changed").collect();
    let span = notes.last().unwrap().at - notes[0].at;
    // 8 starts and 8 ends are changes of status, gathered or not; the rest is progress.
    let most = 10.0 * span.as_secs_f64() + 16.0 + 8.0;
    assert!((notes.len() as f64) <= most, "{} changes in {span:?}, at most {most}", notes.len());
    let mut of_agent = BTreeMap::new();
    for note in &notes {
        for agent in note.params["upserted"].as_array().unwrap() {
            *of_agent.entry(agent["agentId"].to_string()).or_insert(0) += 1;
        }
    }
    for (agent, count) in of_agent {
        assert!(f64::from(count) <= 4.0 * span.as_secs_f64() + 8.0, "{count} of {agent} in {span:?}");
    }
    client.finish();
}

#[test]
fn pages_are_of_one_revision() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    for _ in 0..5 {
        client.spawn_agent("[[script kid]]");
    }
    client.wait_ended(5);
    support::wait_until("the fleet is at rest", support::LIMIT, || {
        let before = client.request::<method::FleetList>(&FleetListParams::default()).revision;
        std::thread::sleep(Duration::from_millis(500));
        (client.request::<method::FleetList>(&FleetListParams::default()).revision == before).then_some(())
    });
    let first = client.request::<method::FleetList>(&FleetListParams { cursor: None, limit: 2 });
    assert_eq!(first.agents.len(), 2);
    let cursor = first.next_cursor.expect("there is more");
    let second = client.request::<method::FleetList>(&FleetListParams { cursor: Some(cursor), limit: 2 });
    assert_eq!((second.agents.len(), second.revision), (2, first.revision));
    super::waiting(&lab.model, "more");
    let spawned = client.spawn_agent("[[script more]]");
    client.wait_agent(&spawned.agent_id, "is told of", |_| true);
    let third =
        client.request::<method::FleetList>(&FleetListParams { cursor: second.next_cursor, limit: 2 });
    assert_eq!((third.agents.len(), third.revision, third.next_cursor), (1, first.revision, None));
    assert!(third.agents[0].agent_id != spawned.agent_id, "what came later is in none of the pages");
    let error = client.refused::<method::FleetList>(&json!({ "cursor": "99999.2", "limit": 2 }));
    assert_eq!(error.code, ErrorCode::ContentModified.code(), "a list that is not kept any more");
    let error = client.refused::<method::FleetList>(&json!({ "cursor": "mine" }));
    assert_eq!(error.code, ErrorCode::BadParams.code());
    lab.model.open_gate("more");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    client.finish();
}

#[test]
fn another_server_is_another_epoch() {
    let lab = Lab::new();
    let mut client = StdioClient::start(&lab);
    let first = client.request::<method::FleetList>(&FleetListParams::default()).epoch;
    client.finish();
    let mut client = StdioClient::start(&lab);
    assert_ne!(client.request::<method::FleetList>(&FleetListParams::default()).epoch, first);
    client.finish();
}

#[test]
fn a_large_fleet_is_told_in_small_parts() {
    let lab = Lab::new();
    lab.settings(&json!({ "maxConcurrent": 1 }));
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    let long = "x".repeat(120);
    for _ in 0..120 {
        let mut params = support::client::spawn("[[script kid]]");
        params.description = Some(long.clone());
        client.request::<method::AgentSpawn>(&params);
    }
    // Messages over 64 KiB are a fault that the client reports at its end.
    let stopped = client.request::<method::AgentStopAll>(&protocol::AgentStopAllParams::default());
    assert_eq!(stopped.stopped.len(), 120);
    client.wait_ended(120);
    assert_eq!(client.fleet().len(), 120);
    client.finish();
}

#[test]
fn a_spawn_past_the_limit_of_descendants_is_refused() {
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "descendants": 2 } }));
    super::waiting(&lab.model, "kid");
    let mut client = StdioClient::start(&lab);
    client.spawn_agent("[[script kid]]");
    client.spawn_agent("[[script kid]]");
    let error =
        client.refused::<method::AgentSpawn>(&json!({ "type": "general-purpose", "prompt": "one more" }));
    assert_eq!(error.code, ErrorCode::LimitReached.code());
    lab.model.open_gate("kid");
    client.wait_ended(2);
    client.finish();
}
