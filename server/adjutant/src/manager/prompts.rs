//! Prompts whose progress the client follows: a prompt's tokens are live from the start of its run to its answer.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::ProgressToken;
use tokio::task::AbortHandle;
use vocab::{PromptId, SessionId};

use super::{Manager, StartedPrompt};
use crate::delegation::text::{count, one_line, tokens};
use crate::work_done::{Fact, Subject};

/// How often a run's progress is looked at; what is sent is thinned further on.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// By prompt.
pub(super) type FollowedPrompts = BTreeMap<PromptId, FollowedPrompt>;

/// A prompt that came with a token.
pub(super) struct FollowedPrompt {
    session: SessionId,
    work_done: Option<ProgressToken>,
    updates: Option<ProgressToken>,
    /// Tells how the run is doing, once it has started.
    reporter: Option<AbortHandle>,
}

impl Manager {
    /// Keeps the tokens that came with a prompt until its run starts.
    pub(super) fn follow_prompt(
        &mut self,
        started: &StartedPrompt,
        work_done: Option<ProgressToken>,
        updates: Option<ProgressToken>,
    ) {
        if work_done.is_some() || updates.is_some() {
            let session = started.session.clone();
            let followed = FollowedPrompt { session, work_done, updates, reporter: None };
            self.followed_prompts.insert(started.prompt.clone(), followed);
        }
    }

    /// The run of a prompt has started: its tokens are live.
    pub(crate) fn prompt_started(&mut self, prompt: &PromptId) {
        let Some(followed) = self.followed_prompts.get_mut(prompt) else { return };
        let Some(parent) = self.sessions.get_mut(&followed.session) else { return };
        parent.updates.clone_from(&followed.updates);
        let Some(token) = followed.work_done.clone() else { return };
        let (outbox, subject) = (self.ports.outbox.clone(), Subject::Request(token));
        outbox.work_done(subject.clone(), Fact::Begin { title: "Adjutant".to_owned() });
        let mut progress = parent.handle.progress();
        let reporter = self.errands.spawn(async move {
            while progress.changed().await.is_ok() {
                let message = prompt_message(&progress.borrow_and_update());
                outbox.work_done(subject.clone(), Fact::Report { message });
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        followed.reporter = Some(reporter);
    }

    /// A prompt is answered, taken back or its session gone: its tokens end, exactly once.
    pub(crate) fn prompt_ended(&mut self, prompt: &PromptId) {
        let Some(followed) = self.followed_prompts.remove(prompt) else { return };
        if let Some(reporter) = followed.reporter {
            reporter.abort();
        }
        if let Some(parent) = self.sessions.get_mut(&followed.session)
            && parent.updates == followed.updates
        {
            parent.updates = None;
        }
        if let Some(token) = followed.work_done {
            self.ports.outbox.work_done(Subject::Request(token), Fact::End { message: None });
        }
    }

    /// The client cancelled a prompt's progress: that prompt is taken back.
    pub(crate) fn abort_prompt_of(&mut self, token: &ProgressToken) {
        let found =
            self.followed_prompts.iter().find(|(_, followed)| followed.work_done.as_ref() == Some(token));
        if let Some((prompt, followed)) = found {
            let (prompt, session) = (prompt.clone(), followed.session.clone());
            self.withdraw_prompt(&session, prompt);
        }
    }
}

fn prompt_message(progress: &session::RunProgress) -> String {
    let mut parts = Vec::new();
    parts.extend(progress.activity.as_deref().map(|activity| one_line(activity, 100)));
    parts.push(count(progress.turns, "turn"));
    if progress.usage.total > 0 {
        parts.push(tokens(progress.usage.total));
    }
    parts.join(" · ")
}
