//! The language of the scripts.
//!
//! `open s max=2`, `limits s max=3`, `close s`; `spawn a explore bg turn=1 by=person`, `resume a bg`; `start a`,
//! `progress a tools=2 waiting=approval`, `settle a ok "text"`, `expire a "text"`; `steer a "text"`, `unsteer a s1`;
//! `stop a by=user one`, `stopall`; `await a consume`, `read a`, `gone c3`, `seen a`; `drain s idle`, `delivered b1`,
//! `returned b1`, `over s 1`; `+30s`, `+200ms`; `restore a ok pending`, `shutdown`. A run is named `a#2`; without a number
//! it is the latest. Calls are numbered from 1 in the order of their lines, batches in the order of their making.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use vocab::{
    AgentId, AgentStatus, DeliveryState, EndReason, EndedBy, Outcome, PermissionMode, SessionId, SteerId,
    Timestamp, ToolCallId, Usage, WaitingOn,
};

use super::invariants::Watch;
use super::render::{self, Batches};
use crate::{
    CallId, Completion, Input, Launch, Origin, Owner, Progress, RestoredAgent, RestoredRun, ResumeRequest,
    Roster, SessionLimits, SpawnRequest, Steer, StopScope,
};

/// Plays a script and writes down all of it.
pub(super) fn play(script: &str) -> String {
    stage(script).shown
}

/// Plays a script for those who want to look at what it comes to.
pub(super) fn stage(script: &str) -> Stage {
    let mut stage = Stage::default();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        stage.line(line);
    }
    stage
}

#[derive(Default)]
pub(super) struct Stage {
    pub(super) roster: Roster,
    pub(super) watch: Watch,
    now: Timestamp,
    calls: u64,
    steers: u32,
    batches: Batches,
    pub(super) shown: String,
}

impl Stage {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.shown, "> {line}");
        let before = render::roster(&self.roster);
        if let Some(step) = line.strip_prefix('+') {
            self.pass(millis(step));
        } else {
            let input = self.input(&Words::of(line));
            self.apply(&input);
        }
        let after = render::roster(&self.roster);
        if after != before {
            let _ = writeln!(self.shown, "    = {after}");
        }
    }

    /// Lets time go by, from deadline to deadline, as a shell does.
    fn pass(&mut self, ms: u64) {
        let until = self.now.plus_ms(ms);
        while let Some(at) = self.roster.next_deadline().filter(|at| *at <= until) {
            let since = at.ms_since(self.now);
            self.now = at;
            let from = self.shown.len();
            self.apply(&Input::Tick);
            if self.shown.len() > from {
                self.shown.insert_str(from, &format!("  after {since} ms\n"));
            }
        }
        self.now = until;
        self.apply(&Input::Tick);
    }

    pub(super) fn apply(&mut self, input: &Input) {
        let effects = self.roster.apply(self.now, input.clone());
        self.watch.look(input, &self.roster, &effects);
        for effect in &effects {
            if let Some(text) = render::effect(effect, &mut self.batches) {
                let _ = writeln!(self.shown, "  {text}");
            }
        }
    }

    fn call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }

    fn input(&mut self, words: &Words<'_>) -> Input {
        let first = words.at(1);
        let agent = AgentId::from(first.split('#').next().unwrap_or_default());
        let latest = self.roster.agent(&agent).map_or(1, crate::AgentRecord::run_number);
        let named = first.split_once('#').and_then(|(_, run)| run.parse::<u32>().ok());
        let run = named.unwrap_or(latest);
        let by = words.get("by").map_or(EndedBy::User, ended_by);
        match words.at(0) {
            "open" => Input::OpenSession { session: first.into(), limits: words.limits() },
            "limits" => Input::SetLimits { session: first.into(), limits: words.limits() },
            "close" => Input::CloseSession { session: first.into() },
            "spawn" => Input::Spawn { call: self.call(), request: words.spawn(agent) },
            "resume" => {
                let launch = words.launch(agent.as_str());
                Input::Resume { call: self.call(), request: ResumeRequest { agent, launch } }
            }
            "start" => Input::Started { agent, run },
            "progress" => Input::Progress { agent, run, progress: words.progress() },
            "settle" => Input::Settled { agent, run, outcome: words.outcome(), progress: words.progress() },
            "expire" => Input::SteersExpired { agent, run, steers: vec![self.steer(words)] },
            "steer" => Input::Steer { call: self.call(), agent, steer: self.steer(words) },
            "unsteer" => Input::Unsteer { call: self.call(), agent, steer: SteerId::from(words.at(2)) },
            "stop" => {
                let scope = if words.has("one") { StopScope::One } else { StopScope::Subtree };
                Input::Stop { call: self.call(), agent, scope, by }
            }
            "stopall" => {
                let session = (!first.is_empty()).then(|| SessionId::from(first));
                Input::StopAll { call: self.call(), session, by }
            }
            "await" => Input::Await { call: self.call(), agent, run: named, consume: words.has("consume") },
            "read" => Input::Read { call: self.call(), agent, run: named, consume: words.has("consume") },
            "gone" => Input::CallerGone { call: CallId(number(first.trim_start_matches('c'))) },
            "seen" => Input::Seen { agent, run },
            "drain" => Input::Drain { call: self.call(), owner: owner(first), idle: words.has("idle") },
            "delivered" => Input::Delivered { batch: self.batches.find(first) },
            "returned" => Input::Returned { batch: self.batches.find(first) },
            "over" => Input::TurnOver { owner: owner(first), turn: number(words.at(2)) },
            "restore" => Input::Restore { agent: Box::new(words.restored(agent, self.now)) },
            "shutdown" => Input::Shutdown,
            other => panic!("no such line: {other}"),
        }
    }

    fn steer(&mut self, words: &Words<'_>) -> Steer {
        self.steers += 1;
        Steer { id: SteerId::from(format!("s{}", self.steers)), text: words.text(), author: EndedBy::User }
    }
}

/// One line: plain words, `key=value` pairs, and a text in quotes.
struct Words<'a> {
    plain: Vec<&'a str>,
    pairs: BTreeMap<&'a str, &'a str>,
    quoted: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        let (line, quoted) = match line.split_once('"') {
            Some((line, text)) => (line, Some(text.trim_end_matches('"'))),
            None => (line, None),
        };
        let (pairs, plain): (Vec<_>, Vec<_>) = line.split_whitespace().partition(|word| word.contains('='));
        Self { plain, pairs: pairs.into_iter().filter_map(|pair| pair.split_once('=')).collect(), quoted }
    }

    fn at(&self, index: usize) -> &'a str {
        self.plain.get(index).copied().unwrap_or_default()
    }

    fn has(&self, word: &str) -> bool {
        self.plain.contains(&word)
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs.get(key).copied()
    }

    fn text(&self) -> String {
        self.quoted.unwrap_or_default().to_owned()
    }

    fn limits(&self) -> SessionLimits {
        let default = SessionLimits::default();
        let count = |key: &str, or: u32| self.get(key).map_or(or, |value| number(value) as u32);
        let time = |key: &str, or: u64| self.get(key).map_or(or, millis);
        SessionLimits {
            max_concurrent: count("max", default.max_concurrent),
            max_depth: count("depth", default.max_depth),
            descendants: count("descendants", default.descendants),
            wall_clock_ms: time("wall", default.wall_clock_ms),
            hold_ms: time("hold", default.hold_ms),
            join_ms: time("join", default.join_ms),
            straggler_ms: time("straggler", default.straggler_ms),
            join: !self.has("async"),
        }
    }

    fn launch(&self, prompt: &str) -> Launch {
        let origin = match self.get("by") {
            Some("person") => Origin::Person,
            Some("program") => Origin::Program,
            _ => Origin::Model,
        };
        Launch {
            prompt: self.quoted.unwrap_or(prompt).to_owned(),
            background: self.has("bg"),
            wake_model: self.get("wake").map_or(origin == Origin::Model, |wake| wake == "yes"),
            origin,
            tool_call: self.get("tool").map(ToolCallId::from),
            turn: self.get("turn").map(number),
        }
    }

    fn spawn(&self, agent: AgentId) -> SpawnRequest {
        let agent_type = match self.at(2) {
            "" | "bg" => "explore",
            name => name,
        };
        SpawnRequest {
            session: self.get("in").unwrap_or("s").into(),
            parent: self.get("parent").map(AgentId::from),
            agent_type: agent_type.to_owned(),
            display_name: agent_type.to_owned(),
            color: None,
            description: format!("task of {agent}"),
            name: self.get("name").map(str::to_owned),
            cwd: "/w".to_owned(),
            model: "m".to_owned(),
            requested_model: None,
            thinking: None,
            permission_mode: PermissionMode::Ask,
            max_turns: None,
            budget: vocab::Budget::default(),
            tags: Vec::new(),
            on_disk: true,
            plan: None,
            launch: self.launch(&format!("do {agent}")),
            agent,
        }
    }

    fn progress(&self) -> Progress {
        let count = |key: &str| self.get(key).map_or(0, |value| number(value) as u32);
        Progress {
            turns: count("turns"),
            tool_uses: count("tools"),
            usage: Usage::of_tokens(u64::from(count("tokens")), 0, 0, 0),
            waiting_on: self.get("waiting").map(|waiting| match waiting {
                "approval" => WaitingOn::Approval,
                "model" => WaitingOn::Model,
                _ => WaitingOn::Tool,
            }),
            ..Progress::default()
        }
    }

    fn outcome(&self) -> Outcome {
        let (status, ended_by, reason) = match self.at(2) {
            "ok" | "" => (AgentStatus::Completed, EndedBy::Itself, None),
            "steered" => (AgentStatus::Steered, EndedBy::Itself, None),
            "aborted" => (AgentStatus::Aborted, EndedBy::Limit, Some(EndReason::MaxTurns)),
            "stopped" => (AgentStatus::Stopped, EndedBy::Parent, None),
            "interrupted" => (AgentStatus::Interrupted, EndedBy::Host, None),
            "setup" => (AgentStatus::Error, EndedBy::Itself, Some(EndReason::Setup)),
            "panic" => (AgentStatus::Error, EndedBy::Itself, Some(EndReason::Panic)),
            "running" => (AgentStatus::Running, EndedBy::Itself, None),
            _ => (AgentStatus::Error, EndedBy::Itself, Some(EndReason::Provider)),
        };
        let error = (status == AgentStatus::Error).then(|| "it broke".to_owned());
        let text = self.text();
        Outcome { status, ended_by, reason, text, error, usage: self.progress().usage }
    }

    fn restored(&self, agent: AgentId, now: Timestamp) -> RestoredAgent {
        let mut request = self.spawn(agent.clone());
        request.agent_type = "explore".to_owned();
        request.launch.background = true;
        let delivery = match self.at(3) {
            "pending" => Some(DeliveryState::Pending),
            "delivered" => Some(DeliveryState::Delivered),
            "consumed" => Some(DeliveryState::Consumed),
            _ => None,
        };
        let completion = Completion {
            agent,
            run: 1,
            session: request.session.clone(),
            parent: request.parent.clone(),
            handle: "explore".to_owned(),
            agent_type: "explore".to_owned(),
            description: String::new(),
            background: true,
            tool_call: None,
            outcome: self.outcome(),
            text_cut: false,
            turns: 2,
            max_turns: None,
            tool_uses: 3,
            context_percent: None,
            compactions: 0,
            started_at: None,
            completed_at: now,
            undelivered_steers: Vec::new(),
            restored: true,
        };
        let announced = self.has("announced");
        let runs = vec![RestoredRun { completion, files: Vec::new(), seen: false, announced, delivery }];
        let alias = self.get("name").map(str::to_owned);
        RestoredAgent { request, handle: "explore".to_owned(), alias, depth: 1, created_at: now, runs }
    }
}

fn owner(word: &str) -> Owner {
    match word.strip_prefix('@') {
        Some(agent) => Owner::Agent(agent.into()),
        None => Owner::Session(word.into()),
    }
}

fn ended_by(word: &str) -> EndedBy {
    match word {
        "parent" => EndedBy::Parent,
        _ => EndedBy::User,
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word}"))
}

fn millis(word: &str) -> u64 {
    match word.strip_suffix("ms") {
        Some(ms) => number(ms),
        None => number(word.trim_end_matches('s')) * if word.ends_with('s') { 1_000 } else { 1 },
    }
}
