//! Work-done progress of foreground agents and of prompts: which `$/progress` values leave, and when.
//!
//! Pure: facts in, acts out, the time as a parameter. It keeps the promises of the wire contract: exactly one begin and
//! one end a token, nothing before the client accepted a token that we made, at most two reports a second a token with
//! the last one always sent, and at most [`MAX_TOKENS`] tokens of agents at one time, past which one token stands for all.

use std::collections::BTreeMap;

use protocol::ProgressToken;
use vocab::{AgentId, Timestamp};

/// Live tokens of agents at one time.
pub(crate) const MAX_TOKENS: usize = 20;

/// Least time between two reports on one token.
const REPORT_EVERY_MS: u64 = 500;

/// In place of a run's number: all runs of the agent.
pub(crate) const EVERY_RUN: u32 = 0;

/// What a progress stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// A token that the client sent with a request.
    Request(ProgressToken),
    /// One run of an agent; the token is ours.
    Agent(AgentId, u32),
    /// All agents past [`MAX_TOKENS`].
    Rest,
}

/// A fact about a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    Begin {
        title: String,
    },
    Report {
        message: String,
    },
    End {
        message: Option<String>,
    },
    /// The client answered the creation of our token.
    Created {
        accepted: bool,
    },
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Ask the client for this token, then say [`Fact::Created`].
    Create {
        subject: Subject,
        token: ProgressToken,
    },
    Begin {
        token: ProgressToken,
        title: String,
        cancellable: bool,
    },
    Report {
        token: ProgressToken,
        message: String,
    },
    End {
        token: ProgressToken,
        message: Option<String>,
    },
}

/// All live progress.
#[derive(Debug, Default)]
pub(crate) struct WorkDone {
    live: BTreeMap<Subject, Progress>,
    /// Subjects that share the aggregate.
    rest: std::collections::BTreeSet<Subject>,
    next_token: u64,
}

#[derive(Debug)]
struct Progress {
    token: ProgressToken,
    title: String,
    state: State,
    waiting: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Our token was asked for and not answered yet.
    Asked,
    Open {
        last_report: Option<Timestamp>,
    },
}

impl WorkDone {
    /// Takes one fact. Facts about a subject that is not live are late and ignored.
    pub(crate) fn apply(&mut self, now: Timestamp, subject: &Subject, fact: Fact) -> Vec<Act> {
        match fact {
            Fact::Begin { title } => self.begin(subject, title),
            Fact::Report { message } => self.report(now, subject, message),
            Fact::End { message } => match subject {
                Subject::Agent(agent, EVERY_RUN) => self.end_agent(agent),
                subject => self.end(subject, message),
            },
            Fact::Created { accepted } => self.created(now, subject, accepted),
        }
    }

    /// Sends what has waited long enough.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Vec<Act> {
        self.live.values_mut().filter_map(|progress| progress.flush(now)).collect()
    }

    /// When [`Self::tick`] has something to send.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.live
            .values()
            .filter(|progress| progress.waiting.is_some())
            .filter_map(|progress| match progress.state {
                State::Open { last_report: Some(at) } => Some(at.plus_ms(REPORT_EVERY_MS)),
                State::Open { last_report: None } => Some(Timestamp(0)),
                State::Asked => None,
            })
            .min()
    }

    /// The subject whose token this is: what a client's cancel means.
    pub(crate) fn subject_of(&self, token: &ProgressToken) -> Option<&Subject> {
        self.live.iter().find(|(_, progress)| progress.token == *token).map(|(subject, _)| subject)
    }

    fn begin(&mut self, subject: &Subject, title: String) -> Vec<Act> {
        if self.live.contains_key(subject) || self.rest.contains(subject) {
            return Vec::new();
        }
        if let Subject::Request(token) = subject {
            let act = Act::Begin { token: token.clone(), title: title.clone(), cancellable: true };
            let state = State::Open { last_report: None };
            self.live.insert(subject.clone(), Progress { token: token.clone(), title, state, waiting: None });
            return vec![act];
        }
        let of_agents = self.live.keys().filter(|live| matches!(live, Subject::Agent(..))).count();
        if *subject != Subject::Rest && of_agents >= MAX_TOKENS {
            self.rest.insert(subject.clone());
            return self.tell_rest();
        }
        self.next_token += 1;
        let token = ProgressToken::Text(format!("adjutant-{}", self.next_token));
        let progress = Progress { token: token.clone(), title, state: State::Asked, waiting: None };
        self.live.insert(subject.clone(), progress);
        vec![Act::Create { subject: subject.clone(), token }]
    }

    fn report(&mut self, now: Timestamp, subject: &Subject, message: String) -> Vec<Act> {
        let Some(progress) = self.live.get_mut(subject) else { return Vec::new() };
        progress.waiting = Some(message);
        progress.flush(now).into_iter().collect()
    }

    /// The agent is gone with all that ran for it.
    fn end_agent(&mut self, agent: &AgentId) -> Vec<Act> {
        let first = Subject::Agent(agent.clone(), 0);
        let last = Subject::Agent(agent.clone(), u32::MAX);
        let live = self.live.range(first.clone()..=last.clone()).map(|(subject, _)| subject.clone());
        let subjects: Vec<_> = live.chain(self.rest.range(first..=last).cloned()).collect();
        subjects.iter().flat_map(|subject| self.end(subject, None)).collect()
    }

    fn end(&mut self, subject: &Subject, message: Option<String>) -> Vec<Act> {
        if self.rest.remove(subject) {
            if self.rest.is_empty() {
                return self.end(&Subject::Rest, None);
            }
            return self.tell_rest();
        }
        let Some(progress) = self.live.remove(subject) else { return Vec::new() };
        match progress.state {
            // The client learns of the token by its answer at the earliest: without a begin there is no end.
            State::Asked => Vec::new(),
            State::Open { .. } => {
                let last =
                    progress.waiting.map(|message| Act::Report { token: progress.token.clone(), message });
                last.into_iter().chain([Act::End { token: progress.token, message }]).collect()
            }
        }
    }

    fn created(&mut self, now: Timestamp, subject: &Subject, accepted: bool) -> Vec<Act> {
        if !accepted {
            self.live.remove(subject);
            return Vec::new();
        }
        let Some(progress) = self.live.get_mut(subject).filter(|progress| progress.state == State::Asked)
        else {
            return Vec::new();
        };
        progress.state = State::Open { last_report: None };
        let begin = Act::Begin {
            token: progress.token.clone(),
            title: progress.title.clone(),
            cancellable: *subject != Subject::Rest,
        };
        let waiting = progress.flush(now);
        [begin].into_iter().chain(waiting).collect()
    }

    fn tell_rest(&mut self) -> Vec<Act> {
        let message = format!("{} more agents running", self.rest.len());
        let acts = self.begin(&Subject::Rest, "Agents".to_owned());
        if let Some(progress) = self.live.get_mut(&Subject::Rest) {
            progress.waiting = Some(message);
        }
        acts
    }
}

impl Progress {
    fn flush(&mut self, now: Timestamp) -> Option<Act> {
        let State::Open { last_report } = &mut self.state else { return None };
        if last_report.is_some_and(|at| now.ms_since(at) < REPORT_EVERY_MS) {
            return None;
        }
        let message = self.waiting.take()?;
        *last_report = Some(now);
        Some(Act::Report { token: self.token.clone(), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: u32) -> Subject {
        Subject::Agent(AgentId::new(format!("a{n}")), 1)
    }

    fn begin() -> Fact {
        Fact::Begin { title: "t".into() }
    }

    fn report(text: &str) -> Fact {
        Fact::Report { message: text.into() }
    }

    #[test]
    fn nothing_is_said_on_our_token_before_the_client_took_it() {
        let mut work = WorkDone::default();
        assert!(matches!(work.apply(Timestamp(0), &agent(1), begin())[..], [Act::Create { .. }]));
        assert!(work.apply(Timestamp(0), &agent(1), report("x")).is_empty());
        let acts = work.apply(Timestamp(1), &agent(1), Fact::Created { accepted: true });
        assert!(
            matches!(&acts[..], [Act::Begin { cancellable: true, .. }, Act::Report { message, .. }] if message == "x")
        );
        assert!(matches!(
            work.apply(Timestamp(2), &agent(1), Fact::End { message: None })[..],
            [Act::End { .. }]
        ));
        assert!(work.apply(Timestamp(3), &agent(1), Fact::End { message: None }).is_empty(), "one end");
    }

    #[test]
    fn a_refused_or_outlived_token_is_never_used() {
        let mut work = WorkDone::default();
        work.apply(Timestamp(0), &agent(1), begin());
        assert!(work.apply(Timestamp(0), &agent(1), Fact::Created { accepted: false }).is_empty());
        assert!(work.apply(Timestamp(0), &agent(1), Fact::End { message: None }).is_empty());

        work.apply(Timestamp(0), &agent(2), begin());
        assert!(work.apply(Timestamp(0), &agent(2), Fact::End { message: None }).is_empty());
        assert!(work.apply(Timestamp(0), &agent(2), Fact::Created { accepted: true }).is_empty());
    }

    #[test]
    fn reports_are_at_most_two_a_second_and_the_last_one_is_sent() {
        let mut work = WorkDone::default();
        let subject = Subject::Request(ProgressToken::Number(7));
        work.apply(Timestamp(0), &subject, begin());
        let mut sent = 0;
        for ms in 0..1000 {
            sent += work.apply(Timestamp(ms), &subject, report(&format!("{ms}"))).len();
        }
        assert_eq!(sent, 2);
        assert_eq!(work.next_deadline(), Some(Timestamp(1000)));
        assert!(matches!(&work.tick(Timestamp(1000))[..], [Act::Report { message, .. }] if message == "999"));
        assert_eq!(work.next_deadline(), None);
        work.apply(Timestamp(1001), &subject, report("tail"));
        let acts = work.apply(Timestamp(1002), &subject, Fact::End { message: None });
        assert!(matches!(&acts[..], [Act::Report { message, .. }, Act::End { .. }] if message == "tail"));
    }

    #[test]
    fn an_agent_that_is_gone_ends_what_it_had() {
        let mut work = WorkDone::default();
        work.apply(Timestamp(0), &agent(1), begin());
        work.apply(Timestamp(0), &agent(1), Fact::Created { accepted: true });
        let gone = Subject::Agent(AgentId::new("a1"), EVERY_RUN);
        assert!(matches!(
            work.apply(Timestamp(1), &gone, Fact::End { message: None })[..],
            [Act::End { .. }]
        ));
        assert!(work.apply(Timestamp(1), &gone, Fact::End { message: None }).is_empty());
    }

    #[test]
    fn many_agents_share_one_token_past_the_limit() {
        let mut work = WorkDone::default();
        let (mut created, mut ended) = (0, 0);
        let mut count = |acts: Vec<Act>, work: &mut WorkDone, now| {
            for act in acts {
                match act {
                    Act::Create { subject, .. } => {
                        created += 1;
                        work.apply(now, &subject, Fact::Created { accepted: true });
                    }
                    Act::End { .. } => ended += 1,
                    _ => {}
                }
            }
        };
        for n in 0..200 {
            let acts = work.apply(Timestamp(n), &agent(n as u32), begin());
            count(acts, &mut work, Timestamp(n));
        }
        assert_eq!(work.live.len(), MAX_TOKENS + 1);
        for n in 0..200 {
            let acts = work.apply(Timestamp(n), &agent(n as u32), Fact::End { message: None });
            count(acts, &mut work, Timestamp(n));
        }
        assert_eq!((created, ended), (MAX_TOKENS + 1, MAX_TOKENS + 1));
        assert!(work.live.is_empty() && work.rest.is_empty());
    }
}
