//! `adjutant --stdio`, and the listings that need the same set-up.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use project::agent_types::{AgentTypes, agent_folders};
use project::settings::{self, Settings, SettingsLayer};
use project::{StateDirs, TrustStore};
use tracing_subscriber::filter::LevelFilter;

use crate::clock::Clock;
use crate::lsp::{Ended, ServerConfig, serve};
use crate::workspace::{Sources, Workspaces};

/// Lines of the log that wait for the disk; more are dropped, so that logging never holds anything up.
const LOG_LINES: usize = 1_024;

/// What the command line says of the surroundings.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) models_file: Option<PathBuf>,
    /// Whether the embedded offline model is offered.
    pub(super) offline: bool,
}

impl Place {
    pub(super) fn embedded(&self) -> Vec<Arc<dyn model::ModelClient>> {
        if self.offline { vec![Arc::new(model::offline::OfflineModel::new())] } else { Vec::new() }
    }

    pub(super) fn sources(&self, dirs: StateDirs) -> anyhow::Result<Sources> {
        Ok(Sources {
            dirs,
            models_file: self.models_file.clone(),
            folder: std::env::current_dir().context("the current folder cannot be found")?,
            trusted: None,
            exec_guard: exec_guard(),
            model: None,
            embedded: self.embedded(),
        })
    }
}

/// Ourselves, as the guard of commands; nothing where the system does not know such guards.
pub(super) fn exec_guard() -> Option<PathBuf> {
    cfg!(target_os = "linux").then(|| PathBuf::from("/proc/self/exe"))
}

/// Serves an editor until it is gone.
pub(super) fn serve_stdio(place: &Place) -> anyhow::Result<ExitCode> {
    raise_file_limit();
    hide_environment();
    let output = private_stdout().context("stdout cannot be taken over")?;
    let dirs = StateDirs::from_environment()?;
    let _log = start_log(&dirs);
    let folder = std::env::current_dir().context("the current folder cannot be found")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(async {
        let config = ServerConfig {
            dirs,
            models_file: place.models_file.clone(),
            folder,
            exec_guard: exec_guard(),
            embedded: place.embedded(),
            clock: Clock::system(),
        };
        serve(config, tokio::io::stdin(), tokio::fs::File::from_std(output), stop_signal()).await
    });
    // The runtime would wait for the thread that reads stdin, which nobody may ever close.
    runtime.shutdown_background();
    Ok(if ended == Ended::Orderly { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Keeps our environment, in which keys may be, from the commands that we run: they are of the same user, and could read it
/// in `/proc` otherwise.
pub(super) fn hide_environment() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::info!(%error, "commands can read the server's environment");
    }
}

/// Takes stdout for the protocol and points the usual descriptor at stderr, so that a stray print cannot reach the client.
fn private_stdout() -> std::io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(private))
}

/// Raises the soft limit of open files to the hard one: each running agent holds a socket.
pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::info!(%error, "the limit of open files stays as it is");
    }
}

/// Ends with SIGTERM, SIGINT or SIGHUP.
pub(super) async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Logs to a file of its own in the state folder. The level is `ADJUTANT_LOG`, else info; prompts and texts of files and
/// tools are in no line above debug.
pub(super) fn start_log(dirs: &StateDirs) -> Option<tracing_appender::non_blocking::WorkerGuard> {
    let level =
        std::env::var("ADJUTANT_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::INFO);
    if level == LevelFilter::OFF {
        return None;
    }
    let folder = dirs.logs();
    let file = LogFile { dirs: dirs.clone(), path: folder.join("adjutant.log"), open: None };
    let (writer, guard) = tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(LOG_LINES)
        .finish(file);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_ansi(false)
        .with_max_level(level)
        .with_target(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).ok()?;
    Some(guard)
}

/// A log file that is made by its first line: a server that has nothing to say touches no disk.
struct LogFile {
    dirs: StateDirs,
    path: PathBuf,
    open: Option<File>,
}

/// A log file grows to this size, then it starts anew and the old one is kept once.
const LOG_BYTES: u64 = 8 << 20;

impl LogFile {
    fn file(&mut self) -> std::io::Result<&mut File> {
        use std::os::unix::fs::OpenOptionsExt;

        let file = if let Some(file) = self.open.take() {
            file
        } else {
            self.dirs.create(&self.dirs.logs())?;
            if std::fs::metadata(&self.path).is_ok_and(|known| known.len() > LOG_BYTES) {
                std::fs::rename(&self.path, self.path.with_extension("old.log"))?;
            }
            File::options().create(true).append(true).mode(0o600).open(&self.path)?
        };
        Ok(self.open.insert(file))
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.open.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// `adjutant agents`.
pub(super) fn agents(place: &Place, trust: bool) -> anyhow::Result<ExitCode> {
    let dirs = StateDirs::from_environment()?;
    let folder = place.sources(dirs.clone())?.folder;
    let mut err = std::io::stderr().lock();
    let stored = match TrustStore::new(&dirs).trusted(&folder) {
        Ok(answer) => answer.unwrap_or(false),
        Err(error) => {
            writeln!(err, "{error}")?;
            false
        }
    };
    let trust = trust || stored;
    if let Some(note) = (!trust).then(|| not_loaded(&folder)).flatten() {
        writeln!(err, "{note}")?;
    }
    let user = settings::load_user(&dirs);
    let merged = Settings::merge(&user, &SettingsLayer::default(), &SettingsLayer::default(), false);
    let builtins = !merged.settings.disable_default_agents;
    let (types, found) = AgentTypes::load(builtins, &agent_folders(&dirs, &folder, trust));
    let mut out = std::io::stdout().lock();
    for agent_type in types.all() {
        let state = if agent_type.enabled { "" } else { " (disabled)" };
        let source = agent_type.file().map_or("built in".to_owned(), |file| file.display().to_string());
        writeln!(
            out,
            "{}{state} — {}\n    tools: {}\n    {source}",
            agent_type.name,
            agent_type.description,
            agent_type.tool_scope()
        )?;
    }
    for diagnostic in &found {
        writeln!(err, "{diagnostic}")?;
    }
    let broken = found.iter().any(|diagnostic| diagnostic.severity == project::Severity::Error);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What an untrusted folder has that is left out.
fn not_loaded(folder: &Path) -> Option<String> {
    let files = std::fs::read_dir(project::project_agents(folder)).ok()?;
    let is_agent = |name: &Path| name.extension().is_some_and(|extension| extension == "md");
    let count = files.flatten().filter(|file| is_agent(Path::new(&file.file_name()))).count();
    let (files, are) = if count == 1 { ("file", "is") } else { ("files", "are") };
    (count > 0).then(|| {
        format!(
            "{count} agent {files} in {}/agents {are} not loaded: the folder is not trusted (--trust)",
            project::PROJECT_FOLDER
        )
    })
}

/// `adjutant models`.
pub(super) fn models(place: &Place) -> anyhow::Result<ExitCode> {
    let mut workspaces = Workspaces::new(place.sources(StateDirs::from_environment()?)?);
    let workspace = workspaces.of(None)?;
    let mut out = std::io::stdout().lock();
    for listed in workspace.registry.list() {
        let state = listed.unavailable.map_or(String::new(), |why| format!("  (unavailable: {why})"));
        writeln!(out, "{}{state}", listed.info.full_id())?;
    }
    let mut err = std::io::stderr().lock();
    for warning in workspaces.take_warnings() {
        writeln!(err, "{warning}")?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::not_loaded;

    #[test]
    fn agent_files_that_are_left_out_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(not_loaded(folder.path()), None);
        let agents = project::project_agents(folder.path());
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join("notes.txt"), "").unwrap();
        assert_eq!(not_loaded(folder.path()), None);
        std::fs::write(agents.join("one.md"), "").unwrap();
        let note = not_loaded(folder.path()).unwrap();
        assert_eq!(
            note,
            "1 agent file in .adjutant/agents is not loaded: the folder is not trusted (--trust)"
        );
        std::fs::write(agents.join("two.md"), "").unwrap();
        assert!(not_loaded(folder.path()).unwrap().starts_with("2 agent files in"));
    }
}
