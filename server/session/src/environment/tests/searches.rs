//! Lines and names, with what is ignored, hidden, binary and odd.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use tokio_util::sync::CancellationToken;

use super::workspace;
use crate::environment::{
    Cut, Environment, EnvironmentError, FindRequest, LocalDisk, SearchOutcome, SearchRequest,
};

fn for_lines(disk: &LocalDisk, pattern: &str) -> SearchRequest {
    SearchRequest {
        pattern: pattern.to_owned(),
        literal: false,
        ignore_case: false,
        path: disk.root().to_owned(),
        glob: None,
        context: 0,
        limit: 100,
    }
}

async fn search(disk: &LocalDisk, request: SearchRequest) -> SearchOutcome {
    disk.search(request, &CancellationToken::new()).await.unwrap()
}

fn shown(disk: &LocalDisk, found: &SearchOutcome) -> Vec<String> {
    let mark = |is_match| if is_match { ':' } else { '-' };
    let line = |line: &crate::environment::SearchLine| {
        format!("{}{}{}", disk.display(&line.path), mark(line.is_match), line.number)
    };
    found.lines.iter().map(line).collect()
}

async fn names(disk: &LocalDisk, pattern: &str) -> Vec<String> {
    let request = FindRequest { pattern: pattern.to_owned(), path: disk.root().to_owned(), limit: 100 };
    let found = disk.find(request, &CancellationToken::new()).await.unwrap();
    found
        .paths
        .iter()
        .map(|(path, is_folder)| format!("{}{}", disk.display(path), if *is_folder { "/" } else { "" }))
        .collect()
}

fn tree(disk: &LocalDisk) {
    let root = disk.root();
    for folder in ["src/deep", ".git", ".hidden", "target"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    for file in
        ["src/a.rs", "src/deep/b.rs", ".git/c.rs", ".hidden/d.rs", "target/e.rs", "f.log", "sp é #.rs"]
    {
        fs::write(root.join(file), "one\nneedle\nthree\n").unwrap();
    }
    fs::write(root.join("binary.rs"), b"needle \0 needle\n").unwrap();
    fs::write(root.join("latin.rs"), b"caf\xE9 needle\n").unwrap();
    fs::write(root.join("crlf.rs"), "needle\r\n").unwrap();
}

#[tokio::test]
async fn a_search_sees_hidden_files_and_not_ignored_or_binary_ones() {
    let (_folder, disk) = workspace();
    tree(&disk);
    let found = search(&disk, for_lines(&disk, "ne+dle$")).await;
    let expected = [".hidden/d.rs:2", "latin.rs:1", "sp é #.rs:2", "src/a.rs:2", "src/deep/b.rs:2"];
    // A `$` does not match before a CR.
    assert_eq!(shown(&disk, &found), expected);
    let found = search(&disk, SearchRequest { literal: true, ..for_lines(&disk, "needle") }).await;
    assert_eq!(found.matches, 6);
    assert_eq!(found.lines[1].text, "needle", "the CR is not shown");
    assert_eq!(found.lines[2].text, "caf\u{FFFD} needle");
}

#[tokio::test]
async fn an_ignored_file_that_is_named_is_searched() {
    let (_folder, disk) = workspace();
    tree(&disk);
    let request = SearchRequest { path: disk.root().join("f.log"), ..for_lines(&disk, "NEEDLE") };
    assert_eq!(search(&disk, request.clone()).await.matches, 0);
    assert_eq!(search(&disk, SearchRequest { ignore_case: true, ..request }).await.matches, 1);
}

#[tokio::test]
async fn a_glob_narrows_and_brings_nothing_back() {
    let (_folder, disk) = workspace();
    tree(&disk);
    let with = |glob: &str| SearchRequest { glob: Some(glob.to_owned()), ..for_lines(&disk, "needle") };
    assert_eq!(shown(&disk, &search(&disk, with("src/**/*.rs")).await), ["src/a.rs:2", "src/deep/b.rs:2"]);
    assert_eq!(search(&disk, with("*.log")).await.matches, 0);
    assert_eq!(search(&disk, with("!*.rs")).await.matches, 0);
}

#[tokio::test]
async fn context_and_limit_are_kept() {
    let (_folder, disk) = workspace();
    tree(&disk);
    let request =
        SearchRequest { context: 1, limit: 1, path: disk.root().join("src"), ..for_lines(&disk, "needle") };
    let found = search(&disk, request).await;
    assert_eq!(shown(&disk, &found), ["src/a.rs-1", "src/a.rs:2", "src/a.rs-3"]);
    assert_eq!((found.matches, found.cut), (1, Some(Cut::Limit)));
    let request = SearchRequest { limit: 2, path: disk.root().join("src"), ..for_lines(&disk, "needle") };
    assert_eq!(search(&disk, request).await.cut, None, "as many as the limit is not more");
}

#[tokio::test]
async fn a_long_line_is_shown_around_its_match() {
    let (_folder, disk) = workspace();
    let line = format!("{}needle{}", "é".repeat(5_000), "x".repeat(5_000));
    fs::write(disk.root().join("min.js"), line).unwrap();
    let found = search(&disk, for_lines(&disk, "needle")).await;
    let text = &found.lines[0].text;
    assert!(found.lines[0].shortened && text.contains("needle") && text.chars().count() <= 502, "{text}");
    assert!(text.starts_with('…') && text.ends_with('…'));
}

#[tokio::test]
async fn a_flood_of_matches_is_cut_by_bytes() {
    let (_folder, disk) = workspace();
    fs::write(disk.root().join("many"), "a matching line\n".repeat(100_000)).unwrap();
    let found = search(&disk, SearchRequest { limit: usize::MAX, ..for_lines(&disk, "match") }).await;
    assert_eq!(found.cut, Some(Cut::Bytes));
    assert!(found.lines.len() < 20_000);
}

#[tokio::test]
async fn faulty_patterns_and_paths_are_told() {
    let (_folder, disk) = workspace();
    let search = |request| async { disk.search(request, &CancellationToken::new()).await.unwrap_err() };
    assert!(matches!(search(for_lines(&disk, "(")).await, EnvironmentError::Pattern(_)));
    assert!(matches!(search(for_lines(&disk, "a\nb")).await, EnvironmentError::Pattern(_)));
    let glob = SearchRequest { glob: Some("{".to_owned()), ..for_lines(&disk, "a") };
    assert!(matches!(search(glob).await, EnvironmentError::Pattern(_)));
    let path = SearchRequest { path: disk.root().join("none"), ..for_lines(&disk, "a") };
    assert!(matches!(search(path).await, EnvironmentError::NotFound(_)));
    let find = FindRequest { pattern: "[".to_owned(), path: disk.root().to_owned(), limit: 1 };
    let error = disk.find(find, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, EnvironmentError::Pattern(_)));
}

#[tokio::test]
async fn a_cancelled_search_answers_at_once() {
    let (_folder, disk) = workspace();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let request = SearchRequest { path: "/".into(), ..for_lines(&disk, "needle") };
    assert!(matches!(disk.search(request, &cancel).await, Err(EnvironmentError::Cancelled)));
}

#[tokio::test]
async fn names_are_found_by_name_or_by_path() {
    let (_folder, disk) = workspace();
    tree(&disk);
    assert_eq!(names(&disk, "b.rs").await, ["src/deep/b.rs"]);
    assert_eq!(names(&disk, "deep").await, ["src/deep/"]);
    assert_eq!(names(&disk, "deep/*.rs").await, ["src/deep/b.rs"]);
    assert_eq!(names(&disk, "./src/*.rs").await, ["src/a.rs"]);
    assert_eq!(names(&disk, "src/**/*.rs").await, ["src/a.rs", "src/deep/b.rs"]);
    assert_eq!(names(&disk, "*é*").await, ["sp é #.rs"]);
    assert_eq!(names(&disk, "*.log").await, [""; 0]);
    assert_eq!(names(&disk, &format!("{}/src/*.rs", disk.root().display())).await, ["src/a.rs"]);
    assert!(names(&disk, ".*").await.contains(&".hidden/".to_owned()));
}

#[tokio::test]
async fn a_name_that_is_no_text_is_found_and_can_be_passed_back() {
    let (_folder, disk) = workspace();
    let path = disk.root().join(OsStr::from_bytes(b"b\xFFd.rs"));
    fs::write(&path, "needle\n").unwrap();
    let shown = names(&disk, "*.rs").await;
    assert_eq!(disk.resolve(&shown[0]).unwrap(), path);
    assert_eq!(&*search(&disk, for_lines(&disk, "needle")).await.lines[0].path, path);
}
