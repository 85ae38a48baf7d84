//! When a run has gone on long enough.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use model::ContentBlock;
use vocab::EndReason;

use crate::config::RunLimits;

/// What a model reads when its turns are used up.
pub(crate) const WRAP_UP: &str = "You have reached your turn limit. Do not call any more tools. \
    Give your final answer now, from what you have found so far, and say what is left undone.";

/// Counts what a run does.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    seen: HashSet<u64>,
    last_call: Option<u64>,
    identical: u32,
    stale_turns: u32,
    /// Whether the turn that is being counted brought something new.
    fresh: bool,
}

impl Guard {
    /// A model answered; `has_text` unless its text is blank.
    pub(crate) fn answer(&mut self, has_text: bool) {
        self.fresh = has_text;
    }

    /// A call of that answer has its result. The arguments are the raw text.
    pub(crate) fn call(&mut self, name: &str, arguments: &str, result: &[ContentBlock]) {
        let call = hash_of(&(name, arguments));
        let mut hasher = DefaultHasher::new();
        for block in result {
            match block {
                ContentBlock::Text { text } => text.hash(&mut hasher),
                ContentBlock::Image { data, .. } => data.hash(&mut hasher),
            }
        }
        let result = hasher.finish();
        // The kinds are told apart, or a result could pass for a call.
        self.fresh |= self.seen.insert(hash_of(&(0_u8, call)));
        self.fresh |= self.seen.insert(hash_of(&(1_u8, result)));
        let whole = hash_of(&(call, result));
        self.identical = if self.last_call == Some(whole) { self.identical + 1 } else { 1 };
        self.last_call = Some(whole);
    }

    /// The turn has ended.
    pub(crate) fn end_turn(&mut self) {
        self.stale_turns = if self.fresh { 0 } else { self.stale_turns + 1 };
    }

    /// Whether the model is to be told to wrap up, after a turn that ended with calls to answer.
    pub(crate) fn should_wrap_up(limits: &RunLimits, turns: u32) -> bool {
        limits.max_turns > 0 && turns >= limits.max_turns
    }

    /// Why another request must not start.
    pub(crate) fn exceeded(&self, limits: &RunLimits, turns: u32) -> Option<EndReason> {
        let reached = |value: u64, limit: u64| limit > 0 && value >= limit;
        if limits.max_turns > 0 && turns >= limits.max_turns.saturating_add(limits.grace_turns) {
            return Some(EndReason::MaxTurns);
        }
        if reached(self.identical.into(), limits.identical_calls.into()) {
            return Some(EndReason::RepeatedCall);
        }
        reached(self.stale_turns.into(), limits.no_progress_turns.into()).then_some(EndReason::NoProgress)
    }
}

/// What a limit did, for people.
pub(crate) fn limit_text(reason: EndReason, limits: &RunLimits) -> String {
    match reason {
        EndReason::MaxTurns => {
            format!("ended after {} turns and {} more to wrap up", limits.max_turns, limits.grace_turns)
        }
        EndReason::RepeatedCall => {
            format!("ended after {} identical calls with identical results", limits.identical_calls)
        }
        EndReason::NoProgress => {
            format!("ended after {} turns without anything new", limits.no_progress_turns)
        }
        _ => "ended by a limit".to_owned(),
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use model::ContentBlock;
    use vocab::{Budget, EndReason};

    use super::Guard;
    use crate::config::RunLimits;

    fn none() -> RunLimits {
        RunLimits {
            max_turns: 0,
            grace_turns: 0,
            budget: Budget::default(),
            identical_calls: 0,
            no_progress_turns: 0,
        }
    }

    fn turn(guard: &mut Guard, has_text: bool, calls: &[(&str, &str)]) {
        guard.answer(has_text);
        for (arguments, result) in calls {
            guard.call("t", arguments, &[ContentBlock::text(*result)]);
        }
        guard.end_turn();
    }

    #[test]
    fn zero_is_no_limit() {
        let mut guard = Guard::default();
        for _ in 0..100 {
            turn(&mut guard, false, &[("{}", "same")]);
        }
        assert_eq!(guard.exceeded(&none(), 1_000), None);
    }

    #[test]
    fn turns_end_after_the_grace() {
        let limits = RunLimits { max_turns: 3, grace_turns: 2, ..none() };
        assert!(!Guard::should_wrap_up(&limits, 2));
        assert!(Guard::should_wrap_up(&limits, 3));
        let guard = Guard::default();
        assert_eq!(guard.exceeded(&limits, 4), None);
        assert_eq!(guard.exceeded(&limits, 5), Some(EndReason::MaxTurns));
    }

    #[test]
    fn identical_calls_count_only_in_a_row() {
        let limits = RunLimits { identical_calls: 3, ..none() };
        let mut guard = Guard::default();
        turn(&mut guard, true, &[("a", "1"), ("a", "1")]);
        turn(&mut guard, true, &[("a", "2")]);
        turn(&mut guard, true, &[("a", "1"), ("a", "1")]);
        assert_eq!(guard.exceeded(&limits, 3), None);
        turn(&mut guard, true, &[("a", "1")]);
        assert_eq!(guard.exceeded(&limits, 4), Some(EndReason::RepeatedCall));
    }

    #[test]
    fn text_a_new_call_or_a_new_result_is_progress() {
        let limits = RunLimits { no_progress_turns: 2, ..none() };
        let mut guard = Guard::default();
        turn(&mut guard, false, &[("a", "1")]);
        turn(&mut guard, false, &[("b", "2")]);
        turn(&mut guard, false, &[("a", "1")]);
        turn(&mut guard, false, &[("a", "3")]);
        turn(&mut guard, false, &[("b", "1")]);
        turn(&mut guard, true, &[("b", "1")]);
        turn(&mut guard, false, &[("a", "2")]);
        assert_eq!(guard.exceeded(&limits, 7), None);
        turn(&mut guard, false, &[("b", "3")]);
        assert_eq!(guard.exceeded(&limits, 8), Some(EndReason::NoProgress));
    }
}
