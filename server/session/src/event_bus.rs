//! A string-channel bus between extensions: JSON payloads, no order across handlers, nothing kept.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

type Handler = Arc<dyn Fn(&Value) + Send + Sync>;

/// One subscription; hand it to [`EventBus::unsubscribe`] to end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subscription(u64);

/// The bus. Clones are the same bus.
#[derive(Clone, Default)]
pub struct EventBus {
    inner: Arc<Mutex<Channels>>,
}

#[derive(Default)]
struct Channels {
    next: u64,
    handlers: HashMap<String, Vec<(Subscription, Handler)>>,
}

impl EventBus {
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `handler` for every payload of `channel`, in the task that emits; it must not block.
    pub fn on(&self, channel: &str, handler: impl Fn(&Value) + Send + Sync + 'static) -> Subscription {
        let mut channels = self.lock();
        channels.next += 1;
        let subscription = Subscription(channels.next);
        channels.handlers.entry(channel.to_owned()).or_default().push((subscription, Arc::new(handler)));
        subscription
    }

    /// Ends a subscription; false where it had ended before.
    pub fn unsubscribe(&self, subscription: Subscription) -> bool {
        let mut channels = self.lock();
        let mut found = false;
        channels.handlers.retain(|_, handlers| {
            let before = handlers.len();
            handlers.retain(|(id, _)| *id != subscription);
            found |= handlers.len() != before;
            !handlers.is_empty()
        });
        found
    }

    /// Hands the payload to each handler of the channel. A handler that panics is logged; the others still run.
    pub fn emit(&self, channel: &str, payload: &Value) {
        // Cloned out, so that a handler may subscribe, unsubscribe and emit without a deadlock.
        let handlers: Vec<Handler> = match self.lock().handlers.get(channel) {
            Some(handlers) => handlers.iter().map(|(_, handler)| Arc::clone(handler)).collect(),
            None => return,
        };
        for handler in handlers {
            if catch_unwind(AssertUnwindSafe(|| handler(payload))).is_err() {
                tracing::error!(channel, "an event handler panicked");
            }
        }
    }

    /// Whether anybody listens: what makes an expensive payload worth building.
    pub fn has_listeners(&self, channel: &str) -> bool {
        self.lock().handlers.contains_key(channel)
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBus").field("channels", &self.lock().handlers.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::EventBus;

    #[test]
    fn handlers_get_payloads_until_they_unsubscribe() {
        let bus = EventBus::new();
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        let subscription = bus.on("a", move |payload| {
            counter.fetch_add(payload["n"].as_u64().unwrap() as usize, Ordering::Relaxed);
        });
        bus.emit("a", &json!({ "n": 2 }));
        bus.emit("b", &json!({ "n": 50 }));
        assert!(bus.unsubscribe(subscription));
        assert!(!bus.unsubscribe(subscription));
        bus.emit("a", &json!({ "n": 2 }));
        assert_eq!(seen.load(Ordering::Relaxed), 2);
        assert!(!bus.has_listeners("a"));
    }

    #[test]
    fn a_panic_stays_in_its_handler() {
        let bus = EventBus::new();
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        bus.on("a", |_| panic!("a faulty handler"));
        bus.on("a", move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        bus.emit("a", &json!(null));
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_handler_may_use_the_bus() {
        let bus = EventBus::new();
        let again = bus.clone();
        bus.on("a", move |payload| again.emit("b", payload));
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        bus.on("b", move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        bus.emit("a", &json!(1));
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    }
}
