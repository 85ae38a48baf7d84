//! What is summed over runs and over the tree.

use std::fmt::Write as _;

use super::script::stage;

#[test]
fn an_agents_usage_is_that_of_all_its_runs_even_those_that_memory_has_let_go() {
    let mut script =
        String::from("open s\nspawn a explore bg\nsettle a ok tokens=10\n+200ms\ndrain s\ndelivered b1\n");
    for run in 2..=40 {
        let _ = writeln!(script, "resume a bg\nsettle a ok tokens=10\n+200ms\ndrain s\ndelivered b{run}");
    }
    script += "resume a bg\nprogress a tokens=7\n";
    let roster = stage(&script).roster;
    let record = roster.agent(&"a".into()).unwrap();
    assert_eq!((record.run_number(), record.usage().total), (41, 407));
    assert!(record.completion_of(1).is_none(), "it is on disk only");
    assert_eq!(record.progress().usage.total, 7, "a run's own usage is its own");
    assert_eq!(record.completion_of(40).unwrap().outcome.usage.total, 10);
}

#[test]
fn an_owners_tree_has_its_childrens_usage_once_and_its_own_has_none_of_it() {
    let roster = stage(
        r#"
            open s
            spawn a explore bg
            progress a tokens=5
            spawn b explore parent=a
            progress b tokens=20
            settle b ok tokens=30
            resume b bg
            settle b ok tokens=3
            spawn c explore bg parent=a
            progress c tokens=100
        "#,
    )
    .roster;
    let a = "a".into();
    assert_eq!(roster.agent(&a).unwrap().usage().total, 5);
    let subtree = roster.subtree(&a);
    assert_eq!((subtree.agents, subtree.running, subtree.usage.total), (2, 1, 138));
    assert_eq!(roster.subtree(&"b".into()).usage.total, 33);
}

#[test]
fn a_restored_agent_keeps_its_totals() {
    let roster = stage("open s\nrestore a ok tokens=12\nresume a bg\nprogress a tokens=3").roster;
    let record = roster.agent(&"a".into()).unwrap();
    assert_eq!((record.usage().total, roster.subtree(&"a".into()).usage.total), (15, 15));
}

#[test]
fn a_limit_that_came_first_is_the_outcome_whatever_the_run_says_then() {
    let roster = stage(
        r#"
            open s wall=5s
            spawn a explore bg
            +5s
            settle a error tokens=9
        "#,
    )
    .roster;
    let outcome = roster.agent(&"a".into()).unwrap().completion().unwrap().outcome.clone();
    assert_eq!((outcome.status.as_str(), outcome.usage.total), ("aborted", 9));
    assert_eq!(outcome.reason, Some(vocab::EndReason::WallClock));
}
