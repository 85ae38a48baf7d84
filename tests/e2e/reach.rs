//! How far each command reaches: every kind of child under every way to end something. Who is alive is read from the
//! model's open connections and from the list of processes, never from a status.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol::{
    AgentStopAllParams, AgentStopParams, PromptResult, SessionAbortParams, SessionCloseParams, StopScope,
    method,
};
use serde_json::{Value, json};
use support::client::{Pending, StdioClient};
use support::fake_model::Line;
use support::lab::Lab;
use support::process;
use vocab::{AgentId, AgentStatus};

/// Children of one session, by the name of their script: `back` and `front` wait for the model, `tool` and `hand` run a
/// command; `back` and `tool` are background runs, `queued` is one that has no place; `front` and `hand` are foreground runs.
/// `boss` is the session itself.
const CHILDREN: [(&str, bool); 5] =
    [("back", true), ("tool", true), ("queued", true), ("front", false), ("hand", false)];

/// What the commands of `tool` and `hand` are known by.
const COMMANDS: [(&str, &str); 2] = [("tool", "98781"), ("hand", "98782")];

struct House {
    lab: Lab,
    client: StdioClient,
    prompt: Pending<PromptResult>,
}

impl House {
    /// Two places, all kinds of children, the session in the middle of its run.
    fn new() -> Self {
        let lab = Lab::new();
        lab.settings(&json!({ "maxConcurrent": 2 }));
        let call = |name: &str, background: bool| {
            let mut arguments = super::agent(&format!("[[script {name}]]"), background);
            arguments["description"] = name.into();
            arguments
        };
        let calls = |background: bool| {
            let of_kind = CHILDREN.iter().filter(|child| child.1 == background);
            of_kind.fold(Line::default(), |line, (name, _)| line.and_call("Agent", &call(name, background)))
        };
        let goes_on = Line::text("going on").gated("boss");
        lab.model.script("boss", vec![calls(true), calls(false), goes_on]);
        for name in ["back", "queued", "front"] {
            super::waiting(&lab.model, name);
        }
        for (name, seconds) in COMMANDS {
            // It defends itself, and has a child that does.
            let command = format!("trap '' TERM INT; (trap '' TERM; sleep {seconds}; true) & wait");
            lab.model.script(
                name,
                vec![
                    Line::call("bash", &json!({ "command": command })),
                    Line::text("never said").gated(name),
                ],
            );
        }
        let mut client = StdioClient::start(&lab);
        let prompt = client.prompt("[[script boss]]");
        let mut house = Self { lab, client, prompt };
        house.is_left_with(&["back", "tool", "front", "hand"]);
        assert_eq!(house.row("queued").1, AgentStatus::Queued);
        house
    }

    /// Who asks a model or runs a command now.
    fn alive(&self) -> BTreeSet<&'static str> {
        let requests = self.lab.model.requests();
        let open: BTreeSet<_> =
            requests.iter().filter(|record| record.t_end == 0).map(|record| record.id.as_str()).collect();
        let names = CHILDREN.iter().map(|child| child.0).chain(["boss"]);
        let mut alive: BTreeSet<_> = names.filter(|name| open.contains(name)).collect();
        let tree: BTreeSet<_> = self.lab.processes().into_iter().map(|process| process.pid).collect();
        for (name, seconds) in COMMANDS {
            if process::running(seconds).iter().any(|process| tree.contains(&process.pid)) {
                alive.insert(name);
            }
        }
        alive
    }

    /// Waits until just these are alive, and looks again after a while.
    fn is_left_with(&self, expected: &[&str]) {
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        let start = std::time::Instant::now();
        while self.alive() != expected {
            assert!(start.elapsed() < support::LIMIT, "alive: {:?}, expected: {expected:?}", self.alive());
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(self.alive(), expected, "a while later");
    }

    fn row(&mut self, name: &str) -> (AgentId, AgentStatus) {
        let row = self.client.fleet().into_iter().find(|row| row.description == name);
        let row = row.unwrap_or_else(|| panic!("no agent is called {name}"));
        (row.agent_id, row.status)
    }

    fn stop(&mut self, name: &str) {
        let agent_id = Some(self.row(name).0);
        let params = AgentStopParams { agent_id, handle: None, session_id: None, scope: StopScope::Subtree };
        self.client.request::<method::AgentStop>(&params);
    }

    /// Ends the run that is still going on, and the server.
    fn finish_mid_run(mut self) {
        self.client.request::<method::SessionAbort>(&SessionAbortParams::default());
        let ended = self.client.wait(&self.prompt).expect("the run has an end");
        assert_eq!(ended.stop_reason, vocab::RunStop::Aborted);
        self.client.finish();
    }

    /// This child never asked its model anything.
    fn never_ran(&self, name: &str) {
        assert!(self.lab.model.requests_of(name).is_empty(), "{name} was started");
    }
}

#[test]
fn the_cancel_of_a_prompt_ends_its_foreground_children() {
    let mut house = House::new();
    house.client.cancel(&house.prompt);
    house.client.wait(&house.prompt).unwrap_err();
    house.is_left_with(&["back", "tool"]);
    house.never_ran("queued");
    house.client.finish();
}

#[test]
fn an_abort_of_the_session_does_the_same() {
    let mut house = House::new();
    let aborted = house.client.request::<method::SessionAbort>(&SessionAbortParams::default());
    assert!(aborted.aborted);
    assert_eq!(house.client.wait(&house.prompt).unwrap().stop_reason, vocab::RunStop::Aborted);
    house.is_left_with(&["back", "tool"]);
    house.never_ran("queued");
    house.client.finish();
}

#[test]
fn a_stop_ends_one_child_and_its_place_goes_to_the_next() {
    let mut house = House::new();
    house.stop("back");
    house.is_left_with(&["tool", "queued", "front", "hand"]);
    house.finish_mid_run();
}

#[test]
fn a_stop_kills_the_command_of_a_background_child() {
    let mut house = House::new();
    house.stop("tool");
    house.is_left_with(&["back", "queued", "front", "hand"]);
    house.finish_mid_run();
}

#[test]
fn a_stop_of_a_foreground_child_leaves_its_siblings_and_the_run() {
    let mut house = House::new();
    house.stop("front");
    house.is_left_with(&["back", "tool", "hand"]);
    house.stop("hand");
    house.is_left_with(&["back", "tool", "boss"]);
    house.never_ran("queued");
    let told = house.lab.model.requests_of("boss").pop().unwrap().text();
    assert_eq!(told.matches("STOPPED BY THE USER").count(), 2, "{told}");
    house.lab.model.open_gate("boss");
    assert_eq!(house.client.wait(&house.prompt).unwrap().text.as_deref(), Some("going on"));
    house.client.finish();
}

#[test]
fn a_stop_in_the_queue_starts_nothing_ever() {
    let mut house = House::new();
    house.stop("queued");
    house.is_left_with(&["back", "tool", "front", "hand"]);
    assert_eq!(house.row("queued").1, AgentStatus::Stopped);
    house.stop("back");
    house.is_left_with(&["tool", "front", "hand"]);
    house.never_ran("queued");
    house.finish_mid_run();
}

#[test]
fn the_cancel_of_the_token_of_a_child_ends_that_child() {
    let house = House::new();
    let titles = |client: &StdioClient| {
        let tokens = client.begun_tokens();
        tokens
            .into_iter()
            .find(|token| client.progress(token).values[0].0["title"].to_string().contains("hand"))
    };
    let token = support::wait_until("the token", support::LIMIT, || titles(&house.client));
    house.client.notify("window/workDoneProgress/cancel", &json!({ "token": token }));
    house.is_left_with(&["back", "tool", "front"]);
    house.finish_mid_run();
}

#[test]
fn stop_all_ends_every_child_and_the_run_goes_on() {
    let mut house = House::new();
    let stopped = house.client.request::<method::AgentStopAll>(&AgentStopAllParams::default()).stopped;
    assert_eq!(stopped.len(), CHILDREN.len());
    house.is_left_with(&["boss"]);
    house.never_ran("queued");
    house.lab.model.open_gate("boss");
    assert_eq!(house.client.wait(&house.prompt).unwrap().text.as_deref(), Some("going on"));
    house.client.finish();
}

#[test]
fn a_closed_session_takes_everything_with_it() {
    let mut house = House::new();
    let session_id = house.client.open_session();
    house.client.request::<method::SessionClose>(&SessionCloseParams { session_id });
    house.is_left_with(&[]);
    house.never_ran("queued");
    assert_eq!(house.client.wait(&house.prompt).unwrap().stop_reason, vocab::RunStop::Aborted);
    house.client.finish();
}

#[test]
fn the_end_of_the_server_takes_everything_with_it() {
    let mut house = House::new();
    let pending = house.client.send_raw("shutdown", &Value::Null);
    house.client.wait(&pending).unwrap();
    house.is_left_with(&[]);
    house.never_ran("queued");
    let _ = house.client.wait(&house.prompt);
    house.client.notify("exit", &Value::Null);
    assert!(house.client.wait_end(Duration::from_secs(2)).success());
    assert!(house.lab.processes().is_empty());
}

/// Names of a family: `boss` has called `lead`, which has `worker` in the foreground and `helper` beside it; `other` is no
/// relative.
const FAMILY: [&str; 4] = ["lead", "worker", "helper", "other"];

/// A lead (in the background or not) that waits for its children, and an agent beside it.
fn family(background: bool) -> (Lab, StdioClient, Pending<PromptResult>) {
    let lab = Lab::new();
    lab.write_home("agents/lead.md", "---\nname: lead\nallowed_subagents: all\n---\nYou lead.\n");
    let call = |name: &str, agent_type: &str, background: bool| {
        let mut arguments = super::agent(&format!("[[script {name}]]"), background);
        (arguments["description"], arguments["subagent_type"]) = (name.into(), agent_type.into());
        arguments
    };
    lab.model.script(
        "boss",
        vec![
            Line::call("Agent", &call("other", "general-purpose", true)),
            Line::call("Agent", &call("lead", "lead", background)),
            Line::text("going on").gated("boss"),
        ],
    );
    let calls = Line::call("Agent", &call("helper", "general-purpose", true))
        .and_call("Agent", &call("worker", "general-purpose", false));
    lab.model.script("lead", vec![calls, Line::text("leading").gated("lead")]);
    for name in ["worker", "helper", "other"] {
        super::waiting(&lab.model, name);
    }
    let mut client = StdioClient::start(&lab);
    let prompt = client.prompt("[[script boss]]");
    let boss: &[&str] = if background { &["boss"] } else { &[] };
    family_is(&lab, &[boss, &["worker", "helper", "other"]].concat());
    (lab, client, prompt)
}

/// Waits until just these ask a model, and looks again after a while.
fn family_is(lab: &Lab, expected: &[&str]) {
    let expected: BTreeSet<_> = expected.iter().map(|name| (*name).to_owned()).collect();
    let alive = || {
        let open =
            lab.model.requests().into_iter().filter(|record| record.t_end == 0).map(|record| record.id);
        open.filter(|id| FAMILY.contains(&id.as_str()) || id == "boss").collect::<BTreeSet<_>>()
    };
    let start = std::time::Instant::now();
    while alive() != expected {
        assert!(start.elapsed() < support::LIMIT, "alive: {:?}, expected: {expected:?}", alive());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(alive(), expected, "a while later");
}

fn stop_of(client: &mut StdioClient, name: &str, scope: StopScope) {
    let row = client.fleet().into_iter().find(|row| row.description == name).expect("it is in the fleet");
    let params = AgentStopParams { agent_id: Some(row.agent_id), handle: None, session_id: None, scope };
    client.request::<method::AgentStop>(&params);
}

#[test]
fn a_stop_of_an_owner_ends_what_it_owns_and_nobody_else() {
    for scope in [StopScope::Subtree, StopScope::One] {
        let (lab, mut client, prompt) = family(true);
        stop_of(&mut client, "lead", scope);
        family_is(&lab, &["boss", "other"]);
        lab.model.open_gate("boss");
        client.wait(&prompt).unwrap();
        client.finish();
    }
}

#[test]
fn a_stop_of_a_nested_child_leaves_its_owner_and_its_siblings() {
    let (lab, mut client, prompt) = family(true);
    stop_of(&mut client, "worker", StopScope::Subtree);
    family_is(&lab, &["boss", "lead", "helper", "other"]);
    stop_of(&mut client, "helper", StopScope::Subtree);
    family_is(&lab, &["boss", "lead", "other"]);
    lab.model.open_gate("boss");
    client.wait(&prompt).unwrap();
    client.finish();
}

#[test]
fn an_abort_reaches_below_a_foreground_owner_and_leaves_background_agents() {
    let (lab, mut client, prompt) = family(false);
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&prompt).unwrap();
    family_is(&lab, &["other"]);
    client.finish();
}

#[test]
fn an_abort_leaves_a_background_owner_and_all_it_owns() {
    let (lab, mut client, prompt) = family(true);
    client.request::<method::SessionAbort>(&SessionAbortParams::default());
    client.wait(&prompt).unwrap();
    family_is(&lab, &["worker", "helper", "other"]);
    client.finish();
}

#[test]
fn stop_all_and_the_cancel_of_the_prompt_reach_nested_agents() {
    let (lab, mut client, prompt) = family(true);
    let stopped = client.request::<method::AgentStopAll>(&AgentStopAllParams::default()).stopped;
    assert_eq!(stopped.len(), FAMILY.len());
    family_is(&lab, &["boss"]);
    lab.model.open_gate("boss");
    client.wait(&prompt).unwrap();
    client.finish();
    let (lab, mut client, prompt) = family(false);
    client.cancel(&prompt);
    client.wait(&prompt).unwrap_err();
    family_is(&lab, &["other"]);
    client.finish();
}

#[test]
fn a_closed_session_and_the_end_of_the_server_reach_nested_agents() {
    let (lab, mut client, prompt) = family(true);
    let session_id = client.open_session();
    client.request::<method::SessionClose>(&SessionCloseParams { session_id });
    family_is(&lab, &[]);
    client.wait(&prompt).unwrap();
    client.finish();
    let (lab, mut client, prompt) = family(true);
    let pending = client.send_raw("shutdown", &Value::Null);
    client.wait(&pending).unwrap();
    family_is(&lab, &[]);
    let _ = client.wait(&prompt);
    client.notify("exit", &Value::Null);
    assert!(client.wait_end(Duration::from_secs(2)).success());
}
