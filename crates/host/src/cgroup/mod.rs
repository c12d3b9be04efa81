//! Control groups: limits and exact accounting of a whole process tree. Supports version 2 of the kernel's interface and
//! version 1, for controllers that are mounted that way. Both may exist at once.

mod cpu_grant;
mod discover;
mod group;
mod quota;
mod read;
#[cfg(test)]
mod tests;
mod v2;

pub use cpu_grant::CpuGrant;
pub(crate) use discover::Hierarchies;
pub(crate) use group::{Group, Problem};
pub(crate) use quota::{memory_limit, quota};
pub(crate) use read::{GroupCounters, PeakMemory};

use crate::identity::Owners;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

/// What a user without permission to limit anything can do.
pub(crate) const REMEDY: &str = "Run as root, or in a scope of your own (`systemd-run --user --scope -p Delegate=yes prony …`); in a \
     container, first `mkdir /sys/fs/cgroup/shell && echo $$ >/sys/fs/cgroup/shell/cgroup.procs`.";

/// Whether this process may create a group with limits. The check moves no process.
pub(crate) fn may_limit() -> bool {
    let hierarchies = Hierarchies::of_this_process();
    let prony = std::process::id() as i32;
    let unified = hierarchies.unified.as_ref();
    if unified.is_some_and(|unified| v2::GroupLocation::of(unified, prony).may_limit()) {
        return true;
    }
    let v1 = Hierarchies {
        unified: None,
        ..hierarchies
    };
    let name = format!("prony-probe-{prony}");
    Group::make(&v1, &name, prony).is_some_and(|group| group.source().is_some())
}

/// Writes a file of a group.
fn write(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    fs::write(folder.join(file), value)
}

/// Longest time for killed processes to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Clears every group whose owners are gone.
pub(crate) fn sweep() {
    let hierarchies = Hierarchies::of_this_process();
    let bases = bases(&hierarchies);
    let names: BTreeSet<String> = bases.iter().flat_map(|base| groups_in(base)).collect();
    for owners in names.iter().filter_map(|name| name.parse::<Owners>().ok()) {
        if owners.are_gone() {
            clear(owners);
        }
    }
}

/// Kills all processes in a group and removes it.
pub(crate) fn clear(owners: Owners) {
    let hierarchies = Hierarchies::of_this_process();
    let group = Group::found(&hierarchies, &owners.to_string(), &bases(&hierarchies));
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let processes = group.processes();
        // A process of another PID namespace reads as 0: then the group belongs to a container that we cannot inspect.
        if processes.is_empty() || processes.contains(&0) || Instant::now() > deadline {
            break;
        }
        if !group.kill() {
            for pid in processes {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Folders in which groups are created.
fn bases(hierarchies: &Hierarchies) -> Vec<PathBuf> {
    let mut bases: Vec<PathBuf> = hierarchies.v1.values().cloned().collect();
    if let Some(unified) = &hierarchies.unified {
        let above = unified
            .own
            .ancestors()
            .take_while(|folder| folder.starts_with(&unified.mount));
        bases.extend(above.map(Path::to_owned));
    }
    bases
}

fn groups_in(base: &Path) -> Vec<String> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}
