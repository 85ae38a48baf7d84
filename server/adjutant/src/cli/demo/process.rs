//! Our own binary as a server: started with a state folder of its own, and certain to be gone in the end.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cli::lsp_client::{LspClient, Notification};

/// What of the environment the server sees: no keys, so that nothing could be reached even by mistake.
const KEPT_VARIABLES: [&str; 7] =
    ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "ADJUTANT_LOG", "RUST_BACKTRACE"];

/// How long the server has to answer `shutdown`, and to be gone after `exit`.
const SHUTDOWN: Duration = Duration::from_secs(1);
const EXIT: Duration = Duration::from_secs(2);

/// The end of what it says on stderr that is kept.
const STDERR_BYTES: usize = 4 << 10;

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    stderr: JoinHandle<Vec<u8>>,
}

impl ServerProcess {
    /// Starts `binary` in `folder`, with all its state in `home`. Dropping the process kills it.
    pub(super) fn start(
        binary: &Path,
        folder: &Path,
        home: &Path,
    ) -> anyhow::Result<(Self, LspClient, mpsc::Receiver<Notification>)> {
        let mut child = Command::new(binary)
            .args(["--stdio", "--embedded-offline"])
            .current_dir(folder)
            .env_clear()
            .envs(KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("ADJUTANT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for us; the server is told by us what to stop.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("the server {} could not be started", binary.display()))?;
        let input = child.stdin.take().context("the server has no input")?;
        let output = child.stdout.take().context("the server has no output")?;
        let stderr = child.stderr.take().context("the server has no error output")?;
        let (client, notifications) = LspClient::over(output, input);
        Ok((Self { child, stderr: tokio::spawn(tail_of(stderr)) }, client, notifications))
    }

    /// Ends the server as an editor does. Whether it went by itself.
    pub(super) async fn end(&mut self, client: LspClient) -> bool {
        // A server that is gone or hangs answers neither; the wait below is what counts.
        let _ = client.call("shutdown", Value::Null, SHUTDOWN).await;
        let _ = tokio::time::timeout(SHUTDOWN, client.notify("exit", json!({}))).await;
        let gone = tokio::time::timeout(EXIT, self.child.wait()).await.is_ok();
        if !gone {
            self.kill().await;
        }
        drop(client);
        gone
    }

    pub(super) async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::debug!(%error, "the server could not be killed");
        }
    }

    /// How a server ended that was not told to: its state and the end of its error output.
    pub(super) async fn last_words(&mut self) -> String {
        let state = if let Ok(Ok(status)) = tokio::time::timeout(EXIT, self.child.wait()).await {
            format!("it ended with {status}")
        } else {
            self.kill().await;
            "it stopped answering".to_owned()
        };
        let said = tokio::time::timeout(SHUTDOWN, &mut self.stderr)
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        if last.is_empty() { state } else { format!("{state}; it said: {last}") }
    }
}

/// Reads to the end and keeps the last of it.
async fn tail_of(mut output: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut tail = Vec::new();
    let mut buffer = [0; 1 << 10];
    while let Ok(read) = output.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        tail.extend_from_slice(&buffer[..read]);
        let excess = tail.len().saturating_sub(STDERR_BYTES);
        tail.drain(..excess);
    }
    tail
}

/// The folder of the server's state: made for the demo and removed with it, or one that was asked for and stays.
#[derive(Debug)]
pub(super) enum Home {
    Temporary(tempfile::TempDir),
    Given(PathBuf),
}

impl Home {
    pub(super) fn new(given: Option<PathBuf>) -> anyhow::Result<Self> {
        match given {
            Some(path) => Ok(Self::Given(path)),
            None => {
                tempfile::Builder::new().prefix("adjutant-demo-").tempdir().map(Self::Temporary).context(
                    "no temporary folder could be made; set TMPDIR to a folder that can be written to",
                )
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Given(path) => path,
        }
    }

    /// Leaves the folder, for somebody to look into.
    pub(super) fn keep(self) -> PathBuf {
        match self {
            Self::Temporary(folder) => folder.keep(),
            Self::Given(path) => path,
        }
    }
}
