//! The manager: the one task that owns the fleet and its sessions.
//!
//! It decides nothing. A deed or a fact becomes an input of the core ([`roster::Roster`]), and the effects that the core
//! answers are carried out in order by [`Manager::run`], which never waits. Everything that waits (a model, a tool, a
//! person, the disk) happens in a task of its own and comes back as another input.

mod bus;
mod children;
mod disk;
mod fleet;
mod handle;
mod journals;
mod opening;
mod parents;
mod prompts;
mod reports;
mod restore;
mod rpc;
mod viewers;
mod watching;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use roster::{CallId, Effect, Input, Reply, Roster};
use session::EventBus;
use session::storage::SessionLock;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vocab::{AgentId, PromptId, SessionId, SteerId};

use self::bus::Lifecycle;
use self::children::{Child, ChildExit};
use self::disk::DiskTrouble;
use self::fleet::FleetFeed;
use self::handle::Job;
pub(crate) use self::handle::{Launched, ManagerHandle, RunState, Target, Ticket};
use self::journals::Journals;
use self::parents::ParentSession;
pub(crate) use self::parents::{
    DEFAULT_THINKING, Heard, OpenSession, PromptTicket, PromptTokens, Resume, StartedPrompt, checked_folder,
};
use self::prompts::FollowedPrompts;
use self::restore::Restored;
pub(crate) use self::viewers::{opened, subscribed};
use crate::clock::Clock;
use crate::lsp::OpenDocuments;
use crate::outbox::Outbox;
use crate::workspace::Workspaces;

/// How long running agents get to end by themselves when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Steering messages of which we know the session, so that they can be taken back by id alone.
const STEERS_REMEMBERED: usize = 1_000;

/// How often the progress of running agents is looked at while somebody watches.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// A session whose driver has ended, with the right to write its files.
type ClosedSession = (SessionId, Option<SessionLock>);

/// What the manager works with.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) clock: Clock,
    pub(crate) outbox: Outbox,
    pub(crate) workspaces: Workspaces,
    /// What this client can show; nothing in a headless run.
    pub(crate) client: protocol::ClientCapability,
    /// Whether the client takes work-done progress that the server creates.
    pub(crate) work_done: bool,
    /// Whether questions can reach a person.
    pub(crate) headless: bool,
    /// The one event bus of this process.
    pub(crate) events: EventBus,
}

/// See the module.
pub(crate) struct Manager {
    handle: ManagerHandle,
    roster: Roster,
    ports: Ports,
    sessions: BTreeMap<SessionId, ParentSession>,
    /// The session that requests without a session id mean, by folder.
    default_session: Option<SessionId>,
    children: HashMap<AgentId, Child>,
    calls: HashMap<CallId, oneshot::Sender<Reply>>,
    runs: JoinSet<ChildExit>,
    running: HashMap<tokio::task::Id, (AgentId, u32)>,
    drivers: JoinSet<ClosedSession>,
    driven: HashMap<tokio::task::Id, SessionId>,
    /// Short tasks that carry an answer from a session to its caller.
    errands: JoinSet<()>,
    /// Agents by when they settled, the oldest first; their sessions are kept in memory up to a limit.
    idle_order: VecDeque<AgentId>,
    /// The latest steering messages to parent sessions.
    steers: VecDeque<(SteerId, SessionId)>,
    fleet: FleetFeed,
    journals: Journals,
    lifecycle: Lifecycle,
    restored: Restored,
    /// Foreground agents of which the latest progress has not been sent on their prompt's token, and the one sent last.
    updates_dirty: BTreeSet<AgentId>,
    last_update: Option<AgentId>,
    /// The editor's open documents.
    pub(crate) documents: OpenDocuments,
    followed_prompts: FollowedPrompts,
    /// The ids that the client gave to prompts: each names one.
    prompt_ids: BTreeSet<PromptId>,
    watcher: Option<project::Watcher>,
    disk_trouble: DiskTrouble,
    /// Parent of every token: its cancel ends everything.
    process: CancellationToken,
    /// Woken when the last driver and run have ended after a shutdown.
    ending: bool,
}

/// Makes a manager and the future that serves it until it is shut down.
pub(crate) fn manager(ports: Ports) -> (ManagerHandle, impl Future<Output = ()> + Send) {
    let (handle, inbox) = ManagerHandle::new();
    let fleet = FleetFeed::new(&ports);
    let heard = handle.clone();
    ports.workspaces.on_disk_news(move |news| heard.post(move |manager| manager.disk_news(news)));
    let lifecycle = Lifecycle::new(ports.events.clone());
    let manager = Manager {
        handle: handle.clone(),
        roster: Roster::new(),
        ports,
        sessions: BTreeMap::new(),
        default_session: None,
        children: HashMap::new(),
        calls: HashMap::new(),
        runs: JoinSet::new(),
        running: HashMap::new(),
        drivers: JoinSet::new(),
        driven: HashMap::new(),
        errands: JoinSet::new(),
        idle_order: VecDeque::new(),
        steers: VecDeque::new(),
        fleet,
        journals: Journals::default(),
        lifecycle,
        restored: Restored::default(),
        updates_dirty: BTreeSet::new(),
        last_update: None,
        documents: OpenDocuments::default(),
        followed_prompts: FollowedPrompts::new(),
        prompt_ids: BTreeSet::new(),
        watcher: None,
        disk_trouble: DiskTrouble::default(),
        process: CancellationToken::new(),
        ending: false,
    };
    (handle, manager.serve(inbox))
}

impl Manager {
    async fn serve(mut self, mut inbox: mpsc::UnboundedReceiver<Job>) {
        let mut sampling = tokio::time::interval(SAMPLE_EVERY);
        sampling.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.ending {
            let core = self.roster.next_deadline().map(|at| self.ports.clock.instant_of(at));
            let feed = self.fleet.next_deadline().map(|at| self.ports.clock.instant_of(at));
            let disk = self.journals.next_deadline().map(|at| self.ports.clock.instant_of(at));
            tokio::select! {
                Some(job) = inbox.recv() => job(&mut self),
                Some(joined) = self.runs.join_next_with_id() => self.run_joined(joined),
                Some(joined) = self.drivers.join_next_with_id() => self.session_ended(joined),
                Some(_) = self.errands.join_next() => {}
                () = sleep_until(core) => self.apply(Input::Tick),
                () = sleep_until(feed) => self.flush_fleet(),
                () = sleep_until(disk) => self.disk_moved(),
                _ = sampling.tick(), if self.is_sampling() => self.sample_progress(),
            }
            self.emit_events();
        }
        self.finish().await;
    }

    /// Gives the core an input and carries out what it answers.
    pub(crate) fn apply(&mut self, input: Input) {
        let steered = match &input {
            Input::Steer { agent, steer, .. } => Some((agent.clone(), steer.clone())),
            _ => None,
        };
        let effects = self.roster.apply(self.ports.clock.now(), input);
        for effect in effects {
            if let (Effect::Reply { reply: Reply::Steered { .. }, .. }, Some((agent, steer))) =
                (&effect, &steered)
                && let Some(record) = self.roster.agent(agent)
            {
                self.lifecycle.steered(record, steer);
            }
            self.run(effect);
        }
        self.let_closed_sessions_go();
    }

    /// Like [`Self::apply`], for an input that the core answers under `call`.
    pub(crate) fn ask(&mut self, call: CallId, input: Input, reply: oneshot::Sender<Reply>) {
        self.calls.insert(call, reply);
        self.apply(input);
    }

    fn run(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { call, reply } => self.reply(call, reply),
            Effect::Start { agent, run, prompt, steers } => self.start_child(&agent, run, prompt, steers),
            Effect::Steer { agent, run, steer } => self.steer_child(&agent, run, steer),
            Effect::Unsteer { call, agent, run: _, steer } => self.unsteer_child(call, &agent, steer),
            Effect::Cancel { agent, run: _, ending: _ } => self.cancel_child(&agent),
            Effect::Detach { agent, run: _ } => self.detach_child(&agent),
            Effect::Wake { owner } => self.wake(&owner),
            Effect::Announce { completions, partial, group } => {
                self.announce(completions, partial, group);
            }
            Effect::Changed { agent, status } => self.agent_changed(&agent, status),
            Effect::Record { session, fact } => {
                self.keep(&session, &fact);
                let agent = self.roster.agent(fact.agent());
                self.lifecycle.recorded(&fact, agent);
            }
        }
    }

    fn reply(&mut self, call: CallId, reply: Reply) {
        if let Some(caller) = self.calls.remove(&call) {
            // A caller that has gone meanwhile needs no answer.
            let _ = caller.send(reply);
        }
    }

    /// Ends what runs: agents become interrupted, and nothing is announced or delivered any more. Answers a future that
    /// waits until the session files are written.
    pub(crate) fn interrupt_all(&mut self) -> impl Future<Output = ()> + Send + use<> {
        // What runs is settled with what is known of it by now.
        self.sample_progress();
        self.journals.announce_nothing_more();
        self.end_events();
        self.apply(Input::Shutdown);
        self.process.cancel();
        for session in self.sessions.values() {
            session.handle.close();
        }
        let told = self.told_and_kept();
        let flushed = self.ports.workspaces.flushed();
        async move {
            told.await;
            flushed.await;
        }
    }

    /// Ends everything. The loop ends after this deed.
    pub(crate) fn shut_down(&mut self) {
        drop(self.interrupt_all());
        self.ending = true;
    }

    /// Waits for what still runs, within the grace, then drops it; dropping kills what it started.
    async fn finish(mut self) {
        let _ = tokio::time::timeout(SHUTDOWN_GRACE, async {
            while self.runs.join_next().await.is_some() {}
            while self.drivers.join_next().await.is_some() {}
        })
        .await;
        self.runs.abort_all();
        self.drivers.abort_all();
        let _ = tokio::time::timeout(SHUTDOWN_GRACE, self.ports.workspaces.flushed()).await;
    }
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
