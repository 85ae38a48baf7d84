//! Between what a model writes for a path and what the system takes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::EnvironmentError;

/// Links to nothing that are followed one after another; as many as the system follows.
const MAX_LINKS: u32 = 40;

/// See [`Environment::resolve`](super::Environment::resolve).
pub(super) fn resolve(root: &Path, text: &str) -> Result<PathBuf, EnvironmentError> {
    if text.trim().is_empty() {
        return Err(EnvironmentError::EmptyPath);
    }
    if text.contains('\0') {
        return Err(EnvironmentError::NulInPath);
    }
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return from_uri(text).map(|path| normalise(&path));
    }
    let literal = normalise(&root.join(expand_home(text)));
    if literal.symlink_metadata().is_ok() {
        return Ok(literal);
    }
    // People write `@path` for a mention, and copied names carry typographic spaces. Only a file that is there is
    // taken for what was meant: a new `@scope` folder keeps its name.
    let plain = plain_text(text);
    let meant = normalise(&root.join(expand_home(plain.strip_prefix('@').unwrap_or(&plain))));
    Ok(if meant.symlink_metadata().is_ok() { meant } else { literal })
}

/// See [`Environment::display`](super::Environment::display).
pub(super) fn display(root: &Path, path: &Path) -> String {
    let short = match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => Path::new("."),
        Ok(inside) => inside,
        Err(_) => path,
    };
    match short.to_str() {
        Some(text) if !text.chars().any(char::is_control) => {
            let mistakable = text.starts_with(['~', '@']) || text.starts_with("file:") || text.trim() != text;
            if mistakable { format!("./{text}") } else { text.to_owned() }
        }
        _ => to_uri(path),
    }
}

/// See [`Environment::real_path`](super::Environment::real_path).
pub(super) fn real_path(path: &Path) -> PathBuf {
    normalise(&followed(path, MAX_LINKS))
}

/// Follows links, also those that lead to nothing yet: a file that is made through one is made where it leads to.
fn followed(path: &Path, links_left: u32) -> PathBuf {
    for ancestor in path.ancestors() {
        let Ok(real) = ancestor.canonicalize() else { continue };
        let Ok(rest) = path.strip_prefix(ancestor) else { return real };
        let mut missing = rest.components();
        let Some(first) = missing.next() else { return real };
        let place = real.join(first);
        return match place.read_link() {
            Ok(target) if links_left > 0 => {
                followed(&real.join(target).join(missing.as_path()), links_left - 1)
            }
            _ => place.join(missing.as_path()),
        };
    }
    path.to_owned()
}

/// Takes `.` and `..` out by text alone, so that the path which is checked is the path which is opened.
fn normalise(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

fn expand_home(text: &str) -> PathBuf {
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    match text.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| text.into()),
        Some(rest) if rest.starts_with('/') => {
            home().map_or_else(|| text.into(), |home| home.join(rest.trim_start_matches('/')))
        }
        _ => text.into(),
    }
}

/// A URI's `#` and `?` are taken as they stand: models seldom escape them, and a file has no fragment.
fn from_uri(uri: &str) -> Result<PathBuf, EnvironmentError> {
    let foreign = || EnvironmentError::ForeignUri(uri.to_owned());
    let rest = &uri[5..];
    let path = match rest.strip_prefix("//") {
        Some(with_host) => {
            let (host, path) = with_host.split_at(with_host.find('/').ok_or_else(foreign)?);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(foreign());
            }
            path
        }
        None if rest.starts_with('/') => rest,
        None => return Err(foreign()),
    };
    let bytes = percent_decoded(path.as_bytes());
    if bytes.contains(&0) {
        return Err(EnvironmentError::NulInPath);
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'%'
            && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    decoded
}

fn to_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            use std::fmt::Write as _;
            // Writing to a String cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

fn plain_text(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
            other => other,
        })
        .collect()
}
