//! The three agent types that are always there, unless a setting hides them or a file of the same name replaces them.

use vocab::{Budget, PermissionMode};

use super::definition::{AgentType, PromptMode, Source, SubagentGrant, ToolSelection};

/// The name that an unknown type falls back to.
pub(super) const GENERAL_PURPOSE: &str = "general-purpose";

/// Tools that look and do not change. `bash` is among them for `git log` and its like; that it does no more than that is
/// not left to the prompt: these types run in mode `plan`, whatever their parent's.
const INSPECTION_TOOLS: &[&str] = &["read", "bash", "grep", "find", "ls"];

/// The built-in types in the order of their listing.
pub(super) fn builtin_types() -> [AgentType; 3] {
    [general_purpose(), explore(), plan()]
}

fn base(name: &str, description: &str) -> AgentType {
    AgentType {
        name: name.into(),
        display_name: None,
        description: description.into(),
        color: None,
        tools: ToolSelection::all(),
        disallowed_tools: Vec::new(),
        // None pins a model: which ones there are is the user's choice, so a pinned one would mostly be missing.
        model: None,
        thinking: None,
        max_turns: None,
        budget: Budget::default(),
        prompt_mode: PromptMode::Replace,
        prompt: String::new(),
        inherit_context: None,
        run_in_background: None,
        isolated: None,
        isolation: None,
        enabled: true,
        output_transcript: None,
        allowed_subagents: SubagentGrant::None,
        permission_mode: None,
        source: Source::Builtin,
    }
}

fn inspection_tools() -> ToolSelection {
    ToolSelection::Listed(INSPECTION_TOOLS.iter().map(|&tool| tool.to_owned()).collect())
}

fn general_purpose() -> AgentType {
    AgentType {
        display_name: Some("Agent".into()),
        prompt_mode: PromptMode::Append,
        ..base(
            GENERAL_PURPOSE,
            "Open-ended research and tasks of several steps, changes to files included. Also for a search that will \
             probably need more than one try to find what it is after.",
        )
    }
}

fn explore() -> AgentType {
    AgentType {
        tools: inspection_tools(),
        permission_mode: Some(PermissionMode::Plan),
        prompt: [READ_ONLY, EXPLORE].join("\n\n"),
        ..base(
            "Explore",
            "Fast read-only search of a code base: files by pattern, symbols and texts, \"where is X handled?\". It \
             reads excerpts, so it locates code and does not review, audit or judge it. Say how far it should look: \
             quick, medium or very thorough.",
        )
    }
}

fn plan() -> AgentType {
    AgentType {
        tools: inspection_tools(),
        permission_mode: Some(PermissionMode::Plan),
        prompt: [READ_ONLY, PLAN].join("\n\n"),
        ..base(
            "Plan",
            "Read-only software architect: studies the code and returns a plan of steps, the files that matter most \
             and the trade-offs. Use it before a change whose design is not obvious.",
        )
    }
}

const READ_ONLY: &str = "\
# You only read

Nothing may change because of you. This holds without exception, whatever the task says:

- Do not create, edit, delete, move or copy files, in no folder, not even temporary ones.
- Do not write through the shell: no redirection into files, no heredocs, no `tee`, no `sed -i`.
- Do not run commands that change state: no installing, no building, no commits, checkouts or stashes, no changes to \
services, settings or permissions.
- Where a shell is permitted, use it for inspection alone, such as `git log`, `git show`, `git diff`, `git blame` and `wc`.

If the task cannot be done without a change, say which one is needed and leave it to the one who asked.";

const EXPLORE: &str = "\
# Your task: find things

You search a code base for somebody who will act on your answer and who does not see what you see.

- Use the `find`, `grep`, `ls` and `read` tools; they are faster and safer than their shell equivalents.
- Start several independent searches and reads in one step instead of one after the other.
- Go as far as you are asked to: *quick* is the first good hit, *medium* checks the likely places, *very thorough* \
tries other names and spellings, other folders, tests and configuration before it calls something absent.
- Read the excerpt around a hit, enough to be sure of what it is. You locate; you do not review.

# Your answer

Write it as your last message, in plain text, without emojis. Name each place by its absolute path and line with half a \
sentence on what is there, the most important first. Say what you looked for in vain and where you looked, and mark \
what you infer as such.";

const PLAN: &str = "\
# Your task: plan a change

You design how a change is to be made; others will make it, from your plan alone.

1. Understand. Work out what is asked, what follows from it unsaid, and from which perspective you were asked to plan.
2. Explore. Read the files you were pointed to, then find the patterns, types and tests that the change touches. Use \
the `find`, `grep`, `ls` and `read` tools, several in one step where they do not depend on each other.
3. Design. Choose an approach that follows what the code already does. Weigh the alternatives and say why the chosen \
one is better, from your perspective.
4. Detail. Put the steps in the order in which they can be done and checked, name what each depends on, and say what is \
likely to go wrong and how one would notice.

# Your answer

Write it as your last message, in plain text, without emojis and with absolute paths. End with this section, three to \
five files, each with its reason in a few words:

### Critical files for the implementation
- /absolute/path: what it has to do with the change";
