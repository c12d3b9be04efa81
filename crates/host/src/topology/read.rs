//! Reads the topology of this machine.

use super::{Core, Topology};
use crate::Cpus;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which the kernel lists CPUs.
const SYSTEM: &str = "/sys/devices/system";

pub(super) fn read() -> Topology {
    let all = of(&allowed(), Path::new(SYSTEM));
    match crate::cgroup::quota() {
        Some(quota) => all.within(quota),
        None => all,
    }
}

fn allowed() -> Cpus {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Cpus::from(vec![0]);
    };
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect()
}

/// A CPU without information from the kernel counts as a core of its own.
fn of(allowed: &Cpus, system: &Path) -> Topology {
    let nodes = nodes(system);
    let mut cores: BTreeMap<(u32, u32, usize), Core> = BTreeMap::new();
    for &cpu in allowed.as_slice() {
        let topology = system.join(format!("cpu/cpu{cpu}/topology"));
        let package = number(topology.join("physical_package_id")).unwrap_or(0);
        let core = number(topology.join("core_id")).unwrap_or(cpu as u32);
        let node = nodes
            .iter()
            .find(|(_, cpus)| cpus.as_slice().contains(&cpu))
            .map_or(0, |(node, _)| *node);
        let first = first_of_core(&topology).unwrap_or(core as usize);
        let core = cores.entry((node, package, first)).or_insert(Core {
            node,
            package,
            core,
            cpus: Vec::new(),
        });
        core.cpus.push(cpu);
    }
    Topology {
        cores: cores.into_values().collect(),
    }
}

/// The first CPU of the core that a CPU belongs to. `core_id` alone does not identify a core: on some boards the numbers start
/// over in each cluster. Kernels before 5.3 use the older file name.
fn first_of_core(topology: &Path) -> Option<usize> {
    let list = |name: &str| fs::read_to_string(topology.join(name)).ok()?.parse::<Cpus>().ok();
    let siblings = list("core_cpus_list").or_else(|| list("thread_siblings_list"))?;
    siblings.as_slice().first().copied()
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

/// Virtual machines report `-1` for unknown numbers, which is not parsed.
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

    /// Four clusters with two cores each, as on some ARM boards: `core_id` starts over in each.
    #[test]
    fn cores_of_several_clusters_are_distinguished() {
        for file in ["core_cpus_list", "thread_siblings_list"] {
            let folder = tempfile::tempdir().expect("a folder");
            for cpu in 0..8 {
                let topology = folder.path().join(format!("cpu/cpu{cpu}/topology"));
                fs::create_dir_all(&topology).expect("made");
                fs::write(topology.join("physical_package_id"), "0\n").expect("written");
                fs::write(topology.join("core_id"), format!("{}\n", cpu % 2)).expect("written");
                fs::write(topology.join(file), format!("{cpu}\n")).expect("written");
            }
            let topology = of(&(0..8).collect(), folder.path());
            assert_eq!(topology.cores.len(), 8, "{file}");
        }
    }

    #[test]
    fn nodes_and_siblings_are_read_from_a_server_with_two_sockets() {
        let folder = tempfile::tempdir().expect("a folder");
        for cpu in 0..8_usize {
            let topology = folder.path().join(format!("cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&topology).expect("made");
            let first = cpu % 4;
            fs::write(topology.join("physical_package_id"), format!("{}\n", first / 2)).expect("written");
            fs::write(topology.join("core_id"), format!("{}\n", first % 2)).expect("written");
            fs::write(
                topology.join("core_cpus_list"),
                format!("{first},{}\n", first + 4),
            )
            .expect("written");
        }
        for (node, cpus) in [(0, "0-1,4-5"), (1, "2-3,6-7")] {
            let node = folder.path().join(format!("node/node{node}"));
            fs::create_dir_all(&node).expect("made");
            fs::write(node.join("cpulist"), format!("{cpus}\n")).expect("written");
        }
        let topology = of(&(0..8).collect(), folder.path());
        let cores: Vec<(u32, &[usize])> = topology
            .cores
            .iter()
            .map(|core| (core.node, core.cpus.as_slice()))
            .collect();
        assert_eq!(
            cores,
            [(0, &[0, 4][..]), (0, &[1, 5]), (1, &[2, 6]), (1, &[3, 7])]
        );
        let split = topology.split(crate::CpuDemand::default());
        assert_eq!(
            (split.generator.to_string(), split.service.to_string()),
            ("0,4".into(), "2-3,6-7".into())
        );
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(!read().cpus().is_empty());
    }
}
