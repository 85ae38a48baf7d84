//! The `adjutant` binary.

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    adjutant_server::cli::main()
}
