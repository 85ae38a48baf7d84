//! Tests of the local disk: names, files, searches, and a zoo of commands.

mod commands;
mod files;
#[cfg(target_os = "linux")]
mod guard;
mod names;
mod outputs;
mod searches;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{CommandOutcome, CommandRequest, Environment, LocalDisk, OutputSink};

fn workspace() -> (TempDir, LocalDisk) {
    let folder = tempfile::tempdir().unwrap();
    // As a person's folder is: without links on the way.
    let disk = LocalDisk::new(folder.path().canonicalize().unwrap());
    (folder, disk)
}

fn request(disk: &LocalDisk, command: &str) -> CommandRequest {
    CommandRequest {
        command: command.to_owned(),
        cwd: disk.root().to_owned(),
        timeout: Duration::from_secs(20),
    }
}

fn ignore_output() -> OutputSink {
    Arc::new(|_| {})
}

async fn run(disk: &LocalDisk, command: &str) -> CommandOutcome {
    disk.spawn(request(disk, command), &CancellationToken::new(), ignore_output()).await.unwrap()
}

async fn wait_for_file(path: &Path) -> String {
    for _ in 0..500 {
        if let Ok(text) = std::fs::read_to_string(path)
            && text.ends_with('\n')
        {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} was not written", path.display());
}
