//! Groups whose supervisor was killed: what is left in them is ended, and they are removed.

use super::discover::Hierarchies;
use super::group::Group;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for killed processes to go.
const GOING: Duration = Duration::from_secs(5);

/// The name of the group of a supervisor of a caller.
pub(crate) fn name(caller: i32, supervisor: i32) -> String {
    format!("prony-{caller}-{supervisor}")
}

/// Caller and supervisor of a group by its name.
fn owners(name: &str) -> Option<(i32, i32)> {
    let (caller, supervisor) = name.strip_prefix("prony-")?.split_once('-')?;
    Some((caller.parse().ok()?, supervisor.parse().ok()?))
}

/// Clears every group that nobody looks after any more.
pub(crate) fn sweep() {
    let hierarchies = Hierarchies::of_this_process();
    let names: BTreeSet<String> = bases(&hierarchies)
        .iter()
        .flat_map(|base| groups_in(base))
        .collect();
    for name in names {
        let gone = |pid: i32| !Path::new(&format!("/proc/{pid}")).exists();
        if owners(&name).is_some_and(|(caller, supervisor)| gone(caller) && gone(supervisor)) {
            clear(&name);
        }
    }
}

/// Kills what is in a group and removes it.
pub(crate) fn clear(name: &str) {
    let hierarchies = Hierarchies::of_this_process();
    let group = Group::found(&hierarchies, name, &bases(&hierarchies));
    let deadline = Instant::now() + GOING;
    loop {
        let processes = group.processes();
        // A process of another namespace reads as 0: then the group belongs to somebody whom we cannot see.
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

/// Folders in which groups are made.
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
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| owners(name).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_ours_are_swept() {
        assert_eq!(owners(&name(12, 13)), Some((12, 13)));
        for other in ["prony-12", "prony-probe-12", "system.slice", "prony-a-b"] {
            assert_eq!(owners(other), None, "{other}");
        }
    }
}
