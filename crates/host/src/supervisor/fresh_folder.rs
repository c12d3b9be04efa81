//! A folder that a process sees as it was, whatever earlier processes wrote into it.
//!
//! The supervisor enters a mount namespace of its own, in which the folder is covered by an overlay (overlayfs) with an empty upper
//! layer, or by a copy that shares its blocks with the original (reflink). What the process writes ends with it. Where the machine
//! permits neither, the process runs in the folder itself, and what it changed there is reported.

use crate::identity::Owners;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Uid, getgid, getuid};
use prony_files::{Entry, EntryKind, Limits, Walk};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// No overlay: the caller asks for the other ways, to test or to measure them.
const WAY: &str = "PRONY_FRESH_FOLDERS";
/// Size of an upper layer in memory, where the file system of the folder cannot have one.
const MEMORY: &str = "size=1g,mode=700";

#[derive(Debug)]
pub(super) struct FreshFolder {
    folder: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Covered by what is in this folder, which is next to it.
    Covered(PathBuf),
    /// Not covered: its files before the process started.
    Shared(Files),
}

/// Size, time of the last change of content and of attributes, and inode of each file, by its path.
type Files = BTreeMap<PathBuf, (u64, (i64, i64), (i64, i64), u64)>;

/// The ways to cover a folder, best first.
#[derive(Debug, Clone, Copy)]
enum Cover {
    Overlay,
    OverlayInMemory,
    Copy,
}

impl FreshFolder {
    /// Covers a folder for this process and those that it starts from now on.
    pub(super) fn of(folder: &Path, tree: Owners) -> Self {
        let covers: &[Cover] = match std::env::var(WAY).as_deref() {
            Ok("copy") => &[Cover::Copy],
            Ok("none") => &[],
            _ => &[Cover::Overlay, Cover::OverlayInMemory, Cover::Copy],
        };
        let beside = folder.parent().unwrap_or(folder);
        sweep(beside);
        let scratch = beside.join(format!(".{tree}"));
        let is_alone = !covers.is_empty() && enter_namespace().is_ok();
        let covered = is_alone
            && covers
                .iter()
                .any(|&cover| covered(folder, &scratch, cover).is_ok());
        Self {
            folder: folder.to_owned(),
            state: if covered {
                State::Covered(scratch)
            } else {
                State::Shared(files(folder))
            },
        }
    }

    /// Call this when everything has ended. Returns a file that was changed, if the folder was not covered.
    pub(super) fn end(self) -> Option<PathBuf> {
        match self.state {
            State::Covered(scratch) => {
                let _ = umount2(&self.folder, MntFlags::MNT_DETACH);
                remove(&scratch);
                None
            }
            State::Shared(before) => {
                let after = files(&self.folder);
                let changed = after.iter().find(|(path, file)| before.get(*path) != Some(file));
                let removed = || before.keys().find(|path| !after.contains_key(*path));
                changed.map(|(path, _)| path).or_else(removed).cloned()
            }
        }
    }
}

/// A mount namespace for this process alone; for a user other than root within a user namespace in which it keeps its ids.
fn enter_namespace() -> io::Result<()> {
    let (user, group) = (getuid(), getgid());
    if Uid::effective().is_root() {
        unshare(CloneFlags::CLONE_NEWNS)?;
    } else {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    // Otherwise the rest of the machine would see the mounts.
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )?;
    Ok(())
}

/// Covers the folder with what is made in `scratch`. On failure nothing remains.
fn covered(folder: &Path, scratch: &Path, cover: Cover) -> io::Result<()> {
    fs::create_dir(scratch)?;
    let done = match cover {
        Cover::Overlay => overlay(folder, scratch),
        Cover::OverlayInMemory => {
            let memory = mount(
                Some("tmpfs"),
                scratch,
                Some("tmpfs"),
                MsFlags::empty(),
                Some(MEMORY),
            );
            memory
                .map_err(io::Error::from)
                .and_then(|()| overlay(folder, scratch))
        }
        Cover::Copy => copy(folder, scratch),
    };
    if done.is_err() {
        let _ = umount2(scratch, MntFlags::MNT_DETACH);
        remove(scratch);
    }
    done
}

fn overlay(folder: &Path, scratch: &Path) -> io::Result<()> {
    let (upper, work) = (scratch.join("upper"), scratch.join("work"));
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    // The folder keeps its mode and its owner.
    let data = fs::metadata(folder)?;
    fs::set_permissions(&upper, data.permissions())?;
    let _ = std::os::unix::fs::chown(&upper, Some(data.uid()), Some(data.gid()));
    let [lower, upper, work] = [folder, &upper, &work].map(escaped);
    let own = if Uid::effective().is_root() && !in_user_namespace() {
        ""
    } else {
        ",userxattr"
    };
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}{own}");
    let options = Some(options.as_str());
    mount(
        Some("overlay"),
        folder,
        Some("overlay"),
        MsFlags::empty(),
        options,
    )?;
    Ok(())
}

/// Whether the ids of this process are mapped: then it may not write the attributes that overlays usually need.
fn in_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().ne(["0", "0", "4294967295"])
}

/// A path as an option of overlayfs.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
}

/// A copy that shares its blocks with the original: fails on file systems that would copy them.
fn copy(folder: &Path, scratch: &Path) -> io::Result<()> {
    // One file first: cp would try each file of a folder and fail, which takes seconds.
    let is_file = |entry: &Entry| entry.kind == EntryKind::File;
    if let Some(first) = Walk::new(folder).readable().find(is_file) {
        clone(&folder.join(first.path), &scratch.join("first"))?;
    }
    let copy = scratch.join("copy");
    clone(folder, &copy)?;
    mount(Some(&copy), folder, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    Ok(())
}

/// Copies a file or folder to a new path that shares its blocks.
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let mut cp = Command::new("cp");
    cp.args(["-a", "--reflink=always"]).args([from, to]);
    cp.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if cp.status()?.success() {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Removes what a killed supervisor left.
fn sweep(beside: &Path) {
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owners = name
            .to_str()
            .and_then(|name| name.strip_prefix('.')?.parse::<Owners>().ok());
        if owners.is_some_and(Owners::are_gone) {
            remove(&entry.path());
        }
    }
}

fn remove(scratch: &Path) {
    let _ = umount2(scratch, MntFlags::MNT_DETACH);
    // The kernel makes a folder in there that not even its owner may enter.
    let inner = scratch.join("work/work");
    let _ = fs::set_permissions(inner, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let _ = fs::remove_dir_all(scratch);
}

fn files(folder: &Path) -> Files {
    let walk = Walk::new(folder).limits(Limits::NONE);
    let entries = walk.readable().filter(|entry| entry.kind != EntryKind::Folder);
    entries
        .map(|entry| {
            let data = entry.metadata;
            let changed = (
                (data.mtime(), data.mtime_nsec()),
                (data.ctime(), data.ctime_nsec()),
            );
            (entry.path, (data.len(), changed.0, changed.1, data.ino()))
        })
        .collect()
}
