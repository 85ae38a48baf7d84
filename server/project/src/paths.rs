//! Where Adjutant keeps its own files: one folder named by `ADJUTANT_HOME`, or the folders of the platform.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use etcetera::BaseStrategy;

/// The variable that moves all state to one folder.
pub const HOME_VARIABLE: &str = "ADJUTANT_HOME";

/// The folder of a workspace that holds its agent files and settings.
pub const PROJECT_FOLDER: &str = ".adjutant";

/// The folders for configuration and for state. Nothing is created until [`StateDirs::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirs {
    config: PathBuf,
    state: PathBuf,
}

/// Why the folders are not known.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    #[error("the home folder is not known; set ADJUTANT_HOME to a folder for Adjutant's files")]
    NoHome,
    #[error("ADJUTANT_HOME is not a usable path: {0}; set it to an absolute path")]
    BadHome(io::Error),
}

impl StateDirs {
    /// The folders that the environment names: `ADJUTANT_HOME` where it is set and not empty, else XDG (the platform's
    /// own on Windows).
    pub fn from_environment() -> Result<Self, PathsError> {
        Self::from_value(std::env::var_os(HOME_VARIABLE))
    }

    /// As [`StateDirs::from_environment`], with the variable's value given.
    pub fn from_value(home: Option<OsString>) -> Result<Self, PathsError> {
        match home.filter(|home| !home.is_empty()) {
            // Made absolute at once: a later change of the working directory must not move the state.
            Some(home) => std::path::absolute(home).map(Self::at).map_err(PathsError::BadHome),
            None => Self::of_platform(),
        }
    }

    /// Everything in one folder.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self { config: home.clone(), state: home }
    }

    fn of_platform() -> Result<Self, PathsError> {
        let base = etcetera::choose_base_strategy().map_err(|_| PathsError::NoHome)?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self { config: base.config_dir().join("adjutant"), state: state.join("adjutant") })
    }

    /// The folder of the files that a person edits.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// The folder of the files that only the program writes.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The user's settings.
    pub fn settings_file(&self) -> PathBuf {
        self.config.join("settings.json")
    }

    /// The user's models and providers.
    pub fn models_file(&self) -> PathBuf {
        self.config.join("models.json")
    }

    /// The user's own agent files.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// Session files and fleet journals.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// Which folders a person trusts.
    pub fn trust_file(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// Creates a folder at or below one of these, with what is missing above it, readable by its owner alone. Folders
    /// of ours that were left open to others are closed.
    pub fn create(&self, folder: &Path) -> io::Result<()> {
        create_private(folder)?;
        for base in [&self.config, &self.state] {
            if folder.starts_with(base) {
                close_to_others(base)?;
            }
        }
        close_to_others(folder)
    }
}

/// The settings file of a workspace folder.
pub fn project_settings_file(folder: &Path) -> PathBuf {
    folder.join(PROJECT_FOLDER).join("settings.json")
}

/// The agent folder of a workspace folder.
pub fn project_agents(folder: &Path) -> PathBuf {
    folder.join(PROJECT_FOLDER).join("agents")
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn close_to_others(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS: u32 = 0o077;
    let permissions = fs::metadata(folder)?.permissions();
    if permissions.mode() & OTHERS != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_moves_everything() {
        let dirs = StateDirs::from_value(Some("/somewhere/else".into())).unwrap();
        assert_eq!(dirs.settings_file(), Path::new("/somewhere/else/settings.json"));
        assert_eq!(dirs.sessions(), Path::new("/somewhere/else/sessions"));
        assert_eq!(dirs.trust_file(), Path::new("/somewhere/else/trust.json"));
    }

    #[test]
    fn a_relative_home_is_made_absolute_and_an_empty_one_is_none() {
        assert!(StateDirs::from_value(Some("here".into())).unwrap().state().is_absolute());
        let dirs = StateDirs::from_value(Some("".into())).unwrap();
        assert!(dirs.config().ends_with("adjutant"));
        assert!(dirs.state().ends_with("adjutant"));
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let root = tempfile::tempdir().unwrap();
        let dirs = StateDirs::at(root.path().join("home"));
        assert!(!dirs.state().exists(), "nothing is created before it is needed");
        dirs.create(&dirs.sessions()).unwrap();
        assert_eq!((mode(dirs.state()), mode(&dirs.sessions())), (0o700, 0o700));
        fs::set_permissions(dirs.state(), fs::Permissions::from_mode(0o755)).unwrap();
        dirs.create(&dirs.sessions()).unwrap();
        assert_eq!(mode(dirs.state()), 0o700);
    }
}
