//! What a client of ours makes of notifications: the state of an agent, a transcript without gaps, progress by token.

use std::collections::BTreeMap;
use std::time::Instant;

use protocol::{
    AgentEventParams, AgentOpenParams, AgentSpawnParams, AgentSpawnResult, AgentSummary, FleetChangedParams,
    FleetListParams, PromptResult, SessionEvent, SessionEventParams, SessionOpenParams, SessionPromptParams,
    SessionSubscribeParams, TranscriptPage, method,
};
use serde_json::{Value, json};
use vocab::{AgentId, AgentStatus, SessionId};

use super::{Pending, StdioClient};
use crate::LIMIT;

/// `$/progress` on one token.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub values: Vec<(Value, Instant)>,
}

impl Progress {
    /// The `kind` of each value, in order.
    pub fn kinds(&self) -> Vec<&str> {
        self.values.iter().filter_map(|(value, _)| value["kind"].as_str()).collect()
    }

    pub fn is_over(&self) -> bool {
        self.kinds().last() == Some(&"end")
    }
}

/// A transcript as a viewer holds it.
#[derive(Debug)]
pub struct Transcript {
    /// The `seq` that the next event must have.
    pub next_seq: u64,
    /// All text that was streamed, by entry.
    pub texts: BTreeMap<String, String>,
    pub events: Vec<SessionEvent>,
}

impl Transcript {
    pub fn starting_at(next_seq: u64) -> Self {
        Self { next_seq, texts: BTreeMap::new(), events: Vec::new() }
    }

    /// What a page holds, with the message that is being written.
    pub fn of_page(page: TranscriptPage, next_seq: u64) -> Self {
        let mut transcript = Self::starting_at(next_seq);
        if let Some(partial) = page.partial {
            let missing = " ".repeat(partial.text_offset as usize);
            transcript.texts.insert(partial.entry_id.to_string(), missing + &partial.text);
        }
        transcript
    }

    /// Takes one event.
    ///
    /// # Panics
    /// If an event is missing before it, or text of its message.
    pub fn take(&mut self, seq: u64, event: SessionEvent) {
        if seq < self.next_seq {
            return;
        }
        assert_eq!(seq, self.next_seq, "a gap before {event:?}");
        self.next_seq += 1;
        match &event {
            SessionEvent::TextDelta { entry_id, offset, text } => {
                let so_far = self.texts.entry(entry_id.to_string()).or_default();
                assert_eq!(*offset as usize, so_far.len(), "text is missing before {text:?}");
                so_far.push_str(text);
            }
            SessionEvent::MessageEnd { entry_id, text: Some(text), .. } => {
                if let Some(so_far) = self.texts.get(entry_id.as_str()) {
                    assert_eq!(so_far, text, "the whole message is what was streamed");
                }
            }
            _ => {}
        }
        self.events.push(event);
    }

    pub fn has(&self, condition: impl Fn(&SessionEvent) -> bool) -> bool {
        self.events.iter().any(condition)
    }
}

impl StdioClient {
    /// Opens the folder's session.
    pub fn open_session(&mut self) -> SessionId {
        self.request::<method::SessionOpen>(&SessionOpenParams::default()).session_id
    }

    /// Sends a prompt to the default session.
    pub fn prompt(&mut self, text: &str) -> Pending<PromptResult> {
        self.send::<method::SessionPrompt>(&prompt(text))
    }

    /// Sends a prompt and waits for its run to end.
    pub fn run(&mut self, text: &str) -> PromptResult {
        let pending = self.prompt(text);
        self.wait(&pending).unwrap_or_else(|error| panic!("the prompt was refused: {error:?}"))
    }

    /// Starts a general-purpose agent in the background.
    pub fn spawn_agent(&mut self, prompt: &str) -> AgentSpawnResult {
        self.request::<method::AgentSpawn>(&spawn(prompt))
    }

    /// The whole fleet as the server has it now.
    pub fn fleet(&mut self) -> Vec<AgentSummary> {
        let mut agents = Vec::new();
        let mut cursor = None;
        loop {
            let page =
                self.request::<method::FleetList>(&FleetListParams { cursor, ..FleetListParams::default() });
            agents.extend(page.agents);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return agents;
            }
        }
    }

    /// Waits until `fleet/changed` told of this agent in such a state.
    pub fn wait_agent(
        &self,
        agent: &AgentId,
        what: &str,
        condition: impl Fn(&AgentSummary) -> bool,
    ) -> AgentSummary {
        let told = |params: &FleetChangedParams| {
            params.upserted.iter().find(|summary| summary.agent_id == *agent && condition(summary)).cloned()
        };
        let found = self
            .wait_note::<method::FleetChanged>(&format!("{agent} {what}"), |params| told(params).is_some());
        told(&found).expect("it was found")
    }

    /// The tokens of the server that are in use: begun, which one is not whose work was over before we had taken it.
    pub fn begun_tokens(&self) -> Vec<Value> {
        let mut tokens = self.created_tokens();
        tokens.retain(|token| self.progress(token).kinds().first() == Some(&"begin"));
        tokens
    }

    /// Waits until an agent has this status.
    pub fn wait_status(&self, agent: &AgentId, status: AgentStatus) -> AgentSummary {
        self.wait_agent(agent, status.as_str(), |summary| summary.status == status)
    }

    /// Waits until some agent satisfies the condition.
    pub fn wait_any_agent(&self, what: &str, condition: impl Fn(&AgentSummary) -> bool) -> AgentSummary {
        let told =
            |params: &FleetChangedParams| params.upserted.iter().find(|summary| condition(summary)).cloned();
        let found = self.wait_note::<method::FleetChanged>(what, |params| told(params).is_some());
        told(&found).expect("it was found")
    }

    /// Waits until this many agents have ended, each told of by `fleet/changed`.
    pub fn wait_ended(&self, count: usize) -> Vec<AgentSummary> {
        self.look(&format!("{count} agents have ended"), LIMIT * 3, |inbox| {
            let mut last = BTreeMap::new();
            for note in inbox.notes.iter().filter(|note| note.method == "adjutant/fleet/changed") {
                for summary in note.params["upserted"].as_array().into_iter().flatten() {
                    last.insert(summary["agentId"].to_string(), summary);
                }
            }
            let read = |summary: &&Value| serde_json::from_value::<AgentSummary>((*summary).clone()).ok();
            let ended: Vec<_> =
                last.values().filter_map(read).filter(|agent| agent.status.is_final()).collect();
            (ended.len() >= count).then_some(ended)
        })
    }

    /// What came on one progress token.
    pub fn progress(&self, token: &Value) -> Progress {
        let notes = self
            .notes()
            .into_iter()
            .filter(|note| note.method == "$/progress" && note.params["token"] == *token);
        Progress { values: notes.map(|note| (note.params["value"].clone(), note.at)).collect() }
    }

    /// Waits until the token has come to its end.
    pub fn wait_progress_end(&self, token: &Value) -> Progress {
        let is_end = |params: &Value| params["token"] == *token && params["value"]["kind"] == "end";
        self.look(&format!("the end of {token}"), LIMIT, |inbox| {
            inbox.notes.iter().any(|note| note.method == "$/progress" && is_end(&note.params)).then_some(())
        });
        self.progress(token)
    }

    /// Every progress token that the server made.
    pub fn created_tokens(&self) -> Vec<Value> {
        self.asked("window/workDoneProgress/create")
            .into_iter()
            .map(|asked| asked.params["token"].clone())
            .collect()
    }

    /// Opens an agent's transcript.
    pub fn open_agent(&mut self, agent: &AgentId) -> Transcript {
        let params = AgentOpenParams { agent_id: agent.clone(), from_seq: None, limit: None };
        let opened = self.request::<method::AgentOpen>(&params);
        Transcript::of_page(opened.page, opened.next_seq)
    }

    /// Subscribes to a session.
    pub fn subscribe(&mut self, session: &SessionId) -> Transcript {
        let params = SessionSubscribeParams { session_id: session.clone(), from_seq: None, limit: None };
        let opened = self.request::<method::SessionSubscribe>(&params);
        Transcript::of_page(opened.page, opened.next_seq)
    }

    /// Follows an agent until the condition holds.
    pub fn follow_agent(
        &self,
        agent: &AgentId,
        transcript: &mut Transcript,
        what: &str,
        until: impl Fn(&Transcript) -> bool,
    ) {
        let mut read = 0;
        self.look(&format!("in the transcript of {agent}: {what}"), LIMIT, |inbox| {
            for note in inbox.notes.iter().skip(read).filter(|note| note.method == "adjutant/agent/event") {
                if let Some(AgentEventParams { agent_id, seq, event }) = super::read_note(&note.params)
                    && agent_id == *agent
                {
                    transcript.take(seq, event);
                }
            }
            read = inbox.notes.len();
            until(transcript).then_some(())
        });
    }

    /// Follows a session until the condition holds.
    pub fn follow_session(
        &self,
        transcript: &mut Transcript,
        what: &str,
        until: impl Fn(&Transcript) -> bool,
    ) {
        let mut read = 0;
        self.look(&format!("in the session's transcript: {what}"), LIMIT, |inbox| {
            for note in inbox.notes.iter().skip(read).filter(|note| note.method == "adjutant/session/event") {
                if let Some(SessionEventParams { seq, event, .. }) = super::read_note(&note.params) {
                    transcript.take(seq, event);
                }
            }
            read = inbox.notes.len();
            until(transcript).then_some(())
        });
    }
}

/// A prompt with nothing but its text.
pub fn prompt(text: &str) -> SessionPromptParams {
    serde_json::from_value(json!({ "text": text })).expect("a prompt has this shape")
}

/// A background agent with nothing but its prompt.
pub fn spawn(prompt: &str) -> AgentSpawnParams {
    serde_json::from_value(json!({ "type": "general-purpose", "prompt": prompt }))
        .expect("a spawn has this shape")
}
