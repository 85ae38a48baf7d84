//! The planner with agents at hand: it delegates, waits to be told, and puts the reports together.

use std::fmt::Write as _;

use serde_json::json;

use super::SELF_DESCRIPTION;
use super::child;
use super::conversation::{Conversation, Item, PastTurn, Task};
use super::notice::{Receipt, Told, fetched, news, receipt};
use super::output::{count, short};
use super::plan::{PlannedCall, Turn};

/// The tools of delegation.
pub(super) const AGENT: &str = "Agent";
const RESULT: &str = "get_subagent_result";

/// Agents that are at work or unreported at one time, before no more are started.
const MOST_OPEN: usize = 8;
/// Bytes of one report in the answer.
const REPORT_BYTES: usize = 8 << 10;
/// Characters of a prompt that an agent is told.
const PROMPT_CHARS: usize = 400;

/// The parts of a first exploration: a description, a name and a task.
const EXPLORATION: [(&str, &str, &str); 4] = [
    (
        "Languages and layout",
        "layout",
        "Topic: languages and layout.\nFind out which languages this folder is written in and how it is laid out: kinds of \
         file with their counts, the largest folders and what they hold, what the README says, tests and automation.",
    ),
    (
        "Entry points, build and run",
        "entry-points",
        "Topic: entry points.\nFind where programs begin here, by file and line, which manifests there are and what they \
         say, and how the project is built and run.",
    ),
    (
        "Open TODO and FIXME markers",
        "markers",
        "Topic: TODO and FIXME markers.\nFind what is marked as open: how many marks of each kind, the files with most of \
         them, the first ones word for word, and tests that are set aside.",
    ),
    (
        "Largest modules",
        "modules",
        "Topic: largest modules.\nFind where most of the code is: folders by source files, the largest files by lines and \
         definitions, and what they say of themselves.",
    ),
];

/// What an agent is told besides its task.
const MANNER: &str =
    "Only read. Report paths and numbers that the tools showed you, nothing else; a quick look is enough.";

/// Beginnings of a prompt that asks who one is, and words that make up a greeting.
const ABOUT_ITSELF: [&str; 6] =
    ["who are you", "what are you", "what can you do", "what is this model", "what model", "are you "];
const GREETINGS: [&str; 9] = ["hi", "hello", "hey", "help", "thanks", "thank", "ok", "test", "ping"];

/// Words of a prompt that can be answered by looking around.
const LOOKING: [&str; 24] = [
    "explore",
    "look",
    "find",
    "where",
    "which",
    "search",
    "list",
    "show",
    "count",
    "how many",
    "what",
    "describe",
    "report",
    "overview",
    "summar",
    "explain",
    "inspect",
    "understand",
    "investigate",
    "review",
    "survey",
    "map",
    "read",
    "analy",
];

/// An agent that the parent started, from its call until its report is in an answer.
#[derive(Debug)]
struct Charge {
    description: String,
    /// None where it never started, or ended within its call.
    id: Option<String>,
    told: Option<Told>,
    /// The whole report was asked for.
    fetched: bool,
}

/// Where the parent stands.
#[derive(Debug, Default)]
struct Standing<'c> {
    /// Agents whose reports are in no answer yet.
    charges: Vec<Charge>,
    /// What was said since the first of them was started.
    meanwhile: Vec<&'c str>,
    /// What was said since the last turn, news left out.
    latest: Vec<&'c str>,
    has_acted: bool,
    /// The last turn called nothing: what was said since begins something new.
    was_idle: bool,
}

pub(super) fn turn(conversation: &Conversation<'_>, offered: &[&str]) -> Turn {
    let task = conversation.task();
    let standing = Standing::of(conversation);
    let told_to_end = standing.latest.iter().any(|text| child::asks_for_the_end(text));
    if !standing.charges.is_empty() {
        return standing.carry_on(offered, told_to_end);
    }
    let prompt = task.prompt;
    if told_to_end || prompt.is_empty() || is_small_talk(prompt) {
        return Turn::answer(plain_answer(&task, true));
    }
    if !standing.has_acted {
        return explore(prompt);
    }
    if asks_to_look(prompt) { delegate(prompt) } else { Turn::answer(plain_answer(&task, true)) }
}

impl<'c> Standing<'c> {
    fn of(conversation: &'c Conversation<'_>) -> Self {
        let mut standing = Self { was_idle: true, ..Self::default() };
        for item in &conversation.items {
            match item {
                Item::Said(text) => standing.hear(text),
                Item::Turn(turn) => standing.act(turn),
            }
        }
        standing
    }

    fn hear(&mut self, text: &'c str) {
        let news = news(text);
        let mut ours = false;
        for item in news {
            if let Some(charge) =
                self.charges.iter_mut().find(|charge| charge.id.as_deref() == Some(&item.id))
            {
                ours = true;
                charge.told.get_or_insert(item.told);
            }
        }
        if ours {
            return;
        }
        self.note_interruptions(text);
        self.latest.push(text);
        if !self.charges.is_empty() {
            self.meanwhile.push(text);
        }
    }

    /// After a restart a host names the agents that it could not let finish: no news of them will come.
    fn note_interruptions(&mut self, text: &str) {
        if !text.contains("interrupted") {
            return;
        }
        for charge in self.charges.iter_mut().filter(|charge| charge.told.is_none()) {
            if charge.id.as_deref().is_some_and(|id| text.contains(id)) {
                let flaw = Some("Interrupted: the server ended first.".to_owned());
                charge.told = Some(Told { text: String::new(), cut: false, flaw });
            }
        }
    }

    fn act(&mut self, turn: &PastTurn<'_>) {
        self.has_acted = true;
        self.was_idle = turn.calls.is_empty();
        self.latest.clear();
        if turn.calls.is_empty() && self.charges.iter().all(|charge| charge.told.is_some()) {
            // That was the answer with their reports.
            self.charges.clear();
            self.meanwhile.clear();
        }
        for call in &turn.calls {
            if call.tool == AGENT {
                self.charges.push(Charge::of(call.text("description"), receipt(&call.result, call.failed)));
            } else if call.tool == RESULT {
                let id = call.text("agent_id");
                let charge = self.charges.iter_mut().find(|charge| charge.id.as_deref() == Some(id));
                if let Some(charge) = charge {
                    charge.fetched = true;
                    if let (false, Some(told)) = (call.failed, &mut charge.told) {
                        told.text = fetched(&call.result);
                        told.cut = false;
                    }
                }
            }
        }
    }

    /// The next turn while agents are at work or their reports unread.
    fn carry_on(&self, offered: &[&str], told_to_end: bool) -> Turn {
        let open: Vec<_> = self.charges.iter().filter(|charge| charge.told.is_none()).collect();
        let fresh = self.latest.last().filter(|text| self.was_idle && asks_to_look(text) && !told_to_end);
        if let Some(prompt) = fresh
            && !open.is_empty()
            && self.charges.len() < MOST_OPEN
        {
            return delegate(prompt);
        }
        if !open.is_empty() {
            return Turn::answer(self.wait(&open));
        }
        let cut = |charge: &&Charge| !charge.fetched && charge.told.as_ref().is_some_and(|told| told.cut);
        let to_fetch = self.charges.iter().filter(cut).filter_map(|charge| charge.id.as_deref());
        let calls: Vec<_> =
            to_fetch.map(|id| PlannedCall { tool: RESULT, arguments: json!({ "agent_id": id }) }).collect();
        if !calls.is_empty() && offered.contains(&RESULT) && !told_to_end {
            return Turn {
                text: "All have reported. Reading the reports that were cut in the news.".to_owned(),
                calls,
            };
        }
        Turn::answer(self.answer())
    }

    /// Says who is at work, and that it waits to be told. (Writing to a `String` cannot fail.)
    fn wait(&self, open: &[&Charge]) -> String {
        let names: Vec<_> = open.iter().map(|charge| charge.description.as_str()).collect();
        let done = self.charges.len() - open.len();
        let mut text = String::new();
        for said in &self.latest {
            if !child::asks_for_the_end(said) {
                let _ = write!(text, "You said: {}. ", short(said, 200).trim_end_matches('.'));
            }
        }
        let _ = match done {
            0 => write!(text, "{} at work: {}.", agents_are(open.len()), names.join("; ")),
            n => write!(
                text,
                "{n} of {} have ended; still at work: {}.",
                count(self.charges.len(), "agent"),
                names.join("; ")
            ),
        };
        text.push_str(" I wait until I am told that they have ended.");
        text
    }

    /// The reports in one answer.
    fn answer(&self) -> String {
        let good = self.charges.iter().filter(|charge| charge.flaw().is_none()).count();
        let mut text = match self.charges.as_slice() {
            [only] => format!("# {}\n\n", heading(&only.description)),
            all if good == all.len() => format!("# What {} found\n\n", count(all.len(), "agent")),
            all => format!("# What {good} of {} found\n\n", count(all.len(), "agent")),
        };
        if self.charges.len() > 1 {
            for charge in &self.charges {
                let _ = writeln!(text, "- **{}:** {}", heading(&charge.description), charge.in_short());
            }
            text.push('\n');
        }
        for charge in &self.charges {
            if self.charges.len() > 1 {
                let _ = write!(text, "## {}\n\n", heading(&charge.description));
            }
            text.push_str(&charge.section(self.charges.len() > 1));
            text.push_str("\n\n");
        }
        for said in self.meanwhile.iter().filter(|said| !child::asks_for_the_end(said)) {
            let _ = write!(text, "You said meanwhile: {}\n\n", short(said, 200));
        }
        let _ =
            write!(text, "Put together from what the agents reported, nothing added, by {SELF_DESCRIPTION}.");
        text
    }
}

impl Charge {
    fn of(description: &str, receipt: Receipt) -> Self {
        let description = short(description, 120);
        match receipt {
            Receipt::Started { id } => Self { description, id: Some(id), told: None, fetched: false },
            Receipt::Ended(told) => Self { description, id: None, told: Some(told), fetched: false },
            Receipt::Refused(why) => {
                let flaw = Some(format!("It was not started: {}", short(&why, 300)));
                let told = Told { text: String::new(), cut: false, flaw };
                Self { description, id: None, told: Some(told), fetched: false }
            }
        }
    }

    fn flaw(&self) -> Option<&str> {
        self.told.as_ref()?.flaw.as_deref()
    }

    fn text(&self) -> &str {
        self.told.as_ref().map_or("", |told| told.text.as_str())
    }

    /// The first sentence of the report, or why there is none.
    fn in_short(&self) -> String {
        let summary = self.text().lines().find_map(|line| line.strip_prefix("Summary:"));
        match (self.flaw(), summary) {
            (None, Some(summary)) => short(summary, 300),
            (None, None) => short(self.text().lines().next().unwrap_or("it reported nothing."), 300),
            (Some(flaw), _) => format!("not finished. {}", short(flaw, 300)),
        }
    }

    /// The whole report, without the line that says who wrote it and, where the answer begins with the summaries, without
    /// its summary: the answer says each once.
    fn section(&self, summarised: bool) -> String {
        let said =
            |line: &&str| line.contains(SELF_DESCRIPTION) || (summarised && line.starts_with("Summary:"));
        let lines = self.text().lines().filter(|line| !said(line));
        let mut text = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
        if text.len() > REPORT_BYTES {
            text.truncate(text.floor_char_boundary(REPORT_BYTES));
            text.push_str("\n[The rest of this report is left out here.]");
        }
        if self.told.as_ref().is_some_and(|told| told.cut) {
            text.push_str("\n[Only the beginning of this report could be had.]");
        }
        match (self.flaw(), text.is_empty()) {
            (None, false) => text,
            (None, true) if self.text().is_empty() => "It reported nothing.".to_owned(),
            (None, true) => "It reported no more than that.".to_owned(),
            (Some(flaw), true) => format!("This part is missing. {}", short(flaw, 400)),
            (Some(flaw), false) => format!("This part is not finished. {}\n\n{text}", short(flaw, 400)),
        }
    }
}

fn agents_are(n: usize) -> String {
    format!("{} {}", count(n, "agent"), if n == 1 { "is" } else { "are" })
}

/// A description as a heading: no mark at its beginning that would make it something else.
fn heading(description: &str) -> &str {
    match description.trim_start_matches(['#', '*', ' ']) {
        "" => "Agent",
        text => text,
    }
}

fn agent(description: &str, name: &str, task: &str, prompt: &str) -> PlannedCall {
    let prompt = format!("{task}\n{MANNER}\nThe user asked: {}", short(prompt, PROMPT_CHARS));
    let arguments = json!({
        "prompt": prompt,
        "description": description,
        "name": name,
        "subagent_type": "Explore",
        "run_in_background": true,
    });
    PlannedCall { tool: AGENT, arguments }
}

/// Four agents for a first look.
fn explore(prompt: &str) -> Turn {
    let calls =
        EXPLORATION.iter().map(|(description, name, task)| agent(description, name, task, prompt)).collect();
    let text = format!(
        "I am {SELF_DESCRIPTION}. Four agents look at this folder side by side, each at one subject."
    );
    Turn { text, calls }
}

/// One agent for a question.
fn delegate(prompt: &str) -> Turn {
    let task = format!("Look into this:\n{}\n{MANNER}", prompt.trim());
    let arguments = json!({
        "prompt": task,
        "description": short(prompt, 60),
        "subagent_type": "Explore",
        "run_in_background": true,
    });
    let call = PlannedCall { tool: AGENT, arguments };
    Turn { text: "One agent looks into that.".to_owned(), calls: vec![call] }
}

/// Whether a prompt is a greeting, or asks only what it speaks to.
pub(super) fn is_small_talk(prompt: &str) -> bool {
    let prompt = prompt.trim().to_lowercase();
    let words: Vec<&str> =
        prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let greets = words.len() <= 4
        && words.first().is_some_and(|first| GREETINGS.contains(first))
        && !LOOKING.iter().any(|word| prompt.contains(word));
    greets || ABOUT_ITSELF.iter().any(|beginning| prompt.starts_with(beginning))
}

fn asks_to_look(prompt: &str) -> bool {
    let prompt = prompt.to_lowercase();
    !is_small_talk(&prompt) && LOOKING.iter().any(|word| prompt.contains(word))
}

/// What it is and what it can do.
pub(super) fn plain_answer(task: &Task<'_, '_>, delegates: bool) -> String {
    let asked = short(task.prompt, 120);
    let asked = if asked.is_empty() { String::new() } else { format!("You said: {asked}\n\n") };
    let ways = if delegates {
        "I start agents that explore this folder side by side, and put their reports together"
    } else {
        "I look around this folder with the tools that I am given, and report what they show"
    };
    format!(
        "{asked}I am {SELF_DESCRIPTION}. {ways}: ask me to explore the folder, or to find something that you put in \
         `backticks`. I cannot write code, judge it or talk about anything else; choose a language model for that."
    )
}
