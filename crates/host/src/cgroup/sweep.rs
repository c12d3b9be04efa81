//! Cleans up groups whose supervisor was killed: kills the processes in them and removes them.

use super::discover::Hierarchies;
use super::group::Group;
use crate::identity::Owners;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for killed processes to disappear.
const GOING: Duration = Duration::from_secs(5);

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
    let deadline = Instant::now() + GOING;
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
