//! The environment of one folder on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::walk::bounded;
use super::{
    BoxFuture, Change, CommandOutcome, CommandRequest, Environment, EnvironmentError, FileContent,
    FindOutcome, FindRequest, Listing, OutputSink, SearchOutcome, SearchRequest, Written, command, files,
    find, paths, search,
};

/// Where temporary files go, beside what `TMPDIR` says: a confined command may write there.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// A folder of this machine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalDisk {
    root: Arc<Path>,
    settings: Arc<Settings>,
}

#[derive(Debug, Clone)]
struct Settings {
    shell: PathBuf,
    exec_guard: Option<PathBuf>,
    spill_folder: Option<PathBuf>,
    scrubbed: Vec<String>,
    writable: Option<Vec<PathBuf>>,
}

impl LocalDisk {
    /// The environment whose working folder is `root`, an absolute path. Commands run in the first of `/bin/bash`,
    /// `bash` on the path and `/bin/sh`, without a guard.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let settings = Settings {
            shell: default_shell(),
            exec_guard: None,
            spill_folder: None,
            scrubbed: Vec::new(),
            writable: None,
        };
        Self { root: Arc::from(root.into()), settings: Arc::new(settings) }
    }

    /// The same in another working folder, as a worktree is.
    pub fn at(&self, root: impl Into<PathBuf>) -> Self {
        Self { root: Arc::from(root.into()), settings: Arc::clone(&self.settings) }
    }

    /// Runs commands behind the `exec-guard` subcommand of this binary, so that nothing that they start outlives them
    /// or the server; only Linux has that subcommand. `/proc/self/exe` names the running binary even after an upgrade replaced its file.
    #[must_use]
    pub fn with_exec_guard(self, binary: impl Into<PathBuf>) -> Self {
        self.changed(|settings| settings.exec_guard = Some(binary.into()))
    }

    /// Runs commands in this shell, which must take `-c`.
    #[must_use]
    pub fn with_shell(self, shell: impl Into<PathBuf>) -> Self {
        self.changed(|settings| settings.shell = shell.into())
    }

    /// Keeps outputs that are too long for an answer in files there; the folder is made when needed. Without one the
    /// middle of such an output is lost. Deleting old files is the owner's task.
    #[must_use]
    pub fn with_spill_folder(self, folder: impl Into<PathBuf>) -> Self {
        self.changed(|settings| settings.spill_folder = Some(folder.into()))
    }

    /// Keeps these variables from commands, beside all that [`is_credential`](super::is_credential) knows: for names
    /// that a person gave to a provider's key.
    #[must_use]
    pub fn with_scrubbed_variables(self, names: impl IntoIterator<Item = String>) -> Self {
        self.changed(|settings| settings.scrubbed.extend(names))
    }

    /// Lets commands write only in the working folder, in temporary folders and in `also` (caches of build tools, the
    /// repository that a worktree belongs to), where there is a guard and the kernel has Landlock.
    #[must_use]
    pub fn with_confined_writes(self, also: impl IntoIterator<Item = PathBuf>) -> Self {
        self.changed(|settings| settings.writable = Some(also.into_iter().collect()))
    }

    pub(super) fn shell(&self) -> &Path {
        &self.settings.shell
    }

    pub(super) fn exec_guard(&self) -> Option<&Path> {
        self.settings.exec_guard.as_deref()
    }

    pub(super) fn spill_folder(&self) -> Option<&Path> {
        self.settings.spill_folder.as_deref()
    }

    pub(super) fn scrubbed(&self) -> &[String] {
        &self.settings.scrubbed
    }

    /// Where a command may write; empty means everywhere.
    pub(super) fn writable_folders(&self) -> Vec<PathBuf> {
        let Some(also) = &self.settings.writable else { return Vec::new() };
        let temporary = TEMPORARY.iter().map(PathBuf::from);
        let mut folders = vec![self.root.to_path_buf(), std::env::temp_dir()];
        folders.extend(temporary.chain(also.iter().cloned()));
        folders
    }

    fn changed(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }
}

impl Environment for LocalDisk {
    fn root(&self) -> &Path {
        &self.root
    }

    fn resolve(&self, path: &str) -> Result<PathBuf, EnvironmentError> {
        paths::resolve(&self.root, path)
    }

    fn display(&self, path: &Path) -> String {
        paths::display(&self.root, path)
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        paths::real_path(path)
    }

    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<FileContent, EnvironmentError>> {
        Box::pin(files::read(path))
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        bytes: Bytes,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Written, EnvironmentError>> {
        Box::pin(files::write(path, bytes, cancel))
    }

    fn update<'a>(
        &'a self,
        path: &'a Path,
        change: Change,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Written, EnvironmentError>> {
        Box::pin(files::update(path, change, cancel))
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Listing, EnvironmentError>> {
        Box::pin(files::list(path))
    }

    fn search<'a>(
        &'a self,
        request: SearchRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SearchOutcome, EnvironmentError>> {
        Box::pin(bounded(cancel, move |bounds| search::search(&request, bounds)))
    }

    fn find<'a>(
        &'a self,
        request: FindRequest,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<FindOutcome, EnvironmentError>> {
        Box::pin(bounded(cancel, move |bounds| find::find(&request, bounds)))
    }

    fn spawn<'a>(
        &'a self,
        request: CommandRequest,
        cancel: &'a CancellationToken,
        on_output: OutputSink,
    ) -> BoxFuture<'a, Result<CommandOutcome, EnvironmentError>> {
        Box::pin(command::run(self, request, cancel, on_output))
    }
}

fn default_shell() -> PathBuf {
    let usual = Path::new("/bin/bash");
    if usual.is_file() {
        return usual.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("bash"))
        .find(|bash| bash.is_absolute() && bash.is_file())
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
