//! The only source of "now" in the server.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use vocab::Timestamp;

/// Wall time at the start plus the runtime's elapsed time: it never goes back, and tests can pause it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_start: Timestamp,
    start: Instant,
}

impl Clock {
    /// A clock that starts at the system's time.
    pub fn system() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::starting_at(Timestamp(since_epoch.as_millis() as u64))
    }

    /// A clock that starts at a given time.
    pub fn starting_at(wall_start: Timestamp) -> Self {
        Self { wall_start, start: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        self.wall_start.plus_ms(self.start.elapsed().as_millis() as u64)
    }

    /// The runtime's instant at which this clock will show `at`.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        self.start + std::time::Duration::from_millis(at.ms_since(self.wall_start))
    }

    /// Milliseconds since the start.
    pub fn uptime_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}
