//! What the client is told of the fleet: changes at a bounded rate, completions, and lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::{
    AgentCompletedParams, AgentSummary, AgentUpdate, ErrorCode, FleetChangedParams, FleetListParams,
    FleetListResult, Gate, Limits,
};
use roster::{AgentRecord, Completion};
use vocab::{AgentId, AgentStatus, SessionId, Timestamp};

use super::{Manager, Ports};
use crate::failure::Failure;
use crate::ids;
use crate::outbox::Outgoing;
use crate::projection;
use crate::work_done::{EVERY_RUN, Fact, Subject};

/// Changes of status are gathered for this long, so that a burst is one message.
const GATHER_MS: u64 = 20;
/// Least time between two messages that carry progress only.
const PROGRESS_MS: u64 = 100;
/// Least time between two progress changes of one agent.
const AGENT_PROGRESS_MS: u64 = 250;
/// Size of a notification; past it a change is split.
const MESSAGE_BYTES: usize = 60 << 10;
/// How long the later pages of a list can be asked for.
const PAGES_KEPT_MS: u64 = 30_000;
/// Lists that are kept at one time, the newest.
const LISTS_KEPT: usize = 8;
/// Agents of one page at most, whatever the client asks for: a page stays under 256 KiB.
const PAGE_AGENTS: usize = 500;

/// What has changed since the client was last told.
pub(super) struct FleetFeed {
    /// Whether this client gets fleet messages.
    told: bool,
    epoch: String,
    revision: u64,
    /// Agents whose status has changed, or that are new or gone.
    status_dirty: BTreeSet<AgentId>,
    /// Agents of which only the progress has changed.
    progress_dirty: BTreeSet<AgentId>,
    /// When the first change of status came that has not been told.
    status_since: Option<Timestamp>,
    progress_sent: Timestamp,
    /// When each running agent's row was last sent.
    row_sent: BTreeMap<AgentId, Timestamp>,
    completed_seq: u64,
    /// Lists of which pages are still to be fetched, all of one revision.
    pages: BTreeMap<u64, PagedList>,
    next_list: u64,
}

#[derive(Clone)]
struct PagedList {
    /// Under which it is kept; none for one that has just been made.
    key: Option<u64>,
    revision: u64,
    until: Timestamp,
    agents: Arc<[AgentSummary]>,
}

impl FleetFeed {
    pub(super) fn new(ports: &Ports) -> Self {
        Self {
            told: ports.client.opens(Gate::Fleet),
            epoch: ids::unique("epoch"),
            revision: 0,
            status_dirty: BTreeSet::new(),
            progress_dirty: BTreeSet::new(),
            status_since: None,
            progress_sent: Timestamp(0),
            row_sent: BTreeMap::new(),
            completed_seq: 0,
            pages: BTreeMap::new(),
            next_list: 0,
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.told
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        let status = self.status_since.map(|since| since.plus_ms(GATHER_MS));
        let progress = (!self.progress_dirty.is_empty()).then(|| self.progress_sent.plus_ms(PROGRESS_MS));
        status.into_iter().chain(progress).min()
    }

    /// The agents whose rows are due: changes of status at once, those of progress at their own pace.
    fn take_due(&mut self, now: Timestamp) -> BTreeSet<AgentId> {
        let mut due = std::mem::take(&mut self.status_dirty);
        self.status_since = None;
        if now.ms_since(self.progress_sent) >= PROGRESS_MS {
            let recent = |agent: &AgentId| {
                self.row_sent.get(agent).is_some_and(|at| now.ms_since(*at) < AGENT_PROGRESS_MS)
            };
            let ready: Vec<_> = self.progress_dirty.iter().filter(|agent| !recent(agent)).cloned().collect();
            self.progress_sent = now;
            due.extend(ready);
        }
        self.progress_dirty.retain(|agent| !due.contains(agent));
        due
    }

    /// The news of completions, where this client gets it, in messages that are small enough.
    pub(super) fn completed(
        &mut self,
        completions: &[Completion],
        partial: bool,
        group_id: Option<&str>,
    ) -> Vec<AgentCompletedParams> {
        if !self.told {
            return Vec::new();
        }
        let rows = completions.iter().map(projection::completion).collect();
        let parts = in_messages(rows).into_iter().map(|completions| {
            self.completed_seq += 1;
            AgentCompletedParams {
                seq: self.completed_seq,
                completions,
                partial,
                group_id: group_id.map(str::to_owned),
            }
        });
        parts.collect()
    }
}

impl Manager {
    /// The client has introduced itself: fleet messages are on or off from now on. What earlier servers left is taken over.
    pub(crate) fn set_client(&mut self, client: protocol::ClientCapability, work_done: bool) {
        self.fleet.told = client.opens(Gate::Fleet);
        self.ports.client = client;
        self.ports.work_done = work_done;
        self.restore_fleet();
        if self.fleet.told {
            self.fleet.status_dirty.extend(self.roster.agents().map(|agent| agent.id.clone()));
            self.fleet.status_dirty.extend(self.restored.rows_elsewhere().map(|row| row.agent_id.clone()));
            self.fleet.status_since = Some(self.ports.clock.now());
            self.flush_fleet();
        }
    }

    /// A row of an agent that another server has is out of date.
    pub(super) fn row_changed(&mut self, agent: &AgentId) {
        if self.fleet.told {
            self.fleet.status_dirty.insert(agent.clone());
            self.fleet.status_since.get_or_insert(self.ports.clock.now());
        }
    }

    /// Carries out [`roster::Effect::Changed`].
    pub(super) fn agent_changed(&mut self, agent: &AgentId, status: bool) {
        self.tell_progress(agent, status);
        if !self.fleet.told {
            return;
        }
        if !status {
            self.fleet.progress_dirty.insert(agent.clone());
            return;
        }
        self.fleet.status_dirty.insert(agent.clone());
        self.fleet.status_since.get_or_insert(self.ports.clock.now());
    }

    /// Sends what is due.
    pub(super) fn flush_fleet(&mut self) {
        let now = self.ports.clock.now();
        if self.ports.outbox.is_congested() {
            // What a slow client has not read yet would only grow old; look again in a moment.
            self.fleet.status_since = self.fleet.status_since.map(|_| now);
            self.fleet.progress_sent = now;
            return;
        }
        let due = self.fleet.take_due(now);
        let mut removed: Vec<_> = due.iter().filter(|agent| !self.has_row(agent)).cloned().collect();
        let summaries: Vec<AgentSummary> = due.iter().filter_map(|agent| self.summary(agent)).collect();
        for agent in &due {
            match self.roster.agent(agent) {
                Some(record) if !record.status().is_final() => {
                    self.fleet.row_sent.insert(agent.clone(), now);
                }
                _ => {
                    self.fleet.row_sent.remove(agent);
                }
            }
        }
        let mut parts = in_messages(summaries);
        if parts.is_empty() && !removed.is_empty() {
            parts.push(Vec::new());
        }
        for upserted in parts {
            let base_revision = self.fleet.revision;
            self.fleet.revision += 1;
            self.ports.outbox.send(Outgoing::FleetChanged(FleetChangedParams {
                epoch: self.fleet.epoch.clone(),
                revision: self.fleet.revision,
                base_revision,
                server_now: now,
                upserted,
                removed: std::mem::take(&mut removed),
            }));
        }
    }

    /// All agents, a page at a time; all pages of one list show one moment.
    pub(crate) fn fleet_list(&mut self, params: &FleetListParams) -> Result<FleetListResult, Failure> {
        let now = self.ports.clock.now();
        self.fleet.pages.retain(|_, list| list.until > now);
        let limit = (params.limit as usize).clamp(1, PAGE_AGENTS);
        let (list, start) = match &params.cursor {
            Some(cursor) => self.fleet.page_of(cursor)?,
            None => (self.new_list(now), 0),
        };
        let (agents, revision) = (Arc::clone(&list.agents), list.revision);
        let page: Vec<_> = in_messages(agents.iter().skip(start).take(limit).cloned().collect())
            .into_iter()
            .scan(0, |sent, part| {
                *sent += 1;
                // Four messages of 60 KiB keep the page under 256 KiB.
                (*sent <= 4).then_some(part)
            })
            .flatten()
            .collect();
        let next = start + page.len();
        let next_cursor = (next < agents.len()).then(|| self.fleet.keep(list, next));
        Ok(FleetListResult {
            epoch: self.fleet.epoch.clone(),
            revision,
            server_now: now,
            agents: page,
            next_cursor,
            limits: self.limits(),
        })
    }

    fn has_row(&self, agent: &AgentId) -> bool {
        self.roster.agent(agent).is_some() || self.restored.elsewhere(agent).is_some()
    }

    fn new_list(&mut self, now: Timestamp) -> PagedList {
        self.look_elsewhere();
        let ours = self.roster.agents().filter_map(|agent| self.summary(&agent.id));
        let agents = ours.chain(self.restored.rows_elsewhere().cloned()).collect();
        PagedList { key: None, revision: self.fleet.revision, until: now.plus_ms(PAGES_KEPT_MS), agents }
    }

    /// The row of an agent of this server, with what binds it at present.
    pub(super) fn row(&self, record: &AgentRecord) -> AgentSummary {
        let mut row = projection::summary(&self.roster, record);
        // Its session may have been narrowed since it was launched.
        if let Some(parent) = self.sessions.get(&record.session) {
            row.permission_mode = row.permission_mode.min(parent.context.borrow().mode());
        }
        row
    }

    /// Another mode binds the agents of a session.
    pub(super) fn mode_changed(&mut self, session: &SessionId) {
        let live = self.roster.agents_of(session).filter(|agent| !agent.status().is_final());
        let live: Vec<_> = live.map(|agent| agent.id.clone()).collect();
        for agent in live {
            self.row_changed(&agent);
        }
    }

    /// An agent's row.
    pub(crate) fn summary(&self, agent: &AgentId) -> Option<AgentSummary> {
        match self.roster.agent(agent) {
            Some(record) => Some(self.row(record)),
            None => self.restored.elsewhere(agent).cloned(),
        }
    }

    /// Limits in force for the session that was used last.
    pub(crate) fn limits(&self) -> Limits {
        let settings = self
            .default_session
            .as_ref()
            .and_then(|id| self.sessions.get(id))
            .map(|parent| parent.context.borrow().workspace.settings.clone());
        projection::limits(&settings.unwrap_or_default())
    }

    /// Counts of agents for a ping and a summary.
    pub(crate) fn counts(&self) -> protocol::AgentCounts {
        let counts = self.roster.counts(None);
        protocol::AgentCounts {
            queued: counts.queued,
            running: counts.running + counts.stopping,
            finished: counts.finished,
        }
    }

    pub(crate) fn session_count(&self) -> u32 {
        self.sessions.len() as u32
    }

    /// Whether somebody takes updates of foreground agents, or of all agents as work-done progress.
    pub(super) fn wants_updates(&self) -> bool {
        self.ports.work_done || self.sessions.values().any(|parent| parent.updates.is_some())
    }

    /// Work-done progress and updates of one agent: of foreground agents always, of background ones only for a client that
    /// has no roster to see them in.
    fn tell_progress(&mut self, agent: &AgentId, status: bool) {
        let Some(record) = self.roster.agent(agent) else {
            self.ports
                .outbox
                .work_done(Subject::Agent(agent.clone(), EVERY_RUN), Fact::End { message: None });
            self.updates_dirty.remove(agent);
            return;
        };
        if self.ports.work_done && (!record.is_background() || !self.fleet.told) {
            let subject = Subject::Agent(agent.clone(), record.run_number());
            let outbox = &self.ports.outbox;
            match record.status() {
                AgentStatus::Queued => {}
                AgentStatus::Running | AgentStatus::Stopping => {
                    if status {
                        let title = format!("{}: {}", record.display_name, record.description);
                        outbox.work_done(subject.clone(), Fact::Begin { title });
                    }
                    let message = projection::progress_message(record);
                    outbox.work_done(subject, Fact::Report { message });
                }
                ended => outbox.work_done(subject, Fact::End { message: Some(ended.as_str().to_owned()) }),
            }
        }
        if record.is_background() || record.tool_call().is_none() {
            return;
        }
        // A change of state is told at once; progress waits for its place.
        if status {
            self.updates_dirty.remove(agent);
            self.send_update(agent);
        } else {
            self.updates_dirty.insert(agent.clone());
        }
    }

    /// Sends the update of one agent for each session that has some, in turn: as often as this is called, which keeps a
    /// token at ten a second.
    pub(super) fn send_updates(&mut self) {
        if self.updates_dirty.is_empty() || self.ports.outbox.is_congested() {
            return;
        }
        let mut sessions = BTreeSet::new();
        let mut next = Vec::new();
        let after = self.last_update.take();
        let (earlier, later): (Vec<_>, Vec<_>) = self
            .updates_dirty
            .iter()
            .cloned()
            .partition(|agent| after.as_ref().is_some_and(|last| agent <= last));
        for agent in later.into_iter().chain(earlier) {
            let session = self.roster.agent(&agent).map(|record| record.session.clone());
            if session.is_none_or(|session| sessions.insert(session)) {
                next.push(agent);
            }
        }
        for agent in next {
            self.updates_dirty.remove(&agent);
            self.send_update(&agent);
            self.last_update = Some(agent);
        }
    }

    fn send_update(&self, agent: &AgentId) {
        let Some(record) = self.roster.agent(agent) else { return };
        let Some(token) = self.sessions.get(&record.session).and_then(|parent| parent.updates.clone()) else {
            return;
        };
        let (Some(tool_call_id), Some(summary)) = (record.tool_call().cloned(), self.summary(agent)) else {
            return;
        };
        let (agent_id, run, text_tail) = (agent.clone(), record.run_number(), self.text_tail(agent));
        let update = AgentUpdate { tool_call_id, agent_id, run, summary, text_tail };
        self.ports.outbox.send(Outgoing::Update(token, Box::new(update)));
    }
}

impl FleetFeed {
    fn page_of(&self, cursor: &str) -> Result<(PagedList, usize), Failure> {
        let parsed =
            cursor.split_once('.').and_then(|(list, start)| Some((list.parse().ok()?, start.parse().ok()?)));
        let (list, start): (u64, usize) =
            parsed.ok_or_else(|| Failure::bad_param("cursor", "not one of ours"))?;
        let list = self.pages.get(&list).cloned().ok_or_else(|| {
            Failure::new(ErrorCode::ContentModified, "this list is too old to go on with")
                .hint("list again from the start")
        })?;
        Ok((list, start))
    }

    fn keep(&mut self, list: PagedList, next: usize) -> String {
        let key = list.key.unwrap_or_else(|| {
            self.next_list += 1;
            self.next_list
        });
        self.pages.insert(key, PagedList { key: Some(key), ..list });
        while self.pages.len() > LISTS_KEPT {
            self.pages.pop_first();
        }
        format!("{key}.{next}")
    }
}

/// Splits rows so that each part fits a notification.
fn in_messages<T: serde::Serialize>(rows: Vec<T>) -> Vec<Vec<T>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut bytes = 0;
    for row in rows {
        let size = serde_json::to_vec(&row).map_or(0, |json| json.len());
        if bytes + size > MESSAGE_BYTES && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += size;
        part.push(row);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
