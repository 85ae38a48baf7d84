//! Requests by the bus: another extension, or a program in the editor, asks for an agent or for its end.
//!
//! A request names a `requestId`; its answer comes on `<channel>:reply:<requestId>`, never from within the call that sent
//! the request.

use protocol::AgentSpawnParams;
use roster::{Origin, StopScope};
use serde_json::{Value, json};
use vocab::{AgentId, EndedBy, SessionId};

use super::Manager;
use crate::delegation::text::one_line;
use crate::failure::Failure;

/// The version of these requests, which a ping tells.
const VERSION: u32 = 2;

const PING: &str = "subagents:rpc:ping";
const SPAWN: &str = "subagents:rpc:spawn";
const STOP: &str = "subagents:rpc:stop";

/// The channels that take requests.
pub(super) const CHANNELS: &[&str] = &[PING, SPAWN, STOP];

/// Characters of a `requestId` at most.
const REQUEST_ID: usize = 200;

/// The channel on which a request is answered; none where it does not say who asks.
pub(super) fn reply_channel(channel: &str, request: &Value) -> Option<String> {
    let id = request.get("requestId")?.as_str()?;
    let fits = !id.is_empty() && id.len() <= REQUEST_ID;
    fits.then(|| format!("{channel}:reply:{id}"))
}

impl Manager {
    /// The first session is open: requests are heard from now on, until the server ends. False where they were.
    pub(super) fn hear_requests(&mut self) -> bool {
        if self.lifecycle.ended || !self.lifecycle.requests.is_empty() {
            return false;
        }
        for channel in CHANNELS {
            let handle = self.handle.clone();
            let subscription = self.lifecycle.bus.on(channel, move |request| {
                let request = request.clone();
                handle.post(move |manager| manager.take_request(channel, &request));
            });
            self.lifecycle.requests.push(subscription);
        }
        true
    }

    fn take_request(&mut self, channel: &'static str, request: &Value) {
        if self.lifecycle.ended {
            return;
        }
        let Some(reply) = reply_channel(channel, request) else {
            tracing::warn!(
                channel,
                "a request on the event bus has no usable `requestId`: nobody can be answered"
            );
            return;
        };
        match channel {
            SPAWN => self.spawn_for_program(reply, request),
            STOP => self.stop_for_program(reply, request),
            _ => self.answer_request(&reply, Ok(Some(json!({ "version": VERSION })))),
        }
    }

    fn answer_request(&self, reply: &str, answer: Result<Option<Value>, Failure>) {
        if self.lifecycle.ended {
            return;
        }
        let envelope = match answer {
            Ok(Some(data)) => json!({ "success": true, "data": data }),
            Ok(None) => json!({ "success": true }),
            Err(failure) => json!({ "success": false, "error": failure.to_string() }),
        };
        self.lifecycle.bus.emit(reply, &envelope);
    }

    fn spawn_for_program(&mut self, reply: String, request: &Value) {
        let params = match spawn_params(request) {
            Ok(params) => params,
            Err(failure) => return self.answer_request(&reply, Err(failure)),
        };
        let handle = self.handle.clone();
        self.errand(async move {
            let launched = handle.launch(move |manager| manager.prepare_asked(params, Origin::Program));
            let answer = launched.await.map(|launched| {
                Some(json!({ "id": launched.agent, "run": launched.run, "handle": launched.handle }))
            });
            handle.post(move |manager| manager.answer_request(&reply, answer));
        });
    }

    fn stop_for_program(&mut self, reply: String, request: &Value) {
        let agent = match self.stoppable(request) {
            Ok(agent) => agent,
            Err(failure) => return self.answer_request(&reply, Err(failure)),
        };
        let handle = self.handle.clone();
        self.errand(async move {
            // A program stops in a person's name.
            let answer = handle.stop(agent, StopScope::Subtree, EndedBy::User).await.map(|_| None);
            handle.post(move |manager| manager.answer_request(&reply, answer));
        });
    }

    /// The live agent that a program may stop: one of the session that it names, or of the one used last.
    fn stoppable(&self, request: &Value) -> Result<AgentId, Failure> {
        let Some(id) = request.get("agentId").and_then(Value::as_str) else {
            return Err(Failure::bad_param("agentId", "must be the id of an agent"));
        };
        let named = request.get("sessionId").and_then(Value::as_str).map(SessionId::from);
        let session = named.or_else(|| self.default_session.clone());
        let agent = AgentId::from(id);
        let live = self
            .roster
            .agent(&agent)
            .is_some_and(|record| Some(&record.session) == session.as_ref() && !record.status().is_final());
        if live { Ok(agent) } else { Err(Failure::unknown_agent(&one_line(id, 80))) }
    }
}

/// A program's request in the terms of `agent/spawn`. What that does not know, such as a place in the tree of agents that
/// somebody claims for himself, is ignored.
fn spawn_params(request: &Value) -> Result<AgentSpawnParams, Failure> {
    let mut params = match request.get("options") {
        Some(Value::Object(options)) => options.clone(),
        None | Some(Value::Null) => serde_json::Map::new(),
        Some(_) => return Err(Failure::bad_param("options", "must be an object")),
    };
    for key in ["type", "prompt"] {
        params.remove(key);
        if let Some(value) = request.get(key) {
            params.insert(key.to_owned(), value.clone());
        }
    }
    let params = protocol::parse::<AgentSpawnParams>(Value::Object(params))?;
    if let Some(field) = params.unavailable() {
        return Err(Failure::unavailable(field));
    }
    if params.agent_type.trim().is_empty() {
        return Err(Failure::bad_param("type", "must not be empty"));
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_named_request_is_answered() {
        assert_eq!(
            reply_channel(PING, &json!({ "requestId": "r1" })).as_deref(),
            Some("subagents:rpc:ping:reply:r1")
        );
        let long = "x".repeat(REQUEST_ID + 1);
        for junk in [
            json!(null),
            json!({}),
            json!([1]),
            json!({ "requestId": 7 }),
            json!({ "requestId": "" }),
            json!({ "requestId": long }),
        ] {
            assert_eq!(reply_channel(PING, &junk), None, "{junk}");
        }
    }

    #[test]
    fn options_cannot_forge_what_the_engine_decides() {
        let request = json!({
            "requestId": "r", "type": "Explore", "prompt": "look",
            "options": {
                "type": "other", "prompt": "other", "maxTurns": 3, "parentAgentId": "a1", "depth": 0, "rootSessionId": "s9",
                "resumeSessionFile": "/etc/passwd", "reclaim": true, "configCwd": "/", "maxSubagentDepth": 99,
                "bypassQueue": true, "signal": {},
            },
        });
        let params = spawn_params(&request).unwrap();
        let expected: AgentSpawnParams =
            protocol::parse(json!({ "type": "Explore", "prompt": "look", "maxTurns": 3 })).unwrap();
        assert_eq!(params, expected);
    }

    #[test]
    fn a_request_that_does_not_fit_says_where() {
        for (request, field) in [
            (json!({ "prompt": "look" }), "type"),
            (json!({ "type": "Explore" }), "prompt"),
            (json!({ "type": " ", "prompt": "look" }), "type"),
            (json!({ "type": "Explore", "prompt": 7 }), "prompt"),
            (json!({ "type": "Explore", "prompt": "look", "options": [] }), "options"),
            (json!({ "type": "Explore", "prompt": "look", "options": { "maxTurns": "many" } }), "maxTurns"),
        ] {
            let failure = spawn_params(&request).unwrap_err().to_string();
            assert!(failure.contains(field), "{failure}");
        }
    }
}
