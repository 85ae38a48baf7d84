//! Agents of an earlier server. Nothing restored starts a model: their news waits until something else does.

use vocab::{AgentStatus, DeliveryState};

use crate::Roster;
use crate::collector::Collector;
use crate::delivery::NewsState;
use crate::input::{Progress, RestoredAgent, RestoredRun};
use crate::record::{AgentRecord, Place, RunKey, RunState, SettledRun};

impl Roster {
    /// Takes an agent that was read from disk. Its session need not be open yet; a known id changes nothing.
    pub(crate) fn restore(&mut self, agent: RestoredAgent, fx: &mut Collector) {
        let RestoredAgent { request, handle, alias, depth, created_at, runs } = agent;
        if self.ending || runs.is_empty() || self.ids.contains_key(&request.agent) {
            return;
        }
        let slot = self.next_slot();
        let session = self.sessions.entry(request.session.clone()).or_default();
        let handle = session.names.reclaim(handle, slot);
        let alias = alias.map(|alias| session.names.reclaim(alias, slot));
        session.agents.insert(slot);
        session.counts.shift(None, AgentStatus::Interrupted);
        let mut record = AgentRecord::new(request, Place { slot, depth, handle, alias, created_at });
        let (id, owner) = (record.id.clone(), record.owner());
        let mut waiting = Vec::new();
        let mut unannounced = Vec::new();
        let last = runs.len() - 1;
        for (index, mut run) in runs.into_iter().enumerate() {
            run.completion.restored = true;
            let number = run.completion.run;
            if run.delivery.is_some() && !run.announced {
                unannounced.push(run.completion.clone());
            }
            let settled = self.settled_from(run);
            if settled.news.as_ref().is_some_and(|news| news.state == NewsState::Pending) {
                waiting.push(RunKey { slot, run: number });
            }
            if index == last {
                record.run.number = number;
                record.run.background = settled.completion.background;
                record.run.state = RunState::Settled(Box::new(settled));
            } else {
                record.remember(number, Box::new(settled));
            }
        }
        self.adopt(record);
        for key in waiting {
            self.make_ready(&owner, key, fx);
        }
        if !unannounced.is_empty() {
            fx.announce(unannounced, false, None);
        }
        fx.changed(&id, true);
    }

    fn settled_from(&mut self, run: RestoredRun) -> SettledRun {
        let RestoredRun { mut completion, files, seen, announced: _, delivery } = run;
        if !completion.outcome.status.is_final() {
            completion.outcome.status = AgentStatus::Interrupted;
        }
        let news = delivery.map(|delivery| {
            let state = match delivery {
                DeliveryState::Pending | DeliveryState::Held => NewsState::Pending,
                DeliveryState::Delivered => NewsState::Delivered,
                DeliveryState::Consumed => NewsState::Consumed,
            };
            self.restored_news(state)
        });
        let progress = Progress {
            turns: completion.turns,
            tool_uses: completion.tool_uses,
            usage: completion.outcome.usage,
            context_percent: completion.context_percent,
            compactions: completion.compactions,
            files_total: files.len() as u32,
            files,
            ..Progress::default()
        };
        SettledRun { completion, progress, seen, news }
    }
}
