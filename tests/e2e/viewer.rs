//! Following a conversation: a page, then every event after it, without a gap.

use std::time::Duration;

use protocol::{AgentCloseParams, AgentTranscriptParams, Entry, SessionEvent, method};
use serde_json::json;
use support::client::StdioClient;
use support::fake_model::Line;
use support::lab::Lab;
use vocab::AgentStatus;

#[test]
fn events_have_no_gap_and_add_up() {
    let lab = Lab::new();
    lab.model.script(
        "kid",
        vec![
            Line::text("First. ")
                .streaming(200, Duration::from_millis(1))
                .and_call("read", &json!({ "path": "README.md" })),
            Line::text("Second. ").gated("go"),
        ],
    );
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let mut transcript = client.open_agent(&spawned.agent_id);
    client.follow_agent(&spawned.agent_id, &mut transcript, "the tool has ended", |seen| {
        seen.has(|event| matches!(event, SessionEvent::ToolEnd { .. }))
    });
    lab.model.open_gate("go");
    client.follow_agent(&spawned.agent_id, &mut transcript, "the run has ended", |seen| {
        seen.has(|event| matches!(event, SessionEvent::RunEnd { .. }))
    });
    let opened = client.open_agent(&spawned.agent_id);
    assert_eq!(opened.next_seq, transcript.next_seq, "the page knows what the events told");
    client.finish();
}

#[test]
fn a_viewer_in_the_middle_gets_what_is_streamed_already() {
    let lab = Lab::new();
    lab.model.script("kid", vec![Line::text("half of it ").gated("go").streaming(3, Duration::ZERO)]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    let params = serde_json::from_value(json!({ "agentId": spawned.agent_id })).unwrap();
    let partial = support::wait_until("the message so far", support::LIMIT, || {
        let page = client.request::<method::AgentOpen>(&params).page;
        page.partial.filter(|partial| !partial.text.is_empty())
    });
    assert_eq!((partial.text.as_str(), partial.text_offset), ("half of it ", 0));
    lab.model.open_gate("go");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    let page = client.request::<method::AgentOpen>(&params).page;
    assert!(page.partial.is_none());
    assert!(page.entries.iter().any(|entry| matches!(entry, Entry::Assistant { text: Some(text), .. } if text.starts_with("half of it lorem"))));
    client.finish();
}

#[test]
fn a_closed_viewer_is_told_nothing_more() {
    let lab = Lab::new();
    lab.model
        .script("kid", vec![Line::text("one").gated("go").and_call("ls", &json!({})), Line::text("two")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.open_agent(&spawned.agent_id);
    lab.model.wait_request("its request", |record| record.id == "kid");
    client.request::<method::AgentClose>(&AgentCloseParams { agent_id: spawned.agent_id.clone() });
    std::thread::sleep(Duration::from_millis(100));
    let before = client.seen::<method::AgentEvent>().len();
    lab.model.open_gate("go");
    client.wait_status(&spawned.agent_id, AgentStatus::Completed);
    assert_eq!(client.seen::<method::AgentEvent>().len(), before);
    client.finish();
}

#[test]
fn older_pages_lead_back_to_the_beginning() {
    let lab = Lab::new();
    let step = |at: u32| Line::text("step").and_call("ls", &json!({ "limit": at + 1 }));
    lab.model.script("kid", (0..20).map(step).chain([Line::text("done")]).collect());
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    let (mut before, mut entries) = (None, Vec::new());
    loop {
        let params = AgentTranscriptParams { agent_id: spawned.agent_id.clone(), before, limit: 7 };
        let page = client.request::<method::AgentTranscript>(&params);
        assert!(page.entries.len() <= 7);
        before = page.entries.first().map(Entry::seq);
        entries.splice(0..0, page.entries);
        if !page.has_more {
            assert_eq!(entries.len() as u64, page.total);
            break;
        }
    }
    assert!(matches!(entries.first(), Some(Entry::Prompt { .. })), "{:?}", entries.first());
    assert!(entries.windows(2).all(|pair| pair[0].seq() < pair[1].seq()), "in order, none twice");
    assert_eq!(entries.iter().filter(|entry| matches!(entry, Entry::Tool { .. })).count(), 20);
    client.finish();
}

#[test]
fn a_long_text_comes_by_reference() {
    let lab = Lab::new();
    lab.write("long.txt", "a line of some length, again and again\n".repeat(1200));
    lab.model.script("kid", vec![Line::call("read", &json!({ "path": "long.txt" })), Line::text("done")]);
    let mut client = StdioClient::start(&lab);
    let spawned = client.spawn_agent("[[script kid]]");
    client.wait_agent(&spawned.agent_id, "has ended", |agent| agent.status.is_final());
    let params = serde_json::from_value(json!({ "agentId": spawned.agent_id })).unwrap();
    let page = client.request::<method::AgentOpen>(&params).page;
    let reference = page.entries.iter().find_map(|entry| match entry {
        Entry::Tool { text_ref, .. } => text_ref.clone(),
        _ => None,
    });
    let reference = reference.expect("the output is a reference");
    let document = client.request::<method::Document>(&protocol::DocumentParams { uri: reference.uri });
    assert!(document.text.matches("again and again").count() > 1000);
    client.finish();
}
