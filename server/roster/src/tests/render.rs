//! Effects and rosters as short lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use vocab::{AgentStatus, DeliveryState, EndReason, EndedBy, WaitingOn};

use crate::{BatchId, Completion, Effect, Ending, Fact, Owner, Refusal, Reply, Roster, Steer};

/// Short names of batches, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Batches(BTreeMap<BatchId, usize>);

impl Batches {
    fn name(&mut self, batch: BatchId) -> String {
        let next = self.0.len() + 1;
        format!("b{}", self.0.entry(batch).or_insert(next))
    }

    pub(super) fn find(&self, name: &str) -> BatchId {
        let wanted = name.trim_start_matches('b').parse::<usize>().ok();
        self.0
            .iter()
            .find(|(_, number)| Some(**number) == wanted)
            .map_or(BatchId(u64::MAX), |(batch, _)| *batch)
    }
}

/// Rows that changed are left to the roster's line, but for changes of progress alone.
pub(super) fn effect(effect: &Effect, batches: &mut Batches) -> Option<String> {
    Some(match effect {
        Effect::Reply { call, reply } => format!("c{}: {}", call.0, reply_text(reply, batches)),
        Effect::Start { agent, run, prompt, steers } if steers.is_empty() => {
            format!("start {agent}#{run} {prompt:?}")
        }
        Effect::Start { agent, run, prompt, steers } => {
            format!("start {agent}#{run} {prompt:?} with {}", steers_text(steers))
        }
        Effect::Steer { agent, run, steer } => {
            format!("steer {agent}#{run} {}", steers_text(std::slice::from_ref(steer)))
        }
        Effect::Unsteer { call, agent, run, steer } => {
            format!("unsteer {agent}#{run} {steer} for c{}", call.0)
        }
        Effect::Cancel { agent, run, ending } => format!("cancel {agent}#{run}{}", ending_text(*ending)),
        Effect::Detach { agent, run } => format!("detach {agent}#{run}"),
        Effect::Wake { owner } => format!("wake {}", owner_text(owner)),
        Effect::Announce { completions, partial, group } => {
            let mut line = format!("announce {}", completions_text(completions));
            if let Some(group) = group {
                let _ = write!(line, " group {group}");
            }
            line + if *partial { " partial" } else { "" }
        }
        Effect::Changed { agent, status: false } => format!("row {agent}"),
        Effect::Changed { status: true, .. } => return None,
        Effect::Record { fact, .. } => format!("fact {}", fact_text(fact)),
    })
}

fn reply_text(reply: &Reply, batches: &mut Batches) -> String {
    match reply {
        Reply::Spawned { agent, run, handle, status, queue_position } => {
            let place = queue_position.map_or(String::new(), |place| format!(" at {place}"));
            format!("{agent}#{run} @{handle} {}{place}", status.as_str())
        }
        Reply::Refused(refusal) => format!("refused: {}", refusal_text(refusal)),
        Reply::Steered { steer, now } => format!("{steer} {}", if *now { "now" } else { "queued" }),
        Reply::Unsteered { withdrawn } => if *withdrawn { "withdrawn" } else { "not withdrawn" }.to_owned(),
        Reply::Stopped { agents } => {
            let agents = agents.iter().map(|(agent, status)| format!("{agent} {}", status.as_str()));
            format!("stop: [{}]", agents.collect::<Vec<_>>().join(", "))
        }
        Reply::Settled(completion) | Reply::Result { completion: Some(completion), .. } => {
            completion_text(completion)
        }
        Reply::Result { agent, run, status, queue_position, completion: None } => {
            let place = queue_position.map_or(String::new(), |place| format!(" at {place}"));
            format!("{agent}#{run} {}{place}", status.as_str())
        }
        Reply::Batch { completions, .. } if completions.is_empty() => "nothing".to_owned(),
        Reply::Batch { batch, completions, partial } => {
            let partial = if *partial { " partial" } else { "" };
            format!("{} {}{partial}", batches.name(*batch), completions_text(completions))
        }
    }
}

fn refusal_text(refusal: &Refusal) -> String {
    match refusal {
        Refusal::UnknownAgent(agent) => format!("unknown agent {agent}"),
        Refusal::UnknownSession(session) => format!("unknown session {session}"),
        Refusal::UnknownRun { agent, run } => format!("unknown run {agent}#{run}"),
        Refusal::NotRunning { agent, status } => format!("{agent} is not running but {}", status.as_str()),
        Refusal::StillRunning { agent, status } => format!("{agent} is still {}", status.as_str()),
        Refusal::TooMany { limit } => format!("more than {limit}"),
        Refusal::TooDeep { limit } => format!("deeper than {limit}"),
        Refusal::AgentExists(agent) => format!("{agent} exists"),
        Refusal::TooManySteers { limit } => format!("more than {limit} steers"),
        Refusal::ShuttingDown => "shutting down".to_owned(),
    }
}

fn fact_text(fact: &Fact) -> String {
    match fact {
        Fact::Spawned { request, .. } => format!("spawned {}#1", request.agent),
        Fact::Resumed { agent, run, .. } => format!("resumed {agent}#{run}"),
        Fact::Started { agent, run, .. } => format!("started {agent}#{run}"),
        Fact::Settled { completion, .. } => format!("settled {}", completion_text(completion)),
        Fact::Announced { agent, run, .. } => format!("announced {agent}#{run}"),
        Fact::Seen { agent, run, .. } => format!("seen {agent}#{run}"),
        Fact::Delivered { agent, run, .. } => format!("delivered {agent}#{run}"),
        Fact::Consumed { agent, run, .. } => format!("consumed {agent}#{run}"),
        Fact::Stopped { agent, run, by, .. } => format!("stopped {agent}#{run} by {}", by_text(*by)),
    }
}

fn completions_text(completions: &[Completion]) -> String {
    let runs = completions.iter().map(|completion| format!("{}#{}", completion.agent, completion.run));
    format!("[{}]", runs.collect::<Vec<_>>().join(", "))
}

fn completion_text(completion: &Completion) -> String {
    let outcome = &completion.outcome;
    let mut line = format!("{}#{} {}", completion.agent, completion.run, outcome.status.as_str());
    line += &ending_text(Ending { by: outcome.ended_by, reason: outcome.reason });
    if !outcome.text.is_empty() {
        let _ = write!(line, " {:?}", outcome.text);
    }
    if let Some(error) = &outcome.error {
        let _ = write!(line, " error {error:?}");
    }
    if !completion.undelivered_steers.is_empty() {
        let _ = write!(line, " unread {}", steers_text(&completion.undelivered_steers));
    }
    line
}

fn ending_text(ending: Ending) -> String {
    let by = if ending.by == EndedBy::Itself { String::new() } else { format!(" by {}", by_text(ending.by)) };
    by + &ending.reason.map_or(String::new(), |reason| format!(" ({})", reason_text(reason)))
}

fn by_text(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Itself => "itself",
        EndedBy::User => "user",
        EndedBy::Parent => "parent",
        EndedBy::Limit => "limit",
        EndedBy::Host => "host",
    }
}

fn reason_text(reason: EndReason) -> String {
    format!("{reason:?}")
}

fn steers_text(steers: &[Steer]) -> String {
    let steers = steers.iter().map(|steer| format!("{} {:?}", steer.id, steer.text));
    format!("[{}]", steers.collect::<Vec<_>>().join(", "))
}

fn owner_text(owner: &Owner) -> String {
    match owner {
        Owner::Session(session) => session.to_string(),
        Owner::Agent(agent) => format!("@{agent}"),
    }
}

/// Every agent with its state.
pub(super) fn roster(roster: &Roster) -> String {
    let rows = roster.agents().map(|agent| {
        let mut row = format!("{}:{}", agent.id, agent.status().as_str());
        if agent.run_number() > 1 {
            row = format!("{}#{}:{}", agent.id, agent.run_number(), agent.status().as_str());
        }
        if let Some(place) = roster.queue_position(&agent.id) {
            let _ = write!(row, "({place})");
        }
        let waiting = agent.progress().waiting_on.filter(|_| agent.status() == AgentStatus::Running);
        if let Some(waiting) = waiting.filter(|waiting| *waiting != WaitingOn::Setup) {
            let _ = write!(row, "({waiting:?})");
        }
        if let Some(delivery) = agent.delivery() {
            row += match delivery {
                DeliveryState::Pending => "/pending",
                DeliveryState::Held => "/held",
                DeliveryState::Delivered => "/delivered",
                DeliveryState::Consumed => "/consumed",
            };
        }
        row
    });
    rows.collect::<Vec<_>>().join(" ")
}
