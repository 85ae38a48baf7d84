//! Who owns whom: the tree of a session's agents, and what is summed over it.

use vocab::{AgentId, Usage};

use crate::Roster;
use crate::input::Owner;
use crate::record::{AgentRecord, Slot};

/// An agent with everything under it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Subtree {
    /// Agents under it, itself not counted.
    pub agents: u32,
    /// Those of them that have not ended.
    pub running: u32,
    /// Its own usage and theirs, of all runs.
    pub usage: Usage,
}

impl Roster {
    /// The agents that an agent owns, in creation order; nothing where it is unknown.
    pub fn children_of(&self, agent: &AgentId) -> impl Iterator<Item = &AgentRecord> {
        let children = self.agent(agent).map_or(&[][..], |record| record.children.as_slice());
        children.iter().filter_map(|slot| self.records.get(slot))
    }

    /// Sums over an agent and everything under it. Costs a step for each agent there.
    pub fn subtree(&self, agent: &AgentId) -> Subtree {
        let mut sum = Subtree::default();
        let Some(root) = self.agent(agent) else { return sum };
        sum.usage = root.usage();
        let mut open = root.children.clone();
        while let Some(record) = open.pop().and_then(|slot| self.records.get(&slot)) {
            sum.agents += 1;
            sum.running += u32::from(!record.status().is_final());
            sum.usage += record.usage();
            open.extend_from_slice(&record.children);
        }
        sum
    }

    /// Whether an owner still has something to come: a live background run, or news that is a reason to go on. An owner
    /// that would end waits as long as this is so.
    pub fn outstanding(&self, owner: &Owner) -> bool {
        self.mailbox(owner).is_some_and(|mailbox| !mailbox.is_done())
    }

    /// Everything live under an agent, owners before what they own.
    pub(crate) fn live_below(&self, slot: Slot) -> Vec<Slot> {
        let mut found: Vec<Slot> = self.records.get(&slot).map_or(Vec::new(), live_children);
        let mut next = 0;
        while let Some(record) = found.get(next).and_then(|slot| self.records.get(slot)) {
            next += 1;
            found.extend(live_children(record));
        }
        found
    }
}

fn live_children(record: &AgentRecord) -> Vec<Slot> {
    record.live_children.iter().copied().collect()
}
