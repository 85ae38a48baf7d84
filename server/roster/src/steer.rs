//! Messages into live runs: kept here while the agent is queued, handed over as soon as it has started.

use vocab::{AgentId, SteerId};

use crate::Roster;
use crate::collector::Collector;
use crate::effect::{Effect, Refusal, Reply};
use crate::input::{CallId, Steer};
use crate::record::RunState;

/// How many steers may wait for one queued agent.
pub const MAX_QUEUED_STEERS: usize = 64;

impl Roster {
    /// Takes a steer for a run that can still read it.
    pub(crate) fn steer(&mut self, call: CallId, agent: &AgentId, steer: Steer, fx: &mut Collector) {
        let Some(record) = self.record_mut(agent) else {
            return fx.refuse(call, Refusal::UnknownAgent(agent.clone()));
        };
        let (run, status, id) = (record.run.number, record.status(), steer.id.clone());
        match &mut record.run.state {
            RunState::Queued(queued) if queued.steers.len() >= MAX_QUEUED_STEERS => {
                fx.refuse(call, Refusal::TooManySteers { limit: MAX_QUEUED_STEERS as u32 });
            }
            RunState::Queued(queued) => {
                queued.steers.push(steer);
                fx.reply(call, Reply::Steered { steer: id, now: false });
            }
            RunState::Running(running) => {
                let now = running.set_up;
                fx.act(Effect::Steer { agent: agent.clone(), run, steer });
                fx.reply(call, Reply::Steered { steer: id, now });
            }
            RunState::Stopping(_) | RunState::Settled(_) => {
                fx.refuse(call, Refusal::NotRunning { agent: agent.clone(), status });
            }
        }
    }

    /// Takes a steer back, or asks the session that has it to.
    pub(crate) fn unsteer(&mut self, call: CallId, agent: &AgentId, steer: SteerId, fx: &mut Collector) {
        let Some(record) = self.record_mut(agent) else {
            return fx.refuse(call, Refusal::UnknownAgent(agent.clone()));
        };
        match &mut record.run.state {
            RunState::Queued(queued) => {
                let before = queued.steers.len();
                queued.steers.retain(|waiting| waiting.id != steer);
                fx.reply(call, Reply::Unsteered { withdrawn: queued.steers.len() < before });
            }
            RunState::Running(_) | RunState::Stopping(_) => {
                let (agent, run) = (agent.clone(), record.run.number);
                fx.act(Effect::Unsteer { call, agent, run, steer });
            }
            RunState::Settled(_) => fx.reply(call, Reply::Unsteered { withdrawn: false }),
        }
    }

    /// Keeps what a run could not deliver for its completion.
    pub(crate) fn steers_expired(&mut self, agent: &AgentId, run: u32, steers: Vec<Steer>) {
        let Some(record) = self.record_mut(agent).filter(|record| record.run.number == run) else { return };
        match &mut record.run.state {
            RunState::Running(running) => running.expired.extend(steers),
            RunState::Stopping(stopping) => stopping.expired.extend(steers),
            RunState::Queued(_) | RunState::Settled(_) => {}
        }
    }
}
