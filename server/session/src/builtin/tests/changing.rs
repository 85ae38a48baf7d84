//! edit and write.

use serde_json::{Value, json};

use super::{Desk, text};

fn edits(path: &str, pairs: &[(&str, &str)]) -> Value {
    let edits: Vec<_> = pairs.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect();
    json!({ "path": path, "edits": edits })
}

#[tokio::test]
async fn write_makes_and_replaces() {
    let desk = Desk::new();
    let made = desk.call("write", json!({ "path": "new é/f#", "content": "äö" })).await.unwrap();
    assert_eq!(text(&made), "Created `new é/f#` (4B)");
    assert_eq!(
        desk.text("write", json!({ "path": "new é/f#", "content": "" })).await,
        "Replaced `new é/f#` (0B)"
    );
    assert_eq!(desk.holds("new é/f#"), "");
    assert!(desk.error("write", json!({ "path": "new é", "content": "" })).await.contains("is a folder"));
}

#[tokio::test]
async fn edit_replaces_literally_and_tells_the_difference() {
    let desk = Desk::new();
    desk.put("f", "a\nb\nc\nd\n");
    let output = desk.call("edit", edits("f", &[("b\n", "$1\\n\n"), ("d", "e")])).await.unwrap();
    assert_eq!(text(&output), "Replaced 2 pieces in `f`");
    assert_eq!(desk.holds("f"), "a\n$1\\n\nc\ne\n");
    assert_eq!(output.details["firstChangedLine"], 2);
    assert_eq!((&output.details["additions"], &output.details["deletions"]), (&json!(2), &json!(2)));
    let diff = output.details["diff"].as_str().unwrap();
    assert!(diff.starts_with("--- f\n+++ f\n@@ -1,4 +1,4 @@\n a\n-b\n+$1\\n\n c\n-d\n+e\n"), "{diff}");
}

#[tokio::test]
async fn edits_are_found_in_the_original() {
    let desk = Desk::new();
    desk.put("f", "a b");
    desk.text("edit", edits("f", &[("a", "b"), ("b", "a")])).await;
    assert_eq!(desk.holds("f"), "b a");
}

#[tokio::test]
async fn an_edit_that_cannot_be_made_changes_nothing() {
    let desk = Desk::new();
    desk.put("f", "one\ntwo\ntwo\naaa\n");
    for (pairs, word) in [
        (vec![("one", "1"), ("three", "3")], "`edits[1].oldText` does not occur"),
        (vec![("two", "2")], "occurs 2 times in `f` (lines 2, 3)"),
        (vec![("aa", "b")], "occurs 2 times"),
        (vec![("", "x")], "is empty; to make a file"),
        (vec![("one\ntwo", "1"), ("two\ntwo", "2")], "overlap"),
        (vec![("one", "one")], "leave `f` as it is"),
        (vec![], "`edits` is empty"),
    ] {
        let error = desk.error("edit", edits("f", &pairs)).await;
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(desk.holds("f"), "one\ntwo\ntwo\naaa\n");
    assert!(desk.error("edit", edits("none", &[("a", "b")])).await.contains("does not exist"));
    desk.put("latin", b"caf\xE9");
    assert!(desk.error("edit", edits("latin", &[("caf", "tea")])).await.contains("not valid UTF-8"));
}

#[tokio::test]
async fn line_ends_and_byte_order_mark_stay() {
    let desk = Desk::new();
    desk.put("crlf", "\u{FEFF}one\r\ntwo\r\nthree\r\n");
    desk.text("edit", edits("crlf", &[("one\ntwo\n", "1\n2\n2b\n")])).await;
    assert_eq!(desk.holds("crlf"), "\u{FEFF}1\r\n2\r\n2b\r\nthree\r\n");
    desk.text("edit", edits("crlf", &[("2b\r\nthree", "x")])).await;
    assert_eq!(desk.holds("crlf"), "\u{FEFF}1\r\n2\r\nx\r\n");
    desk.put("mixed", "a\nb\r\nc\nd\r\n");
    desk.text("edit", edits("mixed", &[("c", "C\nC")])).await;
    assert_eq!(desk.holds("mixed"), "a\nb\r\nC\nC\nd\r\n", "other lines keep theirs");
}

#[tokio::test]
async fn a_lenient_match_changes_only_what_it_covers() {
    let desk = Desk::new();
    desk.put("f", "say \u{201C}hi\u{201D}  \nnext\u{A0}line \u{2014} end\t\nlast\u{2019}s  \n");
    desk.text("edit", edits("f", &[("say \"hi\"\nnext line - end", "done")])).await;
    assert_eq!(desk.holds("f"), "done\t\nlast\u{2019}s  \n");
    desk.put("g", "it\u{2019}s\nit's\n");
    desk.text("edit", edits("g", &[("it's", "is")])).await;
    assert_eq!(desk.holds("g"), "it\u{2019}s\nis\n", "an exact match is the one that was meant");
    desk.put("h", "a\u{2014}b\u{2013}c\n");
    desk.text("edit", edits("h", &[("-b-", "+")])).await;
    assert_eq!(desk.holds("h"), "a+c\n");
}

#[tokio::test]
async fn two_edits_at_once_are_both_made() {
    let desk = Desk::new();
    desk.put("f", "a b");
    let (first, second) = tokio::join!(
        desk.text("edit", edits("f", &[("a", "1")])),
        desk.text("edit", edits("./f", &[("b", "2")]))
    );
    assert_eq!(first, second);
    assert_eq!(desk.holds("f"), "1 2");
}

#[tokio::test]
async fn a_long_difference_is_cut() {
    let desk = Desk::new();
    desk.put("f", "x");
    let output = desk.call("edit", edits("f", &[("x", &"line\n".repeat(100_000))])).await.unwrap();
    assert!(output.details["diff"].as_str().unwrap().len() < 66_000);
    assert_eq!(output.details["additions"], 100_000);
}
