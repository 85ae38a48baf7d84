//! Reading and replacing small text files that somebody else may have written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::Diagnostic;

/// Reads a UTF-8 text of at most `limit` bytes, without its byte order mark and with LF line ends. A file that does not
/// exist is `None`.
///
/// The kind is looked at before the file is opened: opening a pipe would wait for its writer.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<Option<String>, Diagnostic> {
    let Some((bytes, whole)) = read_start(path, limit)? else { return Ok(None) };
    if !whole {
        return Err(Diagnostic::error(
            path,
            None,
            format!("larger than {} KiB; make it shorter", limit / 1024),
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|&byte| byte == b'\n').count();
        Diagnostic::error(path, Some(line), "not UTF-8 text; save the file as UTF-8")
    })?;
    Ok(Some(normalise(&text)))
}

/// Reads the first `limit` bytes of a regular file, and whether that is all of it.
pub(crate) fn read_start(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, bool)>, Diagnostic> {
    let failed = |error: io::Error| Diagnostic::error(path, None, format!("cannot be read: {error}"));
    let kind = match fs::metadata(path) {
        Ok(kind) => kind,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !kind.is_file() {
        return Err(Diagnostic::error(path, None, "not a regular file; move it out of the way"));
    }
    let mut bytes = Vec::new();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    let whole = bytes.len() as u64 <= limit;
    bytes.truncate(limit as usize);
    Ok(Some((bytes, whole)))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Takes off a byte order mark and turns CRLF and lone CR into LF.
pub(crate) fn normalise(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// Replaces a file by a temporary file and a rename, so that a reader sees the old text or the new one and a crash
/// leaves no half. Only the owner may read it. The folder must exist.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    write_and_rename(path, text, None)
}

/// As [`replace`], but whoever could read the file before still can: for files that people share in a repository.
pub(crate) fn replace_shared(path: &Path, text: &str) -> io::Result<()> {
    let before = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    write_and_rename(path, text, before.map(|before| before.permissions()))
}

fn write_and_rename(path: &Path, text: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // `tempfile` creates with mode 0600.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn folder_with(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn marks_and_line_ends_are_taken_off() {
        let (_folder, path) = folder_with("a", b"\xef\xbb\xbfone\r\ntwo\rthree\n");
        assert_eq!(read_text(&path, 100).unwrap().unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_limit_is_the_largest_length_that_is_read() {
        let (_folder, path) = folder_with("a", b"12345");
        assert_eq!(read_text(&path, 5).unwrap().unwrap(), "12345");
        assert!(read_text(&path, 4).unwrap_err().message.contains("larger"));
    }

    #[test]
    fn other_encodings_are_named_with_their_line() {
        let (_folder, path) = folder_with("a", b"fine\ncaf\xe9\n");
        assert_eq!(read_text(&path, 100).unwrap_err().line, Some(2));
    }

    #[test]
    fn a_folder_is_no_file_and_nothing_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_text(folder.path(), 100).unwrap_err().message.contains("not a regular file"));
        assert!(read_text(&folder.path().join("absent"), 100).unwrap().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(read_text(&path, 100).unwrap_err().message.contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, path) = folder_with("a", b"old");
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
