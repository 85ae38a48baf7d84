//! The built server over real stdio, with a scripted model over real HTTP: one module a feature.

mod abort;
mod accounting;
mod background;
mod bad_frames;
mod bad_input;
mod cancel;
mod commands;
mod dispatch;
mod documents;
mod fleet;
mod foreground;
mod lifecycle;
mod limits;
mod long_sessions;
mod nested;
mod outcomes;
mod permissions;
mod permits;
mod processes;
mod prompt;
mod providers;
mod races;
mod reach;
mod responsive;
mod restart;
mod resume;
mod retrieval;
mod standard;
mod steer;
mod stop;
mod transcripts;
mod viewer;

use std::time::Duration;

use serde_json::{Value, json};
use support::fake_model::{Line, ScriptedServer};

/// A script that says something and waits at the gate of the same name.
fn waiting(model: &ScriptedServer, name: &str) {
    let text = format!("{name} is at work");
    model.script(name, vec![Line::text(text).gated(name), Line::text(format!("{name} goes on"))]);
}

/// The arguments of an `Agent` call.
fn agent(prompt: &str, background: bool) -> Value {
    json!({
        "prompt": prompt, "description": "a task", "subagent_type": "general-purpose",
        "run_in_background": background,
    })
}

/// Waits until the model has no request open.
fn wait_idle(model: &ScriptedServer) {
    support::wait_until("the model is left alone", Duration::from_secs(10), || {
        (model.open_requests() == 0).then_some(())
    });
}
