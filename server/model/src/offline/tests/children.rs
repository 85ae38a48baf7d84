//! The planner as an agent.

use super::folder::Folder;
use super::{Open, SELF_DESCRIPTION, Talk};

const TOPICS: [&str; 4] = [
    "Topic: languages and layout.",
    "Topic: entry points.",
    "Topic: TODO and FIXME markers.",
    "Topic: largest modules.",
];

async fn report(prompt: &str, folder: &Folder) -> (String, Vec<Vec<Open>>) {
    let mut talk = Talk::child();
    talk.say(prompt);
    talk.finish(|call| folder.answer(call)).await
}

#[tokio::test(start_paused = true)]
async fn each_subject_takes_several_turns_and_reports_what_is_there() {
    for topic in TOPICS {
        let (text, turns) = report(topic, &Folder::sample()).await;
        assert!(turns.len() >= 4, "{topic}: {} turns", turns.len());
        assert!(turns.iter().any(|calls| calls.len() >= 2), "{topic}: nothing side by side");
        assert!(text.starts_with("Summary: "), "{text}");
        assert!(text.contains(SELF_DESCRIPTION));
        assert!(!text.contains("Not looked at"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn reports_hold_the_facts_of_the_folder() {
    let folder = Folder::sample();
    let (layout, _) = report(TOPICS[0], &folder).await;
    for fact in [
        "5 files",
        ".rs (Rust): 3 files",
        "src/: 2 files; holds lib.rs, main.rs",
        "README.md: Sample — A small",
    ] {
        assert!(layout.contains(fact), "{fact}\n{layout}");
    }
    let (entries, _) = report(TOPICS[1], &folder).await;
    for fact in ["src/main.rs:2: fn main() {", "Cargo.toml: package sample", "README.md:5: cargo run"] {
        assert!(entries.contains(fact), "{fact}\n{entries}");
    }
    let (markers, _) = report(TOPICS[2], &folder).await;
    for fact in [
        "2 lines marked",
        "src/lib.rs:4: // TODO: write c",
        "src/main.rs:3: // FIXME",
        "tests set aside: 1 line",
    ] {
        assert!(markers.contains(fact), "{fact}\n{markers}");
    }
    let (modules, _) = report(TOPICS[3], &folder).await;
    for fact in [
        "3 source files",
        "src/lib.rs: 4 lines, 2 definitions seen",
        "src/lib.rs: All of the sample library.",
    ] {
        assert!(modules.contains(fact), "{fact}\n{modules}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_folder_is_said_to_be_empty() {
    for topic in TOPICS {
        let (text, turns) = report(topic, &Folder(Vec::new())).await;
        assert_eq!(turns.len(), 1);
        assert!(text.contains("the folder is empty"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_is_in_the_report_and_ends_nothing() {
    for topic in TOPICS {
        let mut talk = Talk::child();
        talk.say(topic);
        let refuse = |_: &Open| Err("Denied: the mode is plan.".to_owned());
        let (text, _) = talk.finish(refuse).await;
        assert!(
            text.contains("Not looked at:\n- `ls` `.` did not work: Denied: the mode is plan."),
            "{text}"
        );
        assert!(!text.contains("no line is marked"), "absence was not seen: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_are_not_offered_are_not_called() {
    let mut talk = Talk::new(&["read", "ls"]);
    talk.say(TOPICS[0]);
    let folder = Folder::sample();
    let (text, turns) = talk.finish(|call| folder.answer(call)).await;
    assert!(turns.iter().flatten().all(|call| ["read", "ls"].contains(&call.tool.as_str())));
    assert!(text.contains("These tools were not offered to me: find, grep."), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_cut_listing_is_counted_as_at_least() {
    let mut talk = Talk::child();
    talk.say(TOPICS[0]);
    let folder = Folder::sample();
    let (text, turns) = talk
        .finish(|call| {
            let note = "\n\n[2000 results, and there are more; use limit=4000]";
            let cut = call.arguments["pattern"] == "*";
            folder.answer(call).map(|text| if cut { text + note } else { text })
        })
        .await;
    assert!(text.contains("Summary: at least 5 files"), "{text}");
    assert!(text.contains(".rs (Rust): 3 files"), "counted on its own: {text}");
    assert!(turns[1].iter().any(|call| call.arguments["pattern"] == "*.rs"));
}

#[tokio::test(start_paused = true)]
async fn a_large_output_makes_a_small_report() {
    let mut talk = Talk::child();
    talk.say(TOPICS[2]);
    let huge: Vec<_> = (1..2_000).map(|n| format!("a/f{n}.rs:{n}: // TODO {}", "x".repeat(400))).collect();
    let huge = huge.join("\n");
    let (text, _) =
        talk.finish(|call| Ok(if call.tool == "grep" { huge.clone() } else { "a/".to_owned() })).await;
    assert!(text.len() < 8_000, "{} bytes", text.len());
    assert!(text.contains("1999 lines marked"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_steer_is_acknowledged_and_a_word_to_end_obeyed() {
    let folder = Folder::sample();
    let mut talk = Talk::child();
    talk.say(TOPICS[0]);
    let (_, calls) = talk.turn().await;
    for call in &calls {
        let text = folder.answer(call).expect("known");
        talk.result(call, &text, false);
    }
    talk.say("Mind the tests too.");
    let (text, turns) = talk.finish(|call| folder.answer(call)).await;
    assert!(!turns.is_empty(), "it goes on");
    assert!(text.contains("You asked meanwhile: Mind the tests too."), "{text}");

    talk.say(TOPICS[1]);
    let (_, calls) = talk.turn().await;
    for call in &calls {
        talk.result(call, "nothing", false);
    }
    talk.say("You have reached your turn limit. Do not call any more tools. Give your final answer now.");
    let (text, calls) = talk.turn().await;
    assert!(calls.is_empty());
    assert!(text.contains("left undone"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_agent_begins_its_subject_anew() {
    let folder = Folder::sample();
    let mut talk = Talk::child();
    talk.say(TOPICS[2]);
    talk.finish(|call| folder.answer(call)).await;
    talk.say("And again, please.");
    let (text, turns) = talk.finish(|call| folder.answer(call)).await;
    assert_eq!(turns.len(), 4);
    assert!(text.contains("2 lines marked"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_quoted_text_is_looked_for() {
    let folder = Folder::sample();
    let (text, turns) = report("Where is `TODO` used?", &folder).await;
    assert!(turns.len() >= 3);
    assert!(text.contains("`TODO` is in 1 line of 1 file"), "{text}");
    let (text, _) = report("Find `no such thing`", &folder).await;
    assert!(text.contains("is in 0 lines of 0 files"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn without_a_subject_all_are_looked_into() {
    let (text, turns) = report("Explore this folder.", &Folder::sample()).await;
    assert!(turns.len() > 8);
    for title in ["### Languages and layout", "### Entry points", "### Open markers", "### Largest modules"] {
        assert!(text.contains(title), "{title}\n{text}");
    }
}
