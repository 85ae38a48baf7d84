//! What the model answers, worked out from the messages of the request alone.
//!
//! The last user message with a behaviour directive (`fan-out`, `steps`, `script`) chooses a script; the number of
//! assistant messages after it chooses the line of that script. So a retried request gets the same line again.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::directive::{self, Directive};

/// One message of the request, as far as a script looks at it.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) role: Role,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Role {
    User,
    Assistant,
    Tool,
    Other,
}

/// A failure that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// An HTTP status, or `drop`, `eof`, `error_event`, `malformed`, `stall`, `hang`.
    pub kind: String,
    /// The header of that name.
    pub retry_after: Option<String>,
    /// How many chunks of text are sent first.
    pub after_tokens: usize,
    /// Counts the requests that this fault was due for.
    pub(super) key: String,
    /// How many of them fail.
    pub times: u64,
}

impl Fault {
    /// A fault that hits the first `times` attempts.
    pub fn new(kind: &str, times: u64) -> Self {
        Self { kind: kind.into(), retry_after: None, after_tokens: 1, key: String::new(), times }
    }

    /// The same with the header that says when to try again, in seconds.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds.to_string());
        self
    }
}

/// A tool call; the arguments are text, so that they can be broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    pub arguments: String,
}

/// One answer of a script that a test writes.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Streamed first, in one piece.
    pub text: String,
    pub calls: Vec<Call>,
    /// Chunks of filler after `text`.
    pub tokens: usize,
    /// Before each of them.
    pub token_gap: Duration,
    /// Before the first byte.
    pub delay: Duration,
    /// The text is sent; the rest waits until the test opens this gate.
    pub gate: Option<String>,
    pub fault: Option<Fault>,
    /// It ends because the answer has reached its longest.
    pub too_long: bool,
}

impl Line {
    /// An answer that is only text, which ends a run.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// An answer that calls one tool.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// The same answer with one more call.
    pub fn and_call(self, name: &str, arguments: &Value) -> Self {
        self.and_raw_call(name, arguments.to_string())
    }

    /// The same answer with a call whose arguments are `arguments`, valid JSON or not.
    pub fn and_raw_call(mut self, name: &str, arguments: impl Into<String>) -> Self {
        self.calls.push(Call { name: name.into(), arguments: arguments.into() });
        self
    }

    /// The same answer, held back after its text until the gate opens.
    pub fn gated(mut self, gate: &str) -> Self {
        self.gate = Some(gate.into());
        self
    }

    /// The same answer, going wrong.
    pub fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The same answer, cut off where it has reached its longest.
    pub fn too_long(mut self) -> Self {
        self.too_long = true;
        self
    }

    /// The same answer with more text in `tokens` pieces.
    pub fn streaming(mut self, tokens: usize, gap: Duration) -> Self {
        (self.tokens, self.token_gap) = (tokens, gap);
        self
    }
}

/// What is sent.
#[derive(Debug, Default, Clone)]
pub(super) struct Reply {
    /// For the log: `fan-out`, `spawned`, `step`, `final`, `line` or `ack`.
    pub(super) kind: &'static str,
    pub(super) id: String,
    pub(super) step: usize,
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Chunks say when each was sent, as `@<unix µs> `.
    pub(super) stamp: bool,
    pub(super) calls: Vec<Call>,
    pub(super) delay: Duration,
    pub(super) token_gap: Duration,
    pub(super) gate: Option<String>,
    pub(super) fault: Option<Fault>,
    /// It ends because it has reached its longest.
    pub(super) too_long: bool,
    /// How many `child-done:` this request tells of for the first time.
    pub(super) done_seen: usize,
}

/// Scripts by the name that `[[script NAME]]` calls them by.
pub(super) type Scripts = HashMap<String, Vec<Line>>;

/// The answer to these messages.
pub(super) fn decide(turns: &[Turn], scripts: &Scripts) -> Reply {
    let news = turns.iter().rev().take_while(|turn| turn.role != Role::Assistant);
    let done_seen = news.map(|turn| turn.text.matches("child-done:").count()).sum();
    let mut spoken = 0;
    for turn in turns.iter().rev() {
        match turn.role {
            Role::Assistant => spoken += 1,
            Role::User if turn.text.contains("[[") => {
                if let Some(reply) = answer(&turn.text, spoken, scripts) {
                    return Reply { done_seen, ..reply };
                }
            }
            _ => {}
        }
    }
    Reply { done_seen, ..ack(0) }
}

fn answer(text: &str, spoken: usize, scripts: &Scripts) -> Option<Reply> {
    let all = directive::parse_all(text);
    let main = all.iter().find(|found| matches!(found.name.as_str(), "fan-out" | "steps" | "script"))?;
    let mut reply = match main.name.as_str() {
        "fan-out" => fan_out(main, &text[main.end..], spoken),
        "steps" => steps(main, spoken),
        _ => scripted(main, spoken, scripts),
    };
    // What follows a fan-out is the children's prompt, its faults too.
    let scope = if main.name == "fan-out" { main.end } else { text.len() };
    let asked = all.iter().filter(|found| found.start < scope).find_map(|found| fault(found, &reply));
    reply.fault = asked.or(reply.fault);
    Some(reply)
}

fn ack(step: usize) -> Reply {
    Reply { kind: "ack", text: "ack".into(), step, ..Reply::default() }
}

fn base(found: &Directive, kind: &'static str, step: usize) -> Reply {
    let ms = |key: &str| {
        let ms = found.get(key).and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0);
        Duration::from_micros((ms * 1e3) as u64)
    };
    Reply {
        kind,
        step,
        id: found.get("id").unwrap_or_default().to_owned(),
        tokens: found.number("tokens", 0) as usize,
        stamp: found.flag("stamp").unwrap_or(false),
        delay: ms("delay_ms"),
        token_gap: ms("tok_ms"),
        ..Reply::default()
    }
}

/// `[[fan-out n=10 bg=true type=general-purpose tool=Agent per_turn=10]]<the children's prompt, %i = index>`
fn fan_out(found: &Directive, template: &str, spoken: usize) -> Reply {
    let n = found.number("n", 1) as usize;
    let per_turn = (found.number("per_turn", n as u64) as usize).max(1);
    let first = spoken * per_turn;
    let mut reply = base(found, "fan-out", spoken);
    if first >= n {
        // After the calls one plain answer, and one more for each later notification.
        reply.kind = if first < n + per_turn { "spawned" } else { "ack" };
        reply.text = reply.kind.to_owned();
        reply.tokens = 0;
        return reply;
    }
    for i in first..n.min(first + per_turn) {
        let mut arguments = json!({
            "prompt": template.trim().replace("%i", &i.to_string()),
            "description": format!("child {i}"),
            "subagent_type": found.get("type").unwrap_or("general-purpose"),
        });
        if let Some(background) = found.flag("bg") {
            arguments["run_in_background"] = background.into();
        }
        let name = found.get("tool").unwrap_or("Agent").to_owned();
        reply.calls.push(Call { name, arguments: arguments.to_string() });
    }
    reply
}

/// `[[steps k=5 tool=read delay_ms=20 tokens=50 tok_ms=0 stamp=false calls=1 id=7]]`
fn steps(found: &Directive, spoken: usize) -> Reply {
    let k = found.number("k", 0) as usize;
    let reply = base(found, "step", spoken);
    match spoken.cmp(&k) {
        Ordering::Less => {
            let tool = found.get("tool").unwrap_or("read");
            let arguments = match tool {
                "bash" => json!({ "command": found.get("cmd").unwrap_or("true") }),
                "ls" => json!({ "path": found.get("path").unwrap_or(".") }),
                _ => json!({ "path": found.get("path").unwrap_or("README.md") }),
            };
            let call = Call { name: tool.to_owned(), arguments: arguments.to_string() };
            Reply { calls: vec![call; found.number("calls", 1) as usize], ..reply }
        }
        Ordering::Equal => Reply { kind: "final", text: format!("child-done:{} ", reply.id), ..reply },
        Ordering::Greater => Reply { id: reply.id, ..ack(spoken) },
    }
}

/// `[[script NAME]]`
fn scripted(found: &Directive, spoken: usize, scripts: &Scripts) -> Reply {
    let name = found.words.first().cloned().unwrap_or_default();
    let Some(line) = scripts.get(&name).and_then(|lines| lines.get(spoken)).cloned() else {
        return Reply { id: name, ..ack(spoken) };
    };
    let key = format!("script|{name}|{spoken}");
    Reply {
        kind: "line",
        id: name,
        step: spoken,
        text: line.text,
        tokens: line.tokens,
        token_gap: line.token_gap,
        calls: line.calls,
        delay: line.delay,
        gate: line.gate,
        too_long: line.too_long,
        fault: line.fault.map(|fault| Fault { key, ..fault }),
        ..Reply::default()
    }
}

/// `[[fault 429|500|529|drop|malformed|stall|hang|eof|error_event at=0|any times=1 p=1.0 retry_after=1 after_tokens=3]]`
fn fault(found: &Directive, reply: &Reply) -> Option<Fault> {
    if found.name != "fault" {
        return None;
    }
    let at = found.get("at").unwrap_or("0");
    if at != "any" && at.parse() != Ok(reply.step) {
        return None;
    }
    let key = format!("{}|{}|{}|{}", found.start, found.words.join(" "), reply.id, reply.step);
    let share: f64 = found.get("p").and_then(|value| value.parse().ok()).unwrap_or(1.0);
    if (fnv(&key) % 10_000) as f64 >= share * 10_000.0 {
        return None;
    }
    Some(Fault {
        kind: found.words.first()?.clone(),
        retry_after: found.get("retry_after").map(str::to_owned),
        after_tokens: found.number("after_tokens", 3) as usize,
        key,
        times: found.number("times", 1),
    })
}

/// A hash that is the same in every process.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Turn {
        Turn { role: Role::User, text: text.into() }
    }

    fn assistant() -> Turn {
        Turn { role: Role::Assistant, text: String::new() }
    }

    fn tool(text: &str) -> Turn {
        Turn { role: Role::Tool, text: text.into() }
    }

    fn plain(turns: &[Turn]) -> Reply {
        decide(turns, &Scripts::new())
    }

    #[test]
    fn a_fan_out_calls_then_answers_then_acknowledges() {
        let prompt = "go [[fan-out n=3 bg=true]] [[steps k=2 id=%i]]";
        let first = plain(&[user(prompt)]);
        assert_eq!(first.calls.len(), 3);
        let arguments: Value = serde_json::from_str(&first.calls[2].arguments).unwrap();
        assert_eq!(arguments["prompt"], "[[steps k=2 id=2]]");
        assert_eq!(arguments["run_in_background"], true);
        assert_eq!(plain(&[user(prompt), assistant(), tool("ok")]).kind, "spawned");
        let late =
            plain(&[user(prompt), assistant(), tool("ok"), assistant(), user("child-done:1 child-done:2")]);
        assert_eq!((late.kind, late.done_seen), ("ack", 2));
    }

    #[test]
    fn steps_go_by_the_assistant_messages() {
        let prompt = "[[steps k=1 tool=bash delay_ms=20 id=9]]";
        let first = plain(&[user(prompt)]);
        assert_eq!((first.calls[0].name.as_str(), first.delay), ("bash", Duration::from_millis(20)));
        let last = plain(&[user(prompt), assistant(), tool("out")]);
        assert_eq!((last.kind, last.text.as_str()), ("final", "child-done:9 "));
    }

    #[test]
    fn a_fault_belongs_to_its_step_and_to_the_children_after_a_fan_out() {
        assert!(plain(&[user("[[fan-out n=1]] [[fault 429 at=1 times=2]] [[steps k=3]]")]).fault.is_none());
        let child = "[[fault 429 at=1 times=2]] [[steps k=3]]";
        assert!(plain(&[user(child)]).fault.is_none());
        let fault = plain(&[user(child), assistant(), tool("x")]).fault.unwrap();
        assert_eq!((fault.kind.as_str(), fault.times), ("429", 2));
    }

    #[test]
    fn a_script_of_a_test_is_played_line_by_line() {
        let lines = vec![Line::text("one").and_raw_call("read", "{broken"), Line::text("two")];
        let scripts = Scripts::from([("s".to_owned(), lines)]);
        let first = decide(&[user("[[script s]]")], &scripts);
        assert_eq!((first.text.as_str(), first.calls[0].arguments.as_str()), ("one", "{broken"));
        assert_eq!(decide(&[user("[[script s]]"), assistant()], &scripts).text, "two");
        assert_eq!(decide(&[user("[[script s]]"), assistant(), assistant()], &scripts).kind, "ack");
    }

    #[test]
    fn any_other_prompt_is_acknowledged() {
        assert_eq!(plain(&[user("hello")]).kind, "ack");
    }
}
