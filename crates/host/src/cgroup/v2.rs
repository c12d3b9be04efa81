//! Making a group of version 2, where a group may hold either processes or groups with controllers, but not both.

use super::discover::Unified;
use super::group::write;
use nix::unistd::getppid;
use std::fs;
use std::path::{Path, PathBuf};

/// Controllers that limits need.
const NEEDED: [&str; 2] = ["cpu", "memory"];
/// Controllers that are used where they are to be had.
const WANTED: [&str; 2] = ["cpuset", "pids"];
/// Where processes move that stand in the way in a group that was given to us.
const LEAF: &str = "prony-self";

/// Makes `name` below the own group or, where that cannot hand down controllers, below the nearest group above it that
/// can. The second value says whether it has the controllers for limits.
pub(super) fn make(unified: &Unified, name: &str) -> Option<(PathBuf, bool)> {
    let above = unified
        .own
        .ancestors()
        .take_while(|folder| folder.starts_with(&unified.mount));
    for base in above {
        if hands_down(base) || (base == unified.own && make_room(base) && hands_down(base)) {
            let folder = base.join(name);
            if fs::create_dir(&folder).is_ok() {
                return Some((folder, true));
            }
        }
    }
    // Without controllers it still counts CPU time and kills all at once.
    let folder = unified.own.join(name);
    fs::create_dir(&folder).is_ok().then_some((folder, false))
}

/// Whether groups below `base` have the controllers, after asking for them.
fn hands_down(base: &Path) -> bool {
    let has = |file: &str, names: &[&str]| {
        let list = fs::read_to_string(base.join(file)).unwrap_or_default();
        names
            .iter()
            .all(|name| list.split_whitespace().any(|word| word == *name))
    };
    if !has("cgroup.controllers", &NEEDED) {
        return false;
    }
    for controller in NEEDED.iter().chain(&WANTED) {
        // Each alone: a controller that is not there would refuse the others with it.
        if !has("cgroup.subtree_control", &[controller]) {
            let _ = write(base, "cgroup.subtree_control", &format!("+{controller}"));
        }
    }
    has("cgroup.subtree_control", &NEEDED)
}

/// Moves the processes of a group that holds nothing but prony's into a group below it. A shell or a session that
/// happens to share the group is never moved.
fn make_room(own: &Path) -> bool {
    let text = fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
    let processes: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let prony = getppid().as_raw();
    let descends = |mut pid: i32| {
        while pid > 1 {
            if pid == prony {
                return true;
            }
            pid = crate::supervisor::parent_of(pid).unwrap_or(0);
        }
        false
    };
    if processes.is_empty() || !processes.iter().all(|&pid| descends(pid)) {
        return false;
    }
    let leaf = own.join(LEAF);
    let _ = fs::create_dir(&leaf);
    processes
        .iter()
        .all(|pid| write(&leaf, "cgroup.procs", &pid.to_string()).is_ok())
}
