//! What the suites share: a scripted model over HTTP, a strict client of the real binary over stdio, a folder to work in,
//! and a look at the processes of this machine.
//!
//! Everything here waits with a limit and says what it waited for.

pub mod binary;
pub mod client;
pub mod fake_model;
pub mod lab;
pub mod process;

use std::path::Path;
use std::time::{Duration, Instant};

/// The repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// How long a test waits for what should come at once; generous, since the machine may be busy.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Asks again and again until there is an answer.
///
/// # Panics
/// With `what`, if there is none within `limit`.
pub fn wait_until<T>(what: &str, limit: Duration, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(start.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
