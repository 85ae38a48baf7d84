//! Files that are cut, damaged, locked, refused and read back.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::Message;
use tempfile::tempdir;
use vocab::{SessionId, ThinkingLevel, Timestamp};

use super::{SessionLock, SessionPaths, SessionsDir, StorageError, Writer, list, load_session};
use crate::entry::{Entry, EntryBody, FORMAT_VERSION, Header};
use crate::message::PromptOrigin;

mod refusing;

fn line(seq: u64, body: EntryBody) -> Vec<u8> {
    let entry = Entry { id: format!("e{seq}").into(), seq, at: Timestamp(1_000 + seq), run: 1, body };
    let mut line = serde_json::to_vec(&entry).unwrap();
    line.push(b'\n');
    line
}

fn header(id: &str) -> EntryBody {
    EntryBody::Header(Header {
        version: FORMAT_VERSION,
        session_id: SessionId::from(id),
        cwd: "/srv/app".into(),
        model: "lab/m".into(),
        thinking: ThinkingLevel::Off,
        parent: None,
        title: None,
    })
}

fn prompt(text: &str) -> EntryBody {
    let message = Arc::new(Message::user(text));
    EntryBody::Prompt { prompt_id: None, origin: PromptOrigin::User, message }
}

/// A file of a header and `prompts` prompts.
fn sample(path: &Path, prompts: u64) -> Vec<u8> {
    let mut bytes = line(0, header("s1"));
    for seq in 1..=prompts {
        bytes.extend(line(seq, prompt(&format!("prompt number {seq} with an é"))));
    }
    fs::write(path, &bytes).unwrap();
    bytes
}

#[test]
fn a_file_cut_anywhere_loads_what_is_whole_and_takes_more() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let whole = sample(&path, 6);
    for cut in 0..200 {
        let kept = &whole[..whole.len() - cut];
        fs::write(&path, kept).unwrap();
        let _ = fs::remove_file(folder.path().join("session.jsonl.torn"));
        let ends = kept.split(|byte| *byte == b'\n').count() - 1;
        // Only its line feed is missing, so nothing is.
        let whole_without_end = whole.get(kept.len()) == Some(&b'\n');
        let expected = ends + usize::from(whole_without_end);

        let loaded = load_session(&path, true).unwrap();
        assert_eq!(loaded.entries.len(), expected, "cut {cut}");
        assert_eq!(loaded.report.skipped, 0);

        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, &line(90, prompt("after"))).unwrap();
        let again = load_session(&path, true).unwrap();
        assert_eq!(again.entries.len(), expected + 1, "cut {cut}");
        assert_eq!(again.report.torn_bytes, 0);
        assert_eq!(again.entries.last().unwrap().seq, 90);
        let torn = fs::read(folder.path().join("session.jsonl.torn")).unwrap_or_default();
        assert_eq!(
            torn.is_empty(),
            loaded.report.torn_bytes == 0,
            "cut {cut}: a tail is set aside, not lost"
        );
    }
}

#[test]
fn without_repair_nothing_is_touched() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let whole = sample(&path, 2);
    let cut = &whole[..whole.len() - 5];
    fs::write(&path, cut).unwrap();
    let loaded = load_session(&path, false).unwrap();
    assert_eq!(loaded.entries.len(), 2);
    assert!(loaded.report.torn_bytes > 0);
    assert_eq!(fs::read(&path).unwrap(), cut);
}

#[test]
fn bad_lines_are_skipped_and_unknown_kinds_kept() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut bytes = line(0, header("s1"));
    bytes.extend(b"{\"half\": \n");
    bytes.extend([0_u8; 512]);
    bytes.extend(b"\n\n\xff\xfe\n");
    bytes.extend(b"{\"id\":\"e7\",\"seq\":7,\"at\":5,\"run\":2,\"kind\":\"hologram\",\"x\":[1]}\n");
    bytes.extend(line(8, prompt("last")));
    fs::write(&path, &bytes).unwrap();
    let loaded = load_session(&path, true).unwrap();
    assert_eq!(loaded.report.skipped, 3);
    assert_eq!(loaded.entries.len(), 3);
    assert_eq!(loaded.entries[1].body, EntryBody::Unknown { kind: "hologram".into() });
    assert_eq!(loaded.entries[1].run, 2);
    assert_eq!(fs::read(&path).unwrap(), bytes, "only the tail is ever repaired");
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in ["", "hello\nno newline", "{\"id\":\"a\"}\n"] {
        fs::write(&path, text).unwrap();
        assert!(matches!(load_session(&path, true), Err(StorageError::NotASession(_))), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    assert!(matches!(load_session(&folder.path().join("none"), true), Err(StorageError::Io { .. })));
}

#[tokio::test]
async fn appends_keep_their_order_and_make_private_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let paths = SessionsDir::new(folder.path().join("deep")).session(folder.path(), "s1").unwrap();
    let writer = Writer::default();
    let file = writer.file(paths.agent_file("a1").unwrap());
    writer.flush().await;
    assert!(!file.path().exists(), "nothing is touched before the first append");
    for number in 0..500 {
        file.append(format!("{number}\n").into_bytes());
    }
    writer.flush().await;
    let text = fs::read_to_string(file.path()).unwrap();
    let expected: Vec<_> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file.path()), 0o600);
    assert_eq!(mode(file.path().parent().unwrap()), 0o700);
    assert_eq!(mode(paths.folder()), 0o700);
}

#[tokio::test]
async fn many_files_share_few_descriptors() {
    let folder = tempdir().unwrap();
    let writer = Writer::default();
    let files: Vec<_> = (0..200).map(|n| writer.file(folder.path().join(format!("{n}.jsonl")))).collect();
    for round in 0..3 {
        for file in &files {
            file.append(format!("{round}\n").into_bytes());
        }
        writer.flush().await;
    }
    let open = fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter(|target| target.starts_with(folder.path()))
        .count();
    assert!(open <= 64, "{open} files are open");
    for file in &files {
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "0\n1\n2\n");
        file.close();
    }
    writer.flush().await;
}

#[tokio::test]
async fn a_link_in_place_of_a_file_is_not_followed() {
    let folder = tempdir().unwrap();
    let target = folder.path().join("target");
    fs::write(&target, "precious").unwrap();
    let path = folder.path().join("session.jsonl");
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let writer = Writer::default();
    writer.file(&path).append(b"x\n".to_vec());
    writer.flush().await;
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn one_writer_a_session() {
    let folder = tempdir().unwrap();
    let paths = SessionPaths::of_folder(folder.path().join("s1"));
    assert!(SessionLock::is_free(&paths));
    let lock = SessionLock::acquire(&paths).unwrap();
    assert!(!SessionLock::is_free(&paths));
    let error = SessionLock::acquire(&paths).expect_err("held");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(lock);
    assert!(SessionLock::is_free(&paths));
    SessionLock::acquire(&paths).unwrap();
}

#[test]
fn folders_do_not_share_a_key() {
    let base = tempdir().unwrap();
    let dir = SessionsDir::new("/state/sessions");
    let make = |name: &str| {
        let path = base.path().join(name);
        fs::create_dir_all(&path).unwrap();
        dir.folder(&path)
    };
    let (a, b) = (make("a-b"), make("a/b"));
    assert_ne!(a, b);
    let odd = make("Prüfung #1 %20");
    let name = odd.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("pr-fung-1-20-"), "{name}");
    assert_eq!(name.len(), "pr-fung-1-20-".len() + 12);
    std::os::unix::fs::symlink(base.path().join("a-b"), base.path().join("link")).unwrap();
    assert_eq!(dir.folder(&base.path().join("link")), a, "a link to a folder is that folder");
}

#[test]
fn ids_that_are_no_names_are_refused() {
    let dir = SessionsDir::new("/state");
    for id in ["", "../x", "a/b", ".hidden", "a\0b", "é"] {
        assert!(matches!(dir.session(Path::new("/"), id), Err(StorageError::InvalidName(_))), "{id:?}");
    }
    assert!(dir.session(Path::new("/"), "0192-ab_c.d").is_ok());
}

#[test]
fn lists_are_newest_first_and_titled() {
    let base = tempdir().unwrap();
    let make = |id: &str, title: &str, age: u64| {
        let paths = SessionPaths::of_folder(base.path().join(id));
        fs::create_dir_all(paths.folder()).unwrap();
        let mut bytes = line(0, header(id));
        bytes.extend(line(1, prompt(title)));
        fs::write(paths.session_file(), bytes).unwrap();
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        fs::File::options().write(true).open(paths.session_file()).unwrap().set_modified(time).unwrap();
    };
    make("old", "an old\nquestion", 100);
    make("new", "a new question", 5);
    fs::create_dir_all(base.path().join("empty")).unwrap();
    fs::write(base.path().join("stray"), "x").unwrap();
    let listed = list(base.path()).unwrap();
    let shown: Vec<_> =
        listed.iter().map(|session| (session.id.as_str(), session.title.as_deref().unwrap())).collect();
    assert_eq!(shown, [("new", "a new question"), ("old", "an old")]);
    assert_eq!(list(&base.path().join("none")).unwrap(), []);
}
