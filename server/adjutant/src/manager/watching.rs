//! Following changes of files that matter: settings, models and agent types.

use project::Watcher;

use super::Manager;

impl Manager {
    /// Starts to follow the folders in use. Where the system cannot, changes are seen when files are next read.
    pub(crate) fn start_watching(&mut self) {
        let handle = self.handle.clone();
        match Watcher::start(move |_| handle.post(Self::files_changed)) {
            Ok(watcher) => {
                for folder in self.ports.workspaces.watched_folders() {
                    watcher.watch(folder);
                }
                self.watcher = Some(watcher);
            }
            Err(error) => tracing::warn!(%error, "changes of settings files are not followed"),
        }
    }

    /// Follows the folders of a workspace that has come into use.
    pub(super) fn watch_more(&mut self) {
        if let Some(watcher) = &self.watcher {
            for folder in self.ports.workspaces.watched_folders() {
                watcher.watch(folder);
            }
        }
    }

    /// Settings or models may be other ones now.
    pub(crate) fn files_changed(&mut self) {
        self.ports.workspaces.forget();
        self.reconfigure();
        self.tell_warnings();
    }
}
