//! Every row of the method table is used, has an example, and is explained.

use std::path::Path;

use protocol::{COMMANDS, Direction, METHODS};

use crate::{code, has_word, is_test, none, rust_under, text};

/// `adjutant/agent/stopAll` → `AgentStopAll`: the marker type of a row.
fn marker(method: &str) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    method.trim_start_matches("adjutant/").split('/').map(capital).collect()
}

#[test]
fn every_method_has_a_handler_or_a_sender() {
    let sources: String = rust_under("server/adjutant/src")
        .iter()
        .filter(|path| !is_test(path))
        .map(|path| code(path))
        .collect();
    let handlers = code(Path::new("server/adjutant/src/lsp/handlers.rs"));
    let missing = METHODS.iter().filter(|row| {
        let place = if row.direction == Direction::ClientRequest { &handlers } else { &sources };
        !has_word(place, &marker(row.name))
    });
    none(
        "methods that are advertised and not served",
        &missing.map(|row| row.name.to_owned()).collect::<Vec<_>>(),
    );
}

#[test]
fn every_command_is_run_somewhere() {
    let commands = code(Path::new("server/adjutant/src/lsp/commands.rs"));
    let missing = COMMANDS.iter().filter(|row| {
        let name = row.name.rsplit('.').next().unwrap_or_default();
        !has_word(&commands, &marker(name))
    });
    none(
        "commands that are offered and not served",
        &missing.map(|row| row.name.to_owned()).collect::<Vec<_>>(),
    );
}

#[test]
fn every_method_has_a_fixture() {
    let folder = Path::new("tests/contract/fixtures");
    let missing =
        METHODS.iter().filter(|row| !support::root().join(folder).join(row.name.replace('/', ".")).is_dir());
    none(
        "methods without an example in tests/contract/fixtures",
        &missing.map(|row| row.name.to_owned()).collect::<Vec<_>>(),
    );
}

#[test]
fn every_method_is_in_the_client_contract() {
    let page = text(Path::new("editor-clients/README.md"));
    let missing = METHODS.iter().filter(|row| !page.contains(&format!("`{}`", row.name)));
    none(
        "methods that editor-clients/README.md does not have",
        &missing.map(|row| row.name.to_owned()).collect::<Vec<_>>(),
    );
}

#[test]
fn every_method_and_command_is_exercised_end_to_end() {
    let suites: String =
        rust_under("tests/e2e").iter().chain(&rust_under("tests/support")).map(|path| text(path)).collect();
    let methods = METHODS.iter().filter(|row| !has_word(&suites, &marker(row.name))).map(|row| row.name);
    let of_all = text(Path::new("tests/e2e/commands.rs")).contains("for row in COMMANDS");
    assert!(of_all, "tests/e2e/commands.rs runs every command");
    none("methods that no end-to-end test names", &methods.map(str::to_owned).collect::<Vec<_>>());
}
