//! What a request costs.

use vocab::Usage;

/// US dollars a million tokens. A rate that is not known is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Price {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// Other rates for long prompts. The highest tier that a prompt exceeds holds for the whole request.
    pub tiers: Vec<PriceTier>,
}

/// Rates of requests whose prompt is longer than `above` tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTier {
    pub above: u64,
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

impl Price {
    /// US dollars of one request; `None` where a rate that it needs is unknown.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        let tier = self.tiers.iter().filter(|tier| tier.above < prompt).max_by_key(|tier| tier.above);
        let [input, output, read, write] = match tier {
            Some(t) => [t.input, t.output, t.cache_read, t.cache_write],
            None => [self.input, self.output, self.cache_read, self.cache_write],
        };
        let parts = [
            (input, usage.input),
            (output, usage.output),
            (read, usage.cache_read),
            (write, usage.cache_write),
        ];
        parts
            .into_iter()
            .filter(|(_, tokens)| *tokens > 0)
            .try_fold(0.0, |sum, (rate, tokens)| Some(sum + rate? * tokens as f64 / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::{Price, PriceTier};
    use vocab::Usage;

    fn price() -> Price {
        Price {
            input: Some(2.0),
            output: Some(10.0),
            tiers: vec![PriceTier {
                above: 1_000_000,
                input: Some(4.0),
                output: Some(20.0),
                cache_read: None,
                cache_write: None,
            }],
            ..Price::default()
        }
    }

    #[test]
    fn a_cost_is_known_only_with_every_rate_it_needs() {
        assert_eq!(price().cost(&Usage::of_tokens(500_000, 100_000, 0, 0)), Some(2.0));
        assert_eq!(price().cost(&Usage::of_tokens(500_000, 100_000, 1, 0)), None);
        assert_eq!(price().cost(&Usage::default()), Some(0.0));
    }

    #[test]
    fn a_tier_holds_for_the_whole_request() {
        assert_eq!(price().cost(&Usage::of_tokens(2_000_000, 0, 0, 0)), Some(8.0));
    }
}
