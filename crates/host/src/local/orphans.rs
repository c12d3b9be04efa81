//! What a supervisor that was killed leaves. While this process runs the kernel hands it over to this process, which is a
//! child subreaper (prctl(2)); what was left when both were killed is known by its environment.

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

/// The supervisors of this process that may run.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
/// Longest time for killed processes to go.
const GOING: Duration = Duration::from_secs(5);
/// Time between two looks at them.
const LOOK: Duration = Duration::from_millis(2);

/// From now on this process inherits what its supervisors leave. Kernels without it are too old for everything else.
pub(super) fn inherit() {
    let _ = set_child_subreaper(true);
}

/// Starts a supervisor so that [`clear`] never takes it for an orphan.
pub(super) fn supervisor<E>(spawn: impl FnOnce() -> Result<Child, E>) -> Result<Child, E> {
    let mut supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    let child = spawn()?;
    supervisors.insert(child.id() as i32);
    Ok(child)
}

/// A supervisor is about to be waited for: then its number may become another process's.
pub(super) fn forget(supervisor: u32) {
    let mut supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    supervisors.remove(&(supervisor as i32));
}

/// Ends what supervisors left that were killed. A supervisor leads a session of its own, and a process cannot join one: so a
/// child of another session than ours that is no supervisor can only be inherited.
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
            // Children first known die first: what their parent forks meanwhile is inherited at its own death.
            for pid in descendants(root).into_iter().chain([root]) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = waitpid(Pid::from_raw(root), Some(WaitPidFlag::WNOHANG));
        }
        roots.is_empty()
    });
}

/// Ends what an earlier run left that was killed together with its supervisors.
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

/// Living processes of trees that nobody looks after any more, but for this process and those above it.
fn left_alone() -> Vec<i32> {
    let above: Vec<i32> =
        std::iter::successors(Some(std::process::id() as i32), |&pid| parent_of(pid)).collect();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| owners_of(*pid).is_some_and(Owners::are_gone))
        .filter(|pid| !above.contains(pid) && lives(*pid))
        .collect()
}

/// The owners of the tree that a process was started in.
fn owners_of(pid: i32) -> Option<Owners> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(TREE.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}
