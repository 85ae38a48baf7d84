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

#[cfg(test)]
mod tests {
    use super::Usage;

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
