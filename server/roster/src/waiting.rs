//! Callers that wait for a run or read its result, and what their reading does to its news.

use std::collections::btree_map::Entry;

use vocab::{AgentId, EndedBy};

use crate::Roster;
use crate::collector::Collector;
use crate::effect::{Fact, Refusal, Reply};
use crate::input::{CallId, Ending, Origin};
use crate::record::{RunKey, RunState, Slot};

/// A caller that waits for a run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) slot: Slot,
    /// Whether the answer is the parent's reading of the result.
    pub(crate) consume: bool,
}

impl Roster {
    /// Answers once the run is over, which may be at once.
    pub(crate) fn await_run(
        &mut self,
        call: CallId,
        agent: &AgentId,
        run: Option<u32>,
        consume: bool,
        fx: &mut Collector,
    ) {
        let (slot, number) = match self.run_of(agent, run) {
            Ok(found) => (found.slot, found.run),
            Err(refusal) => return fx.refuse(call, refusal),
        };
        let Some(record) = self.records.get_mut(&slot) else { return };
        if let Some(settled) = record.settled(number) {
            fx.reply(call, Reply::Settled(Box::new(settled.completion.clone())));
            if consume {
                self.consume(RunKey { slot, run: number }, fx);
            }
            return;
        }
        // One call has one answer; a second use of its number is not another caller.
        let Entry::Vacant(free) = self.waits.entry(call) else { return };
        free.insert(Wait { slot, consume });
        record.run.waiters.insert(call);
        let lives_by_its_call = !record.run.background && record.run.origin == Origin::Model;
        if let RunState::Running(running) = &mut record.run.state
            && lives_by_its_call
        {
            running.keeper.get_or_insert(call);
        }
    }

    /// Answers with the state of a run now.
    pub(crate) fn read(
        &mut self,
        call: CallId,
        agent: &AgentId,
        run: Option<u32>,
        consume: bool,
        fx: &mut Collector,
    ) {
        let key = match self.run_of(agent, run) {
            Ok(found) => found,
            Err(refusal) => return fx.refuse(call, refusal),
        };
        let Some(record) = self.records.get(&key.slot) else { return };
        let completion = record.completion_of(key.run).cloned().map(Box::new);
        let final_now = completion.is_some();
        let reply = Reply::Result {
            agent: agent.clone(),
            run: key.run,
            status: completion.as_ref().map_or(record.status(), |completion| completion.status()),
            queue_position: if final_now { None } else { self.queue_position(agent) },
            completion,
        };
        fx.reply(call, reply);
        if consume && final_now {
            self.consume(key, fx);
        }
    }

    /// A caller went away: it is not answered. The foreground run that lived by it is stopped, with what it owns.
    pub(crate) fn caller_gone(&mut self, call: CallId, fx: &mut Collector) {
        let Some(wait) = self.waits.remove(&call) else { return };
        let Some(record) = self.records.get_mut(&wait.slot) else { return };
        record.run.waiters.remove(&call);
        if let RunState::Running(running) = &record.run.state
            && running.keeper == Some(call)
        {
            let ending = Ending { by: EndedBy::Parent, reason: None };
            self.stop_family(wait.slot, ending, ending, fx);
        }
    }

    /// A person has seen a result.
    pub(crate) fn seen(&mut self, agent: &AgentId, run: u32, fx: &mut Collector) {
        let Some(settled) = self.record_mut(agent).and_then(|record| record.settled_mut(run)) else { return };
        if !std::mem::replace(&mut settled.seen, true) {
            let session = settled.completion.session.clone();
            fx.record(&session, Fact::Seen { agent: agent.clone(), run, at: self.now });
            fx.changed(agent, false);
        }
    }

    fn run_of(&self, agent: &AgentId, run: Option<u32>) -> Result<RunKey, Refusal> {
        let record = self.agent(agent).ok_or_else(|| Refusal::UnknownAgent(agent.clone()))?;
        let number = run.unwrap_or(record.run.number);
        if number == record.run.number || record.settled(number).is_some() {
            Ok(RunKey { slot: record.slot, run: number })
        } else {
            Err(Refusal::UnknownRun { agent: agent.clone(), run: number })
        }
    }
}
