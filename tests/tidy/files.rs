//! Rules for the tree as a whole.

use std::fs;

use support::root;

use crate::{files_under, none, text};

#[test]
fn the_top_level_is_fixed() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "LICENSE",
        "server",
        "editor-clients",
        "schemas",
        "tests",
        ".ci",
        ".git",
        ".gitignore",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "clippy.toml",
        "deny.toml",
        "_typos.toml",
        // Not ours, and not committed.
        "target",
    ];
    let entries = fs::read_dir(root()).expect("the root can be read").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    none(
        "entries that the top level does not have",
        &names.filter(|name| !allowed.contains(&name.as_str())).collect::<Vec<_>>(),
    );
}

#[test]
fn what_belongs_at_the_top_is_there() {
    let wanted = [
        "LICENSE",
        "deny.toml",
        "_typos.toml",
        ".ci/run",
        "tests/run",
        "server/STYLE.md",
        "server/CHANGELOG.md",
        "editor-clients/README.md",
        "schemas/methods.json",
    ];
    none(
        "missing files",
        &wanted
            .iter()
            .filter(|path| !root().join(path).exists())
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn no_file_names_a_machine_or_a_download_host() {
    // Put together here, so that this file does not hold them itself.
    let join = |parts: &[&str]| parts.concat();
    let mut forbidden = vec![
        join(&["/ro", "ot/"]),
        join(&["/Us", "ers/"]),
        join(&["/wo", "rk/main"]),
        join(&["/wo", "rk/shared"]),
        join(&["registry.", "npmjs.org"]),
        join(&["static.", "crates.io"]),
        join(&["index.", "crates.io"]),
        join(&["files.", "pythonhosted.org"]),
        join(&["deb.", "debian.org"]),
    ];
    let here = root().canonicalize().expect("the root has a path").to_string_lossy().into_owned();
    // A tree at the top of a disk would match everything.
    forbidden.extend((here.matches('/').count() > 1).then_some(here));
    let mut found = Vec::new();
    for folder in ["server", "editor-clients", "schemas", "tests", ".ci"] {
        for path in files_under(folder) {
            let text = text(&path);
            let names = forbidden.iter().filter(|name| text.contains(name.as_str()));
            found.extend(names.map(|name| format!("{}: {name}", path.display())));
        }
    }
    none("files that name a machine's folders or a download host", &found);
}

#[test]
fn text_ends_in_one_line_feed_and_has_no_carriage_returns() {
    let endings = ["rs", "toml", "md", "lua", "ts", "mjs", "sh", "json"];
    let mut found = Vec::new();
    for folder in ["server", "editor-clients", "schemas", "tests/support", "tests/e2e", "tests/tidy"] {
        for path in files_under(folder) {
            if !path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
                continue;
            }
            let text = text(&path);
            if text.contains('\r') || (!text.is_empty() && !text.ends_with('\n')) || text.ends_with("\n\n") {
                found.push(path.display().to_string());
            }
        }
    }
    none("files whose lines do not end as they should", &found);
}
