//! Saves as editors and people make them, against the system's real file watching.

use std::fs;
use std::sync::mpsc::{Receiver, channel};

use super::*;

/// Long enough for a machine under load.
const PATIENCE: Duration = Duration::from_secs(10);

struct Fixture {
    _root: tempfile::TempDir,
    root: PathBuf,
    watcher: Watcher,
    news: Receiver<(PathBuf, Instant)>,
}

fn fixture() -> Fixture {
    let root_guard = tempfile::tempdir().unwrap();
    let root = root_guard.path().canonicalize().unwrap();
    let (sender, news) = channel();
    let watcher = Watcher::start(move |changed| {
        let _ = sender.send((changed.folder, Instant::now()));
    })
    .unwrap();
    Fixture { _root: root_guard, root, watcher, news }
}

impl Fixture {
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn expect(&self, folder: &Path) -> Instant {
        let (changed, at) = self.news.recv_timeout(PATIENCE).expect("a change is told");
        assert_eq!(changed, folder);
        at
    }

    fn expect_silence(&self) {
        assert!(self.news.recv_timeout(QUIET * 3).is_err());
    }

    /// The watch is put up by the watcher's own thread, a moment later.
    fn watch(&self, folder: &Path) {
        self.watcher.watch(folder);
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn saves_of_every_kind_are_told_once() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    let file = folder.join("a.md");
    fs::write(&file, "one").unwrap();
    fixture.watch(&folder);

    // By a temporary file and a rename.
    fs::write(folder.join(".a.md.tmp"), "two").unwrap();
    fs::rename(folder.join(".a.md.tmp"), &file).unwrap();
    fixture.expect(&folder);

    // By truncating and writing.
    fs::write(&file, "three").unwrap();
    fixture.expect(&folder);

    // By deleting and making anew.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "four").unwrap();
    fixture.expect(&folder);
    fixture.expect_silence();
}

#[test]
fn a_burst_is_one_change_after_it_has_ended() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    fixture.watch(&folder);
    let mut last = Instant::now();
    for n in 0..5 {
        fs::write(folder.join("a.md"), n.to_string()).unwrap();
        last = Instant::now();
        thread::sleep(Duration::from_millis(20));
    }
    let told = fixture.expect(&folder);
    assert!(told.duration_since(last) >= Duration::from_millis(150), "told before it was quiet");
    fixture.expect_silence();
}

#[test]
fn reading_is_no_change_nor_is_anything_deeper_or_beside() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    let inner = fixture.folder("agents/inner");
    fs::write(folder.join("a.md"), "text").unwrap();
    fixture.watch(&folder);
    fs::read_to_string(folder.join("a.md")).unwrap();
    fs::read_dir(&folder).unwrap().count();
    fs::write(inner.join("deep.md"), "text").unwrap();
    fs::write(fixture.root.join("beside.md"), "text").unwrap();
    fixture.expect_silence();
}

#[test]
fn a_folder_that_comes_later_is_watched_once_it_is_there() {
    let fixture = fixture();
    let folder = fixture.root.join(".adjutant/agents");
    fixture.watch(&folder);
    fs::create_dir(fixture.root.join(".adjutant")).unwrap();
    fixture.expect(&folder);
    fs::create_dir(&folder).unwrap();
    fixture.expect(&folder);
    fs::write(folder.join("a.md"), "text").unwrap();
    fixture.expect(&folder);
}

#[test]
fn a_folder_that_is_exchanged_is_still_watched() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    fixture.watch(&folder);
    fs::remove_dir_all(&folder).unwrap();
    fixture.expect(&folder);
    fs::create_dir(&folder).unwrap();
    fixture.expect(&folder);
    fs::write(folder.join("a.md"), "text").unwrap();
    fixture.expect(&folder);

    let other = fixture.folder("other");
    fs::rename(&folder, fixture.root.join("old")).unwrap();
    fs::rename(&other, &folder).unwrap();
    fixture.expect(&folder);
    fs::write(folder.join("b.md"), "text").unwrap();
    fixture.expect(&folder);
}

#[test]
fn a_flood_is_told_of_within_bounds() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    fixture.watch(&folder);
    let end = Instant::now() + AT_MOST + QUIET * 2;
    while Instant::now() < end {
        for n in 0..200 {
            fs::write(folder.join(format!("{n}.md")), "text").unwrap();
        }
    }
    let told = fixture.expect(&folder);
    assert!(told < end, "a folder that is never quiet is told of all the same");
    fixture.expect(&folder);
}

#[test]
fn names_with_blanks_accents_and_signs_are_just_names() {
    let fixture = fixture();
    let folder = fixture.folder("a project é #1 100%");
    fixture.watch(&folder);
    fs::write(folder.join("ü %20.md"), "text").unwrap();
    fixture.expect(&folder);
}

#[test]
fn an_unwatched_folder_and_a_dropped_watcher_are_silent() {
    let fixture = fixture();
    let folder = fixture.folder("agents");
    fixture.watch(&folder);
    fixture.watcher.unwatch(&folder);
    thread::sleep(Duration::from_millis(50));
    fs::write(folder.join("a.md"), "text").unwrap();
    fixture.expect_silence();

    fixture.watch(&folder);
    fs::write(folder.join("a.md"), "more").unwrap();
    let Fixture { watcher, news, .. } = fixture;
    drop(watcher);
    assert!(news.recv_timeout(PATIENCE).is_err(), "the thread ends and with it the sender");
}
