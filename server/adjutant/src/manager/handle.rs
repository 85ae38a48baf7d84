//! The manager's public face: verbs that post to it. What a verb posts is posted before its first wait, so the order of
//! calls is the order of deeds; and nothing waits longer than one turn of the manager's loop, except where it says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roster::{BatchId, CallId, Completion, Input, Launch, Owner, Reply, Steer, StopScope};
use tokio::sync::{mpsc, oneshot};
use vocab::{AgentId, AgentStatus, EndedBy, SessionId, SteerId};

use super::Manager;
use crate::failure::Failure;
use crate::ids;
use crate::launch::Prepared;

/// One deed of the manager.
pub(super) type Job = Box<dyn FnOnce(&mut Manager) + Send>;

/// A way to the manager. Cheap to clone; the manager ends by [`ManagerHandle::shut_down`], not by dropping handles.
#[derive(Debug, Clone)]
pub(crate) struct ManagerHandle {
    jobs: mpsc::UnboundedSender<Job>,
    next_call: Arc<AtomicU64>,
}

/// The agent that a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Id(AgentId),
    /// Of the named session, or of the one used last.
    Handle {
        handle: String,
        session: Option<SessionId>,
    },
}

impl From<AgentId> for Target {
    fn from(id: AgentId) -> Self {
        Self::Id(id)
    }
}

impl From<protocol::AgentRef<'_>> for Target {
    fn from(target: protocol::AgentRef<'_>) -> Self {
        match target {
            protocol::AgentRef::Id(id) => Self::Id(id.clone()),
            protocol::AgentRef::Handle { handle, session_id } => {
                Self::Handle { handle: handle.to_owned(), session: session_id.cloned() }
            }
        }
    }
}

/// What a launch came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launched {
    pub(crate) agent: AgentId,
    pub(crate) run: u32,
    pub(crate) handle: String,
    pub(crate) status: AgentStatus,
    pub(crate) queue_position: Option<u32>,
}

/// What a run is now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunState {
    pub(crate) run: u32,
    pub(crate) status: AgentStatus,
    pub(crate) queue_position: Option<u32>,
    pub(crate) completion: Option<Box<Completion>>,
}

/// What waited for an owner at its turn boundary. Dropped without [`Batch::delivered`], it waits again.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) completions: Vec<Completion>,
    pub(crate) partial: bool,
    id: BatchId,
    manager: Option<ManagerHandle>,
}

impl Batch {
    /// The completions are in the owner's history.
    pub(crate) fn delivered(mut self) {
        if let Some(manager) = self.manager.take() {
            let batch = self.id;
            manager.tell(move |_| Input::Delivered { batch });
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(manager) = self.manager.take() {
            let batch = self.id;
            manager.tell(move |_| Input::Returned { batch });
        }
    }
}

/// A wait for the end of a run. Dropping it ends the wait, and with it a foreground run that it stands for.
#[derive(Debug)]
pub(crate) struct Ticket {
    answer: oneshot::Receiver<Reply>,
    call: CallId,
    manager: ManagerHandle,
}

impl Ticket {
    /// Waits for as long as the run takes. Cancel by dropping.
    pub(crate) async fn settled(mut self) -> Result<Completion, Failure> {
        match (&mut self.answer).await {
            Ok(Reply::Settled(completion)) => Ok(*completion),
            Ok(Reply::Refused(refusal)) => Err(refusal.into()),
            _ => Err(Failure::gone()),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let call = self.call;
        self.manager.tell(move |_| Input::CallerGone { call });
    }
}

impl ManagerHandle {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Job>) {
        let (jobs, inbox) = mpsc::unbounded_channel();
        (Self { jobs, next_call: Arc::default() }, inbox)
    }

    /// Posts a deed. After the manager's end nothing happens.
    pub(crate) fn post(&self, job: impl FnOnce(&mut Manager) + Send + 'static) {
        let _ = self.jobs.send(Box::new(job));
    }

    /// Posts a deed and waits for what it returns.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Manager) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Failure>> + Send {
        let (reply, answer) = oneshot::channel();
        self.post(move |manager| {
            let _ = reply.send(job(manager));
        });
        async { answer.await.map_err(|_| Failure::gone()) }
    }

    /// Tells the core a fact that nobody waits for.
    pub(crate) fn tell(&self, input: impl FnOnce(CallId) -> Input + Send + 'static) {
        let call = self.next_call();
        self.post(move |manager| manager.apply(input(call)));
    }

    fn next_call(&self) -> CallId {
        CallId(self.next_call.fetch_add(1, Ordering::Relaxed))
    }

    /// Does what the core answers under a call, in the same turn of the manager's loop. What is refused, before the core is
    /// asked or by it, is an error.
    fn asked(
        &self,
        deed: impl FnOnce(&mut Manager, CallId, oneshot::Sender<Reply>) -> Result<(), Failure> + Send + 'static,
    ) -> impl Future<Output = Result<Reply, Failure>> + Send {
        let (reply, answer) = oneshot::channel();
        let (refused, refusal) = oneshot::channel();
        let call = self.next_call();
        self.post(move |manager| {
            if let Err(failure) = deed(manager, call, reply) {
                let _ = refused.send(failure);
            }
        });
        async {
            match answer.await {
                Ok(Reply::Refused(refusal)) => Err(refusal.into()),
                Ok(reply) => Ok(reply),
                Err(_) => Err(refusal.await.unwrap_or_else(|_| Failure::gone())),
            }
        }
    }

    /// Asks the core.
    fn ask(
        &self,
        input: impl FnOnce(CallId) -> Input + Send + 'static,
    ) -> impl Future<Output = Result<Reply, Failure>> + Send {
        self.asked(move |manager, call, reply| {
            manager.ask(call, input(call), reply);
            Ok(())
        })
    }

    /// Asks the core about an agent, which is found first.
    fn ask_about(
        &self,
        target: impl Into<Target>,
        input: impl FnOnce(CallId, AgentId) -> Input + Send + 'static,
    ) -> impl Future<Output = Result<Reply, Failure>> + Send {
        let target = target.into();
        self.asked(move |manager, call, reply| {
            let agent = manager.find_target_here(&target)?;
            manager.ask(call, input(call, agent), reply);
            Ok(())
        })
    }

    /// Starts an agent that `prepare` prepares in the same turn of the manager's loop.
    pub(crate) fn launch(
        &self,
        prepare: impl FnOnce(&mut Manager) -> Result<Prepared, Failure> + Send + 'static,
    ) -> impl Future<Output = Result<Launched, Failure>> + Send {
        let answer = self.asked(move |manager, call, reply| {
            let prepared = prepare(manager)?;
            manager.spawn(call, prepared, reply);
            Ok(())
        });
        async { launched(answer.await?) }
    }

    /// Starts an agent that has been prepared.
    pub(crate) fn spawn(&self, prepared: Prepared) -> impl Future<Output = Result<Launched, Failure>> + Send {
        self.launch(move |_| Ok(prepared))
    }

    /// Gives a settled agent another run.
    pub(crate) fn resume(
        &self,
        agent: impl Into<Target>,
        launch: Launch,
    ) -> impl Future<Output = Result<Launched, Failure>> + Send {
        let target = agent.into();
        let answer = self.asked(move |manager, call, reply| {
            let agent = manager.find_target_here(&target)?;
            manager.resume(call, agent, launch, reply)
        });
        async { launched(answer.await?) }
    }

    /// Waits for the end of a run, the latest where none is named.
    pub(crate) fn wait(&self, agent: AgentId, run: Option<u32>, consume: bool) -> Ticket {
        let (reply, answer) = oneshot::channel();
        let call = self.next_call();
        self.post(move |manager| manager.ask(call, Input::Await { call, agent, run, consume }, reply));
        Ticket { answer, call, manager: self.clone() }
    }

    /// Reads a run as it is now.
    pub(crate) fn read(
        &self,
        agent: AgentId,
        run: Option<u32>,
        consume: bool,
    ) -> impl Future<Output = Result<RunState, Failure>> + Send {
        let answer = self.ask(move |call| Input::Read { call, agent, run, consume });
        async {
            match answer.await? {
                Reply::Result { run, status, queue_position, completion, .. } => {
                    Ok(RunState { run, status, queue_position, completion })
                }
                _ => Err(Failure::gone()),
            }
        }
    }

    /// Puts a message into a live run; answers its id and whether it was handed over at once.
    pub(crate) fn steer(
        &self,
        agent: impl Into<Target>,
        text: String,
        author: EndedBy,
    ) -> impl Future<Output = Result<(SteerId, bool), Failure>> + Send {
        let answer = self.ask_about(agent, move |call, agent| {
            let steer = Steer { id: SteerId::new(ids::unique("steer")), text, author };
            Input::Steer { call, agent, steer }
        });
        async {
            match answer.await? {
                Reply::Steered { steer, now } => Ok((steer, now)),
                _ => Err(Failure::gone()),
            }
        }
    }

    /// Takes a steering message back, if it has not been delivered.
    pub(crate) fn unsteer(
        &self,
        agent: AgentId,
        steer: SteerId,
    ) -> impl Future<Output = Result<bool, Failure>> + Send {
        let answer = self.ask_about(agent, move |call, agent| Input::Unsteer { call, agent, steer });
        async {
            match answer.await? {
                Reply::Unsteered { withdrawn } => Ok(withdrawn),
                _ => Err(Failure::gone()),
            }
        }
    }

    /// Stops an agent, alone or with all under it.
    pub(crate) fn stop(
        &self,
        agent: impl Into<Target>,
        scope: StopScope,
        by: EndedBy,
    ) -> impl Future<Output = Result<Vec<(AgentId, AgentStatus)>, Failure>> + Send {
        stopped(self.ask_about(agent, move |call, agent| Input::Stop { call, agent, scope, by }))
    }

    /// Stops the agents of a session, or of all.
    pub(crate) fn stop_all(
        &self,
        session: Option<SessionId>,
        by: EndedBy,
    ) -> impl Future<Output = Result<Vec<(AgentId, AgentStatus)>, Failure>> + Send {
        stopped(self.ask(move |call| Input::StopAll { call, session, by }))
    }

    /// Takes what waits for an owner. `idle`: it would stop now. The batch is made where it is given out, so that an answer
    /// that nobody takes any more gives its rows back.
    pub(crate) fn drain(
        &self,
        owner: Owner,
        idle: bool,
    ) -> impl Future<Output = Result<Batch, Failure>> + Send {
        let (reply, answer) = oneshot::channel();
        let call = self.next_call();
        let handle = self.clone();
        self.post(move |manager| {
            let (inner, mut given) = oneshot::channel();
            manager.ask(call, Input::Drain { call, owner, idle }, inner);
            // The core answers within the input.
            if let Ok(Reply::Batch { batch, completions, partial }) = given.try_recv() {
                let manager = (!completions.is_empty()).then_some(handle);
                let _ = reply.send(Batch { completions, partial, id: batch, manager });
            }
        });
        async { answer.await.map_err(|_| Failure::gone()) }
    }
}

fn launched(reply: Reply) -> Result<Launched, Failure> {
    match reply {
        Reply::Spawned { agent, run, handle, status, queue_position } => {
            Ok(Launched { agent, run, handle, status, queue_position })
        }
        _ => Err(Failure::gone()),
    }
}

async fn stopped(
    answer: impl Future<Output = Result<Reply, Failure>> + Send,
) -> Result<Vec<(AgentId, AgentStatus)>, Failure> {
    match answer.await? {
        Reply::Stopped { agents } => Ok(agents),
        _ => Err(Failure::gone()),
    }
}
