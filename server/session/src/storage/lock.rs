//! One writer a session: a lock that the system takes back when its process ends, however it ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::layout::private_dir;
use super::{SessionPaths, StorageError};

/// The right to write a session's files; it ends when this is dropped.
#[derive(Debug)]
pub struct SessionLock {
    // Held for its lock alone.
    _file: File,
    path: PathBuf,
}

impl SessionLock {
    /// Takes the lock, making the session's folder where it is missing. Never waits: a session that is open elsewhere is
    /// [`StorageError::Locked`], with the process that holds it where it said so.
    pub fn acquire(paths: &SessionPaths) -> Result<Self, StorageError> {
        private_dir(paths.folder()).map_err(StorageError::io("make the folder", paths.folder()))?;
        let path = paths.lock_file();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(StorageError::io("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let process = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(StorageError::Locked { folder: paths.folder().to_owned(), process });
            }
            Err(error) => return Err(StorageError::io("lock", &path)(error.into())),
        }
        // Only a hint for the message above, so a disk that refuses it refuses nothing else.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file, path })
    }

    /// Whether nobody holds the lock just now. True also where there is no session.
    pub fn is_free(paths: &SessionPaths) -> bool {
        let Ok(file) = File::open(paths.lock_file()) else { return true };
        flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
