//! A client of the real binary over stdio: typed by the method table, strict about everything the server sends.
//!
//! Dropping it fails the test if the server wrote something that is no frame, an unknown or misshapen notification, an
//! answer that nobody asked for, or an error that the test did not look at.

mod follow;
mod frames;
mod inbox;

use std::io::{BufReader, Write};
use std::marker::PhantomData;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{ClientCapability, ClientRequest, ErrorCode, PROTOCOL_VERSION, ServerNotification};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use self::follow::{Progress, Transcript, prompt, spawn};
pub use self::inbox::{Asked, Note, RpcError};

use self::frames::Frame;
use self::inbox::Inbox;
use crate::lab::{self, Lab};
use crate::{LIMIT, process, wait_until};

/// What a handler of the server's requests says.
#[derive(Debug, Clone)]
pub enum Reply {
    Result(Value),
    Error(i64, String),
    /// No answer now; the test gives it later with [`StdioClient::answer`], or never.
    Hold,
}

type Handler = Box<dyn FnMut(&Asked) -> Reply + Send>;

struct Wire {
    inbox: Mutex<Inbox>,
    changed: Condvar,
    /// None once the test has closed it.
    input: Mutex<Option<ChildStdin>>,
    handler: Mutex<Handler>,
    stderr: Mutex<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request whose answer is still to come.
#[derive(Debug)]
pub struct Pending<T> {
    pub id: i64,
    pub sent: Instant,
    method: String,
    result: PhantomData<fn() -> T>,
}

/// How a client introduces itself.
#[derive(Debug, Clone)]
pub struct Introduction {
    /// None: an editor that knows nothing of ours.
    pub capability: Option<ClientCapability>,
    /// `capabilities` besides.
    pub capabilities: Value,
    /// `initializationOptions`.
    pub options: Value,
    /// `processId`; None: the test's own.
    pub process_id: Option<u32>,
}

impl Default for Introduction {
    /// A client of ours with all that this version has, and work-done progress; mode `auto`.
    fn default() -> Self {
        let capability = ClientCapability {
            protocol_version: PROTOCOL_VERSION,
            fleet: true,
            viewer: true,
            ..ClientCapability::default()
        };
        Self {
            capability: Some(capability),
            capabilities: json!({ "window": { "workDoneProgress": true, "showDocument": { "support": true } } }),
            options: json!({ "model": lab::MODEL, "trusted": true, "settings": { "permissions": { "mode": "auto" } } }),
            process_id: None,
        }
    }
}

impl Introduction {
    /// An editor that speaks LSP and nothing of ours.
    pub fn standard() -> Self {
        Self { capability: None, ..Self::default() }
    }

    /// The same with other settings.
    pub fn with_settings(mut self, settings: Value) -> Self {
        self.options["settings"] = settings;
        self
    }
}

/// The server and the way to it.
pub struct StdioClient {
    wire: Arc<Wire>,
    process: Child,
    next_id: i64,
    reader: Option<thread::JoinHandle<()>>,
    /// The answer to `initialize`.
    pub initialized: Value,
    tolerant: bool,
}

impl std::fmt::Debug for StdioClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioClient").field("pid", &self.process.id()).finish_non_exhaustive()
    }
}

impl StdioClient {
    /// The server in this lab, introduced as a client of ours.
    pub fn start(lab: &Lab) -> Self {
        Self::introduced(lab, Introduction::default())
    }

    /// The server in this lab, introduced like this.
    pub fn introduced(lab: &Lab, introduction: Introduction) -> Self {
        let mut client = Self::spawn(lab);
        client.introduce(lab, introduction);
        client
    }

    /// The server, to which nothing was said.
    pub fn spawn(lab: &Lab) -> Self {
        let mut command = lab.command();
        command.arg("--stdio");
        Self::of(command)
    }

    /// Whatever server this command starts.
    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the server starts");
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let (stdout, stderr) = (stdout.expect("piped"), process.stderr.take().expect("piped"));
        let wire = Arc::new(Wire {
            inbox: Mutex::default(),
            changed: Condvar::new(),
            input: Mutex::new(stdin),
            handler: Mutex::new(Box::new(default_handler)),
            stderr: Mutex::default(),
        });
        let reading = Arc::clone(&wire);
        let reader = thread::spawn(move || reading.read(BufReader::new(stdout)));
        let complaining = Arc::clone(&wire);
        thread::spawn(move || complaining.read_stderr(stderr));
        Self { wire, process, next_id: 1, reader: Some(reader), initialized: Value::Null, tolerant: false }
    }

    /// `initialize`, its answer, `initialized`.
    pub fn introduce(&mut self, lab: &Lab, introduction: Introduction) -> Value {
        let mut capabilities = introduction.capabilities;
        if let Some(capability) = introduction.capability {
            capabilities["experimental"]["adjutant"] = json!(capability);
        }
        let params = json!({
            "processId": introduction.process_id.unwrap_or_else(std::process::id),
            "clientInfo": { "name": "tests" },
            "rootUri": lab::file_uri(lab.work()),
            "workspaceFolders": [{ "uri": lab::file_uri(lab.work()), "name": "work" }],
            "capabilities": capabilities,
            "initializationOptions": introduction.options,
        });
        let pending = self.send_raw("initialize", &params);
        self.initialized = self.wait(&pending).expect("initialize is answered");
        self.notify("initialized", &json!({}));
        self.initialized.clone()
    }

    /// The number of the server's process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request of the contract.
    pub fn send<M: ClientRequest>(&mut self, params: &M::Params) -> Pending<M::Result> {
        let pending = self.send_raw(M::NAME, &json!(params));
        Pending { id: pending.id, sent: pending.sent, method: pending.method, result: PhantomData }
    }

    /// Sends a request of the contract and waits for its result.
    pub fn request<M: ClientRequest>(&mut self, params: &M::Params) -> M::Result {
        let pending = self.send::<M>(params);
        self.wait(&pending).unwrap_or_else(|error| panic!("{} was refused: {error:?}", M::NAME))
    }

    /// Sends a request of the contract with parameters that need not fit, and waits for the error.
    pub fn refused<M: ClientRequest>(&mut self, params: &Value) -> RpcError {
        self.refused_raw(M::NAME, params)
    }

    /// As [`Self::refused`], by name.
    pub fn refused_raw(&mut self, method: &str, params: &Value) -> RpcError {
        let pending = self.send_raw(method, params);
        match self.wait(&pending) {
            Err(error) => {
                assert_shape(&error);
                error
            }
            Ok(result) => panic!("{method} was to be refused, and answered {result}"),
        }
    }

    /// Sends any request.
    pub fn send_raw(&mut self, method: &str, params: &Value) -> Pending<Value> {
        let id = self.next_id;
        self.next_id += 1;
        lock(&self.wire.inbox).open.insert(id);
        let sent = Instant::now();
        self.wire.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        Pending { id, sent, method: method.to_owned(), result: PhantomData }
    }

    /// Runs a command with its one argument and waits for its result.
    pub fn command(&mut self, name: &str, argument: &Value) -> Value {
        let pending = self.send_command(name, argument);
        self.wait(&pending).unwrap_or_else(|error| panic!("{name} was refused: {error:?}"))
    }

    /// Runs a command.
    pub fn send_command(&mut self, name: &str, argument: &Value) -> Pending<Value> {
        self.send_raw("workspace/executeCommand", &json!({ "command": name, "arguments": [argument] }))
    }

    /// Waits for an answer.
    pub fn wait<T: DeserializeOwned>(&mut self, pending: &Pending<T>) -> Result<T, RpcError> {
        self.wait_for(pending, LIMIT).0
    }

    /// Waits for an answer within `limit`; says also how long it took.
    pub fn wait_for<T: DeserializeOwned>(
        &mut self,
        pending: &Pending<T>,
        limit: Duration,
    ) -> (Result<T, RpcError>, Duration) {
        let what = format!("the answer to {} ({})", pending.method, pending.id);
        let (answer, at) = self.look(&what, limit, |inbox| inbox.answers.remove(&pending.id));
        let read = |value: Value| {
            serde_json::from_value(value.clone())
                .unwrap_or_else(|error| panic!("{what} does not have its shape: {error}: {value}"))
        };
        (answer.map(read), at.duration_since(pending.sent))
    }

    /// Whether the answer has come; it stays there.
    pub fn is_answered<T>(&self, pending: &Pending<T>) -> bool {
        lock(&self.wire.inbox).answers.contains_key(&pending.id)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) {
        self.wire.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// `$/cancelRequest`
    pub fn cancel<T>(&self, pending: &Pending<T>) {
        self.notify("$/cancelRequest", &json!({ "id": pending.id }));
    }

    /// Writes these bytes, whatever they are.
    pub fn write(&self, bytes: &[u8]) {
        self.wire.write(bytes);
    }

    /// Writes these bytes as the body of a frame.
    pub fn write_frame(&self, body: &[u8]) {
        self.wire.write(&[format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat());
    }

    /// Decides how requests of the server are answered from now on.
    pub fn on_request(&self, handler: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *lock(&self.wire.handler) = Box::new(handler);
    }

    /// Answers a request that was held.
    pub fn answer(&self, asked: &Asked, result: &Value) {
        self.wire.send(&json!({ "jsonrpc": "2.0", "id": asked.id, "result": result }));
    }

    /// The requests of the server so far.
    pub fn asked(&self, method: &str) -> Vec<Asked> {
        lock(&self.wire.inbox).asked.iter().filter(|asked| asked.method == method).cloned().collect()
    }

    /// Waits for a request of the server that satisfies the condition.
    pub fn wait_asked(&self, method: &str, condition: impl Fn(&Asked) -> bool) -> Asked {
        self.look(&format!("the server asks {method}"), LIMIT, |inbox| {
            inbox.asked.iter().find(|asked| asked.method == method && condition(asked)).cloned()
        })
    }

    /// Every notification so far.
    pub fn notes(&self) -> Vec<Note> {
        lock(&self.wire.inbox).notes.clone()
    }

    /// Every notification of the contract with this method so far.
    pub fn seen<N: ServerNotification>(&self) -> Vec<N::Params> {
        let inbox = lock(&self.wire.inbox);
        inbox
            .notes
            .iter()
            .filter(|note| note.method == N::NAME)
            .filter_map(|note| read_note(&note.params))
            .collect()
    }

    /// Waits for a notification of the contract that satisfies the condition, among those that have come too.
    pub fn wait_note<N: ServerNotification>(
        &self,
        what: &str,
        condition: impl Fn(&N::Params) -> bool,
    ) -> N::Params {
        self.look(&format!("{}: {what}", N::NAME), LIMIT, |inbox| {
            let notes = inbox.notes.iter().filter(|note| note.method == N::NAME);
            notes.filter_map(|note| read_note(&note.params)).find(|params| condition(params))
        })
    }

    /// Waits for a `window/showMessage` that holds this text.
    pub fn wait_message(&self, text: &str) -> String {
        self.look(&format!("a message with {text:?}"), LIMIT, |inbox| {
            let shown = inbox.notes.iter().filter(|note| note.method == "window/showMessage");
            shown
                .filter_map(|note| note.params["message"].as_str())
                .find(|shown| shown.contains(text))
                .map(str::to_owned)
        })
    }

    /// Waits for an error that is about no request, and takes it.
    pub fn wait_stray_error(&self, code: ErrorCode) -> RpcError {
        self.look(&format!("an error {code:?} without a request"), LIMIT, |inbox| {
            let at = inbox.stray_errors.iter().position(|error| error.code == code.code())?;
            Some(inbox.stray_errors.remove(at))
        })
    }

    /// Looks until there is something, whenever anything comes.
    fn look<T>(&self, what: &str, limit: Duration, mut find: impl FnMut(&mut Inbox) -> Option<T>) -> T {
        let start = Instant::now();
        let mut inbox = lock(&self.wire.inbox);
        loop {
            if let Some(found) = find(&mut inbox) {
                return found;
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() || inbox.ended {
                let ended = if inbox.ended { "the server ended" } else { "in vain" };
                let last: Vec<_> = inbox
                    .notes
                    .iter()
                    .rev()
                    .take(6)
                    .map(|note| format!("{} {}", note.method, note.params))
                    .collect();
                drop(inbox);
                panic!(
                    "waited {limit:?}, {ended}: {what}\nlast notifications: {last:#?}\nstderr: {}",
                    lock(&self.wire.stderr)
                );
            }
            (inbox, _) = self
                .wire
                .changed
                .wait_timeout(inbox, left.min(Duration::from_millis(200)))
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// `shutdown`, `exit`, and the end of the process, all in time.
    pub fn finish(mut self) {
        let tree = process::tree(self.pid());
        let pending = self.send_raw("shutdown", &Value::Null);
        self.wait(&pending).expect("shutdown is answered");
        self.notify("exit", &Value::Null);
        let status = self.wait_end(Duration::from_secs(2));
        assert!(status.success(), "after shutdown and exit the code is 0, not {status}");
        process::wait_gone("after exit", &tree, Duration::from_secs(2));
    }

    /// Closes the server's input.
    pub fn close_input(&self) {
        *lock(&self.wire.input) = None;
    }

    /// Waits for the end of the server's process.
    pub fn wait_end(&mut self, limit: Duration) -> ExitStatus {
        wait_until("the end of the server", limit, || self.process.try_wait().ok().flatten())
    }

    /// Whether the server's process has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(Some(_)))
    }

    /// Does not fail the test for what the server says wrong: it is being killed, or fed with dirt.
    pub fn tolerate(&mut self) {
        self.tolerant = true;
    }

    /// What the server wrote to its error output.
    pub fn stderr(&self) -> String {
        lock(&self.wire.stderr).clone()
    }

    fn faults(&self) -> Vec<String> {
        let inbox = lock(&self.wire.inbox);
        let mut faults = inbox.faults.clone();
        faults.extend(
            inbox.stray_errors.iter().map(|error| format!("an error that nobody looked at: {error:?}")),
        );
        let unread = inbox.answers.iter().filter_map(|(id, (answer, _))| Some((id, answer.as_ref().err()?)));
        faults.extend(
            unread.map(|(id, error)| format!("the error of request {id}, which nobody looked at: {error:?}")),
        );
        faults
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        self.close_input();
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        if !thread::panicking() && !self.tolerant {
            let faults = self.faults();
            assert!(
                faults.is_empty(),
                "the server broke its contract: {faults:#?}\nstderr: {}",
                self.stderr()
            );
        }
    }
}

impl Wire {
    fn read(&self, mut output: impl std::io::BufRead) {
        loop {
            let frame = frames::read(&mut output);
            let mut inbox = lock(&self.inbox);
            let asked = match frame {
                Frame::Message { value, bytes } => inbox.take(&value, bytes),
                Frame::Garbage(what) => {
                    inbox.faults.push(format!("not a frame: {what}"));
                    inbox.ended = true;
                    None
                }
                Frame::End => {
                    inbox.ended = true;
                    None
                }
            };
            let ended = inbox.ended;
            drop(inbox);
            self.changed.notify_all();
            if let Some(asked) = asked {
                self.reply(&asked);
            }
            if ended {
                return;
            }
        }
    }

    fn reply(&self, asked: &Asked) {
        let reply = (lock(&self.handler))(asked);
        let mut message = json!({ "jsonrpc": "2.0", "id": asked.id });
        match reply {
            Reply::Result(result) => message["result"] = result,
            Reply::Error(code, text) => message["error"] = json!({ "code": code, "message": text }),
            Reply::Hold => return,
        }
        self.send(&message);
    }

    fn read_stderr(&self, mut stderr: impl std::io::Read) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut buffer) {
            let mut text = lock(&self.stderr);
            if text.len() < 1 << 20 {
                text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        }
    }

    fn send(&self, message: &Value) {
        self.write(&frames::encode(message));
    }

    /// A server that is gone takes nothing; whoever waits for its answer will say so.
    fn write(&self, bytes: &[u8]) {
        if let Some(input) = lock(&self.input).as_mut() {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }
}

/// Says yes to what an editor says yes to; closes questions without a choice.
fn default_handler(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "window/workDoneProgress/create"
        | "client/registerCapability"
        | "client/unregisterCapability"
        | "window/showMessageRequest"
        | "workspace/codeLens/refresh" => Reply::Result(Value::Null),
        "window/showDocument" => Reply::Result(json!({ "success": true })),
        "workspace/applyEdit" => Reply::Result(json!({ "applied": true })),
        "workspace/configuration" => {
            let items = asked.params["items"].as_array().map_or(0, Vec::len);
            Reply::Result(vec![Value::Null; items].into())
        }
        other => Reply::Error(ErrorCode::UnknownMethod.code(), format!("{other} is not known here")),
    }
}

fn read_note<T: DeserializeOwned>(params: &Value) -> Option<T> {
    // What does not fit is a fault already.
    serde_json::from_value(params.clone()).ok()
}

/// Every error of the contract says its kind, which fits its code.
fn assert_shape(error: &RpcError) {
    assert!(!error.message.is_empty(), "an error without words: {error:?}");
    if let Some(known) = ErrorCode::from_code(error.code)
        && error.data.is_object()
    {
        assert_eq!(error.data["kind"], known.kind(), "{error:?}");
    }
}
