//! What a model writes for a path, and what it is shown.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::workspace;
use crate::environment::{Environment, EnvironmentError, paths};

fn resolved(text: &str) -> PathBuf {
    paths::resolve(Path::new("/work space/é"), text).unwrap()
}

#[test]
fn a_path_is_made_absolute_without_dots() {
    assert_eq!(resolved("a/./b/../c"), Path::new("/work space/é/a/c"));
    assert_eq!(resolved("."), Path::new("/work space/é"));
    assert_eq!(resolved("../../../.."), Path::new("/"));
    assert_eq!(resolved("/etc/./x"), Path::new("/etc/x"));
    assert_eq!(resolved(" leading"), Path::new("/work space/é/ leading"));
    assert_eq!(resolved("a#b?c%41"), Path::new("/work space/é/a#b?c%41"), "a plain path is not a URI");
}

#[test]
fn a_home_is_expanded_only_where_it_stands_alone() {
    let home = std::env::home_dir().unwrap();
    assert_eq!(resolved("~"), home);
    assert_eq!(resolved("~/x y"), home.join("x y"));
    assert_eq!(resolved("~user/x"), Path::new("/work space/é/~user/x"));
    assert_eq!(resolved("./~"), Path::new("/work space/é/~"));
}

#[test]
fn a_file_uri_is_decoded_and_its_hash_is_part_of_the_name() {
    assert_eq!(resolved("file:///a%20b/%C3%A9/c%23d"), Path::new("/a b/é/c#d"));
    assert_eq!(resolved("file:///a#b?c"), Path::new("/a#b?c"));
    assert_eq!(resolved("FILE://localhost/a/../b"), Path::new("/b"));
    assert_eq!(resolved("file:/a"), Path::new("/a"));
    assert_eq!(resolved("file:///100%"), Path::new("/100%"));
    assert_eq!(resolved("file:///a%FF").as_os_str().as_bytes(), b"/a\xFF");
}

#[test]
fn what_is_no_path_of_this_machine_is_refused() {
    let refused = |text: &str| paths::resolve(Path::new("/w"), text).unwrap_err();
    assert!(matches!(refused(""), EnvironmentError::EmptyPath));
    assert!(matches!(refused("  "), EnvironmentError::EmptyPath));
    assert!(matches!(refused("a\0b"), EnvironmentError::NulInPath));
    assert!(matches!(refused("file:///a%00b"), EnvironmentError::NulInPath));
    assert!(matches!(refused("file://other/a"), EnvironmentError::ForeignUri(_)));
    assert!(matches!(refused("file://other"), EnvironmentError::ForeignUri(_)));
    assert!(matches!(refused("file:a"), EnvironmentError::ForeignUri(_)));
}

#[test]
fn a_mention_mark_and_typographic_spaces_are_understood_where_a_file_says_so() {
    let (folder, disk) = workspace();
    std::fs::write(folder.path().join("a b.txt"), "").unwrap();
    std::fs::create_dir(folder.path().join("@types")).unwrap();
    let name = |text: &str| disk.resolve(text).unwrap().file_name().unwrap().to_owned();
    assert_eq!(name("@a b.txt"), "a b.txt");
    assert_eq!(name("a\u{202F}b.txt"), "a b.txt");
    assert_eq!(name("@types"), "@types");
    assert_eq!(name("@new"), "@new", "a new file keeps its name");
}

#[test]
fn what_is_shown_can_be_passed_back() {
    let (_folder, disk) = workspace();
    let names: [&[u8]; 9] =
        [b"plain", b"sp ace", "é".as_bytes(), b"a#b%20", b"b\xFFd", b"new\nline", b"~", b"file:x", b"@at"];
    for name in names {
        let path = disk.root().join("sub").join(OsStr::from_bytes(name));
        assert_eq!(disk.resolve(&disk.display(&path)).unwrap(), path, "{}", disk.display(&path));
        let path = disk.root().join(OsStr::from_bytes(name));
        assert_eq!(disk.resolve(&disk.display(&path)).unwrap(), path, "{}", disk.display(&path));
    }
    assert_eq!(disk.display(disk.root()), ".");
    assert_eq!(disk.display(Path::new("/etc/x")), "/etc/x");
}

#[test]
fn a_real_path_follows_links_as_far_as_there_are_files() {
    let (_folder, disk) = workspace();
    std::fs::create_dir(disk.root().join("real")).unwrap();
    std::os::unix::fs::symlink("real", disk.root().join("link")).unwrap();
    assert_eq!(disk.real_path(&disk.root().join("link/new/file")), disk.root().join("real/new/file"));
    assert_eq!(disk.real_path(&disk.root().join("link")), disk.root().join("real"));
}

#[test]
fn a_link_to_nothing_counts_as_where_it_leads() {
    let (_folder, disk) = workspace();
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().canonicalize().unwrap();
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, disk.root().join(name)).unwrap();
        disk.root().join(name)
    };
    let direct = link(&elsewhere.join("new"), "direct");
    assert_eq!(disk.real_path(&direct), elsewhere.join("new"));
    assert_eq!(disk.real_path(&direct.join("below")), elsewhere.join("new/below"));
    let chained = link(Path::new("direct"), "chained");
    assert_eq!(disk.real_path(&chained), elsewhere.join("new"));
    let winding = link(Path::new("missing/../../out"), "winding");
    assert_eq!(disk.real_path(&winding), disk.root().parent().unwrap().join("out"));
    // A circle ends somewhere; opening it is the system's error.
    let circle = link(Path::new("circle"), "circle");
    assert!(disk.real_path(&circle).is_absolute());
}
