//! Reading, replacing and listing on the local disk.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::OFlags;
use tokio_util::sync::CancellationToken;

use super::mutation::Turn;
use super::paths;
use super::{
    Change, EntryKind, EnvironmentError, FileContent, FolderEntry, LIST_CAP, Listing, READ_CAP, Written,
};

/// Up to here a file is handled on the calling thread: handing over costs more than the read.
const INLINE: u64 = 256 * 1024;

/// See [`Environment::read`](super::Environment::read).
pub(super) async fn read(path: &Path) -> Result<FileContent, EnvironmentError> {
    let (file, metadata) = open_regular(path)?;
    let owned = path.to_owned();
    unless_small(metadata.len(), move || read_open(file, metadata.len(), &owned)).await
}

/// See [`Environment::write`](super::Environment::write).
pub(super) async fn write(
    path: &Path,
    bytes: Bytes,
    cancel: &CancellationToken,
) -> Result<Written, EnvironmentError> {
    let turn = Turn::wait(path, cancel).await?;
    let path = path.to_owned();
    unless_small(bytes.len() as u64, move || {
        // Held here, not by the future: a call that is dropped still finishes its write before the next one.
        let _turn = turn;
        replace(&path, &bytes, None)
    })
    .await
}

/// See [`Environment::update`](super::Environment::update).
pub(super) async fn update(
    path: &Path,
    change: Change,
    cancel: &CancellationToken,
) -> Result<Written, EnvironmentError> {
    let turn = Turn::wait(path, cancel).await?;
    let (file, metadata) = open_regular(path)?;
    let path = path.to_owned();
    unless_small(metadata.len(), move || {
        let _turn = turn;
        let content = read_open(file, metadata.len(), &path)?;
        let bytes = change(&content).map_err(EnvironmentError::Refused)?;
        replace(&path, &bytes, Some(&metadata))
    })
    .await
}

/// See [`Environment::list`](super::Environment::list).
pub(super) async fn list(path: &Path) -> Result<Listing, EnvironmentError> {
    let path = path.to_owned();
    unless_small(u64::MAX, move || {
        let mut listing = Listing { entries: Vec::new(), complete: true };
        for entry in fs::read_dir(&path).map_err(|error| EnvironmentError::io(&path, error))? {
            // A name that vanished while we look is no failure of the folder.
            let Ok(entry) = entry else { continue };
            if listing.entries.len() == LIST_CAP {
                listing.complete = false;
                break;
            }
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    fs::metadata(entry.path()).ok().map(|target| target.file_type())
                }
                other => other.ok(),
            };
            let kind = match kind {
                Some(kind) if kind.is_dir() => EntryKind::Folder,
                Some(kind) if kind.is_file() => EntryKind::File,
                _ => EntryKind::Other,
            };
            listing.entries.push(FolderEntry { name: entry.file_name(), kind });
        }
        Ok(listing)
    })
    .await
}

/// Opens a regular file for reading, without waiting for a pipe's other end.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), EnvironmentError> {
    let fault = |error| EnvironmentError::io(path, error);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(fault)?;
    let metadata = file.metadata().map_err(fault)?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

async fn unless_small<T: Send + 'static>(
    size: u64,
    work: impl FnOnce() -> Result<T, EnvironmentError> + Send + 'static,
) -> Result<T, EnvironmentError> {
    if size <= INLINE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(EnvironmentError::Cancelled),
    }
}

fn read_open(file: File, size: u64, path: &Path) -> Result<FileContent, EnvironmentError> {
    let too_large = |size| EnvironmentError::TooLarge { path: path.to_owned(), size };
    if size > READ_CAP {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    // The size is a hint: the file may grow, and the kernel's own files say 0.
    file.take(READ_CAP + 1).read_to_end(&mut bytes).map_err(|error| EnvironmentError::io(path, error))?;
    if bytes.len() as u64 > READ_CAP {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(FileContent { bytes: bytes.into(), unsaved: false })
}

fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), EnvironmentError> {
    if metadata.is_dir() {
        return Err(EnvironmentError::IsFolder(path.to_owned()));
    }
    if !metadata.is_file() {
        return Err(EnvironmentError::NotRegular(path.to_owned()));
    }
    Ok(())
}

/// Puts `bytes` in the place of a file in one step. `read_as` is what the file was when `bytes` were computed.
fn replace(path: &Path, bytes: &[u8], read_as: Option<&Metadata>) -> Result<Written, EnvironmentError> {
    let fault = |error| EnvironmentError::io(path, error);
    // A link stays a link: what it leads to is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let before = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(fault(error)),
    };
    let Some(before) = before else {
        return create(path, bytes).map_err(fault);
    };
    check_regular(path, &before)?;
    // A rename asks only the folder; a file that is read-only must refuse.
    drop(OpenOptions::new().write(true).open(&target).map_err(fault)?);
    let temporary = match temporary_beside(&target, bytes, Some(before.permissions())) {
        Ok(temporary) => temporary,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            // The file may be written but its folder may not: then there is no other way than in place.
            check_unchanged(path, &target, read_as)?;
            fs::write(&target, bytes).map_err(fault)?;
            return Ok(Written { created: false, unsaved: false });
        }
        Err(error) => return Err(fault(error)),
    };
    keep_owner(temporary.as_file(), &before);
    check_unchanged(path, &target, read_as)?;
    temporary.persist(&target).map_err(|error| fault(error.error))?;
    Ok(Written { created: false, unsaved: false })
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<Written> {
    // A link that leads nowhere: the file is made where it leads to.
    let target = paths::real_path(path);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    temporary_beside(&target, bytes, None)?.persist(&target).map_err(|error| error.error)?;
    Ok(Written { created: true, unsaved: false })
}

fn temporary_beside(
    target: &Path,
    bytes: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<tempfile::NamedTempFile> {
    let folder: PathBuf = target.parent().unwrap_or(Path::new("/")).to_owned();
    let mut temporary = tempfile::Builder::new()
        .prefix(".adjutant-")
        .suffix(".tmp")
        // As any new file: the umask takes from it.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    Ok(temporary)
}

/// Best effort: only root may give a file away, and the content matters more.
fn keep_owner(file: &File, before: &Metadata) {
    let Ok(now) = file.metadata() else { return };
    if (now.uid(), now.gid()) == (before.uid(), before.gid()) {
        return;
    }
    let (uid, gid) = (rustix::fs::Uid::from_raw(before.uid()), rustix::fs::Gid::from_raw(before.gid()));
    if let Err(error) = rustix::fs::fchown(file, Some(uid), Some(gid)) {
        tracing::debug!(%error, "the owner of a rewritten file could not be kept");
    } else if let Err(error) = file.set_permissions(before.permissions()) {
        // Changing the owner drops the set-id bits.
        tracing::debug!(%error, "the mode of a rewritten file could not be kept");
    }
}

fn check_unchanged(path: &Path, target: &Path, read_as: Option<&Metadata>) -> Result<(), EnvironmentError> {
    let Some(then) = read_as else { return Ok(()) };
    let now = fs::metadata(target).map_err(|error| EnvironmentError::io(path, error))?;
    let identity = |m: &Metadata| (m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec());
    if identity(then) == identity(&now) { Ok(()) } else { Err(EnvironmentError::Conflict(path.to_owned())) }
}
