//! The one task that talks to the client.
//!
//! Everything else hands it messages and goes on. Order is kept; what a slow client cannot take is merged or dropped in
//! ways it can notice: events of a viewer leave a gap in their numbers, after which the client opens again.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use protocol::{AgentEventParams, ProgressToken, ServerNotification, SessionEventParams, method};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::Client;
use tower_lsp::ls_types::{
    self as lsp, MessageActionItem, MessageType, ShowDocumentParams, notification, request,
};
use vocab::{AgentId, SessionId};

use crate::clock::Clock;
use crate::lsp::OutputLevel;
use crate::work_done::{Act, Fact, Subject, WorkDone};

/// What can be sent.
#[derive(Debug)]
pub(crate) enum Outgoing {
    FleetChanged(protocol::FleetChangedParams),
    Completed(protocol::AgentCompletedParams),
    AgentEvent(AgentEventParams),
    SessionEvent(SessionEventParams),
    /// A fact about work-done progress.
    WorkDone(Subject, Fact),
    /// The client cancelled a work-done token; answered with what it stands for.
    WhoseToken(ProgressToken, oneshot::Sender<Option<Subject>>),
    /// A `$/progress` value of ours on a token of the client.
    Update(ProgressToken, Box<protocol::AgentUpdate>),
    Message(MessageType, String),
    /// A question with buttons; answered with the button, or with nothing where it was closed unanswered.
    Ask {
        text: String,
        buttons: Vec<String>,
        reply: oneshot::Sender<Answer>,
    },
    ShowDocument {
        uri: lsp::Uri,
        selection: Option<lsp::Range>,
    },
    /// Answered when everything before it is in the client's stream.
    Flush(oneshot::Sender<()>),
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Button(String),
    /// Closed without a choice.
    Dismissed,
    /// The client cannot show questions, or is gone.
    Nobody,
}

/// A way to the outbox. Without a client (a headless run) it leads nowhere.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    sender: Option<mpsc::UnboundedSender<Outgoing>>,
    level: OutputLevel,
}

impl Outbox {
    /// An outbox of a run without an editor: all is dropped, questions find nobody.
    pub(crate) fn nowhere() -> Self {
        Self { sender: None, level: OutputLevel::default() }
    }

    pub(crate) fn send(&self, message: Outgoing) {
        if let Some(sender) = &self.sender {
            // The task ends only with the server.
            let _ = sender.send(message);
        }
    }

    /// Says that a request is sent to the client beside the outbox.
    pub(crate) fn giving(&self) {
        self.level.giving();
    }

    /// Whether the client is so far behind that what can be merged should wait.
    pub(crate) fn is_congested(&self) -> bool {
        self.level.is_congested()
    }

    pub(crate) fn work_done(&self, subject: Subject, fact: Fact) {
        self.send(Outgoing::WorkDone(subject, fact));
    }

    /// Waits until all that was sent before is on its way, so that an answer written next cannot overtake it.
    pub(crate) async fn flushed(&self) {
        let (reply, done) = oneshot::channel();
        self.send(Outgoing::Flush(reply));
        let _ = done.await;
    }

    /// Asks a person. Waits for as long as it takes; dropping the future forgets the question.
    pub(crate) async fn ask(&self, text: String, buttons: Vec<String>) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.send(Outgoing::Ask { text, buttons, reply });
        answer.await.unwrap_or(Answer::Nobody)
    }
}

/// Makes the outbox and the future that serves it.
pub(crate) fn outbox(client: Client, level: OutputLevel, clock: Clock) -> (Outbox, BoxFuture<'static, ()>) {
    let (sender, inbox) = mpsc::unbounded_channel();
    let task = Task {
        client,
        level: level.clone(),
        clock,
        work_done: WorkDone::default(),
        requests: FuturesUnordered::new(),
        missed: BTreeMap::new(),
    };
    (Outbox { sender: Some(sender), level }, Box::pin(task.serve(inbox)))
}

struct Task {
    client: Client,
    level: OutputLevel,
    clock: Clock,
    work_done: WorkDone,
    /// Requests to the client that wait for its answer.
    requests: FuturesUnordered<BoxFuture<'static, Option<(Subject, bool)>>>,
    /// The last event that was dropped for each viewer while the client was behind. Sent once it has caught up, it shows
    /// the gap even if nothing follows.
    missed: BTreeMap<Viewer, Outgoing>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Viewer {
    Agent(AgentId),
    Session(SessionId),
}

/// A row of our method table as the library's notification type.
struct Row<M>(PhantomData<M>);

impl<M> notification::Notification for Row<M>
where
    M: ServerNotification,
    M::Params: Sync,
{
    type Params = M::Params;
    const METHOD: &'static str = M::NAME;
}

/// `$/progress` with any value.
struct RawProgress;

impl notification::Notification for RawProgress {
    type Params = Value;
    const METHOD: &'static str = "$/progress";
}

impl Task {
    async fn serve(mut self, mut inbox: mpsc::UnboundedReceiver<Outgoing>) {
        loop {
            let deadline = self.work_done.next_deadline().map(|at| self.clock.instant_of(at));
            tokio::select! {
                biased;
                message = inbox.recv() => match message {
                    Some(message) => self.send(message).await,
                    None => return,
                },
                Some(answered) = self.requests.next() => if let Some((subject, accepted)) = answered {
                    let acts = self.work_done.apply(self.clock.now(), &subject, Fact::Created { accepted });
                    self.act(acts).await;
                },
                () = sleep_until(deadline) => {
                    let acts = self.work_done.tick(self.clock.now());
                    self.act(acts).await;
                }
                () = self.level.relieved(), if !self.missed.is_empty() => self.send_missed().await,
            }
        }
    }

    async fn send(&mut self, message: Outgoing) {
        match message {
            Outgoing::FleetChanged(params) => self.notify::<method::FleetChanged>(params).await,
            Outgoing::Completed(params) => self.notify::<method::AgentCompleted>(params).await,
            event @ (Outgoing::AgentEvent(_) | Outgoing::SessionEvent(_)) => self.send_event(event).await,
            Outgoing::WorkDone(subject, fact) => {
                let acts = self.work_done.apply(self.clock.now(), &subject, fact);
                self.act(acts).await;
            }
            Outgoing::WhoseToken(token, reply) => {
                let _ = reply.send(self.work_done.subject_of(&token).cloned());
            }
            Outgoing::Update(token, update) => {
                self.client
                    .send_notification::<RawProgress>(json!({ "token": token, "value": update }))
                    .await;
            }
            Outgoing::Message(kind, text) => {
                self.level.giving();
                self.client.show_message(kind, text).await;
            }
            Outgoing::Ask { text, buttons, reply } => self.ask(text, buttons, reply),
            Outgoing::ShowDocument { uri, selection } => {
                let params = ShowDocumentParams { uri, external: None, take_focus: Some(true), selection };
                let (client, level) = (self.client.clone(), self.level.clone());
                self.requests.push(Box::pin(async move {
                    level.giving();
                    if let Err(error) = client.send_request::<request::ShowDocument>(params).await {
                        tracing::info!(%error, "the client showed no document");
                    }
                    None
                }));
            }
            Outgoing::Flush(reply) => {
                let level = self.level.clone();
                self.requests.push(Box::pin(async move {
                    level.all_sent().await;
                    let _ = reply.send(());
                    None
                }));
            }
        }
    }

    async fn notify<M>(&mut self, params: M::Params)
    where
        M: ServerNotification + Send,
        M::Params: Sync,
    {
        self.level.giving();
        self.client.send_notification::<Row<M>>(params).await;
    }

    async fn send_event(&mut self, event: Outgoing) {
        let viewer = match &event {
            Outgoing::AgentEvent(params) => Viewer::Agent(params.agent_id.clone()),
            Outgoing::SessionEvent(params) => Viewer::Session(params.session_id.clone()),
            _ => return,
        };
        if self.level.is_congested() {
            self.missed.insert(viewer, event);
            return;
        }
        if let Some(missed) = self.missed.remove(&viewer) {
            self.put_event(missed).await;
        }
        self.put_event(event).await;
    }

    async fn put_event(&mut self, event: Outgoing) {
        match event {
            Outgoing::AgentEvent(params) => self.notify::<method::AgentEvent>(params).await,
            Outgoing::SessionEvent(params) => self.notify::<method::SessionEvent>(params).await,
            _ => {}
        }
    }

    async fn send_missed(&mut self) {
        for (_, event) in std::mem::take(&mut self.missed) {
            self.put_event(event).await;
        }
    }

    fn ask(&mut self, text: String, buttons: Vec<String>, mut reply: oneshot::Sender<Answer>) {
        let actions =
            buttons.into_iter().map(|title| MessageActionItem { title, properties: [].into() }).collect();
        let (client, level) = (self.client.clone(), self.level.clone());
        self.requests.push(Box::pin(async move {
            level.giving();
            let answer = tokio::select! {
                answer = client.show_message_request(MessageType::WARNING, text, Some(actions)) => answer,
                () = reply.closed() => return None,
            };
            let _ = reply.send(match answer {
                Ok(Some(item)) => Answer::Button(item.title),
                Ok(None) => Answer::Dismissed,
                Err(_) => Answer::Nobody,
            });
            None
        }));
    }

    async fn act(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Create { subject, token } => {
                    let (client, level) = (self.client.clone(), self.level.clone());
                    let params = lsp::WorkDoneProgressCreateParams { token: lsp_token(token) };
                    self.requests.push(Box::pin(async move {
                        level.giving();
                        let answer = client.send_request::<request::WorkDoneProgressCreate>(params).await;
                        Some((subject, answer.is_ok()))
                    }));
                }
                Act::Begin { token, title, cancellable } => {
                    self.progress(
                        token,
                        json!({ "kind": "begin", "title": title, "cancellable": cancellable }),
                    )
                    .await;
                }
                Act::Report { token, message } => {
                    self.progress(token, json!({ "kind": "report", "message": message })).await;
                }
                Act::End { token, message: None } => self.progress(token, json!({ "kind": "end" })).await,
                Act::End { token, message: Some(message) } => {
                    self.progress(token, json!({ "kind": "end", "message": message })).await;
                }
            }
        }
    }

    async fn progress(&mut self, token: ProgressToken, value: Value) {
        self.level.giving();
        self.client.send_notification::<RawProgress>(json!({ "token": token, "value": value })).await;
    }
}

fn lsp_token(token: ProgressToken) -> lsp::ProgressToken {
    match token {
        ProgressToken::Number(number) => {
            lsp::NumberOrString::Number(i32::try_from(number).unwrap_or(i32::MAX))
        }
        ProgressToken::Text(text) => lsp::NumberOrString::String(text),
    }
}

/// Sleeps until an instant, or for ever.
async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
