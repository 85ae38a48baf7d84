//! `bash`: one shell command.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vocab::ToolKind;

use super::notes::{size, with_notes};
use super::{Builtin, Invocation, Updates, arguments, one_line, schema, text_of};
use crate::environment::{
    BoxFuture, CapturedOutput, CommandEnd, CommandOutcome, CommandRequest, OutputDelta, OutputSink,
};
use crate::tool::{ToolCallTitle, ToolError, ToolOutput};

/// Where the model names no time.
const DEFAULT_SECONDS: f64 = 120.0;
/// The most it can ask for.
const MOST_SECONDS: f64 = 6.0 * 3_600.0;
/// The part of a running command's output that is shown meanwhile.
const LIVE_BYTES: usize = 4 * 1024;

pub(super) const TOOL: Builtin = Builtin {
    name: "bash",
    label: "Bash",
    kind: ToolKind::Execute,
    description: "Run a shell command in the working folder and get its output, standard output and error together. \
                  Long output is cut in the middle to 2000 lines or 50 KB and kept whole in a file. A command gets no \
                  input, ends after `timeout` seconds (120 by default), and whatever it leaves running in the \
                  background is ended with it.",
    snippet: "Run shell commands",
    guidelines: &[
        "Use bash for builds, tests and version control; give it a longer timeout for slow ones.",
        "A bash command cannot ask anything: pass flags such as --yes.",
    ],
    parameters: schema::of::<Parameters>,
    describe,
    run,
};

/// What `bash` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Parameters {
    /// The command.
    command: String,
    /// Seconds until it is ended; 120 where absent.
    timeout: Option<f64>,
}

fn describe(arguments: &Value) -> ToolCallTitle {
    let title = one_line(text_of(arguments, "command").unwrap_or("(no command)"), 120);
    ToolCallTitle { title, locations: Vec::new() }
}

fn run(call: Invocation) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
    Box::pin(async move {
        let Parameters { command, timeout } = arguments(call.arguments)?;
        if command.trim().is_empty() {
            return Err(ToolError::new("The command is empty."));
        }
        if command.contains('\0') {
            return Err(ToolError::new("The command holds a NUL character, which no shell takes."));
        }
        let seconds = timeout.unwrap_or(DEFAULT_SECONDS);
        if !(seconds > 0.0 && seconds <= MOST_SECONDS) {
            return Err(ToolError(format!(
                "`timeout` must be more than 0 and at most {MOST_SECONDS} seconds."
            )));
        }
        let cwd = call.environment.root().to_owned();
        let request = CommandRequest { command, cwd, timeout: Duration::from_secs_f64(seconds) };
        let outcome = call.environment.spawn(request, &call.cancel, live(call.updates)).await?;
        answer(&outcome, seconds)
    })
}

/// Shows the end of what has come so far.
fn live(updates: Updates) -> OutputSink {
    let shown = Mutex::new(String::new());
    Arc::new(move |delta: OutputDelta| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push_str(&delta.text);
        let excess = shown.len().saturating_sub(LIVE_BYTES);
        let at = shown.ceil_char_boundary(excess);
        shown.drain(..at);
        let end = delta.offset + delta.text.len() as u64;
        updates(ToolOutput { details: json!({ "outputBytes": end }), ..ToolOutput::text(shown.clone()) });
    })
}

/// Only a command that ended by itself with code 0 is a success; one that a signal killed is none.
fn answer(outcome: &CommandOutcome, seconds: f64) -> Result<ToolOutput, ToolError> {
    let output = &outcome.output;
    let mut notes = Vec::new();
    if outcome.left_running {
        notes.push("Processes that the command left in the background were ended".to_owned());
    }
    let failure = match &outcome.end {
        CommandEnd::Exited(0) => None,
        CommandEnd::Exited(code) => Some(format!("Command exited with code {code}")),
        CommandEnd::Signalled(signal) => Some(format!("Command was killed by signal {signal}")),
        CommandEnd::TimedOut => Some(format!(
            "Command timed out after {seconds} seconds and was ended; pass a longer `timeout` if it needs more"
        )),
        CommandEnd::Cancelled => Some("Operation aborted; the command was ended".to_owned()),
        CommandEnd::Lost(reason) => Some(format!("Nobody knows how the command ended: {reason}")),
    };
    let text = shown(output);
    let Some(failure) = failure else {
        let text = if text.is_empty() { "(no output)".to_owned() } else { text };
        return Ok(ToolOutput { details: details(output), ..ToolOutput::text(with_notes(text, &notes)) });
    };
    let text = with_notes(text, &notes);
    let gap = if text.is_empty() {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    Err(ToolError(format!("{text}{gap}{failure}")))
}

fn shown(output: &CapturedOutput) -> String {
    let Some(omitted) = output.omitted_lines else { return output.head.clone() };
    let whole = match &output.spill {
        Some(spill) => format!(
            "{}: `{}`; search it with grep or read parts of it",
            if spill.cut { "The first 64MB of the output" } else { "All output" },
            spill.path.display()
        ),
        None => "The rest was not kept; write the output to a file to see it".to_owned(),
    };
    let left_out = if omitted > 0 { format!("{omitted} lines") } else { "A part of a line".to_owned() };
    let total = size(output.total_bytes);
    let lines = output.total_lines;
    let gap = if output.head.is_empty() { "" } else { "\n" };
    format!("{}{gap}[{left_out} left out of {lines} ({total}). {whole}]\n\n{}", output.head, output.tail)
}

fn details(output: &CapturedOutput) -> Value {
    if output.omitted_lines.is_none() {
        return Value::Null;
    }
    json!({
        "totalLines": output.total_lines,
        "totalBytes": output.total_bytes,
        "omittedLines": output.omitted_lines,
        "fullOutputPath": output.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
    })
}
