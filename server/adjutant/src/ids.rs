//! New identifiers: unguessable enough that two never meet, short enough to read aloud.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// `<prefix>-<time><count><chance>` in base 36: sorts by time, and never repeats in one process.
pub(crate) fn unique(prefix: &str) -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(
        "{prefix}-{}{}{}",
        base36(since_epoch.as_millis() as u64, 8),
        base36(count, 2),
        base36(fastrand::u64(..36 * 36 * 36 * 36), 4)
    )
}

fn base36(mut number: u64, width: usize) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.len() < width {
        digits.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]));
        number /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_never_repeat() {
        let ids: std::collections::BTreeSet<_> = (0..5_000).map(|_| super::unique("a")).collect();
        assert_eq!(ids.len(), 5_000);
    }
}
