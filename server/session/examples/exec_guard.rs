//! The guard of commands as a binary of its own, for the tests of this crate: the product's binary is built later.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The first two arguments are the binary and the subcommand.
    session::environment::exec_guard(std::env::args_os().skip(2))
}
