//! Disks that refuse: what is kept for later, what is marked as missing, and what is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::{Resource, Rlimit, setrlimit};
use tempfile::tempdir;

use super::super::{DiskNews, Durability, Gap, Writer, load_session};
use super::{header, line, prompt};
use crate::entry::EntryBody;
use crate::recorder::gap_lines;

/// Says to the process that a test starts anew that it is that one, and where it may write.
const INSIDE: &str = "ADJUTANT_TEST_SMALL_FILES";

type Told = Arc<Mutex<Vec<DiskNews>>>;

fn writer(held: usize) -> (Writer, Told) {
    let told: Told = Arc::default();
    let heard = Arc::clone(&told);
    (Writer::holding(held, move |news| heard.lock().unwrap().push(news)), told)
}

/// A place that cannot be written to until what is in its way is removed.
fn blocked(folder: &Path) -> (PathBuf, PathBuf) {
    let in_the_way = folder.join("sessions");
    fs::write(&in_the_way, "a file where a folder should be").unwrap();
    (in_the_way.clone(), in_the_way.join("session.jsonl"))
}

fn numbered(at: usize) -> Vec<u8> {
    format!("line {at}\n").into_bytes()
}

#[tokio::test]
async fn what_a_disk_refuses_is_written_in_order_once_it_takes_lines_again() {
    let folder = tempdir().unwrap();
    let (in_the_way, path) = blocked(folder.path());
    let (writer, told) = writer(1 << 20);
    let file = writer.file(&path);
    let refused = Arc::new(AtomicUsize::new(0));
    for at in 0..3 {
        let refused = Arc::clone(&refused);
        file.append_then(numbered(at), Durability::Synced, move |taken| {
            refused.fetch_add(usize::from(!taken), Ordering::Relaxed);
        });
        writer.flush().await;
    }
    assert_eq!(refused.load(Ordering::Relaxed), 3, "who waits for a line is told at once");
    assert!(matches!(&told.lock().unwrap()[..], [DiskNews::Refused { path: at, .. }] if *at == path));

    fs::remove_file(in_the_way).unwrap();
    file.append(numbered(3));
    writer.flush().await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "line 0\nline 1\nline 2\nline 3\n");
    assert_eq!(told.lock().unwrap().pop(), Some(DiskNews::Recovered { path, lost: 0 }));
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_that_refuses_is_tried_again_though_nothing_more_comes() {
    let folder = tempdir().unwrap();
    let (in_the_way, path) = blocked(folder.path());
    let (writer, told) = writer(1 << 20);
    writer.file(&path).append(numbered(0));
    writer.flush().await;
    assert_eq!(told.lock().unwrap().len(), 1);
    fs::remove_file(in_the_way).unwrap();
    for _ in 0..600 {
        if path.exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    writer.flush().await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "line 0\n");
}

#[tokio::test]
async fn what_finds_no_room_is_marked_where_it_is_missing() {
    let folder = tempdir().unwrap();
    let (in_the_way, path) = blocked(folder.path());
    let lines: Vec<_> = std::iter::once(line(0, header("s1")))
        .chain((1..40).map(|seq| line(seq, prompt(&format!("prompt number {seq}")))))
        .collect();
    let room = lines[..11].iter().map(Vec::len).sum();
    let (writer, told) = writer(room);
    let file = writer.file(&path);
    let EntryBody::Header(head) = header("s1") else { unreachable!() };
    file.mark_gaps(false, move |gap| gap_lines(&head, &gap));
    for line in &lines[..30] {
        file.append(line.clone());
    }
    writer.flush().await;
    fs::remove_file(in_the_way).unwrap();
    writer.flush().await;
    for line in &lines[30..] {
        file.append(line.clone());
    }
    writer.flush().await;
    assert_eq!(told.lock().unwrap().last(), Some(&DiskNews::Recovered { path: path.clone(), lost: 19 }));
    let loaded = load_session(&path, true).unwrap();
    let seqs: Vec<_> = loaded.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (0..=11).chain(30..40).collect::<Vec<_>>());
    let gap = &loaded.entries[11];
    assert!(
        matches!(&gap.body, EntryBody::Notice { text } if text.contains("19 entries are missing")),
        "{gap:?}"
    );
}

#[tokio::test]
async fn a_folder_that_is_removed_is_made_again_and_the_file_says_so() {
    for evicted in [false, true] {
        let folder = tempdir().unwrap();
        let path = folder.path().join("deep/session.jsonl");
        let (writer, told) = writer(1 << 20);
        let file = writer.file(&path);
        let EntryBody::Header(head) = header("s1") else { unreachable!() };
        file.mark_gaps(false, move |gap| gap_lines(&head, &gap));
        file.append(line(0, header("s1")));
        file.append(line(1, prompt("before")));
        writer.flush().await;
        if evicted {
            file.close();
        }
        writer.flush().await;
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        for seq in 2..4 {
            file.append(line(seq, prompt("after")));
            writer.flush().await;
        }
        assert_eq!(*told.lock().unwrap(), [DiskNews::Removed { path: path.clone() }]);
        let loaded = load_session(&path, true).unwrap();
        assert_eq!(loaded.header.session_id.as_str(), "s1");
        let kinds: Vec<_> = loaded.entries.iter().map(|entry| (entry.seq, entry.body.is_shown())).collect();
        assert_eq!(kinds, [(0, false), (2, true), (2, true), (3, true)]);
        assert!(
            matches!(&loaded.entries[1].body, EntryBody::Notice { text } if text.contains("was removed"))
        );
    }
}

#[test]
fn a_gap_is_only_marked_in_lines_that_are_entries() {
    let EntryBody::Header(head) = header("s1") else { unreachable!() };
    assert_eq!(gap_lines(&head, &Gap::Lost { lines: 2, first: b"{\"half\":" }), b"");
    assert_eq!(gap_lines(&head, &Gap::Removed { next: b"" }), b"");
}

/// A full disk, as a limit on the size of files; it is of a whole process, so the test starts itself anew.
#[test]
fn a_line_that_was_half_written_is_taken_back_and_written_whole_later() {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return inside_small_files(Path::new(&folder));
    }
    let folder = tempdir().unwrap();
    let name = "storage::tests::refusing::a_line_that_was_half_written_is_taken_back_and_written_whole_later";
    // The system's signal for such a write would end the process.
    let inside = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inside.stdout);
    assert!(
        inside.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&inside.stderr)
    );
    assert!(folder.path().join("done").exists());
}

fn inside_small_files(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let path = folder.join("session.jsonl");
        let (writer, told) = writer(1 << 20);
        let file = writer.file(&path);
        let limit = |bytes| {
            setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
        };
        limit(Some(1_000));
        let line = |at: usize| format!("{at:0>99}\n").into_bytes();
        for at in 0..15 {
            file.append(line(at));
            writer.flush().await;
            // Whatever is there is whole lines.
            assert_eq!(fs::metadata(&path).unwrap().len() % 100, 0);
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 1_000);
        assert!(matches!(&told.lock().unwrap()[..], [DiskNews::Refused { .. }]));
        limit(Some(1_250));
        file.append(line(15));
        writer.flush().await;
        limit(None);
        file.append(line(16));
        writer.flush().await;
        let expected: Vec<u8> = (0..17).flat_map(line).collect();
        assert_eq!(fs::read(&path).unwrap(), expected);
        assert!(matches!(told.lock().unwrap().last(), Some(DiskNews::Recovered { lost: 0, .. })));
        fs::write(folder.join("done"), "").unwrap();
    });
}
