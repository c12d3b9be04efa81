use super::*;
use std::os::unix::fs::{chown, symlink};

fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn one_excludes_and_several_share() {
    let folder = place();
    let path = folder.path().join("a.lock");
    let (mut one, two) = (
        LockFile::open(&path).expect("opened"),
        LockFile::open(&path).expect("opened"),
    );
    assert!(one.try_exclusive().expect("locked"));
    assert!(!two.try_exclusive().expect("tried") && !two.try_shared().expect("tried"));
    one.note("prony run").expect("noted");
    assert_eq!(two.holder(), Some((std::process::id(), "prony run".to_owned())));
    one.wait_shared().expect("shared");
    assert!(two.try_shared().expect("shared"));
    drop(one);
    assert!(two.try_exclusive().expect("alone"));
    assert!(two.is_current().expect("looked"));
    fs::remove_file(&path).expect("removed");
    assert!(!two.is_current().expect("looked"));
}

#[test]
fn only_the_owner_may_read_a_lock_that_is_not_shared() {
    let folder = place();
    let mode = |file: &LockFile| file.file().metadata().expect("there").mode() & 0o777;
    let own = LockFile::open(&folder.path().join("own.lock")).expect("opened");
    let shared = LockFile::open_for_all(&folder.path().join("shared.lock")).expect("opened");
    assert_eq!((mode(&own), mode(&shared)), (0o600, 0o644));
}

/// Each would make root truncate or lock a file that another user chose.
#[test]
fn what_is_no_lock_file_is_refused_and_not_touched() {
    let folder = place();
    let victim = folder.path().join("victim.txt");
    fs::write(&victim, "precious").expect("written");
    let lock = folder.path().join("cpu-0.lock");
    let prepare: [(&str, &dyn Fn()); 4] = [
        ("a symbolic link", &|| symlink(&victim, &lock).expect("linked")),
        ("one name", &|| fs::hard_link(&victim, &lock).expect("linked")),
        ("not a regular file", &|| {
            nix::unistd::mkfifo(&lock, nix::sys::stat::Mode::S_IRWXU).expect("made");
        }),
        ("folder", &|| fs::create_dir(&lock).expect("made")),
    ];
    for (why, prepare) in prepare {
        prepare();
        for open in [LockFile::open, LockFile::open_for_all] {
            let refused = open(&lock).expect_err(why).to_string();
            assert!(
                refused.contains(why) || why == "folder" || why.contains("regular"),
                "{why}: {refused}"
            );
        }
        fs::remove_file(&lock)
            .or_else(|_| fs::remove_dir(&lock))
            .expect("removed");
    }
    assert_eq!(fs::read_to_string(&victim).expect("there"), "precious");
    // What a killed process left behind is no such file.
    let mut own = LockFile::open(&lock).expect("opened");
    own.note("").expect("noted");
}

#[test]
fn a_folder_in_which_others_replace_files_has_no_locks_for_all() {
    let folder = place();
    let open = |mode: u32| {
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).expect("set");
        LockFile::open_for_all(&folder.path().join("cpu-0.lock")).map(drop)
    };
    let refused = open(0o777).expect_err("not sticky").to_string();
    assert!(refused.contains("chmod +t"), "{refused}");
    open(0o1777).expect("sticky");
}

/// Needs root: it gives files to another user.
#[test]
fn files_of_another_user_are_refused_and_shared_ones_are_locked() {
    if !geteuid().is_root() {
        crate::skip::skipped("giving a file to another user needs root");
        return;
    }
    let folder = place();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).expect("set");
    let path = folder.path().join("a.lock");
    fs::write(&path, "1").expect("written");
    chown(&path, Some(65_534), None).expect("given away");
    let refused = LockFile::open(&path).expect_err("of another user").to_string();
    assert!(refused.contains("belongs to another user (65534)"), "{refused}");
    // What root creates in the folder of a user remains usable for that user.
    let folder_of_user = place();
    chown(folder_of_user.path(), Some(65_534), None).expect("given away");
    let own = LockFile::open(&folder_of_user.path().join("b.lock")).expect("opened");
    assert_eq!(own.file().metadata().expect("there").uid(), 65_534);
    assert!(own.try_exclusive().expect("locked"));
    // Two users exclude each other on a file that belongs to one of them.
    let (one, two) = (
        LockFile::open_for_all(&path).expect("opened"),
        LockFile::open_for_all(&path).expect("opened"),
    );
    assert!(one.try_exclusive().expect("locked"));
    assert!(!two.try_exclusive().expect("tried"));
}

#[test]
fn a_lock_that_cannot_be_had_is_an_error() {
    for code in [nix::libc::ENOLCK, nix::libc::ENOSYS, nix::libc::EOPNOTSUPP] {
        let failed = outcome(Err(TryLockError::Error(io::Error::from_raw_os_error(code))));
        let failed = failed.expect_err("no lock").to_string();
        assert!(failed.contains("file system with locks"), "{failed}");
    }
}
