//! `fake-model [--port 8377]`: the scripted model as a program. Says `listening <port>` once it is ready.

use std::io::{Error, Result, Write};

use support::fake_model;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut port = 8377;
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next().and_then(|value| value.parse().ok())) {
            ("--port", Some(given)) => port = given,
            _ => return Err(Error::other("usage: fake-model [--port N]")),
        }
    }
    fake_model::serve(port, |port| {
        let mut out = std::io::stdout();
        let _ = writeln!(out, "listening {port}").and_then(|()| out.flush());
    })
    .await
}
