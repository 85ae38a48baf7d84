//! A model that says what it is told to: an HTTP server on loopback that speaks OpenAI Chat Completions and Anthropic
//! Messages.
//!
//! `POST /v1/chat/completions`, `POST /v1/messages` (streamed or not), `GET /v1/models`, `GET /stats`,
//! `GET /log[?since=N]`, `POST /reset`. What it answers is chosen by a directive in the prompt:
//!
//! | directive | effect |
//! | --- | --- |
//! | `[[fan-out n=100 bg=true type=general-purpose tool=Agent per_turn=100]] …` | n calls of the tool, then one answer, then `ack`; the text behind it is the children's prompt, `%i` the index |
//! | `[[steps k=5 tool=read delay_ms=20 tokens=50 tok_ms=0 calls=1 path=… cmd="…" stamp=false id=%i]]` | k turns of text and a tool call, then `child-done:<id>` |
//! | `[[script NAME]]` | the lines that a test gave under that name |
//! | `[[fault KIND at=0 times=1 p=1.0 retry_after=1 after_tokens=3]]` | at that turn (`any`: each) the first `times` attempts fail |
//!
//! Kinds of fault: an HTTP status (a redirecting one leads to a place that must not be reached), `drop` (the connection
//! is cut in the stream), `eof` (the stream ends without its end), `error_event`, `malformed` (one broken event, then
//! the rest), `stall` (silence in the stream), `hang` (no answer at all).
//!
//! Every request is held against the rules of real providers: each call has one result.

mod directive;
mod log;
mod request;
mod script;
mod serve;
mod wire;

use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use self::log::{Record, Summary, now_us};
pub use self::script::{Call, Fault, Line};

use self::log::Log;
use self::script::Scripts;
use crate::wait_until;

/// What the handlers and the test look at together.
#[derive(Debug)]
struct Shared {
    log: Log,
    scripts: Mutex<Scripts>,
    /// The names of the gates that are open.
    gates: watch::Sender<Vec<String>>,
    keeps_bodies: bool,
}

impl Shared {
    fn new(keeps_bodies: bool) -> Arc<Self> {
        Arc::new(Self {
            log: Log::default(),
            scripts: Mutex::default(),
            gates: watch::Sender::default(),
            keeps_bodies,
        })
    }

    fn scripts(&self) -> MutexGuard<'_, Scripts> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn gate(&self, name: &str) {
        let mut gates = self.gates.subscribe();
        let _ = gates.wait_for(|open| open.iter().any(|gate| gate == name)).await;
    }
}

/// The scripted model inside a test. Dropping it ends it, and fails the test if a request broke a rule of real
/// providers.
#[derive(Debug)]
pub struct ScriptedServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Option<Runtime>,
    /// Requests that break a rule are what the test is about.
    tolerant: bool,
}

impl ScriptedServer {
    /// Starts on a free port of loopback and keeps every request whole.
    pub fn start() -> Self {
        Self::start_with(true)
    }

    /// Starts without keeping requests, for figures.
    pub fn start_lean() -> Self {
        Self::start_with(false)
    }

    fn start_with(keeps_bodies: bool) -> Self {
        let shared = Shared::new(keeps_bodies);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime for the scripted model");
        let listener = runtime.block_on(bind(0)).expect("a free port on loopback");
        let address = listener.local_addr().expect("the port is known");
        let served = Arc::clone(&shared);
        runtime.spawn(async move { serve_on(listener, served).await });
        Self { shared, address, runtime: Some(runtime), tolerant: false }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Does not fail the test for broken rules.
    pub fn tolerate_violations(&mut self) {
        self.tolerant = true;
    }

    /// Gives the lines of `[[script NAME]]`.
    pub fn script(&self, name: &str, lines: Vec<Line>) {
        self.shared.scripts().insert(name.to_owned(), lines);
    }

    /// Lets go what waits at this gate, now and later.
    pub fn open_gate(&self, name: &str) {
        self.shared.gates.send_modify(|open| open.push(name.to_owned()));
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Record> {
        self.shared.log.since(0)
    }

    /// The requests that played this script, or the steps with this id.
    pub fn requests_of(&self, id: &str) -> Vec<Record> {
        self.requests().into_iter().filter(|record| record.id == id).collect()
    }

    /// Waits until a request satisfies the condition, and gives it.
    pub fn wait_request(&self, what: &str, condition: impl Fn(&Record) -> bool) -> Record {
        wait_until(what, Duration::from_secs(20), || {
            self.requests().into_iter().find(|record| condition(record))
        })
    }

    /// How many requests have no end yet.
    pub fn open_requests(&self) -> usize {
        self.requests().iter().filter(|record| record.t_end == 0).count()
    }

    /// Forgets the log, but not that a request broke a rule.
    pub fn reset(&self) {
        self.shared.log.reset();
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let violations = self.shared.log.violations();
        if !self.tolerant && !std::thread::panicking() {
            assert!(
                violations.is_empty(),
                "the model was asked in a way that providers refuse: {violations:#?}"
            );
        }
    }
}

/// Serves on `port` (0: any that is free) until the process ends; `ready` gets the port.
pub async fn serve(port: u16, ready: impl FnOnce(u16)) -> std::io::Result<()> {
    let listener = bind(port).await?;
    ready(listener.local_addr()?.port());
    serve_on(listener, Shared::new(false)).await;
    Ok(())
}

async fn bind(port: u16) -> std::io::Result<tokio::net::TcpListener> {
    tokio::net::TcpListener::bind(("127.0.0.1", port)).await
}

async fn serve_on(listener: tokio::net::TcpListener, shared: Arc<Shared>) {
    let counted = Arc::clone(&shared);
    let listener = listener.tap_io(move |stream| {
        counted.log.accepted.fetch_add(1, Relaxed);
        let _ = stream.set_nodelay(true);
    });
    // It returns only when its runtime ends.
    let _ = axum::serve(listener, serve::router(shared)).await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// Posts a conversation and gives the whole answer.
    fn post(model: &ScriptedServer, messages: &str) -> String {
        let body = format!(r#"{{"model":"fake","messages":{messages}}}"#);
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", model.port())).unwrap();
        write!(
            stream,
            "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_well_formed_conversation_is_answered() {
        let model = ScriptedServer::start();
        assert!(post(&model, r#"[{"role":"user","content":"hi"}]"#).contains("ack"));
        assert_eq!(model.requests().len(), 1);
    }

    #[test]
    fn a_broken_one_fails_the_test_that_sent_it_even_after_a_reset() {
        let model = ScriptedServer::start_lean();
        post(&model, r#"[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"x"}]"#);
        model.reset();
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(model)));
        let message =
            dropped.expect_err("the model fails the test").downcast::<String>().expect("with words");
        assert!(message.contains("in a way that providers refuse"), "{message}");
    }
}
