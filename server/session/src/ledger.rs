//! Who has spent what. Each model request is counted here and nowhere else: into its run, its session and the ledger of
//! the root session. What is read from a file was counted by the server that wrote it, and is only remembered.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{Budget, EndReason, Usage};

use crate::config::SessionKind;
use crate::run::{RunState, Stop};
use crate::session::Session;

/// A sum over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub usage: Usage,
    /// US dollars of those requests whose price is known: surely spent, even where `usage.cost_usd` is unknown.
    pub known_cost: f64,
}

impl Tally {
    /// Adds one request, or the sum of several.
    pub fn add(&mut self, usage: Usage) {
        self.usage += usage;
        self.known_cost += usage.cost_usd.unwrap_or(0.0);
    }

    /// The part of a budget that is used up.
    pub fn exhausts(&self, budget: &Budget) -> Option<EndReason> {
        if budget.tokens.is_some_and(|tokens| self.usage.total >= tokens) {
            return Some(EndReason::Tokens);
        }
        budget.cost_usd.is_some_and(|cost| self.known_cost >= cost).then_some(EndReason::Cost)
    }
}

/// What a root session and all its agents spend: one counter that each of them adds to, and looks at before a request.
/// Clones are the same ledger.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {
    spent: Tally,
    limit: Budget,
    /// What agents have spent and nobody has been told; none while nobody wants to be.
    report: Option<Usage>,
}

impl Ledger {
    /// Counts one request of a session.
    pub fn record(&self, spender: SessionKind, usage: Usage) {
        let mut books = self.books();
        books.spent.add(usage);
        if spender == SessionKind::Child
            && let Some(report) = &mut books.report
        {
            *report += usage;
        }
    }

    /// Takes over what an earlier server counted. It is no news to anybody.
    pub fn remember(&self, usage: Usage) {
        self.books().spent.add(usage);
    }

    /// What all of them may spend together.
    pub fn set_limit(&self, limit: Budget) {
        self.books().limit = limit;
    }

    /// The part of the limit that is used up, with the limit.
    pub fn exhausted(&self) -> Option<(EndReason, Budget)> {
        let books = self.books();
        books.spent.exhausts(&books.limit).map(|reason| (reason, books.limit))
    }

    pub fn spent(&self) -> Usage {
        self.books().spent.usage
    }

    /// Whether the spending of agents is gathered for a report. Turned off, what has been gathered is forgotten.
    pub fn set_reporting(&self, on: bool) {
        let report = &mut self.books().report;
        match (on, &report) {
            (true, None) => *report = Some(Usage::default()),
            (false, Some(_)) => *report = None,
            _ => {}
        }
    }

    /// Takes what agents have spent since this was last asked; nothing where that is nothing.
    pub fn take_report(&self) -> Option<Usage> {
        let mut books = self.books();
        books.report.as_mut().map(std::mem::take).filter(|usage| !usage.is_empty())
    }

    // A sum has no half-done state that a panic could leave behind.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ledger").field(&*self.books()).finish()
    }
}

impl Session {
    /// Counts a request that this session has made, whatever became of it.
    pub(crate) fn charge(&mut self, run: &mut RunState, usage: Usage) {
        run.spent.add(usage);
        run.usage += usage;
        self.usage += usage;
        self.ledger.record(self.kind, usage);
        let sum = run.usage;
        self.progress.update(|progress| progress.usage = sum);
    }

    /// Takes in what others have spent for a call of this session. They have counted it: no limit sees it again.
    pub(crate) fn take_report(&mut self, run: &mut RunState, usage: Usage) {
        run.usage += usage;
        self.usage += usage;
    }

    /// Why no further request may be made: the run's budget or the root session's limit is used up.
    pub(crate) fn overspent(&self, run: &RunState) -> Option<Stop> {
        let own = self.limits.budget;
        let own = run.spent.exhausts(&own).map(|reason| (reason, own, "its budget"));
        let session =
            || self.ledger.exhausted().map(|(reason, limit)| (reason, limit, "the session's limit"));
        let (reason, budget, whose) = own.or_else(session)?;
        Some(Stop::limit(reason, format!("ended at {whose} of {}", amount(reason, &budget))))
    }
}

/// The part of a budget that a reason names, for people.
pub fn amount(reason: EndReason, budget: &Budget) -> String {
    match reason {
        EndReason::Cost => format!("${}", budget.cost_usd.unwrap_or_default()),
        _ => format!("{} tokens", budget.tokens.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use vocab::{Budget, EndReason, Usage};

    use super::{Ledger, Tally};
    use crate::SessionKind;

    fn priced(tokens: u64, cost: Option<f64>) -> Usage {
        Usage { cost_usd: cost, ..Usage::of_tokens(tokens, 0, 0, 0) }
    }

    #[test]
    fn an_unknown_price_is_not_taken_for_nothing_and_hides_no_known_one() {
        let mut tally = Tally::default();
        tally.add(priced(10, None));
        let budget = Budget { tokens: None, cost_usd: Some(1.0) };
        assert_eq!((tally.usage.cost_usd, tally.exhausts(&budget)), (None, None));
        tally.add(priced(10, Some(1.5)));
        assert_eq!((tally.usage.cost_usd, tally.exhausts(&budget)), (None, Some(EndReason::Cost)));
        assert_eq!(tally.exhausts(&Budget { tokens: Some(20), cost_usd: None }), Some(EndReason::Tokens));
        assert_eq!(tally.exhausts(&Budget { tokens: Some(21), cost_usd: None }), None);
    }

    #[test]
    fn all_spend_from_one_limit() {
        let ledger = Ledger::default();
        ledger.record(SessionKind::Parent, priced(60, None));
        assert_eq!(ledger.exhausted(), None, "nothing is limited");
        let limit = Budget { tokens: Some(100), cost_usd: None };
        ledger.set_limit(limit);
        ledger.clone().record(SessionKind::Child, priced(30, None));
        assert_eq!(ledger.exhausted(), None);
        ledger.remember(priced(10, None));
        assert_eq!(ledger.exhausted(), Some((EndReason::Tokens, limit)));
        assert_eq!(ledger.spent().total, 100);
    }

    #[test]
    fn a_report_has_each_request_of_an_agent_once() {
        let ledger = Ledger::default();
        ledger.record(SessionKind::Child, priced(1, None));
        ledger.set_reporting(true);
        assert_eq!(ledger.take_report(), None, "what came before was not asked for");
        ledger.record(SessionKind::Child, priced(2, Some(0.5)));
        ledger.record(SessionKind::Child, priced(3, Some(0.5)));
        ledger.record(SessionKind::Parent, priced(100, None));
        ledger.remember(priced(100, None));
        ledger.set_reporting(true);
        assert_eq!(ledger.take_report(), Some(priced(5, Some(1.0))));
        assert_eq!(ledger.take_report(), None);
        ledger.record(SessionKind::Child, priced(7, None));
        ledger.set_reporting(false);
        assert_eq!(ledger.take_report(), None);
        ledger.set_reporting(true);
        ledger.record(SessionKind::Child, priced(11, None));
        assert_eq!(ledger.take_report(), Some(priced(11, None)), "what was pending is forgotten");
    }
}
