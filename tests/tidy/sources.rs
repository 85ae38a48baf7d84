//! Rules about Rust sources, read as text.

use std::path::Path;

use crate::{code, has_word, is_test, none, rust_under, text};

/// Lines of a file at most, tests apart.
const LINES: usize = 600;

#[test]
fn every_file_says_what_it_is() {
    let mut found = Vec::new();
    for path in rust_under("server").into_iter().chain(rust_under("tests")) {
        if !text(&path).starts_with("//! ") {
            found.push(path.display().to_string());
        }
    }
    none("files that do not begin with a `//!` line", &found);
}

#[test]
fn files_stay_small() {
    let mut found = Vec::new();
    for path in rust_under("server").into_iter().chain(rust_under("tests/support")) {
        let lines = text(&path).lines().count();
        if lines > LINES && !is_test(path.strip_prefix("tests").unwrap_or(&path)) {
            found.push(format!("{} has {lines}", path.display()));
        }
    }
    none("files over 600 lines: give the second subject a file of its own", &found);
}

#[test]
fn the_core_names_no_clock_no_task_and_no_hash_map() {
    let forbidden = [
        "tokio",
        "futures",
        "async",
        "Instant",
        "SystemTime",
        "HashMap",
        "HashSet",
        "std::fs",
        "std::env",
        "std::io",
        "std::net",
        "std::thread",
        "std::process",
        "std::sync::Mutex",
        "RefCell",
    ];
    let mut found = Vec::new();
    for path in rust_under("server/roster/src").iter().filter(|path| !is_test(path)) {
        let code = code(path);
        let words = forbidden.iter().filter(|word| has_word(&code, word));
        found.extend(words.map(|word| format!("{}: {word}", path.display())));
    }
    none("what a pure state machine does not need", &found);
}

#[test]
fn stdout_is_the_protocol() {
    // The commands of a terminal print; the language server takes stdout over before anything else can.
    let printers = "server/adjutant/src/cli";
    let mut found = Vec::new();
    for path in rust_under("server").iter().filter(|path| !is_test(path)) {
        let code = code(path);
        let prints = ["println!", "print!", "eprintln!", "eprint!", "dbg!"];
        found.extend(
            prints
                .iter()
                .filter(|print| has_macro(&code, print))
                .map(|print| format!("{}: {print}", path.display())),
        );
        if has_word(&code, "stdout()") && !path.starts_with(printers) {
            found.push(format!("{}: stdout()", path.display()));
        }
        if code.contains("fn main") || path.starts_with(printers) {
            continue;
        }
        if code.contains("process::exit(") {
            found.push(format!("{}: process::exit", path.display()));
        }
    }
    none(
        "prints, which would break the protocol (write through the outbox, a log, or a handle in cli/)",
        &found,
    );
}

fn has_macro(code: &str, call: &str) -> bool {
    code.match_indices(call)
        .any(|(at, _)| !code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_'))
}

#[test]
fn tasks_are_started_where_somebody_ends_them() {
    let allowed = [
        // The wire: one task a request, so that none delays another; the pumps of its two ends.
        "server/adjutant/src/lsp/guard.rs",
        "server/adjutant/src/lsp/mod.rs",
        "server/adjutant/src/lsp/output.rs",
        // The command line is the root of its own tree.
        "server/adjutant/src/cli/run.rs",
        "server/adjutant/src/cli/demo/process.rs",
        "server/adjutant/src/cli/lsp_client.rs",
        // Reads what is left of a response, within a limit, so that its connection can be used again.
        "server/model/src/stream.rs",
    ];
    let mut found = Vec::new();
    for path in rust_under("server").iter().filter(|path| !is_test(path)) {
        let code = code(path);
        let spawns = code.contains("tokio::spawn(")
            || code.contains("task::spawn(")
            || code.contains("thread::spawn(");
        if spawns && !allowed.iter().any(|allowed| path == Path::new(allowed)) {
            found.push(path.display().to_string());
        }
    }
    none("tasks without an owner: use the owner's JoinSet, or say here who ends them", &found);
}

#[test]
fn the_library_of_the_wire_stays_in_its_place() {
    let allowed = [
        "server/adjutant/src/lsp",
        "server/adjutant/src/outbox.rs",
        "server/adjutant/src/attachments.rs",
        // Errors become the protocol's there.
        "server/adjutant/src/failure.rs",
    ];
    let mut found = Vec::new();
    for path in rust_under("server").iter().filter(|path| !is_test(path)) {
        let named = has_word(&code(path), "tower_lsp");
        let types_only =
            code(path).matches("tower_lsp").count() == code(path).matches("tower_lsp::ls_types").count();
        if named && !types_only && !allowed.iter().any(|allowed| path.starts_with(allowed)) {
            found.push(path.display().to_string());
        }
    }
    none("files that know the LSP library, and need not", &found);
}

#[test]
fn no_test_is_switched_off() {
    let marks = [["#[igno", "re"].concat(), ["#[should_", "panic"].concat()];
    let mut found = Vec::new();
    for path in rust_under("server").into_iter().chain(rust_under("tests")) {
        let text = text(&path);
        found.extend(
            marks
                .iter()
                .filter(|mark| text.lines().any(|line| line.trim_start().starts_with(*mark)))
                .map(|mark| format!("{}: {mark}", path.display())),
        );
    }
    none("tests that do not test", &found);
}
