//! The `adjutant` binary.

fn main() -> anyhow::Result<()> {
    Ok(())
}
