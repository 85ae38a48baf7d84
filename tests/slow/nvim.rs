//! A real Neovim with our plugin against the built server and a scripted model: its own suite, a scenario that is driven
//! from inside, and the same as a person sees it in a terminal.
//!
//! `ADJUTANT_TEST_NVIM` names the editor (else `nvim` of the path); screens are kept in `ADJUTANT_TEST_OUT`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::json;
use support::lab::{self, Lab};
use support::{binary, process, root, wait_until};

fn nvim() -> PathBuf {
    std::env::var_os("ADJUTANT_TEST_NVIM").map_or_else(|| "nvim".into(), PathBuf::from)
}

fn client() -> PathBuf {
    root().join("editor-clients/nvim").canonicalize().expect("the client is there")
}

/// Where a screen is kept for people to look at.
fn keep(name: &str, screen: &str) {
    if let Some(folder) = std::env::var_os("ADJUTANT_TEST_OUT") {
        let folder = PathBuf::from(folder);
        std::fs::create_dir_all(&folder).expect("the folder for screens can be made");
        std::fs::write(folder.join(name), screen).expect("a screen can be kept");
    }
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A lab for agents that work for as long as a scenario needs.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.settings(&json!({
        "model": lab::MODEL,
        "permissions": { "mode": "auto" },
        "limits": { "identicalCalls": 0, "noProgressTurns": 0 },
    }));
    lab
}

/// The lab's environment for a program that starts the server itself.
fn environment(lab: &Lab, command: &mut Command) {
    command
        .current_dir(lab.work())
        .env("ADJUTANT_HOME", lab.home())
        .env("ADJUTANT_SERVER", binary::adjutant());
    command
        .env("ADJUTANT_CLIENT", client())
        .env("XDG_STATE_HOME", lab.home())
        .env("XDG_DATA_HOME", lab.home());
    command.env("XDG_CONFIG_HOME", lab.home()).stdin(Stdio::null());
}

#[test]
fn the_editor_is_new_enough() {
    let output = Command::new(nvim()).arg("--version").output().expect("Neovim runs; tests/run installs it");
    let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(0);
    assert!(version.starts_with("NVIM v0.") && minor >= 11, "{version}");
}

#[test]
fn the_clients_own_suite_passes_with_the_built_server() {
    let lab = lab();
    let mut command = Command::new(nvim());
    environment(&lab, &mut command);
    let suite = client().join("tests/run.lua");
    let output = command.args(["--clean", "--headless", "-l"]).arg(suite).output().expect("Neovim runs");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let summary = said.lines().rev().find(|line| line.contains(" passed, ")).unwrap_or_default();
    assert!(!summary.is_empty() && !summary.starts_with("0 passed"), "{said}");
    assert!(said.contains("ok server:"), "those that need the server ran: {said}");
}

#[test]
fn two_agents_are_delegated_followed_steered_stopped_and_told_of() {
    let lab = lab();
    let mut command = Command::new(nvim());
    environment(&lab, &mut command);
    let scenario = root().join("tests/slow/nvim/scenario.lua");
    let output = command.args(["--clean", "--headless", "-l"]).arg(scenario).output().expect("Neovim runs");
    let said = said(&output);
    keep("nvim-scenario.txt", &said);
    assert!(output.status.success() && said.contains("0 failed"), "{said}");
    let steered = lab.model.requests().into_iter().any(|record| record.text().contains("look under the mat"));
    assert!(steered, "the message reached the agent's model");
    let left = wait_until("the server's end", Duration::from_secs(3), || {
        let left = lab.processes();
        left.is_empty().then_some(left)
    });
    assert!(left.is_empty());
}

/// A terminal of its own, which ends with its value.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn start(lab: &Lab) -> Self {
        let socket = format!("adjutant-test-{}", std::process::id());
        let mut command = Command::new("tmux");
        environment(lab, &mut command);
        command.env_remove("TMUX").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let editor = format!(
            "{} --clean -n -u '{}' README.md",
            nvim().display(),
            root().join("tests/slow/nvim/init.lua").display()
        );
        let status = command
            .args([
                "-u",
                "-L",
                &socket,
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                "150",
                "-y",
                "42",
                &editor,
            ])
            .status()
            .expect("tmux runs; tests/run installs it");
        assert!(status.success());
        Self { socket }
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-u", "-L", &self.socket]).args(arguments).output().expect("tmux runs")
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn command(&self, line: &str) {
        self.tmux(&["send-keys", "-l", &format!(":{line}")]);
        self.press(&["Enter"]);
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen shows all of these.
    fn wait(&self, name: &str, shown: &[&str]) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(&format!("{shown:?} on the screen"), Duration::from_secs(15), || {
                last = self.screen();
                shown.iter().all(|text| last.contains(text)).then(|| last.clone())
            })
        }));
        keep(&format!("nvim-{name}.txt"), &last);
        let coloured = String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-e"]).stdout).into_owned();
        keep(&format!("nvim-{name}.ansi"), &coloured);
        found.unwrap_or_else(|_| panic!("{name}: {shown:?} is not on the screen:\n{last}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn as_a_person_sees_it() {
    let lab = lab();
    let terminal = Terminal::start(&lab);
    terminal.wait("start", &["# A small project"]);
    terminal.command("Adjutant fleet");
    terminal.wait("empty", &["No agents yet"]);
    let busy = "[[steps k=400 delay_ms=250 tokens=8 tok_ms=5 id=%i]]";
    terminal.command(&format!("Adjutant delegate Explore {}", busy.replace("%i", "1")));
    terminal.command(&format!("Adjutant delegate Plan {}", busy.replace("%i", "2")));
    terminal.wait("two-agents", &["explore", "plan", "running", "turns"]);
    terminal.command("Adjutant open explore");
    terminal.wait("viewer", &["lorem ipsum", "README.md"]);
    terminal.command("Adjutant steer explore look under the mat");
    terminal.wait("steered", &["look under the mat"]);
    terminal.command("Adjutant! stop plan");
    terminal.wait("stopped", &["stopped"]);
    terminal.command("Adjutant delegate general-purpose [[steps k=1 delay_ms=50 tokens=5 id=3]]");
    terminal.wait("completed", &["completed"]);
    let tree = lab.processes();
    terminal.press(&["Escape"]);
    terminal.command("qa!");
    process::wait_gone("after the editor", &tree, Duration::from_secs(4));
    assert!(Path::new(&lab.home()).exists());
}
