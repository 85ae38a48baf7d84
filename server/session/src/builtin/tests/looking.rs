//! read, grep, find and ls.

use model::ContentBlock;
use serde_json::{Value, json};

use super::{Desk, text};

#[tokio::test]
async fn read_shows_a_small_file_as_it_is() {
    let desk = Desk::new();
    desk.put("sp é #.txt", "one\ntwo\n");
    assert_eq!(desk.text("read", json!({ "path": "sp é #.txt" })).await, "one\ntwo\n");
    desk.put("empty", "");
    assert_eq!(desk.text("read", json!({ "path": "empty" })).await, "(empty file)");
}

#[tokio::test]
async fn read_goes_on_by_offset_and_limit() {
    let desk = Desk::new();
    desk.put("f", "1\n2\n3\n4\n5\n");
    let part = |offset: u64, limit: u64| json!({ "path": "f", "offset": offset, "limit": limit });
    assert_eq!(desk.text("read", part(2, 2)).await, "2\n3\n\n[2 more lines; use offset=4 to continue]");
    assert_eq!(desk.text("read", part(4, 9)).await, "4\n5\n");
    assert_eq!(desk.text("read", part(0, 0)).await, "1\n\n[4 more lines; use offset=2 to continue]");
    let error = desk.error("read", json!({ "path": "f", "offset": 6 })).await;
    assert_eq!(error, "Offset 6 is past the end: the file has 5 lines.");
}

#[tokio::test]
async fn read_stops_at_its_caps_and_says_how_to_go_on() {
    let desk = Desk::new();
    desk.put("long", "line\n".repeat(2_500));
    let output = desk.call("read", json!({ "path": "long" })).await.unwrap();
    assert!(text(&output).ends_with("line\n\n[Lines 1-2000 of 2500; use offset=2001 to continue]"));
    assert_eq!(output.details["truncation"]["truncatedBy"], "lines");
    assert_eq!(output.details["truncation"]["totalLines"], 2_500);
    desk.put("wide", format!("{}\n", "x".repeat(99)).repeat(1_000));
    assert!(
        desk.text("read", json!({ "path": "wide", "offset": 11 })).await.contains("[Lines 11-522 of 1000")
    );
    desk.put("one", format!("{}\nend\n", "é".repeat(40_000)));
    let shown = desk.text("read", json!({ "path": "one" })).await;
    assert!(shown.contains("Line 1 is longer than 50.0KB") && shown.contains("cut -b 51201-"), "{shown}");
    assert!(shown.contains("use offset=2"));
}

#[tokio::test]
async fn read_tells_what_is_no_clean_text() {
    let desk = Desk::new();
    desk.put("latin", b"caf\xE9\n");
    let shown = desk.text("read", json!({ "path": "latin" })).await;
    assert!(shown.starts_with("caf\u{FFFD}\n\n[The file is not valid UTF-8"), "{shown}");
    desk.put("binary", [0, 1, 2]);
    assert!(desk.error("read", json!({ "path": "binary" })).await.contains("binary file of 3B"));
    assert!(desk.error("read", json!({ "path": "none" })).await.contains("does not exist"));
    assert!(desk.error("read", json!({ "path": "." })).await.contains("is a folder"));
    assert!(desk.error("read", json!({ "path": "" })).await.contains("empty"));
}

#[tokio::test]
async fn read_shows_an_image_as_an_image() {
    let desk = Desk::new();
    desk.put("p", b"\x89PNG\r\n\x1a\nrest");
    let output = desk.call("read", json!({ "path": "p" })).await.unwrap();
    assert_eq!(text(&output), "Image `p` (image/png, 12B)");
    let image =
        ContentBlock::Image { mime_type: "image/png".to_owned(), data: "iVBORw0KGgpyZXN0".to_owned() };
    assert_eq!(output.content[1], image);
    let mut large = b"GIF89a".to_vec();
    large.resize(4 * 1024 * 1024, 0);
    desk.put("large", large);
    assert!(desk.error("read", json!({ "path": "large" })).await.contains("image of 4.0MB"));
}

#[tokio::test]
async fn grep_shows_places_and_context() {
    let desk = Desk::new();
    std::fs::create_dir(desk.root().join("a b")).unwrap();
    desk.put("a b/é#.txt", "zero\nneedle one\ntwo\n");
    let shown = desk.text("grep", json!({ "pattern": "needle", "context": 1, "path": "", "glob": "" })).await;
    assert_eq!(shown, "a b/é#.txt-1- zero\na b/é#.txt:2: needle one\na b/é#.txt-3- two");
    let output =
        desk.call("grep", json!({ "pattern": "NEEDLE", "ignoreCase": true, "literal": true })).await.unwrap();
    assert_eq!(output.details["matches"], 1);
    assert_eq!(desk.text("grep", json!({ "pattern": "none" })).await, "No matches found");
    assert!(desk.error("grep", json!({ "pattern": "(" })).await.contains("pattern is not valid"));
    assert!(desk.error("grep", json!({ "pattern": "" })).await.contains("empty"));
}

#[tokio::test]
async fn grep_says_what_it_left_out() {
    let desk = Desk::new();
    desk.put("f", "needle\n".repeat(500));
    let shown = desk.text("grep", json!({ "pattern": "needle" })).await;
    assert!(shown.ends_with("[100 matches, and there are more; use limit=200]"), "{shown}");
    desk.put("g", format!("needle {}\n", "x".repeat(600)).repeat(500));
    let shown = desk.text("grep", json!({ "pattern": "needle", "path": "g", "limit": 1000 })).await;
    assert!(
        shown.contains("lines fit; use a narrower pattern") && shown.contains("shortened to 500"),
        "{shown}"
    );
    assert!(shown.len() < 52_000);
}

#[tokio::test]
async fn find_shows_names_and_what_it_left_out() {
    let desk = Desk::new();
    for name in ["a.rs", "b.rs", "c.rs"] {
        desk.put(name, "");
    }
    std::fs::create_dir(desk.root().join("d.rs")).unwrap();
    assert_eq!(desk.text("find", json!({ "pattern": "*.rs" })).await, "a.rs\nb.rs\nc.rs\nd.rs/");
    let output = desk.call("find", json!({ "pattern": "*.rs", "limit": 2 })).await.unwrap();
    assert_eq!(text(&output), "a.rs\nb.rs\n\n[2 results, and there are more; use limit=4]");
    assert_eq!(desk.text("find", json!({ "pattern": "*.py" })).await, "No files found matching pattern");
    assert!(desk.error("find", json!({ "pattern": "*", "path": "a.rs" })).await.contains("not a folder"));
}

#[tokio::test]
async fn ls_sorts_without_case_and_marks_folders() {
    let desk = Desk::new();
    for name in ["b", "A", ".c", "new\nline"] {
        desk.put(name, "");
    }
    std::fs::create_dir(desk.root().join("Dir")).unwrap();
    let shown = desk.text("ls", json!({})).await;
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[..4], [".c", "A", "b", "Dir/"]);
    assert!(lines[4].starts_with("file:///") && lines[4].ends_with("/new%0Aline"));
    let limited = desk.call("ls", json!({ "limit": 2 })).await.unwrap();
    assert_eq!(text(&limited), ".c\nA\n\n[2 of 5 entries; use limit=4 for more]");
    assert_eq!(desk.text("ls", json!({ "path": "Dir" })).await, "(empty directory)");
    assert!(desk.error("ls", json!({ "path": "b" })).await.contains("not a folder"));
    assert_eq!(desk.call("ls", json!({ "path": "Dir" })).await.unwrap().details, Value::Null);
}
