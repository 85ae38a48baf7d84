//! The planner with agents at hand.

use super::{Open, SELF_DESCRIPTION, Talk};

const PROMPT: &str = "Explore this folder and report what is in it.";

fn started(id: &str) -> String {
    format!(
        "Agent started in the background.\nAgent id: {id}\nName: x\nDescription: y\nYou will be told when it has ended. \
         get_subagent_result with this id has its full result then."
    )
}

fn news(id: &str, status: &str, result: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<status>{status}</status>\n<summary>Agent \"y\" has ended</summary>\n\
         <result>{result}</result>\n<usage><total_tokens>9</total_tokens></usage>\n</task-notification>"
    )
}

/// A parent whose four agents, `a0` to `a3`, are at work.
async fn exploring() -> (Talk, Vec<Open>) {
    let mut talk = Talk::parent();
    talk.say(PROMPT);
    let (text, calls) = talk.turn().await;
    assert!(text.contains(SELF_DESCRIPTION));
    assert_eq!(calls.len(), 4);
    for call in &calls {
        assert_eq!(call.tool, "Agent");
        assert_eq!(call.arguments["subagent_type"], "Explore");
        assert_eq!(call.arguments["run_in_background"], true);
    }
    (talk, calls)
}

async fn waiting() -> Talk {
    let (mut talk, calls) = exploring().await;
    for (n, call) in calls.iter().enumerate() {
        talk.result(call, &started(&format!("a{n}")), false);
    }
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.starts_with("4 agents are at work"), "{text}");
    talk
}

#[tokio::test(start_paused = true)]
async fn news_one_by_one_end_in_one_answer_from_the_reports() {
    let mut talk = waiting().await;
    for n in 0..3 {
        talk.say(&news(&format!("a{n}"), "Done", &format!("Summary: fact {n} &lt;here&gt;.")));
        let (text, calls) = talk.turn().await;
        assert!(calls.is_empty());
        assert!(text.contains(&format!("{} of 4 agents have ended", n + 1)), "{text}");
    }
    talk.say(&news("a3", "Done", "Summary: fact 3.\n[cut here: get_subagent_result has the rest]"));
    let (_, calls) = talk.turn().await;
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].tool.as_str(), &calls[0].arguments["agent_id"]),
        ("get_subagent_result", &"a3".into())
    );
    let full = "Agent: a3\nExplore · Done · 3 tool uses\ny\n\nSummary: fact 3.\n\nMore: all of it.";
    talk.result(&calls[0], full, false);
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.starts_with("# What 4 agents found"), "{text}");
    for fact in ["## Languages and layout", "fact 0 <here>.", "fact 1", "fact 2", "More: all of it."] {
        assert!(text.contains(fact), "{fact}\n{text}");
    }
    assert!(text.contains(SELF_DESCRIPTION));
}

#[tokio::test(start_paused = true)]
async fn news_in_a_group_and_before_it_waits_are_enough() {
    let (mut talk, calls) = exploring().await;
    for (n, call) in calls.iter().enumerate() {
        talk.result(call, &started(&format!("a{n}")), false);
    }
    let blocks: Vec<_> = (0..4).map(|n| news(&format!("a{n}"), "Done", "Summary: s.")).collect();
    talk.say(&format!("4 agents have ended\n\n{}\n\nUse get_subagent_result.", blocks.join("\n\n")));
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.starts_with("# What 4 agents found"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn failed_stopped_and_refused_agents_are_named_as_such() {
    let (mut talk, calls) = exploring().await;
    talk.result(&calls[0], "The limit of agents is reached.", true);
    for (n, call) in calls.iter().enumerate().skip(1) {
        talk.result(call, &started(&format!("a{n}")), false);
    }
    talk.turn().await;
    talk.say(&news("a1", "Error: the provider said no", "(no output)"));
    talk.say(&news("a2", "Stopped", "Half a"));
    talk.say(&news("a3", "Done", "Summary: good."));
    let (text, _) = talk.turn().await;
    assert!(text.starts_with("# What 1 of 4 agents found"), "{text}");
    for words in [
        "It was not started: The limit",
        "the provider said no",
        "This part is not finished",
        "Half a",
        "good.",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_fetched_is_given_as_far_as_it_is_known() {
    let mut talk = waiting().await;
    for n in 0..4 {
        talk.say(&news(
            &format!("a{n}"),
            "Done",
            "Summary: start\n[cut here: get_subagent_result has the rest]",
        ));
    }
    let (_, calls) = talk.turn().await;
    assert_eq!(calls.len(), 4);
    for call in &calls {
        talk.result(call, "unknown agent", true);
    }
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty(), "it does not ask again");
    assert!(text.contains("Only the beginning of this report"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_meanwhile_is_answered_and_kept() {
    let mut talk = waiting().await;
    talk.say("And be quick");
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.contains("You said: And be quick"), "{text}");
    talk.say("Now find `main` for me");
    let (_, calls) = talk.turn().await;
    assert_eq!(calls.len(), 1, "a new question while others work is one more agent");
    talk.result(&calls[0], &started("a4"), false);
    talk.say(&news("zz", "Done", "of somebody else"));
    talk.turn().await;
    for n in 0..5 {
        talk.say(&news(&format!("a{n}"), "Done", "Summary: s."));
    }
    let (text, _) = talk.turn().await;
    assert!(text.starts_with("# What 5 agents found"), "{text}");
    assert!(text.contains("You said meanwhile: And be quick"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn later_prompts_get_an_agent_or_a_plain_answer() {
    let mut talk = waiting().await;
    for n in 0..4 {
        talk.say(&news(&format!("a{n}"), "Done", "Summary: s."));
    }
    talk.turn().await;
    talk.say("Write me a poem.");
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty() && text.contains(SELF_DESCRIPTION), "{text}");
    talk.say("Where is `parse` handled?");
    let (_, calls) = talk.turn().await;
    assert_eq!(calls.len(), 1);
    assert!(calls[0].arguments["prompt"].as_str().unwrap().contains("`parse`"));
    talk.result(&calls[0], "Agent completed in 0.1s (3 tool uses)\n\nSummary: in src/a.rs.", false);
    let (text, _) = talk.turn().await;
    assert!(text.contains("in src/a.rs."), "{text}");
}

#[tokio::test(start_paused = true)]
async fn interrupted_agents_are_not_waited_for() {
    let mut talk = waiting().await;
    for n in 0..3 {
        talk.say(&news(&format!("a{n}"), "Done", "Summary: s."));
    }
    talk.say("These agents were interrupted when the server ended: a3");
    let (text, _) = talk.turn().await;
    assert!(text.contains("Interrupted: the server ended first."), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_greeting_starts_nobody() {
    for prompt in ["hello", "Who are you?", "what can you do"] {
        let mut talk = Talk::parent();
        talk.say(prompt);
        let (text, calls) = talk.turn().await;
        assert!(calls.is_empty(), "{prompt}");
        assert!(text.contains(SELF_DESCRIPTION));
    }
}
