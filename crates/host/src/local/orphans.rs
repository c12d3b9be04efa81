//! Kills processes left by a supervisor that was killed. While this process runs, it inherits them as a child subreaper
//! (prctl(2)). If this process was killed too, a later one recognizes them by their environment.

use crate::identity::Owners;
use crate::supervisor::TREE;
use crate::tree::{descendants, lives, parent_of};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getsid};
use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Supervisors of this process that may still run.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
/// Longest time for killed processes to disappear.
const GOING: Duration = Duration::from_secs(5);
/// Poll interval while they disappear.
const LOOK: Duration = Duration::from_millis(2);

/// Makes this process inherit orphans of its supervisors. Kernels that cannot do that are too old for everything else.
pub(super) fn inherit() {
    let _ = set_child_subreaper(true);
}

/// Starts a supervisor such that [`clear`] never mistakes it for an orphan.
pub(super) fn supervisor<E>(spawn: impl FnOnce() -> Result<Child, E>) -> Result<Child, E> {
    let mut supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    let child = spawn()?;
    supervisors.insert(child.id() as i32);
    Ok(child)
}

/// Call this before a supervisor is waited for: from then on its process id may be reused.
pub(super) fn forget(supervisor: u32) {
    let mut supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    supervisors.remove(&(supervisor as i32));
}

/// Kills processes left by killed supervisors. Every supervisor leads its own session, and a process cannot join a session.
/// So a child in another session than ours that is not a supervisor must have been inherited.
pub(super) fn clear() {
    let supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    let own = Pid::this();
    let session = getsid(None);
    let inherited = |pid: &i32| {
        let other = getsid(Some(Pid::from_raw(*pid))).is_ok_and(|other| Ok(other) != session);
        other && !supervisors.contains(pid) && parent_of(*pid) == Some(own.as_raw())
    };
    until_gone(|| {
        let roots: Vec<i32> = descendants(own.as_raw()).into_iter().filter(inherited).collect();
        for &root in &roots {
            // Descendants before the root: whatever the root forks meanwhile is inherited when it dies.
            for pid in descendants(root).into_iter().chain([root]) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = waitpid(Pid::from_raw(root), Some(WaitPidFlag::WNOHANG));
        }
        roots.is_empty()
    });
}

/// Kills processes left by an earlier run that was killed together with its supervisors.
pub(super) fn sweep() {
    until_gone(|| {
        let left = left_alone();
        for &pid in &left {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        left.is_empty()
    });
}

fn until_gone(mut is_gone: impl FnMut() -> bool) {
    let deadline = Instant::now() + GOING;
    while !is_gone() && Instant::now() < deadline {
        thread::sleep(LOOK);
    }
}

/// Live processes of trees whose owners are gone, except this process and its ancestors.
fn left_alone() -> Vec<i32> {
    let above: Vec<i32> =
        std::iter::successors(Some(std::process::id() as i32), |&pid| parent_of(pid)).collect();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| owners_of(*pid).is_some_and(Owners::are_gone))
        .filter(|pid| !above.contains(pid) && lives(*pid))
        .collect()
}

/// The owners of the tree in which a process was started.
fn owners_of(pid: i32) -> Option<Owners> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(TREE.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}
