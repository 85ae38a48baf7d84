//! When a failed request is tried again. The caller sleeps and starts again, so that a retry is visible there.

use std::time::Duration;

use crate::ModelError;

/// The one retry layer: bounded attempts, a provider's hint before our own back-off, jitter only upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    pub enabled: bool,
    /// Retries after the first attempt, so 3 means four requests in all.
    pub max_retries: u32,
    /// Delay before the first retry; each further one doubles it.
    pub base_delay: Duration,
    /// No delay is longer, whatever the provider asks for.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// How long to wait before retry number `attempt` (1 is the first), or `None` where the error is final.
    pub fn next_delay(&self, attempt: u32, error: &ModelError) -> Option<Duration> {
        self.delay_with_jitter(attempt, error, fastrand::f64())
    }

    /// [`next_delay`](Self::next_delay) with its chance given: `jitter` in 0..1 adds up to a tenth.
    pub fn delay_with_jitter(&self, attempt: u32, error: &ModelError, jitter: f64) -> Option<Duration> {
        if !self.enabled || attempt == 0 || attempt > self.max_retries || !error.retryable() {
            return None;
        }
        let back_off = self.base_delay.saturating_mul(2_u32.saturating_pow(attempt - 1));
        let delay = error.retry_after().unwrap_or(back_off).min(self.max_delay);
        Some(delay + delay.mul_f64(jitter.clamp(0.0, 1.0) / 10.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::RetryPolicy;
    use crate::ModelError;

    fn http(status: u16, retry_after: Option<u64>, retry: Option<bool>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs);
        ModelError::Http { host: "h".into(), status, message: String::new(), retry_after, retry }
    }

    #[test]
    fn delays_double_and_end_after_the_last_retry() {
        let policy = RetryPolicy::default();
        let delays: Vec<_> = (1..=4)
            .map(|n| policy.delay_with_jitter(n, &http(529, None, None), 0.0).map(|d| d.as_secs()))
            .collect();
        assert_eq!(delays, [Some(2), Some(4), Some(8), None]);
    }

    #[test]
    fn a_hint_is_honoured_clamped_and_jittered_upwards_only() {
        let policy = RetryPolicy::default();
        let delay = |secs, jitter| policy.delay_with_jitter(1, &http(429, Some(secs), None), jitter);
        assert_eq!(delay(1, 0.0), Some(Duration::from_secs(1)));
        assert_eq!(delay(1, 1.0), Some(Duration::from_millis(1100)));
        assert_eq!(delay(3600, 0.0), Some(Duration::from_mins(1)));
        for _ in 0..100 {
            let drawn = policy.next_delay(1, &http(429, Some(1), None)).expect("retryable");
            assert!((1000..=1100).contains(&drawn.as_millis()));
        }
    }

    #[test]
    fn final_errors_are_not_retried() {
        let policy = RetryPolicy::default();
        for status in [400, 401, 403, 404, 422] {
            assert_eq!(policy.next_delay(1, &http(status, None, None)), None, "{status}");
        }
        assert_eq!(policy.next_delay(1, &http(503, None, Some(false))), None);
        assert!(policy.next_delay(1, &http(400, None, Some(true))).is_some());
        let off = RetryPolicy { enabled: false, ..policy };
        assert_eq!(off.next_delay(1, &http(503, None, None)), None);
        assert_eq!(policy.next_delay(0, &http(503, None, None)), None);
    }
}
