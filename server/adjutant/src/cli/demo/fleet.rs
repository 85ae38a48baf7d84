//! The fleet as the demo has been told of it.

use std::collections::BTreeMap;

use protocol::{AgentSummary, FleetChangedParams, FleetListResult};
use vocab::{AgentId, DeliveryState, EndedBy, Timestamp};

/// All agents, and where in the server's count of changes this is.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    epoch: String,
    revision: Option<u64>,
    pub(super) server_now: Timestamp,
    agents: BTreeMap<AgentId, AgentSummary>,
}

/// What an update came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    Taken,
    /// Something was missed: the whole list is needed.
    ListAgain,
}

impl Fleet {
    pub(super) fn replace(&mut self, list: FleetListResult) {
        self.epoch = list.epoch;
        self.revision = Some(list.revision);
        self.server_now = list.server_now;
        self.agents = list.agents.into_iter().map(|agent| (agent.agent_id.clone(), agent)).collect();
    }

    pub(super) fn change(&mut self, change: FleetChangedParams) -> Update {
        if self.epoch == change.epoch && self.revision.is_some_and(|known| change.revision <= known) {
            // The list that was asked for had it already.
            return Update::Taken;
        }
        if self.epoch != change.epoch || self.revision != Some(change.base_revision) {
            return Update::ListAgain;
        }
        self.revision = Some(change.revision);
        self.server_now = change.server_now;
        for agent in change.upserted {
            self.agents.insert(agent.agent_id.clone(), agent);
        }
        for agent in &change.removed {
            self.agents.remove(agent);
        }
        Update::Taken
    }

    /// In the order of their making.
    pub(super) fn agents(&self) -> Vec<&AgentSummary> {
        let mut agents: Vec<_> = self.agents.values().collect();
        agents.sort_by(|a, b| (a.created_at, &a.handle).cmp(&(b.created_at, &b.handle)));
        agents
    }

    /// Those that have not ended.
    pub(super) fn live(&self) -> usize {
        self.agents.values().filter(|agent| !agent.status.is_final()).count()
    }

    /// Ended agents whose news is still on its way to the parent and will wake it.
    pub(super) fn unreported(&self) -> usize {
        let on_the_way = |agent: &&AgentSummary| {
            let waits = matches!(agent.delivery, Some(DeliveryState::Pending | DeliveryState::Held));
            agent.status.is_final() && waits && agent.ended_by != Some(EndedBy::User)
        };
        self.agents.values().filter(on_the_way).count()
    }

    pub(super) fn get(&self, agent: &AgentId) -> Option<&AgentSummary> {
        self.agents.get(agent)
    }
}
