//! The `subagents:*` channels: what becomes of agents, for extensions and programs that only look on.
//!
//! Events are made from what the core records, so every way to launch an agent has them. They go out once the turn of
//! the manager's loop that made them is over: the books are right and deliveries are on their way before anybody hears.

use std::collections::{HashMap, VecDeque};

use project::settings::Settings;
use roster::{AgentRecord, Completion, Fact, Steer};
use serde_json::{Map, Value, json};
use session::{EventBus, Subscription};
use vocab::{AgentId, AgentStatus, SessionId};

use super::Manager;
use super::journals::RunKey;

const READY: &str = "subagents:ready";
const CREATED: &str = "subagents:created";
const STARTED: &str = "subagents:started";
const COMPLETED: &str = "subagents:completed";
const FAILED: &str = "subagents:failed";
const STEERED: &str = "subagents:steered";
const SETTINGS_LOADED: &str = "subagents:settings_loaded";
const SETTINGS_CHANGED: &str = "subagents:settings_changed";

/// Every channel that can be observed. Those of compaction and of schedules have nothing to say yet.
#[cfg(test)]
pub(super) const CHANNELS: &[&str] = &[
    READY,
    CREATED,
    STARTED,
    COMPLETED,
    FAILED,
    STEERED,
    "subagents:compacted",
    "subagents:scheduled",
    "subagents:scheduler_ready",
    SETTINGS_LOADED,
    SETTINGS_CHANGED,
];

/// The engine's side of the bus.
#[derive(Debug)]
pub(super) struct Lifecycle {
    pub(super) bus: EventBus,
    /// The number of each live run's last event. It is gone with the run's end.
    sequences: HashMap<RunKey, u64>,
    /// What goes out at the end of this turn, in order.
    waiting: VecDeque<(&'static str, Value)>,
    /// Handlers of requests by the bus; there from the first session on.
    pub(super) requests: Vec<Subscription>,
    pub(super) ended: bool,
}

impl Lifecycle {
    pub(super) fn new(bus: EventBus) -> Self {
        Self { bus, sequences: HashMap::new(), waiting: VecDeque::new(), requests: Vec::new(), ended: false }
    }

    /// Whether something goes out at the end of this turn.
    fn take(&mut self) -> VecDeque<(&'static str, Value)> {
        std::mem::take(&mut self.waiting)
    }

    /// The first session is open, with these settings, and requests are heard.
    pub(super) fn loaded(&mut self, settings: &Settings) {
        self.say(SETTINGS_LOADED, || json!({ "settings": settings }));
        self.say(READY, || json!({}));
    }

    /// A session has other settings from now on.
    pub(super) fn settings_changed(&mut self, session: &SessionId, settings: &Settings) {
        self.say(SETTINGS_CHANGED, || json!({ "sessionId": session, "settings": settings }));
    }

    /// Something for the end of this turn. The payload is made for listeners only.
    fn say(&mut self, channel: &'static str, payload: impl FnOnce() -> Value) {
        if !self.ended && self.bus.has_listeners(channel) {
            self.waiting.push_back((channel, payload()));
        }
    }

    /// An event of a run, with its number, which counts also where nobody listens.
    fn event(&mut self, channel: &'static str, key: &RunKey, payload: impl FnOnce() -> Map<String, Value>) {
        if self.ended {
            return;
        }
        let sequence = self.sequences.entry(key.clone()).or_default();
        *sequence += 1;
        let sequence = *sequence;
        self.say(channel, || {
            let mut payload = payload();
            payload.insert("id".to_owned(), json!(key.0));
            payload.insert("run".to_owned(), json!(key.1));
            payload.insert("sequence".to_owned(), json!(sequence));
            Value::Object(payload)
        });
    }

    /// What the core has recorded. `agent`: its record, where it is still there.
    pub(super) fn recorded(&mut self, fact: &Fact, agent: Option<&AgentRecord>) {
        match fact {
            Fact::Spawned { request, .. } => self.event(CREATED, &(request.agent.clone(), 1), || {
                let who = Who {
                    session: &request.session,
                    parent: request.parent.as_ref(),
                    agent_type: &request.agent_type,
                    description: &request.description,
                    background: request.launch.background,
                };
                who.payload()
            }),
            Fact::Resumed { agent: id, run, launch, .. } => {
                self.event(CREATED, &(id.clone(), *run), || {
                    let who = agent.map(|agent| Who { background: launch.background, ..Who::of(agent) });
                    who.map(|who| who.payload()).unwrap_or_default()
                });
            }
            Fact::Started { agent: id, run, .. } => self.event(STARTED, &(id.clone(), *run), || {
                agent.map(|agent| Who::of(agent).payload()).unwrap_or_default()
            }),
            Fact::Settled { completion, .. } => {
                let key = (completion.agent.clone(), completion.run);
                let well = matches!(completion.status(), AgentStatus::Completed | AgentStatus::Steered);
                self.event(if well { COMPLETED } else { FAILED }, &key, || settled(completion));
                self.sequences.remove(&key);
            }
            _ => {}
        }
    }

    /// A message was taken for a run that has not ended.
    pub(super) fn steered(&mut self, agent: &AgentRecord, steer: &Steer) {
        self.event(STEERED, &(agent.id.clone(), agent.run_number()), || {
            let mut payload = Who::of(agent).payload();
            payload.insert("message".to_owned(), json!(steer.text));
            payload
        });
    }
}

/// What every event says of an agent.
struct Who<'a> {
    session: &'a SessionId,
    parent: Option<&'a AgentId>,
    agent_type: &'a str,
    description: &'a str,
    background: bool,
}

impl<'a> Who<'a> {
    fn of(agent: &'a AgentRecord) -> Self {
        Self {
            session: &agent.session,
            parent: agent.parent.as_ref(),
            agent_type: &agent.agent_type,
            description: &agent.description,
            background: agent.is_background(),
        }
    }

    fn payload(&self) -> Map<String, Value> {
        let mut payload = Map::new();
        let mut put = |key: &str, value: Value| payload.insert(key.to_owned(), value);
        put("sessionId", json!(self.session));
        put("type", json!(self.agent_type));
        put("description", json!(self.description));
        put("isBackground", json!(self.background));
        if let Some(parent) = self.parent {
            put("parentId", json!(parent));
        }
        payload
    }
}

/// The payload of a run's end: the whole result, and what it cost where it cost something.
fn settled(done: &Completion) -> Map<String, Value> {
    let mut payload = Who {
        session: &done.session,
        parent: done.parent.as_ref(),
        agent_type: &done.agent_type,
        description: &done.description,
        background: done.background,
    }
    .payload();
    let mut put = |key: &str, value: Value| payload.insert(key.to_owned(), value);
    put("status", json!(done.status()));
    put("result", json!(done.outcome.text));
    if let Some(error) = &done.outcome.error {
        put("error", json!(error));
    }
    put("toolUses", json!(done.tool_uses));
    put("durationMs", json!(done.duration_ms()));
    let usage = done.outcome.usage;
    if usage.total > 0 {
        put("tokens", json!({ "input": usage.input, "output": usage.output, "total": usage.total }));
    }
    if !usage.is_empty() {
        put("usage", json!(usage));
    }
    payload
}

impl Manager {
    /// Sends what this turn of the loop has made. A listener that panics stops nothing.
    pub(super) fn emit_events(&mut self) {
        for (channel, payload) in self.lifecycle.take() {
            self.lifecycle.bus.emit(channel, &payload);
        }
    }

    /// The server ends: nothing more goes out, and no request is heard.
    pub(super) fn end_events(&mut self) {
        self.emit_events();
        self.lifecycle.ended = true;
        for subscription in std::mem::take(&mut self.lifecycle.requests) {
            self.lifecycle.bus.unsubscribe(subscription);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use vocab::{EndedBy, Outcome, Timestamp, Usage};

    use super::*;

    fn done(status: AgentStatus, usage: Usage) -> Fact {
        let outcome = Outcome {
            status,
            ended_by: EndedBy::Itself,
            reason: None,
            text: "found".to_owned(),
            error: None,
            usage,
        };
        let completion = Completion {
            agent: AgentId::from("a1"),
            run: 1,
            session: SessionId::from("s1"),
            parent: Some(AgentId::from("a0")),
            handle: "explore".to_owned(),
            agent_type: "Explore".to_owned(),
            description: "look".to_owned(),
            background: true,
            tool_call: None,
            outcome,
            text_cut: false,
            turns: 1,
            max_turns: None,
            tool_uses: 2,
            context_percent: None,
            compactions: 0,
            started_at: Some(Timestamp(10)),
            completed_at: Timestamp(30),
            undelivered_steers: Vec::new(),
            restored: false,
        };
        Fact::Settled { completion: Box::new(completion), files: Vec::new() }
    }

    fn started() -> Fact {
        Fact::Started { agent: AgentId::from("a1"), run: 1, at: Timestamp(10) }
    }

    fn listen(bus: &EventBus) -> Arc<Mutex<Vec<(String, Value)>>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        for channel in CHANNELS {
            let heard = Arc::clone(&seen);
            bus.on(channel, move |payload| {
                heard.lock().unwrap().push(((*channel).to_owned(), payload.clone()));
            });
        }
        seen
    }

    fn send(lifecycle: &mut Lifecycle) {
        for (channel, payload) in lifecycle.take() {
            lifecycle.bus.emit(channel, &payload);
        }
    }

    #[test]
    fn events_of_a_run_are_numbered_and_say_what_was_spent() {
        let mut lifecycle = Lifecycle::new(EventBus::new());
        let seen = listen(&lifecycle.bus);
        lifecycle.recorded(&started(), None);
        lifecycle.recorded(&done(AgentStatus::Completed, Usage::of_tokens(5, 7, 0, 1)), None);
        send(&mut lifecycle);
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].0, STARTED);
        assert_eq!((&seen[0].1["sequence"], &seen[1].1["sequence"]), (&json!(1), &json!(2)));
        let (channel, end) = &seen[1];
        assert_eq!(channel, COMPLETED);
        assert_eq!((&end["id"], &end["run"], &end["parentId"]), (&json!("a1"), &json!(1), &json!("a0")));
        assert_eq!((&end["result"], &end["durationMs"]), (&json!("found"), &json!(20)));
        assert_eq!(end["tokens"], json!({ "input": 5, "output": 7, "total": 13 }));
        assert!(lifecycle.sequences.is_empty(), "an ended run is forgotten");
    }

    #[test]
    fn a_run_that_spent_nothing_says_nothing_of_it() {
        let mut lifecycle = Lifecycle::new(EventBus::new());
        let seen = listen(&lifecycle.bus);
        lifecycle.recorded(&done(AgentStatus::Stopped, Usage::default()), None);
        send(&mut lifecycle);
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].0, FAILED);
        assert!(seen[0].1.get("tokens").is_none() && seen[0].1.get("usage").is_none(), "{}", seen[0].1);
    }

    #[test]
    fn without_a_listener_no_payload_is_made_but_the_numbers_go_on() {
        let mut lifecycle = Lifecycle::new(EventBus::new());
        lifecycle.recorded(&started(), None);
        assert!(lifecycle.waiting.is_empty());
        let seen = listen(&lifecycle.bus);
        lifecycle.recorded(&done(AgentStatus::Error, Usage::default()), None);
        send(&mut lifecycle);
        assert_eq!(seen.lock().unwrap()[0].1["sequence"], json!(2));
    }

    #[test]
    fn after_the_end_nothing_is_said() {
        let mut lifecycle = Lifecycle::new(EventBus::new());
        let seen = listen(&lifecycle.bus);
        lifecycle.ended = true;
        lifecycle.recorded(&started(), None);
        send(&mut lifecycle);
        assert!(seen.lock().unwrap().is_empty());
    }
}
