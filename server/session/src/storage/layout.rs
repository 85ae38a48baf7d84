//! Where things are: `<sessions>/<folder key>/<session id>/{lock,session.jsonl,fleet.jsonl,agents/<agent id>.jsonl,
//! transcripts/<agent id>.<run>.jsonl,plans/<hash>.json}`.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::StorageError;

/// Characters of a folder's name that its key shows.
const SLUG_CHARS: usize = 40;
/// Bytes of the hash in a folder's key, each two digits.
const HASH_BYTES: usize = 6;

/// Bytes of the hash that names a kept plan, each two digits.
const PLAN_HASH_BYTES: usize = 12;

/// The folder that holds the sessions of all working folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionsDir(PathBuf);

impl SessionsDir {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of a working folder's sessions; it may not exist yet. The key is the name, for people, and a hash of the
    /// whole canonical path, so that no two folders share one.
    pub fn folder(&self, cwd: &Path) -> PathBuf {
        let canonical = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        let hash = Sha256::digest(canonical.as_os_str().as_bytes());
        let mut key = slug(&canonical.file_name().map(|name| name.to_string_lossy()).unwrap_or_default());
        key.push('-');
        for byte in hash.iter().take(HASH_BYTES) {
            let _ = write!(key, "{byte:02x}");
        }
        self.0.join(key)
    }

    /// The files of one session. The id becomes a file name, so it must be fit for one.
    pub fn session(&self, cwd: &Path, session_id: &str) -> Result<SessionPaths, StorageError> {
        Ok(SessionPaths { folder: self.folder(cwd).join(file_name(session_id)?) })
    }
}

/// The files of one root session and its agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPaths {
    folder: PathBuf,
}

impl SessionPaths {
    /// Of a session folder that was found, as by [`list`](super::list).
    pub fn of_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn session_file(&self) -> PathBuf {
        self.folder.join("session.jsonl")
    }

    /// The journal of the session's agents.
    pub fn journal_file(&self) -> PathBuf {
        self.folder.join("fleet.jsonl")
    }

    /// Keeps a text under the name of its content, for nobody but the user, and answers the name. What is there already
    /// is not written again.
    pub fn keep_plan(&self, text: &str) -> Result<String, StorageError> {
        let hash = Sha256::digest(text.as_bytes());
        let mut name = String::new();
        for byte in hash.iter().take(PLAN_HASH_BYTES) {
            let _ = write!(name, "{byte:02x}");
        }
        let path = self.plan_file(&name)?;
        if !path.exists() {
            let folder = self.folder.join("plans");
            private_dir(&folder).map_err(StorageError::io("make the folder", &folder))?;
            let kept = tempfile::NamedTempFile::new_in(&folder).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.persist(&path).map_err(|error| error.error)
            });
            kept.map_err(StorageError::io("write", &path))?;
        }
        Ok(name)
    }

    /// Where [`keep_plan`](Self::keep_plan) has put a text.
    pub fn plan_file(&self, name: &str) -> Result<PathBuf, StorageError> {
        Ok(self.folder.join("plans").join(format!("{}.json", file_name(name)?)))
    }

    pub fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub fn agent_file(&self, agent_id: &str) -> Result<PathBuf, StorageError> {
        Ok(self.folder.join("agents").join(format!("{}.jsonl", file_name(agent_id)?)))
    }

    /// One run of an agent, for people and other programs; nothing is read back from it.
    pub fn transcript_file(&self, agent_id: &str, run: u32) -> Result<PathBuf, StorageError> {
        Ok(self.folder.join("transcripts").join(format!("{}.{run}.jsonl", file_name(agent_id)?)))
    }
}

/// Opens a file to append to, for nobody but the user. It and its folder are made where they are missing; a link is not
/// followed.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                private_dir(folder)?;
            }
            options.open(path)
        }
        opened => opened,
    }
}

/// Makes a folder and those above it, for nobody but the user.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn file_name(id: &str) -> Result<&str, StorageError> {
    let fit = id.len() <= 128
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if fit { Ok(id) } else { Err(StorageError::InvalidName(id.chars().take(80).collect())) }
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if slug.len() >= SLUG_CHARS {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "folder".to_owned() } else { slug.to_owned() }
}
