//! The topology of this machine.

use super::{Core, Topology};
use crate::Cpus;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel lists CPUs.
const SYSTEM: &str = "/sys/devices/system";

pub(super) fn read() -> Topology {
    of(&allowed(), Path::new(SYSTEM))
}

/// CPUs that this process may use.
fn allowed() -> Cpus {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Cpus::from(vec![0]);
    };
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect()
}

/// A CPU about which the kernel says nothing counts as a core of its own.
fn of(allowed: &Cpus, system: &Path) -> Topology {
    let nodes = nodes(system);
    let mut cores: BTreeMap<(u32, u32, u32), Vec<usize>> = BTreeMap::new();
    for &cpu in allowed.as_slice() {
        let topology = system.join(format!("cpu/cpu{cpu}/topology"));
        let package = number(topology.join("physical_package_id")).unwrap_or(0);
        let core = number(topology.join("core_id")).unwrap_or(cpu as u32);
        let node = nodes
            .iter()
            .find(|(_, cpus)| cpus.as_slice().contains(&cpu))
            .map_or(0, |(node, _)| *node);
        cores.entry((node, package, core)).or_default().push(cpu);
    }
    let cores = cores.into_iter().map(|((node, package, core), cpus)| Core {
        node,
        package,
        core,
        cpus,
    });
    Topology {
        cores: cores.collect(),
    }
}

fn nodes(system: &Path) -> Vec<(u32, Cpus)> {
    let Ok(entries) = fs::read_dir(system.join("node")) else {
        return Vec::new();
    };
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let cpus = fs::read_to_string(entry.path().join("cpulist"))
            .ok()?
            .parse()
            .ok()?;
        Some((number, cpus))
    };
    entries.flatten().filter_map(node).collect()
}

/// Virtual machines report `-1` where they do not know.
fn number(path: PathBuf) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_lists() {
        let folder = tempfile::tempdir().expect("a folder");
        for (cpu, package, core) in [(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 1)] {
            let topology = folder.path().join(format!("cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&topology).expect("made");
            fs::write(topology.join("physical_package_id"), format!("{package}\n")).expect("written");
            fs::write(topology.join("core_id"), format!("{core}\n")).expect("written");
        }
        let topology = of(&Cpus::from(vec![0, 1, 2, 3]), folder.path());
        let cpus: Vec<&[usize]> = topology.cores.iter().map(|core| core.cpus.as_slice()).collect();
        assert_eq!(cpus, [&[0, 2], &[1, 3]]);
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(!read().cpus().is_empty());
    }
}
