//! Folders and what holds in them: settings from three sources, trust, models, tools and the places on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use model::{Registry, RegistryOptions};
use project::agent_types::{AgentTypes, agent_folders};
use project::settings::{self, Settings, SettingsLayer};
use project::{StateDirs, TrustStore};
use serde_json::Value;
use session::environment::{Environment, LocalDisk};
use session::storage::{DiskNews, SessionLock, SessionsDir, Writer};
use session::{Toolbox, builtin_tools};
use vocab::SessionId;

use crate::failure::Failure;
use crate::manager::checked_folder;
use crate::permission;

/// What stands for no limit of a request's silence: longer than any request lives.
const NO_IDLE_LIMIT: Duration = Duration::from_hours(24 * 365);

/// One folder at one moment; replaced as a whole when anything in it changes.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Canonical.
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) trusted: bool,
    pub(crate) dirs: StateDirs,
    pub(crate) registry: Arc<Registry>,
    /// The first thing that is wrong with the models' file; a model that cannot be found may be in there.
    pub(crate) models_fault: Option<String>,
    pub(crate) environment: Arc<dyn Environment>,
    /// The seven built-in tools over this folder.
    pub(crate) tools: Arc<Toolbox>,
    pub(crate) sessions: SessionsDir,
    pub(crate) writer: Writer,
}

/// The models as they were read, and from what.
#[derive(Debug)]
struct ReadRegistry {
    /// When the file had changed last.
    stamp: Option<SystemTime>,
    /// The setting that the clients were made with.
    idle_ms: u64,
    registry: Arc<Registry>,
    fault: Option<String>,
}

/// Where everything is read from, and what the client said of itself.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) dirs: StateDirs,
    /// In place of `models.json` of the configuration folder.
    pub(crate) models_file: Option<PathBuf>,
    /// The folder of requests that name none.
    pub(crate) folder: PathBuf,
    /// What the client or the command line says of trust in `folder`; where it says nothing, the stored answer holds. Its
    /// "no" is for every folder, its "yes" for none but this one.
    pub(crate) trusted: Option<bool>,
    /// The program that guards commands: ourselves.
    pub(crate) exec_guard: Option<PathBuf>,
    /// The model of new sessions, where the client or the command line names one.
    pub(crate) model: Option<String>,
    /// Models that live in this process.
    pub(crate) embedded: Vec<Arc<dyn model::ModelClient>>,
}

/// Who hears how the disk treats session files, in the writer's thread.
type DiskListener = Box<dyn Fn(DiskNews) + Send + Sync>;

/// All folders in use.
pub(crate) struct Workspaces {
    sources: Sources,
    /// The folder that the "yes" of [`Sources::trusted`] was said of.
    vouched: PathBuf,
    client: SettingsLayer,
    open: BTreeMap<PathBuf, Arc<Workspace>>,
    registry: Option<ReadRegistry>,
    writer: Writer,
    disk_listener: Arc<OnceLock<DiskListener>>,
    /// Warnings for a person that nobody has been told yet.
    warnings: Vec<String>,
    told: std::collections::BTreeSet<String>,
}

impl Workspaces {
    /// Reads nothing yet: a server that only answers `initialize` touches no file.
    pub(crate) fn new(sources: Sources) -> Self {
        let listener: Arc<OnceLock<DiskListener>> = Arc::default();
        let heard = Arc::clone(&listener);
        let writer = Writer::new(move |news| {
            tracing::warn!(?news, "a file of a session");
            if let Some(listener) = heard.get() {
                listener(news);
            }
        });
        Self {
            disk_listener: listener,
            vouched: sources.folder.clone(),
            sources,
            client: SettingsLayer::default(),
            open: BTreeMap::new(),
            registry: None,
            writer,
            warnings: Vec::new(),
            told: std::collections::BTreeSet::new(),
        }
    }

    /// The workspace of a folder, of the default one where none is given.
    pub(crate) fn of(&mut self, folder: Option<&Path>) -> Result<Arc<Workspace>, Failure> {
        let folder = checked_folder(folder.unwrap_or(&self.sources.folder))?;
        if let Some(workspace) = self.open.get(&folder) {
            return Ok(Arc::clone(workspace));
        }
        let workspace = Arc::new(self.read(&folder));
        self.open.insert(folder, Arc::clone(&workspace));
        Ok(workspace)
    }

    /// What the client introduced itself with.
    pub(crate) fn introduce(
        &mut self,
        folder: Option<PathBuf>,
        trusted: Option<bool>,
        model: Option<String>,
    ) {
        if let Some(folder) = folder {
            self.sources.folder = folder;
        }
        if trusted.is_some() {
            self.sources.trusted = trusted;
            self.vouched.clone_from(&self.sources.folder);
        }
        self.sources.model = model.or_else(|| self.sources.model.take());
        self.open.clear();
    }

    /// Lays a client's section over what it said before; what it leaves out stays.
    pub(crate) fn set_client_settings(&mut self, section: &Value) {
        let layer = settings::from_client(section);
        let warnings: Vec<_> = layer.warnings().iter().map(ToString::to_string).collect();
        self.client.overlay(layer);
        self.open.clear();
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Files may have changed: read them again when they are next needed.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }

    /// Warnings that have not been told.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The newest session of a folder that no other server has open.
    pub(crate) fn latest_session(
        &self,
        folder: &Path,
        is_open_here: impl Fn(&SessionId) -> bool,
    ) -> Option<SessionId> {
        let sessions = SessionsDir::new(self.sources.dirs.sessions()).folder(folder);
        let listed = session::storage::list(&sessions).unwrap_or_default();
        listed
            .into_iter()
            .find(|found| is_open_here(&found.id) || SessionLock::is_free(&found.paths))
            .map(|found| found.id)
    }

    /// The writer of all files of sessions.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The default working folder, and where its sessions are.
    pub(crate) fn sessions_folder(&self) -> Option<(PathBuf, PathBuf)> {
        let cwd = self.sources.folder.canonicalize().ok()?;
        let folder = SessionsDir::new(self.sources.dirs.sessions()).folder(&cwd);
        Some((cwd, folder))
    }

    /// Says who hears how the disk treats session files; the first call counts.
    pub(crate) fn on_disk_news(&self, listener: impl Fn(DiskNews) + Send + Sync + 'static) {
        let _ = self.disk_listener.set(Box::new(listener));
    }

    /// Waits until session files are written.
    pub(crate) fn flushed(&self) -> impl Future<Output = ()> + Send + use<> {
        let writer = self.writer.clone();
        async move { writer.flush().await }
    }

    /// Folders whose changes matter: the user's, and those of the workspaces in use.
    pub(crate) fn watched_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.sources.dirs.config().to_owned()];
        for workspace in self.open.values().filter(|workspace| workspace.trusted) {
            let own = workspace.folder.join(project::PROJECT_FOLDER);
            folders.push(own);
        }
        folders
    }

    fn read(&mut self, folder: &Path) -> Workspace {
        let dirs = self.sources.dirs.clone();
        let trusted = self.is_trusted(folder);
        let user = settings::load_user(&dirs);
        let project = if trusted { settings::load_project(folder) } else { SettingsLayer::default() };
        let merged = Settings::merge(&user, &project, &self.client, trusted);
        for warning in &merged.warnings {
            self.warn(warning.to_string());
        }
        let mut settings = merged.settings;
        for fault in permission::faulty_rules(&settings.permissions) {
            self.warn(fault);
        }
        let folders = agent_folders(&dirs, folder, trusted);
        for fault in AgentTypes::load(!settings.disable_default_agents, &folders).1 {
            self.warn(fault.to_string());
        }
        if let Some(model) = &self.sources.model {
            settings.model = Some(model.clone());
        }
        let (registry, models_fault) = self.registry(&settings);
        let mut disk = LocalDisk::new(folder)
            .with_spill_folder(dirs.state().join("spill"))
            .with_scrubbed_variables(registry.credential_variables().map(str::to_owned));
        if let Some(guard) = &self.sources.exec_guard {
            disk = disk.with_exec_guard(guard);
        }
        let environment: Arc<dyn Environment> = Arc::new(disk);
        Workspace {
            folder: folder.to_owned(),
            registry,
            models_fault,
            tools: Toolbox::new(builtin_tools(&environment)),
            environment,
            settings,
            trusted,
            sessions: SessionsDir::new(dirs.sessions()),
            dirs,
            writer: self.writer.clone(),
        }
    }

    /// Whether the folder's own files count. `folder` is canonical.
    fn is_trusted(&mut self, folder: &Path) -> bool {
        match self.sources.trusted {
            Some(false) => return false,
            Some(true) if self.vouched.canonicalize().is_ok_and(|vouched| vouched == folder) => return true,
            Some(true) | None => {}
        }
        match TrustStore::new(&self.sources.dirs).trusted(folder) {
            Ok(answer) => answer.unwrap_or(false),
            Err(error) => {
                self.warn(error.to_string());
                false
            }
        }
    }

    /// The models. Read again only when their file has changed, so that connections to providers are kept.
    fn registry(&mut self, settings: &Settings) -> (Arc<Registry>, Option<String>) {
        let file = self.sources.models_file.clone().unwrap_or_else(|| self.sources.dirs.models_file());
        let stamp = std::fs::metadata(&file).and_then(|found| found.modified()).ok();
        let idle_ms = settings.limits.idle_ms;
        if let Some(read) =
            self.registry.as_ref().filter(|read| read.stamp == stamp && read.idle_ms == idle_ms)
        {
            return (Arc::clone(&read.registry), read.fault.clone());
        }
        let mut options = RegistryOptions { connections: connections(), ..RegistryOptions::default() };
        options.timeouts.idle = if idle_ms > 0 { Duration::from_millis(idle_ms) } else { NO_IDLE_LIMIT };
        let (mut registry, found) = Registry::load_with(&file, options);
        let mut fault = None;
        for diagnostic in found {
            let line = diagnostic.line.map_or(String::new(), |line| format!(":{line}"));
            let text = format!("{}{line}: {}", diagnostic.path.display(), diagnostic.message);
            fault.get_or_insert_with(|| text.clone());
            self.warn(text);
        }
        for client in &self.sources.embedded {
            registry.register(Arc::clone(client));
        }
        let registry = Arc::new(registry);
        let read = ReadRegistry { stamp, idle_ms, registry: Arc::clone(&registry), fault: fault.clone() };
        self.registry = Some(read);
        (registry, fault)
    }

    /// Keeps a warning for a person, once.
    pub(crate) fn warn(&mut self, warning: String) {
        if self.told.insert(warning.clone()) {
            tracing::warn!("{warning}");
            self.warnings.push(warning);
        }
    }
}

/// Requests to models at one time: what the limit of open files leaves after session files, watchers and commands.
fn connections() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4_096);
    (limit as usize).saturating_sub(512).max(64)
}

impl std::fmt::Debug for Workspaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspaces").field("open", &self.open.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lab {
        root: tempfile::TempDir,
        workspaces: Workspaces,
    }

    /// Two folders, each with an agent file that has a fault.
    fn lab(trusted: Option<bool>) -> Lab {
        let root = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let agents = project::project_agents(&root.path().join(name));
            std::fs::create_dir_all(&agents).unwrap();
            std::fs::write(agents.join("bad.md"), "---\ndescription: [\n---\nx\n").unwrap();
        }
        let sources = Sources {
            dirs: StateDirs::at(root.path().join("home")),
            models_file: None,
            folder: root.path().join("a"),
            trusted,
            exec_guard: None,
            model: None,
            embedded: Vec::new(),
        };
        Lab { workspaces: Workspaces::new(sources), root }
    }

    impl Lab {
        fn trusts(&mut self, name: &str) -> bool {
            self.workspaces.of(Some(&self.root.path().join(name))).unwrap().trusted
        }
    }

    #[test]
    fn a_yes_is_for_the_folder_that_it_was_said_of() {
        let mut lab = lab(Some(true));
        assert!(lab.trusts("a") && !lab.trusts("b"));
        // A folder that is opened later is another one.
        let b = lab.root.path().join("b");
        lab.workspaces.introduce(Some(b.clone()), None, None);
        assert!(lab.trusts("a") && !lab.trusts("b"));
        TrustStore::new(&StateDirs::at(lab.root.path().join("home"))).set(&b, true).unwrap();
        lab.workspaces.forget();
        assert!(lab.trusts("b"));
        lab.workspaces.introduce(None, Some(false), None);
        assert!(!lab.trusts("a") && !lab.trusts("b"));
        lab.workspaces.introduce(None, Some(true), None);
        assert!(!lab.trusts("a") && lab.trusts("b"));
    }

    #[test]
    fn a_faulty_agent_file_is_told_once_and_only_where_it_would_count() {
        let mut lab = lab(Some(true));
        lab.trusts("b");
        assert_eq!(lab.workspaces.take_warnings(), Vec::<String>::new());
        for warnings in [1, 0] {
            lab.trusts("a");
            let told = lab.workspaces.take_warnings();
            assert_eq!(told.len(), warnings, "{told:?}");
            assert!(told.iter().all(|warning| warning.contains("bad.md")), "{told:?}");
            lab.workspaces.forget();
        }
    }
}
