//! The real VS Code workbench in headless Chromium, with our extension, against the built server and a scripted model.
//!
//! `editor-clients/vscode/test/workbench.mjs` drives it; the VSIX has to be built (tests/run does). Pictures are kept in
//! `ADJUTANT_TEST_OUT`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use support::lab::{self, Lab};
use support::{binary, root};

#[test]
fn the_extension_drives_the_built_server() {
    let lab = Lab::new();
    lab.settings(&json!({
        "model": lab::MODEL,
        "permissions": { "mode": "auto" },
        "limits": { "identicalCalls": 0, "noProgressTurns": 0 },
    }));
    let client = root().join("editor-clients/vscode").canonicalize().expect("the client is there");
    let shots = std::env::var_os("ADJUTANT_TEST_OUT").map_or_else(|| lab.home().join("shots"), PathBuf::from);
    let server = format!("env ADJUTANT_HOME='{}' '{}'", lab.home().display(), binary::adjutant().display());
    let output = Command::new(std::env::var_os("ADJUTANT_TEST_NODE").unwrap_or_else(|| "node".into()))
        .current_dir(&client)
        .args(["test/workbench.mjs", "--server", &server])
        .args(["--folder", &lab.work().to_string_lossy(), "--shots", &shots.to_string_lossy()])
        .args(["--quick", "[[steps k=3 delay_ms=400 tokens=10 id=7]]"])
        .args(["--slow", "[[steps k=1000 delay_ms=250 tokens=10 tok_ms=10 id=8]]"])
        .output()
        .expect("node runs");
    let said =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let summary = said.lines().rev().find(|line| line.contains(" passed, 0 failed")).unwrap_or_default();
    assert!(!summary.is_empty() && !summary.starts_with("0 "), "{said}");
    assert!(!lab.model.requests().is_empty(), "the model was asked");
}
