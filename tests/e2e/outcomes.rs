//! What a model is told of an agent that it waited for, however the run ended.

use serde_json::{Value, json};
use support::client::StdioClient;
use support::fake_model::{Fault, Line};
use support::lab::Lab;
use vocab::AgentStatus;

fn ls() -> Value {
    json!({ "path": "." })
}

/// Runs a foreground child with this script; gives what the caller's model was told and how the child ended.
fn told(script: Vec<Line>) -> (String, protocol::AgentSummary) {
    let lab = Lab::new();
    lab.settings(&json!({ "retry": { "enabled": false } }));
    lab.model.script("kid", script);
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("so be it")],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    // The one result, and no news of the run later.
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert_eq!(lab.model.requests_of("boss").len(), 2);
    let body = lab.model.requests_of("boss").remove(1).body;
    let results: Vec<_> = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "tool")
        .collect();
    assert_eq!(results.len(), 1, "one call, one result");
    let content = &results[0]["content"];
    let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    let row = client.fleet().remove(0);
    client.finish();
    (text, row)
}

#[test]
fn an_answer_comes_with_its_figures_and_without_the_id() {
    let (text, row) =
        told(vec![Line::text("looking").and_call("ls", &ls()), Line::text("it is behind the clock")]);
    assert_eq!(row.status, AgentStatus::Completed);
    assert!(text.starts_with("Agent completed in ") && text.contains("(1 tool use)"), "{text}");
    assert!(text.ends_with("\n\nit is behind the clock"), "{text}");
    assert!(!text.contains(row.agent_id.as_str()), "{text}");
}

#[test]
fn an_empty_end_has_the_last_text_of_the_run_or_says_that_there_is_none() {
    let (text, row) = told(vec![Line::text("all I know").and_call("ls", &ls()), Line::default()]);
    assert_eq!(row.status, AgentStatus::Completed, "{row:?}");
    assert!(text.ends_with("\n\nall I know"), "{text}");
    let (text, row) = told(vec![Line::default().and_call("ls", &ls()), Line::text("  \n")]);
    assert_eq!(row.status, AgentStatus::Completed, "{row:?}");
    assert!(text.ends_with("\n\n(no output)"), "{text}");
}

#[test]
fn a_failure_gives_its_reason_first_and_then_what_there_was() {
    let (text, row) = told(vec![Line::text("never seen").failing(Fault::new("400", 9))]);
    assert_eq!(row.status, AgentStatus::Error);
    assert!(text.starts_with("Agent failed: ") && text.contains("injected 400"), "{text}");
    assert!(!text.contains("Partial output"), "{text}");
    let second = Line::text("never seen").failing(Fault::new("400", 9));
    let (text, row) = told(vec![Line::text("half of it").and_call("ls", &ls()), second]);
    assert_eq!(row.status, AgentStatus::Error);
    let (reason, partial) = (text.find("injected 400"), text.find("Partial output"));
    assert!(reason.is_some() && reason < partial, "{text}");
    assert!(text.ends_with("half of it"), "{text}");
}

#[test]
fn an_answer_that_was_cut_at_its_longest_counts_if_it_says_anything() {
    let (text, row) = told(vec![Line::text("most of it").too_long()]);
    assert_eq!(row.status, AgentStatus::Completed, "{row:?}");
    assert!(text.ends_with("\n\nmost of it"), "{text}");
    let (text, row) = told(vec![Line::default().too_long()]);
    assert_eq!(row.status, AgentStatus::Error, "{row:?}");
    assert!(text.starts_with("Agent failed: ") && text.contains("output limit"), "{text}");
    // Calls of a cut message do not run, whatever they look like.
    let call = Line::text("I will").and_call("bash", &json!({ "command": "touch ran" })).too_long();
    let (text, row) = told(vec![call, Line::text("instead, words")]);
    assert_eq!(row.status, AgentStatus::Completed, "{row:?}");
    assert!(text.ends_with("\n\ninstead, words") || text.ends_with("\n\nI will"), "{text}");
}

#[test]
fn a_limit_is_no_completion_in_the_words_either() {
    let calls = (0..9).map(|_| Line::text("still at it").and_call("ls", &ls()));
    let lab = Lab::new();
    lab.settings(&json!({ "limits": { "identicalCalls": 3 } }));
    lab.model.script("kid", calls.collect());
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("so be it")],
    );
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let text = lab.model.requests_of("boss").remove(1).text();
    assert!(text.contains("Agent was aborted in") && !text.contains("Agent completed"), "{text}");
    assert!(text.contains("still at it") && !text.contains("above"), "{text}");
    client.finish();
}

#[test]
fn side_by_side_runs_answer_in_the_order_of_their_calls() {
    let lab = Lab::new();
    let calls = Line::call("Agent", &super::agent("[[script slow]]", false))
        .and_call("Agent", &super::agent("[[script quick]]", false));
    lab.model.script("boss", vec![calls, Line::text("both")]);
    lab.model.script("slow", vec![Line::text("slow answer").gated("slow")]);
    lab.model.script("quick", vec![Line::text("quick answer")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    lab.model.wait_request("the slow one", |record| record.id == "slow");
    client.wait_any_agent("is done first", |agent| agent.status == AgentStatus::Completed);
    assert_eq!(lab.model.requests_of("boss").len(), 1, "both are waited for");
    lab.model.open_gate("slow");
    assert_eq!(client.wait(&pending).unwrap().text.as_deref(), Some("both"));
    let text = lab.model.requests_of("boss").remove(1).text();
    assert!(text.find("slow answer") < text.find("quick answer"), "{text}");
    client.finish();
}

#[test]
fn what_a_person_interrupted_is_told_as_stopped_with_what_there_was() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![Line::call("Agent", &super::agent("[[script kid]]", false)), Line::text("never")],
    );
    let command = json!({ "command": "sleep 98790" });
    lab.model.script("kid", vec![Line::text("half of it").and_call("bash", &command), Line::text("never")]);
    let mut client = StdioClient::start(&lab);
    let pending = client.prompt("[[script boss]]");
    support::wait_until("the command", support::LIMIT, || {
        let tree = support::process::tree(client.pid());
        tree.into_iter().any(|process| process.name == "sleep").then_some(())
    });
    client.request::<protocol::method::SessionAbort>(&protocol::SessionAbortParams::default());
    client.wait(&pending).unwrap();
    let row = client.wait_any_agent("is stopped", |agent| agent.status == AgentStatus::Stopped);
    assert_eq!(row.ended_by, Some(vocab::EndedBy::User));
    client.run("what do you have?");
    let asked = lab.model.requests().into_iter().rfind(|record| record.text().contains("what do you have?"));
    let text = asked.expect("the prompt was asked").text();
    assert!(text.contains("STOPPED BY THE USER") && text.contains("half of it"), "{text}");
    client.finish();
}

#[test]
fn a_notice_and_the_receipt_speak_of_the_same_call() {
    let lab = Lab::new();
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &super::agent("[[script kid]]", true)),
            Line::text("waiting"),
            Line::text("thanks"),
        ],
    );
    let long = format!("<b>{}</b>", "x".repeat(600));
    lab.model.script("kid", vec![Line::text(long).gated("kid")]);
    let mut client = StdioClient::start(&lab);
    client.run("[[script boss]]");
    let agent = client.fleet().remove(0);
    let receipt = lab.model.requests_of("boss")[1].body.clone();
    let messages = receipt["messages"].as_array().cloned().unwrap_or_default();
    let result = messages.iter().find(|message| message["role"] == "tool").cloned().unwrap_or_default();
    assert!(result.to_string().contains(agent.agent_id.as_str()), "{result}");
    assert!(!result.to_string().contains("xxx"), "a receipt has none of the child's text: {result}");
    lab.model.open_gate("kid");
    let told =
        lab.model.wait_request("the news", |record| record.text().contains("task-notification")).text();
    let call = result["tool_call_id"].as_str().unwrap_or_default();
    assert!(told.contains(&format!("<task-id>{}</task-id>", agent.agent_id)), "{told}");
    assert!(told.contains(&format!("<tool-use-id>{call}</tool-use-id>")), "{told}");
    assert!(told.contains("&lt;b&gt;xxx") && !told.contains("<b>"), "{told}");
    assert!(told.contains("[cut here: get_subagent_result has the rest]"), "{told}");
    super::wait_idle(&lab.model);
    client.finish();
}
