//! Making agents again from the facts that were kept of them: what a journal says, in the terms of
//! [`crate::Input::Restore`].

use std::collections::BTreeMap;

use vocab::{AgentId, AgentStatus, DeliveryState, EndedBy, Outcome, Timestamp};

use crate::completion::Completion;
use crate::effect::Fact;
use crate::input::{Launch, Progress, RestoredAgent, RestoredRun, SpawnRequest, TouchedPath};

/// The agents of one session, as far as its facts have been taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    agents: Vec<ReplayedAgent>,
    by_id: BTreeMap<AgentId, usize>,
}

#[derive(Debug, Clone, PartialEq)]
struct ReplayedAgent {
    request: SpawnRequest,
    handle: String,
    alias: Option<String>,
    depth: u32,
    created_at: Timestamp,
    runs: BTreeMap<u32, ReplayedRun>,
}

#[derive(Debug, Clone, PartialEq)]
struct ReplayedRun {
    launch: Launch,
    started_at: Option<Timestamp>,
    settled: Option<(Completion, Vec<TouchedPath>)>,
    announced: bool,
    seen: bool,
    /// `Delivered` or `Consumed`.
    arrived: Option<DeliveryState>,
}

/// A run that had not ended when its server did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnfinishedRun<'a> {
    pub request: &'a SpawnRequest,
    pub run: u32,
    pub launch: &'a Launch,
    /// Nothing where it was queued.
    pub started_at: Option<Timestamp>,
}

impl Replay {
    /// No agents yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next fact. False where it does not fit to those before it: it is of an agent or a run that they do not
    /// have, or says a second time what is said once. Such a fact changes nothing.
    pub fn take(&mut self, fact: Fact) -> bool {
        match fact {
            Fact::Spawned { request, handle, alias, depth, at } => self.spawned(ReplayedAgent {
                runs: BTreeMap::from([(1, ReplayedRun::of(request.launch.clone()))]),
                request: *request,
                handle,
                alias,
                depth,
                created_at: at,
            }),
            Fact::Resumed { agent, run, launch, at: _ } => self.resumed(&agent, run, *launch),
            Fact::Started { agent, run, at } => self.change(&agent, run, |found| found.started_at = Some(at)),
            Fact::Settled { completion, files } => {
                let (agent, run) = (completion.agent.clone(), completion.run);
                let Some(found) = self.run_mut(&agent, run) else { return false };
                let first = found.settled.is_none() && completion.status().is_final();
                if first {
                    found.settled = Some((*completion, files));
                }
                first
            }
            Fact::Stopped { agent, run, .. } => self.run_mut(&agent, run).is_some(),
            Fact::Announced { agent, run, .. } => self.change(&agent, run, |found| found.announced = true),
            Fact::Seen { agent, run, .. } => self.change(&agent, run, |found| found.seen = true),
            Fact::Delivered { agent, run, .. } => self.arrived(&agent, run, DeliveryState::Delivered),
            Fact::Consumed { agent, run, .. } => self.arrived(&agent, run, DeliveryState::Consumed),
        }
    }

    fn spawned(&mut self, agent: ReplayedAgent) -> bool {
        let id = &agent.request.agent;
        let owner_known = agent.request.parent.as_ref().is_none_or(|owner| self.by_id.contains_key(owner));
        if self.by_id.contains_key(id) || !owner_known {
            return false;
        }
        self.by_id.insert(id.clone(), self.agents.len());
        self.agents.push(agent);
        true
    }

    fn resumed(&mut self, agent: &AgentId, run: u32, launch: Launch) -> bool {
        let Some(found) = self.by_id.get(agent).map(|index| &mut self.agents[*index]) else { return false };
        let next = found.runs.last_key_value().is_some_and(|(last, _)| *last < run);
        if next {
            found.request.launch = launch.clone();
            found.runs.insert(run, ReplayedRun::of(launch));
        }
        next
    }

    fn arrived(&mut self, agent: &AgentId, run: u32, how: DeliveryState) -> bool {
        let Some(found) = self.run_mut(agent, run) else { return false };
        let first = found.arrived.is_none();
        found.arrived.get_or_insert(how);
        first
    }

    fn change(&mut self, agent: &AgentId, run: u32, change: impl FnOnce(&mut ReplayedRun)) -> bool {
        self.run_mut(agent, run).map(change).is_some()
    }

    fn run_mut(&mut self, agent: &AgentId, run: u32) -> Option<&mut ReplayedRun> {
        let index = *self.by_id.get(agent)?;
        self.agents[index].runs.get_mut(&run)
    }

    /// How many agents there are.
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Runs whose news has not reached its owner as far as the facts say, with the owner where that is an agent. What is in
    /// the owner's transcript has arrived all the same: say so with [`Fact::Delivered`].
    pub fn undelivered(&self) -> impl Iterator<Item = (&AgentId, u32, Option<&AgentId>)> {
        self.agents.iter().flat_map(|agent| {
            let open = agent.runs.iter().filter(|(_, run)| run.arrived.is_none() && run.has_news());
            open.map(|(number, _)| (&agent.request.agent, *number, agent.request.parent.as_ref()))
        })
    }

    /// The agents, owners before their children. A run without an end is interrupted: `last_words` says what its
    /// transcript has of it, as an outcome (of which only text and usage count) and the last sample. The facts are what the
    /// journal lacks of that.
    pub fn finish(
        self,
        now: Timestamp,
        mut last_words: impl FnMut(UnfinishedRun<'_>) -> (String, Progress),
    ) -> (Vec<RestoredAgent>, Vec<Fact>) {
        let mut facts = Vec::new();
        let agents = self.agents.into_iter().map(|agent| {
            let ReplayedAgent { request, handle, alias, depth, created_at, runs } = agent;
            let runs = runs.into_iter().map(|(number, run)| {
                let arrived = run.arrived;
                let (announced, seen) = (run.announced, run.seen);
                let (launch, started_at) = (&run.launch, run.started_at);
                let unfinished = UnfinishedRun { request: &request, run: number, launch, started_at };
                let (mut completion, files) = run.settled.unwrap_or_else(|| {
                    let (text, progress) = last_words(unfinished);
                    let completion = interrupted(unfinished, &handle, text, &progress, now);
                    let files = progress.files;
                    facts.push(Fact::Settled {
                        completion: Box::new(completion.clone()),
                        files: files.clone(),
                    });
                    (completion, files)
                });
                let news = has_news(&completion);
                if completion.status() == AgentStatus::Interrupted
                    && completion.outcome.text.is_empty()
                    && arrived.is_none()
                {
                    // The server had no time to ask for its words when it ended in order.
                    completion.outcome.text = last_words(unfinished).0;
                    completion.cut_text();
                }
                // Nothing is announced of an interrupted run: its row says what it is.
                let announced = announced || completion.status() == AgentStatus::Interrupted;
                let delivery = news.then(|| arrived.unwrap_or(DeliveryState::Pending));
                RestoredRun { completion, files, seen, announced, delivery }
            });
            let runs = runs.collect();
            RestoredAgent { request, handle, alias, depth, created_at, runs }
        });
        (agents.collect(), facts)
    }
}

impl ReplayedRun {
    fn of(launch: Launch) -> Self {
        Self { launch, started_at: None, settled: None, announced: false, seen: false, arrived: None }
    }

    fn has_news(&self) -> bool {
        self.settled.as_ref().is_none_or(|(completion, _)| has_news(completion))
    }
}

/// A background run has news for its owner, and so has every run that the end of the server cut off.
fn has_news(completion: &Completion) -> bool {
    completion.background || completion.status() == AgentStatus::Interrupted
}

fn interrupted(
    unfinished: UnfinishedRun<'_>,
    handle: &str,
    text: String,
    progress: &Progress,
    now: Timestamp,
) -> Completion {
    let UnfinishedRun { request, run, launch, started_at } = unfinished;
    let mut completion = Completion {
        agent: request.agent.clone(),
        run,
        session: request.session.clone(),
        parent: request.parent.clone(),
        handle: handle.to_owned(),
        agent_type: request.agent_type.clone(),
        description: request.description.clone(),
        background: launch.background,
        tool_call: launch.tool_call.clone(),
        outcome: Outcome {
            text,
            usage: progress.usage,
            ..Outcome::without_text(AgentStatus::Interrupted, EndedBy::Host)
        },
        text_cut: false,
        turns: progress.turns,
        max_turns: request.max_turns,
        tool_uses: progress.tool_uses,
        context_percent: progress.context_percent,
        compactions: progress.compactions,
        started_at,
        completed_at: now,
        undelivered_steers: Vec::new(),
        restored: true,
    };
    completion.cut_text();
    completion
}
