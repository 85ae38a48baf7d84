//! The demo's side of the conversation: what an editor would send, and what it makes of what comes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use protocol::{
    AgentCompletedParams, AgentStopAllParams, ClientCapability, FleetListParams, FleetListResult,
    InitOptions, Method, PROTOCOL_VERSION, PromptResult, ServerCapability, SessionAbortParams,
    SessionOpenParams, SessionPromptParams, SessionSubscribeParams, SessionSubscribeResult, method,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use vocab::{AgentId, SessionId, Timestamp};

use super::fleet::{Fleet, Update};
use super::screen::{Screen, Tone, seconds};
use super::story::{Shown, Step, Story};
use crate::cli::lsp_client::{LspClient, LspError, Notification};
use crate::projection::file_uri;

/// How long a request may take that waits for no model.
const ANSWER: Duration = Duration::from_secs(5);
/// The same while everything is being stopped.
const STOP_ANSWER: Duration = Duration::from_secs(1);
/// How often the roster is redrawn, and the rest looked for.
const TICK: Duration = Duration::from_millis(100);
/// Nothing may have come for so long before all is taken to be over: longer than news of agents is held back.
const QUIET: Duration = Duration::from_millis(500);
/// News that is on its way for so long without a sign does not come any more.
const LOST: Duration = Duration::from_secs(10);

const MODEL: &str = "offline/planner";
const PROMPT: &str = "Explore this folder and report what it holds: its languages and layout, its entry points and how it \
                      is built, what is marked as open, and its largest modules.";

/// Why the demo could not be shown to the end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The server closed the connection.
    #[error("the server ended")]
    ServerGone,
    #[error(transparent)]
    Request(LspError),
    #[error(
        "the server speaks version {0} of the contract, not {PROTOCOL_VERSION}; this binary is not whole"
    )]
    Version(u32),
    #[error("a message of the server is not as agreed: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("nothing can be shown: {0}")]
    Output(#[from] io::Error),
}

impl From<LspError> for Trouble {
    fn from(error: LspError) -> Self {
        match error {
            LspError::Closed => Self::ServerGone,
            other => Self::Request(other),
        }
    }
}

/// What came of a demo that was shown to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) ended_well: bool,
    pub(super) wall: Duration,
}

/// A client of the server.
#[derive(Debug)]
pub(super) struct Guest {
    client: Arc<LspClient>,
    notifications: mpsc::Receiver<Notification>,
    pub(super) screen: Screen,
    pub(super) fleet: Fleet,
    pub(super) story: Story,
    session: Option<SessionId>,
    /// When the last message came.
    heard: Instant,
    list_again: bool,
    subscribe_again: bool,
}

impl Guest {
    pub(super) fn new(
        client: LspClient,
        notifications: mpsc::Receiver<Notification>,
        screen: Screen,
    ) -> Self {
        Self {
            client: Arc::new(client),
            notifications,
            screen,
            fleet: Fleet::default(),
            story: Story::default(),
            session: None,
            heard: Instant::now(),
            list_again: false,
            subscribe_again: false,
        }
    }

    /// Gives the connection back, to end it, and the screen, to say so.
    pub(super) fn into_parts(self) -> (Option<LspClient>, Screen) {
        (Arc::into_inner(self.client), self.screen)
    }

    pub(super) fn fault(&self) -> Option<&str> {
        self.client.fault()
    }

    /// Everything from `initialize` until no agent is at work and the parent has answered.
    pub(super) async fn visit(&mut self, folder: &Path) -> Result<Shape, Trouble> {
        let session = self.enter(folder).await?;
        let began = Instant::now();
        let client = Arc::clone(&self.client);
        let prompt = SessionPromptParams {
            session_id: Some(session),
            prompt_id: None,
            text: PROMPT.to_owned(),
            attachments: Vec::new(),
            origin: protocol::PromptOrigin::User,
            work_done_token: None,
            updates_token: None,
        };
        // It is answered when its run has ended; the limit on the whole demo is the limit on that.
        let mut prompt = std::pin::pin!(client.request::<method::SessionPrompt>(&prompt, Duration::MAX));
        let mut answered = false;
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                notification = self.notifications.recv() => {
                    self.take(notification.ok_or(Trouble::ServerGone)?)?;
                    self.catch_up().await?;
                }
                result = &mut prompt, if !answered => {
                    answered = true;
                    self.heard = Instant::now();
                    self.check_prompt(&result?)?;
                }
                _ = tick.tick() => {
                    self.draw()?;
                    if answered && self.is_over() {
                        let wall = self.heard.duration_since(began);
                        return Ok(Shape { ended_well: self.story.ended_well() && self.fleet.unreported() == 0, wall });
                    }
                }
            }
        }
    }

    /// Introduces itself, opens a session and follows it and the fleet.
    async fn enter(&mut self, folder: &Path) -> Result<SessionId, Trouble> {
        let answer = self.client.call("initialize", introduction(folder)?, ANSWER).await?;
        let server: ServerCapability =
            serde_json::from_value(answer["capabilities"]["experimental"]["adjutant"].clone())?;
        if server.protocol_version != PROTOCOL_VERSION {
            return Err(Trouble::Version(server.protocol_version));
        }
        self.client.notify("initialized", json!({})).await?;
        let client = Arc::clone(&self.client);
        let open = SessionOpenParams {
            cwd: Some(folder.to_string_lossy().into_owned()),
            ..SessionOpenParams::default()
        };
        let session = self.meanwhile(client.request::<method::SessionOpen>(&open, ANSWER)).await?;
        let session_id = session.session_id.clone();
        self.session = Some(session.session_id);
        self.list_again = true;
        self.subscribe_again = true;
        self.catch_up().await?;
        let line =
            format!("Server {}, session {session_id}, model {}.", server.server_version, session.model);
        self.screen.line(Tone::Quiet, &line)?;
        Ok(session_id)
    }

    /// Waits for an answer and takes what comes meanwhile: a full queue would hold the answer back.
    async fn meanwhile<T>(
        &mut self,
        answer: impl Future<Output = Result<T, LspError>>,
    ) -> Result<T, Trouble> {
        let mut answer = std::pin::pin!(answer);
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer?),
                notification = self.notifications.recv() => self.take(notification.ok_or(Trouble::ServerGone)?)?,
            }
        }
    }

    /// Asks again for what was missed.
    async fn catch_up(&mut self) -> Result<(), Trouble> {
        while self.list_again || self.subscribe_again {
            let client = Arc::clone(&self.client);
            if std::mem::take(&mut self.list_again) {
                let list = self.list(&client).await?;
                self.fleet.replace(list);
            }
            if std::mem::take(&mut self.subscribe_again)
                && let Some(session_id) = self.session.clone()
            {
                let params = SessionSubscribeParams { session_id, from_seq: None, limit: None };
                let answer: SessionSubscribeResult =
                    self.meanwhile(client.request::<method::SessionSubscribe>(&params, ANSWER)).await?;
                // What came while we asked was refused as a gap; the answer has it.
                self.subscribe_again = false;
                let shown = self.story.subscribed(&answer);
                self.show(shown)?;
            }
        }
        Ok(())
    }

    async fn list(&mut self, client: &LspClient) -> Result<FleetListResult, Trouble> {
        // A demo has a handful of agents: they fit one page.
        self.meanwhile(client.request::<method::FleetList>(&FleetListParams::default(), ANSWER)).await
    }

    fn take(&mut self, notification: Notification) -> Result<(), Trouble> {
        self.heard = Instant::now();
        match notification.method.as_str() {
            name if name == method::FleetChanged::NAME => {
                let change = serde_json::from_value(notification.params)?;
                self.list_again |= self.fleet.change(change) == Update::ListAgain;
            }
            name if name == method::SessionEvent::NAME => {
                match self.story.event(serde_json::from_value(notification.params)?) {
                    Step::Show(shown) => self.show(shown)?,
                    Step::SubscribeAgain => self.subscribe_again = true,
                }
            }
            name if name == method::AgentCompleted::NAME => {
                self.completed(&serde_json::from_value(notification.params)?)?;
            }
            "window/showMessage" => {
                let text = notification.params["message"].as_str().unwrap_or_default();
                self.screen.line(Tone::Quiet, &format!("The server says: {text}"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn show(&mut self, shown: Vec<Shown>) -> io::Result<()> {
        for shown in shown {
            match shown {
                Shown::Run { number, asked } => {
                    let why = if asked { "asked by you" } else { "woken by the news of its agents" };
                    self.screen.line(Tone::Plain, "")?;
                    self.screen.line(Tone::Heading, &format!("Parent, run {number} ({why})"))?;
                }
                Shown::Line(line) => self.screen.line(Tone::Plain, &line)?,
                Shown::Call(title) => self.screen.line(Tone::Quiet, &format!("→ {title}"))?,
                Shown::News(title) => self.screen.line(Tone::Quiet, &format!("← {title}"))?,
                Shown::Trouble(why) => self.screen.line(Tone::Bad, &why)?,
            }
        }
        self.screen.partial(self.story.partial());
        Ok(())
    }

    fn completed(&mut self, news: &AgentCompletedParams) -> io::Result<()> {
        for completion in &news.completions {
            let good = completion.error.is_none();
            let words = completion.error.as_deref().unwrap_or(&completion.result_preview);
            let line = format!(
                "{} {} ({}, {} turns, {} tool uses, {}): {}",
                if good { '✓' } else { '✗' },
                completion.handle,
                completion.status.as_str(),
                completion.turns,
                completion.tool_uses,
                seconds(Duration::from_millis(completion.duration_ms)),
                words.lines().next().unwrap_or_default()
            );
            self.screen.line(if good { Tone::Good } else { Tone::Bad }, &line)?;
        }
        Ok(())
    }

    fn check_prompt(&mut self, result: &PromptResult) -> io::Result<()> {
        match &result.error {
            Some(error) => self.screen.line(Tone::Bad, error),
            None => Ok(()),
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let since = u64::try_from(self.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Only as exact as the last message: good enough for a clock that people look at.
        let now = Timestamp(self.fleet.server_now.0).plus_ms(since);
        self.screen.roster(&self.fleet.agents(), now)
    }

    fn is_over(&self) -> bool {
        let quiet = self.heard.elapsed();
        let at_rest = !self.story.is_running() && self.fleet.live() == 0;
        at_rest && quiet >= if self.fleet.unreported() == 0 { QUIET } else { LOST }
    }

    /// Stops all agents and the parent's run. What was stopped, by handle.
    pub(super) async fn stop_all(&mut self) -> Result<Vec<String>, Trouble> {
        let client = Arc::clone(&self.client);
        let was_running = self.story.is_running();
        let params = AgentStopAllParams { session_id: self.session.clone() };
        let answer = self.meanwhile(client.request::<method::AgentStopAll>(&params, STOP_ANSWER)).await?;
        let handle = |agent: &AgentId| {
            self.fleet.get(agent).map_or_else(|| agent.to_string(), |known| known.handle.clone())
        };
        let mut stopped: Vec<String> = answer.stopped.iter().map(handle).collect();
        if self.session.is_some() {
            let params = SessionAbortParams { session_id: self.session.clone() };
            let answer = self.meanwhile(client.request::<method::SessionAbort>(&params, STOP_ANSWER)).await?;
            // The run may be over already: its prompt was taken back when nobody waited for it any more.
            if was_running || answer.aborted {
                stopped.push("the parent's run".to_owned());
            }
        }
        Ok(stopped)
    }
}

/// The parameters of `initialize`.
fn introduction(folder: &Path) -> Result<Value, serde_json::Error> {
    let capability = ClientCapability {
        protocol_version: PROTOCOL_VERSION,
        fleet: true,
        viewer: true,
        ..ClientCapability::default()
    };
    let mode = json!({ "permissions": { "mode": "plan" } });
    let options = InitOptions {
        settings: mode.as_object().cloned(),
        model: Some(MODEL.to_owned()),
        // What lies in the folder decides nothing here.
        trusted: Some(false),
    };
    let uri = file_uri(folder);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "adjutant demo", "version": env!("CARGO_PKG_VERSION") },
        "rootUri": uri,
        "workspaceFolders": [{ "uri": uri, "name": name }],
        "capabilities": {
            "workspace": { "workspaceFolders": true, "configuration": true },
            "experimental": { "adjutant": serde_json::to_value(capability)? },
        },
        "initializationOptions": serde_json::to_value(options)?,
    }))
}
