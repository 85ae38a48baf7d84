//! Rules for the editor clients.

use std::path::Path;

use protocol::METHODS;

use crate::{files_under, none, text};

#[test]
fn method_names_are_typed_in_generated_files_only() {
    let generated =
        ["editor-clients/vscode/src/protocol.gen.ts", "editor-clients/nvim/lua/adjutant/protocol_gen.lua"];
    let mut found = Vec::new();
    for path in files_under("editor-clients") {
        let is_source = path
            .extension()
            .is_some_and(|ending| ["ts", "mts", "js", "mjs", "lua"].iter().any(|one| ending == *one));
        if !is_source || generated.iter().any(|generated| path == Path::new(generated)) {
            continue;
        }
        let text = text(&path);
        for row in METHODS {
            if ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{}{quote}", row.name))) {
                found.push(format!("{}: {}", path.display(), row.name));
            }
        }
    }
    none("method names by hand: use the generated constants", &found);
}

#[test]
fn clients_read_nothing_of_the_server() {
    let mut found = Vec::new();
    for path in files_under("editor-clients") {
        let is_source = path.extension().is_some_and(|ending| ["ts", "lua"].iter().any(|one| ending == *one));
        if is_source && text(&path).contains("server/adjutant/src") {
            found.push(path.display().to_string());
        }
    }
    none("clients that know files of the server", &found);
}

#[test]
fn lock_files_name_no_download_host() {
    let lock = text(Path::new("editor-clients/vscode/package-lock.json"));
    assert!(
        !lock.contains("\"resolved\""),
        "install with omit-lockfile-registry-resolved=true, as .npmrc says"
    );
}
