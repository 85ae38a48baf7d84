//! Gathers the effects of one input and puts them in order: first what is kept and done, then what is told.

use std::collections::{BTreeMap, BTreeSet};

use vocab::{AgentId, SessionId};

use crate::completion::Completion;
use crate::effect::{Effect, Fact, Refusal, Reply};
use crate::input::{CallId, Owner};

/// Effects of one input, by who they are for.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    acts: Vec<Effect>,
    changed: BTreeMap<AgentId, bool>,
    replies: Vec<Effect>,
    announcements: Vec<Effect>,
    wakes: BTreeSet<Owner>,
}

impl Collector {
    /// Something for the shell to do.
    pub(crate) fn act(&mut self, effect: Effect) {
        self.acts.push(effect);
    }

    pub(crate) fn record(&mut self, session: &SessionId, fact: Fact) {
        self.acts.push(Effect::Record { session: session.clone(), fact });
    }

    /// Several changes of one agent are one effect.
    pub(crate) fn changed(&mut self, agent: &AgentId, status: bool) {
        *self.changed.entry(agent.clone()).or_insert(false) |= status;
    }

    pub(crate) fn reply(&mut self, call: CallId, reply: Reply) {
        self.replies.push(Effect::Reply { call, reply });
    }

    pub(crate) fn refuse(&mut self, call: CallId, refusal: Refusal) {
        self.reply(call, Reply::Refused(refusal));
    }

    pub(crate) fn announce(&mut self, completions: Vec<Completion>, partial: bool, group: Option<String>) {
        self.announcements.push(Effect::Announce { completions, partial, group });
    }

    /// Several reasons to wake one owner are one effect.
    pub(crate) fn wake(&mut self, owner: Owner) {
        self.wakes.insert(owner);
    }

    /// How many rows are out of date.
    pub(crate) fn changes(&self) -> u64 {
        self.changed.len() as u64
    }

    /// In the order in which the shell is to carry them out. `may_wake`: whether there is still a reason to wake an owner.
    pub(crate) fn finish(self, may_wake: impl Fn(&Owner) -> bool) -> Vec<Effect> {
        let Self { mut acts, changed, replies, announcements, wakes } = self;
        acts.extend(changed.into_iter().map(|(agent, status)| Effect::Changed { agent, status }));
        acts.extend(replies);
        acts.extend(announcements);
        acts.extend(wakes.into_iter().filter(may_wake).map(|owner| Effect::Wake { owner }));
        acts
    }
}
