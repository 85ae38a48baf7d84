//! What is generated is current: `schemas/`, and the types of both clients.
//!
//! Self-updating: a difference is written out, then the test fails. Under `CI` it only fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::emit::{lua, typescript};
use crate::root;

/// Every generated file, by its path in the repository.
fn generated() -> Vec<(PathBuf, String)> {
    let schema = protocol::protocol_schema();
    let index = protocol::method_index();
    let mut files: Vec<(PathBuf, String)> = adjutant_server::cli::schema::schema_documents()
        .iter()
        .map(|document| (Path::new("schemas").join(&document.file), document.text()))
        .collect();
    files.push((
        PathBuf::from("editor-clients/vscode/src/protocol.gen.ts"),
        typescript::print(&schema, &index).expect("each type of the contract can be printed as TypeScript"),
    ));
    files.push((
        PathBuf::from("editor-clients/nvim/lua/adjutant/protocol_gen.lua"),
        lua::print(&schema).expect("each type of the contract can be printed as Lua"),
    ));
    files
}

#[test]
fn generated_files_are_current() {
    let mut stale = Vec::new();
    let files = generated();
    for (path, text) in &files {
        let full = root().join(path);
        if fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        stale.push(path.display().to_string());
        if std::env::var_os("CI").is_none() {
            fs::create_dir_all(full.parent().expect("a file has a folder")).expect("its folder can be made");
            fs::write(&full, text).expect("it can be written");
        }
    }
    assert!(stale.is_empty(), "not current: {stale:?}. Run the contract test again, then commit.");

    let known: BTreeSet<PathBuf> = files.into_iter().map(|(path, _)| root().join(path)).collect();
    let strays: Vec<PathBuf> = crate::files_under(&root().join("schemas"))
        .into_iter()
        .filter(|path| !known.contains(path))
        .collect();
    assert!(strays.is_empty(), "made by no generator; delete them: {strays:?}");
}

#[test]
fn every_schema_is_one() {
    for document in adjutant_server::cli::schema::schema_documents()
        .iter()
        .filter(|document| document.file.ends_with(".schema.json"))
    {
        if let Err(error) = jsonschema::validator_for(&document.content) {
            panic!("{}: {error}", document.file);
        }
    }
}
