//! The planner without anybody to delegate to: it looks for itself, step by step, and reports.

use super::SELF_DESCRIPTION;
use super::conversation::{Conversation, Task};
use super::facts::Facts;
use super::output::{count, short};
use super::parent::{is_small_talk, plain_answer};
use super::plan::{Turn, ls};
use super::topic::{Topic, list};

/// The tools that it looks around with.
const LOOKING: [&str; 4] = ["ls", "find", "grep", "read"];

/// How a host asks for the end of a run.
const WRAP_UP: [&str; 2] = ["do not call any more tools", "give your final answer now"];

/// Characters of a steering message that a report repeats.
const STEER_CHARS: usize = 300;

pub(super) fn turn(conversation: &Conversation<'_>, offered: &[&str]) -> Turn {
    let task = conversation.task();
    let can_look = LOOKING.iter().any(|tool| offered.contains(tool));
    if task.turns.is_empty() && (!can_look || is_small_talk(task.prompt)) {
        return Turn::answer(plain_answer(&task, false));
    }
    let topic = topic(&task);
    let told_to_end = task.steers.iter().any(|steer| asks_for_the_end(steer));
    if !told_to_end && let Some(turn) = next_step(&topic, &task, offered) {
        return turn;
    }
    Turn::answer(report(&topic, &task, offered, told_to_end))
}

/// What the prompt is about; where it does not say, what earlier ones were.
fn topic(task: &Task<'_, '_>) -> Topic {
    let earlier = || task.before.iter().find_map(|prompt| Topic::of(prompt));
    Topic::of(task.prompt).or_else(earlier).unwrap_or(Topic::Overview)
}

/// The first step that has not been taken. Steps are gone through again from the first, each with what was known before
/// it, so that the same history leads to the same step.
fn next_step(topic: &Topic, task: &Task<'_, '_>, offered: &[&str]) -> Option<Turn> {
    let mut taken = 0;
    for n in 0.. {
        let facts = Facts::of(&task.turns[..taken], offered);
        if is_empty_folder(&facts) {
            return None;
        }
        let mut turn = topic.stage(n, &facts)?;
        turn.calls.retain(|call| facts.is_open(call));
        if turn.calls.is_empty() {
            continue;
        }
        if taken == task.turns.len() {
            return Some(turn);
        }
        taken += 1;
    }
    None
}

fn is_empty_folder(facts: &Facts<'_, '_>) -> bool {
    facts.result(&ls(".")).is_some_and(|listing| listing.body.is_empty())
}

pub(super) fn asks_for_the_end(steer: &str) -> bool {
    let steer = steer.to_lowercase();
    WRAP_UP.iter().any(|words| steer.contains(words))
}

fn report(topic: &Topic, task: &Task<'_, '_>, offered: &[&str], told_to_end: bool) -> String {
    let facts = Facts::of(&task.turns, offered);
    let mut lines = Vec::new();
    if is_empty_folder(&facts) {
        lines.push("Summary: the folder is empty.".to_owned());
    } else {
        let report = topic.report(&facts);
        lines.push(format!("Summary: {}", report.summary));
        if !report.lines.is_empty() {
            lines.push(String::new());
            lines.extend(report.lines);
        }
    }
    list(&mut lines, "Not looked at", facts.gaps());
    if told_to_end {
        lines.extend([
            String::new(),
            "I was told to end here; steps that were planned are left undone.".to_owned(),
        ]);
    }
    for steer in task.steers.iter().filter(|steer| !asks_for_the_end(steer)) {
        lines.extend([
            String::new(),
            format!("You asked meanwhile: {}", short(steer, STEER_CHARS)),
            "I follow fixed steps and could not take that up beyond what is above.".to_owned(),
        ]);
    }
    lines.extend([
        String::new(),
        format!("(From {}, by {SELF_DESCRIPTION}.)", count(facts.len(), "tool call")),
    ]);
    lines.join("\n")
}
