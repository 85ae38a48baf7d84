//! The instructions that a workspace folder has for every agent: `AGENTS.md` and its kin.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Diagnostic;
use crate::text_file::{normalise, read_start};

/// In the order of preference; the first that is there is the one. `CLAUDE.md` is often a link to `AGENTS.md`.
const NAMES: &[&str] = &["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];
/// They go into every request.
const LIMIT: u64 = 64 * 1024;

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    /// At most 64 KiB; a note at the end says so where it was longer.
    pub text: String,
}

/// The context file of a workspace folder; nothing where the folder is not trusted. Only the folder itself is looked at.
pub fn load_context_files(folder: &Path, trusted: bool) -> (Vec<ContextFile>, Vec<Diagnostic>) {
    if !trusted {
        return (Vec::new(), Vec::new());
    }
    let mut found = Vec::new();
    for name in NAMES {
        match read(folder, &folder.join(name), &mut found) {
            Ok(Some(file)) => return (vec![file], found),
            Ok(None) => {}
            Err(fault) => found.push(fault),
        }
    }
    (Vec::new(), found)
}

/// `None` where there is no such file, or nothing in it.
fn read(folder: &Path, path: &Path, found: &mut Vec<Diagnostic>) -> Result<Option<ContextFile>, Diagnostic> {
    let (Ok(real), Ok(root)) = (fs::canonicalize(path), fs::canonicalize(folder)) else { return Ok(None) };
    if !real.starts_with(root) {
        return Err(Diagnostic::error(
            path,
            None,
            "leads out of the folder by a link; put the file itself here",
        ));
    }
    let Some((bytes, whole)) = read_start(path, LIMIT)? else { return Ok(None) };
    let mut text = normalise(&decode(path, &bytes, whole, found));
    if text.trim().is_empty() {
        return Ok(None);
    }
    if !whole {
        let message = format!("longer than {} KiB; the rest is left out", LIMIT / 1024);
        found.push(Diagnostic::warning(path, None, &message));
        text.extend(["\n\n[", &message, "]\n"]);
    }
    Ok(Some(ContextFile { path: path.into(), text }))
}

/// Bytes that are not UTF-8 are replaced and named; a character that the limit cut in two is dropped.
fn decode(path: &Path, bytes: &[u8], whole: bool, found: &mut Vec<Diagnostic>) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if !whole && error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(error) => {
            let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
            let message = "not UTF-8 text; what cannot be read is replaced";
            found.push(Diagnostic::warning(path, Some(line), message));
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    #[test]
    fn the_first_name_wins_and_blank_files_do_not_count() {
        let folder = folder_with(&[("AGENTS.md", b" \n"), ("CLAUDE.md", b"\xef\xbb\xbfuse\r\ntabs")]);
        let (files, found) = load_context_files(folder.path(), true);
        assert_eq!(files[0].text, "use\ntabs");
        assert_eq!((files.len(), found.len()), (1, 0));
        fs::write(folder.path().join("AGENTS.md"), "use blanks").unwrap();
        assert_eq!(load_context_files(folder.path(), true).0[0].text, "use blanks");
    }

    #[test]
    fn an_untrusted_folder_says_nothing() {
        let folder = folder_with(&[("AGENTS.md", b"do evil")]);
        assert_eq!(load_context_files(folder.path(), false), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_long_file_is_cut_between_characters_and_says_so() {
        let folder = folder_with(&[("AGENTS.md", "xé".repeat(40_000).as_bytes())]);
        let (files, found) = load_context_files(folder.path(), true);
        assert!(files[0].text.len() < 65 * 1024 && !files[0].text.contains('\u{fffd}'));
        assert!(files[0].text.ends_with("left out]\n"));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_named() {
        let folder = folder_with(&[("AGENTS.md", b"a\nb\xff")]);
        let (files, found) = load_context_files(folder.path(), true);
        assert_eq!(files[0].text, "a\nb\u{fffd}");
        assert_eq!(found[0].line, Some(2));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_may_stay_in_the_folder_but_not_leave_it() {
        use std::os::unix::fs::symlink;
        let outside = folder_with(&[("secret", b"key")]);
        let folder = folder_with(&[("real.md", b"rules")]);
        symlink(outside.path().join("secret"), folder.path().join("AGENTS.md")).unwrap();
        symlink("real.md", folder.path().join("CLAUDE.md")).unwrap();
        let (files, found) = load_context_files(folder.path(), true);
        assert_eq!(files[0].text, "rules");
        assert!(found[0].message.contains("link"));
    }

    #[test]
    fn a_folder_of_that_name_is_passed_over() {
        let folder = folder_with(&[("CLAUDE.md", b"rules")]);
        fs::create_dir(folder.path().join("AGENTS.md")).unwrap();
        let (files, found) = load_context_files(folder.path(), true);
        assert_eq!((files[0].text.as_str(), found.len()), ("rules", 1));
    }
}
