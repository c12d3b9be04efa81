//! Control groups: limits and exact accounting of a whole process tree. Supports version 2 of the kernel's interface and
//! version 1, for controllers that are mounted that way. Both may exist at once.

mod cpu_grant;
mod discover;
mod group;
mod quota;
mod read;
mod sweep;
#[cfg(test)]
mod tests;
mod v2;

pub use cpu_grant::CpuGrant;
pub(crate) use discover::Hierarchies;
pub(crate) use group::{Group, Problem};
pub(crate) use quota::{memory_limit, quota};
pub(crate) use read::PeakMemory;
pub(crate) use sweep::{clear, sweep};

use std::path::Path;
use std::{fs, io};

/// What a user without permission to limit anything can do.
pub(crate) const REMEDY: &str = "run as root, or in a scope of your own (`systemd-run --user --scope -p Delegate=yes prony …`); in a \
     container, first `mkdir /sys/fs/cgroup/shell && echo $$ >/sys/fs/cgroup/shell/cgroup.procs`";

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
