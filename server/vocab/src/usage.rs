//! Tokens and money, and how they add.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What model requests have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a provider's cache.
    pub input: u64,
    /// Tokens that the model wrote, thinking included.
    pub output: u64,
    /// Prompt tokens read from a provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to a provider's cache.
    pub cache_write: u64,
    /// `input + output + cacheWrite`. `cacheRead` is left out, since each request reads the whole prefix again.
    pub total: u64,
    /// US dollars; absent where the price of any part is unknown, never 0 for "unknown".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Usage of one request, with its `total` worked out and no price.
    pub fn of_tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        let total = input.saturating_add(output).saturating_add(cache_write);
        Self { input, output, cache_read, cache_write, total, cost_usd: None }
    }

    /// Whether nothing was used at all.
    pub fn is_empty(&self) -> bool {
        self.total == 0 && self.cache_read == 0
    }
}

impl AddAssign for Usage {
    /// Adds tokens; the cost stays known only while every part that used tokens has one.
    fn add_assign(&mut self, other: Self) {
        self.cost_usd = match (self.is_empty(), other.is_empty()) {
            (true, _) => other.cost_usd.or(self.cost_usd),
            (_, true) => self.cost_usd,
            _ => self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b),
        };
        // Numbers may come from a file that somebody has touched: a sum is capped, never a fault.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total = self.total.saturating_add(other.total);
    }
}

/// What a run may use; a part that is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Tokens that count towards [`Usage::total`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// US dollars, more than 0. Requests whose price is unknown are not counted: they are not free, they cannot be
    /// measured. A limit of tokens binds there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Budget {
    /// Whether it limits nothing.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_none() && self.cost_usd.is_none()
    }

    /// The first part that is no positive number, by its name, with what it must be.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.tokens == Some(0) {
            return Some(("tokens", "must be a whole number of at least 1"));
        }
        let sound = |cost: f64| cost.is_finite() && cost > 0.0;
        self.cost_usd.filter(|cost| !sound(*cost)).map(|_| ("costUsd", "must be a number above 0"))
    }

    /// What both allow: the smaller of each part.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let smaller = |a: f64, b: f64| if b < a { b } else { a };
        Self {
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            cost_usd: self.cost_usd.into_iter().chain(other.cost_usd).reduce(smaller),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Usage};

    #[test]
    fn of_two_budgets_the_smaller_part_binds() {
        let call = Budget { tokens: Some(10), cost_usd: None };
        let definition = Budget { tokens: Some(20), cost_usd: Some(0.5) };
        assert_eq!(call.and(definition), Budget { tokens: Some(10), cost_usd: Some(0.5) });
        assert_eq!(definition.and(call), call.and(definition));
        assert_eq!(call.and(Budget::default()), call);
        assert!(Budget::default().and(Budget::default()).is_empty());
    }

    #[test]
    fn a_budget_is_positive() {
        let field = |budget: Budget| budget.fault().map(|(field, _)| field);
        assert_eq!(field(Budget { tokens: Some(0), cost_usd: None }), Some("tokens"));
        for cost in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(field(Budget { tokens: None, cost_usd: Some(cost) }), Some("costUsd"), "{cost}");
        }
        assert_eq!(field(Budget { tokens: Some(1), cost_usd: Some(0.001) }), None);
    }

    fn priced(tokens: u64, cost: Option<f64>) -> Usage {
        Usage { cost_usd: cost, ..Usage::of_tokens(tokens, 0, 0, 0) }
    }

    #[test]
    fn a_sum_has_a_cost_only_if_every_part_has_one() {
        let mut sum = Usage::default();
        sum += priced(10, Some(0.5));
        sum += priced(10, Some(0.25));
        assert_eq!((sum.total, sum.cost_usd), (20, Some(0.75)));
        sum += Usage::default();
        assert_eq!(sum.cost_usd, Some(0.75));
        sum += priced(1, None);
        assert_eq!(sum.cost_usd, None);
        sum += priced(1, Some(1.0));
        assert_eq!(sum.cost_usd, None, "once unknown, unknown for good");
    }

    #[test]
    fn absurd_numbers_are_capped() {
        let mut sum = Usage::of_tokens(u64::MAX, 1, 0, 0);
        sum += Usage::of_tokens(u64::MAX, 1, 1, 1);
        assert_eq!(sum.total, u64::MAX);
    }

    #[test]
    fn reading_a_cache_is_not_part_of_the_total() {
        assert_eq!(Usage::of_tokens(1, 2, 100, 4).total, 7);
    }
}
