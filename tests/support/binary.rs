//! Where the program under test is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The built `adjutant`: `ADJUTANT_BIN` where it is set; else it is built, in the profile and the folder of this test.
///
/// # Panics
/// If it cannot be built.
pub fn adjutant() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("ADJUTANT_BIN") {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "ADJUTANT_BIN names no file: {}", path.display());
            path
        }
        None => build(),
    })
}

/// `<target>/<profile>/deps/<test>` is what runs: the binary is two folders up.
fn build() -> PathBuf {
    let this = std::env::current_exe().expect("a program knows where it is");
    let folder = this.parent().and_then(Path::parent).expect("a test is in <target>/<profile>/deps");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let target = folder.parent().expect("a profile's folder is in the target folder");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "-p", "adjutant", "--bin", "adjutant", "--profile", profile])
        .current_dir(crate::root())
        .env("CARGO_TARGET_DIR", target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the adjutant binary does not build");
    folder.join("adjutant")
}
