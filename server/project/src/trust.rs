//! Which folders a person trusts: one small file in the state folder, the truth for every server.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Diagnostic;
use crate::paths::StateDirs;
use crate::text_file::{read_text, replace};

const LIMIT: u64 = 1024 * 1024;
/// A writer holds the lock for one small write; longer means that its holder hangs.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(10);

/// The answers that were given, kept by canonical folder.
///
/// The file is read for each question: it is small, and other servers write it too.
#[derive(Debug, Clone)]
pub struct TrustStore {
    dirs: StateDirs,
    file: PathBuf,
}

/// Why an answer could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{0}; repair the file or delete it, then answer again")]
    Unreadable(Diagnostic),
    #[error("{path}: the folder cannot be found: {source}")]
    NoSuchFolder { path: PathBuf, source: io::Error },
    #[error("{0}: a folder whose name is not UTF-8 cannot be trusted; rename it")]
    NotUtf8(PathBuf),
    #[error("{path}: cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("{0}: another server has held the lock for a second; try again")]
    Locked(PathBuf),
}

#[derive(Default, Serialize, Deserialize)]
struct TrustFile {
    #[serde(default)]
    folders: BTreeMap<String, bool>,
    /// What a later version may have written; kept.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

impl TrustStore {
    /// A store over `trust.json` of these folders; touches nothing yet.
    pub fn new(dirs: &StateDirs) -> Self {
        Self { dirs: dirs.clone(), file: dirs.trust_file() }
    }

    /// The answer given for exactly this folder; `None` where none was. A folder below a trusted one is not trusted by
    /// that: a checkout inside it may be somebody else's.
    pub fn trusted(&self, folder: &Path) -> Result<Option<bool>, TrustError> {
        let key = canonical(folder)?;
        Ok(self.read()?.folders.get(&key).copied())
    }

    /// Keeps an answer. A file that cannot be understood is left as it is.
    pub fn set(&self, folder: &Path, trusted: bool) -> Result<(), TrustError> {
        let key = canonical(folder)?;
        let failed = |source| TrustError::Write { path: self.file.clone(), source };
        self.dirs.create(self.dirs.state()).map_err(failed)?;
        let _lock = self.lock()?;
        let mut content = self.read()?;
        content.folders.insert(key, trusted);
        let mut text = serde_json::to_string_pretty(&content).map_err(|error| failed(error.into()))?;
        text.push('\n');
        replace(&self.file, &text).map_err(failed)
    }

    fn read(&self) -> Result<TrustFile, TrustError> {
        let Some(text) = read_text(&self.file, LIMIT).map_err(TrustError::Unreadable)? else {
            return Ok(TrustFile::default());
        };
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("not the JSON that is expected: {error}");
            TrustError::Unreadable(Diagnostic::error(&self.file, Some(error.line()), message))
        })
    }

    fn lock(&self) -> Result<File, TrustError> {
        let path = self.file.with_extension("lock");
        let failed = |source| TrustError::Write { path: path.clone(), source };
        let file = fs::OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => return Err(TrustError::Locked(path)),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }
}

fn canonical(folder: &Path) -> Result<String, TrustError> {
    let path = fs::canonicalize(folder)
        .map_err(|source| TrustError::NoSuchFolder { path: folder.into(), source })?;
    path.into_os_string().into_string().map_err(|path| TrustError::NotUtf8(path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, TrustStore, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("project é #1 100%");
        fs::create_dir(&folder).unwrap();
        let store = TrustStore::new(&StateDirs::at(root.path().join("home")));
        (root, store, folder)
    }

    #[test]
    fn an_answer_is_kept_and_can_change() {
        let (_root, store, folder) = store();
        assert_eq!(store.trusted(&folder).unwrap(), None);
        store.set(&folder, true).unwrap();
        assert_eq!(store.clone().trusted(&folder).unwrap(), Some(true));
        store.set(&folder, false).unwrap();
        assert_eq!(store.trusted(&folder).unwrap(), Some(false));
    }

    #[test]
    fn a_folder_inside_a_trusted_one_is_not_trusted_by_that() {
        let (_root, store, folder) = store();
        store.set(&folder, true).unwrap();
        let inner = folder.join("vendored");
        fs::create_dir(&inner).unwrap();
        assert_eq!(store.trusted(&inner).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn names_of_one_folder_share_an_answer_in_a_private_file() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (root, store, folder) = store();
        let link = root.path().join("link");
        symlink(&folder, &link).unwrap();
        store.set(&link.join("."), true).unwrap();
        assert_eq!(store.trusted(&folder).unwrap(), Some(true));
        assert_eq!(fs::metadata(&store.file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_broken_file_trusts_nothing_and_is_not_overwritten() {
        let (_root, store, folder) = store();
        store.set(&folder, true).unwrap();
        for broken in ["{", "[]", "{\"folders\":{\"/\":\"yes\"}}"] {
            fs::write(&store.file, broken).unwrap();
            assert!(matches!(store.trusted(&folder), Err(TrustError::Unreadable(_))), "{broken}");
            assert!(store.set(&folder, true).is_err());
            assert_eq!(fs::read_to_string(&store.file).unwrap(), broken);
        }
    }

    #[test]
    fn writers_do_not_lose_each_others_answers() {
        let (root, store, _folder) = store();
        let folders: Vec<_> = (0..8).map(|n| root.path().join(format!("f{n}"))).collect();
        std::thread::scope(|scope| {
            for folder in &folders {
                fs::create_dir(folder).unwrap();
                scope.spawn(|| store.set(folder, true).unwrap());
            }
        });
        for folder in &folders {
            assert_eq!(store.trusted(folder).unwrap(), Some(true));
        }
    }

    #[test]
    fn a_held_lock_is_waited_for_only_a_while() {
        let (_root, store, folder) = store();
        store.set(&folder, true).unwrap();
        let _held = store.lock().unwrap();
        assert!(matches!(store.set(&folder, false), Err(TrustError::Locked(_))));
    }
}
