//! Reading, replacing and listing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::workspace;
use crate::environment::{EntryKind, Environment, EnvironmentError, FolderEntry, READ_CAP};

fn never() -> CancellationToken {
    CancellationToken::new()
}

#[tokio::test]
async fn a_file_is_read_whole_whatever_its_size_and_name() {
    let (_folder, disk) = workspace();
    for (name, size) in [("small é #1", 5), ("large", 1_000_000)] {
        let path = disk.root().join(name);
        fs::write(&path, vec![7; size]).unwrap();
        assert_eq!(disk.read(&path).await.unwrap().bytes.len(), size);
    }
    let odd = disk.root().join(OsStr::from_bytes(b"\xFF\n"));
    fs::write(&odd, "odd").unwrap();
    assert_eq!(disk.read(&odd).await.unwrap().bytes, "odd");
}

#[tokio::test]
async fn what_is_no_readable_file_is_told() {
    let (_folder, disk) = workspace();
    let root = disk.root();
    assert!(matches!(disk.read(root).await, Err(EnvironmentError::IsFolder(_))));
    assert!(matches!(disk.read(&root.join("none")).await, Err(EnvironmentError::NotFound(_))));
    fs::write(root.join("file"), "").unwrap();
    assert!(matches!(disk.read(&root.join("file/x")).await, Err(EnvironmentError::NotFolder(_))));
    let large = fs::File::create(root.join("large")).unwrap();
    large.set_len(READ_CAP + 1).unwrap();
    assert!(matches!(disk.read(&root.join("large")).await, Err(EnvironmentError::TooLarge { .. })));
    assert!(matches!(disk.read("/dev/zero".as_ref()).await, Err(EnvironmentError::NotRegular(_))));
}

#[tokio::test]
async fn a_pipe_is_refused_without_waiting_for_its_other_end() {
    let (_folder, disk) = workspace();
    let pipe = disk.root().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let read = tokio::time::timeout(Duration::from_secs(2), disk.read(&pipe)).await.unwrap();
    assert!(matches!(read, Err(EnvironmentError::NotRegular(_))));
    let cancel = never();
    let write = disk.write(&pipe, Bytes::from_static(b"x"), &cancel);
    assert!(matches!(
        tokio::time::timeout(Duration::from_secs(2), write).await.unwrap(),
        Err(EnvironmentError::NotRegular(_))
    ));
}

#[tokio::test]
async fn a_write_makes_folders_and_keeps_mode_and_links() {
    let (_folder, disk) = workspace();
    let path = disk.root().join("a b/ü/#file");
    let written = disk.write(&path, Bytes::from_static(b"1"), &never()).await.unwrap();
    assert!(written.created);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let link = disk.root().join("link");
    symlink("a b/ü/#file", &link).unwrap();
    let written = disk.write(&link, Bytes::from_static(b"22"), &never()).await.unwrap();
    assert!(!written.created);
    assert_eq!(fs::read(&path).unwrap(), b"22");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let nowhere = disk.root().join("nowhere");
    symlink("a b/new", &nowhere).unwrap();
    disk.write(&nowhere, Bytes::from_static(b"3"), &never()).await.unwrap();
    assert_eq!(fs::read(disk.root().join("a b/new")).unwrap(), b"3");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
}

#[tokio::test]
async fn a_folder_is_not_overwritten() {
    let (_folder, disk) = workspace();
    let result = disk.write(disk.root(), Bytes::new(), &never()).await;
    assert!(matches!(result, Err(EnvironmentError::IsFolder(_))));
}

#[tokio::test]
async fn a_refused_change_leaves_the_file_as_it_is() {
    let (_folder, disk) = workspace();
    let path = disk.root().join("f");
    fs::write(&path, "old").unwrap();
    let result = disk.update(&path, Box::new(|_| Err("no".to_owned())), &never()).await;
    assert_eq!(result.unwrap_err().to_string(), "no");
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[tokio::test]
async fn a_change_from_outside_meanwhile_is_never_overwritten() {
    let (_folder, disk) = workspace();
    let path = disk.root().join("f");
    fs::write(&path, "old").unwrap();
    let other = path.clone();
    let change = move |_: &_| {
        fs::write(&other, "someone else's").unwrap();
        Ok(Bytes::from_static(b"ours"))
    };
    let result = disk.update(&path, Box::new(change), &never()).await;
    assert!(matches!(result, Err(EnvironmentError::Conflict(_))));
    assert_eq!(fs::read(&path).unwrap(), b"someone else's");
    assert_eq!(fs::read_dir(disk.root()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_one_file_by_two_names_lose_nothing() {
    let (_folder, disk) = workspace();
    let path = disk.root().join("real");
    fs::write(&path, "").unwrap();
    symlink("real", disk.root().join("link")).unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let disk = disk.clone();
            tokio::spawn(async move {
                let path = disk.root().join(if n % 2 == 0 { "real" } else { "link" });
                let append = |content: &crate::environment::FileContent| {
                    Ok(Bytes::from([content.bytes.as_ref(), b"x"].concat()))
                };
                disk.update(&path, Box::new(append), &never()).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fs::read(&path).unwrap().len(), 40);
}

#[tokio::test]
async fn waiting_for_a_turn_can_be_cancelled() {
    let (_folder, disk) = workspace();
    let path = disk.root().join("f");
    let held = super::super::mutation::Turn::wait(&path, &never()).await.unwrap();
    let cancel = never();
    let write = disk.write(&path, Bytes::new(), &cancel);
    let (result, ()) = tokio::join!(write, async { cancel.cancel() });
    assert!(matches!(result, Err(EnvironmentError::Cancelled)));
    drop(held);
    disk.write(&path, Bytes::new(), &never()).await.unwrap();
}

#[tokio::test]
async fn a_folder_is_listed_with_kinds() {
    let (_folder, disk) = workspace();
    fs::create_dir(disk.root().join("dir")).unwrap();
    fs::write(disk.root().join(".file"), "").unwrap();
    symlink("dir", disk.root().join("link")).unwrap();
    symlink("none", disk.root().join("broken")).unwrap();
    let mut listing = disk.list(disk.root()).await.unwrap();
    assert!(listing.complete);
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    let entry = |name: &str, kind| FolderEntry { name: name.into(), kind };
    let expected = [
        entry(".file", EntryKind::File),
        entry("broken", EntryKind::Other),
        entry("dir", EntryKind::Folder),
        entry("link", EntryKind::Folder),
    ];
    assert_eq!(listing.entries, expected);
    assert!(matches!(disk.list(&disk.root().join("none")).await, Err(EnvironmentError::NotFound(_))));
    assert!(matches!(disk.list(&disk.root().join(".file")).await, Err(EnvironmentError::NotFolder(_))));
}
