//! The CPUs that this process may actually use, which may differ from what its launcher requested.

use super::discover::Hierarchies;
use super::quota::cpus_of;
use super::read::keyed;
use crate::Cpus;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuGrant {
    pub allowed: Cpus,
    /// The CPU quota, in CPUs; `None`: no quota.
    pub quota: Option<f64>,
    /// Time for which its control group was throttled by the quota so far, ns; `None`: not counted.
    pub throttled_ns: Option<u64>,
}

impl CpuGrant {
    pub fn to_this_process() -> Self {
        let hierarchies = Hierarchies::of_this_process();
        Self {
            allowed: allowed(),
            quota: cpus_of(&hierarchies),
            throttled_ns: throttled_ns(&hierarchies),
        }
    }
}

fn allowed() -> Cpus {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let is_set = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    (0..CpuSet::count()).filter(is_set).collect()
}

fn throttled_ns(hierarchies: &Hierarchies) -> Option<u64> {
    let stat = |folder: &Path| fs::read_to_string(folder.join("cpu.stat")).ok();
    let v1 = hierarchies.v1.get("cpu").and_then(|own| stat(own));
    let v1 = v1.and_then(|stat| keyed(&stat, "throttled_time"));
    let v2 = hierarchies
        .unified
        .as_ref()
        .and_then(|unified| stat(&unified.own));
    v1.or_else(|| {
        v2.and_then(|stat| keyed(&stat, "throttled_usec"))
            .map(|us| us * 1_000)
    })
}

#[cfg(test)]
mod tests {
    use super::super::discover::UnifiedHierarchy;
    use super::super::quota::memory_of;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn throttling_is_read_from_either_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().to_owned();
        let v1 = Hierarchies {
            unified: None,
            v1: BTreeMap::from([("cpu".to_owned(), own.clone())]),
        };
        let v2 = Hierarchies {
            unified: Some(UnifiedHierarchy {
                mount: own.clone(),
                own: own.clone(),
            }),
            v1: BTreeMap::new(),
        };
        assert_eq!((throttled_ns(&v1), throttled_ns(&v2)), (None, None));
        fs::write(
            own.join("cpu.stat"),
            "nr_periods 5\nnr_throttled 2\nthrottled_time 7000\n",
        )
        .expect("written");
        assert_eq!(throttled_ns(&v1), Some(7_000));
        fs::write(own.join("cpu.stat"), "usage_usec 12\nthrottled_usec 9\n").expect("written");
        assert_eq!(throttled_ns(&v2), Some(9_000));
    }

    /// The files that kubelet and the kernel write for a pod with two CPUs and one GiB.
    #[test]
    fn a_pod_reads_the_same_of_either_version() {
        let files = |folder: &Path, files: &[(&str, &str)]| {
            for (file, text) in files {
                fs::write(folder.join(file), text).expect("written");
            }
        };
        let v2 = tempfile::tempdir().expect("a folder");
        let all = [
            ("cpu.max", "200000 100000\n"),
            ("memory.max", "1073741824\n"),
            (
                "cpu.stat",
                "usage_usec 900\nuser_usec 600\nsystem_usec 300\nnr_periods 9\nnr_throttled 3\nthrottled_usec 41\n",
            ),
        ];
        files(v2.path(), &all);
        let of_v2 = Hierarchies::of(
            &format!(
                "700 690 0:26 / {} ro,nosuid - cgroup2 cgroup rw\n",
                v2.path().display()
            ),
            "0::/\n",
        );
        let v1 = tempfile::tempdir().expect("a folder");
        let (cpu, memory) = (v1.path().join("cpu,cpuacct"), v1.path().join("memory"));
        fs::create_dir(&cpu)
            .and_then(|()| fs::create_dir(&memory))
            .expect("made");
        let all = [
            ("cpu.cfs_quota_us", "200000\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 41000\n"),
        ];
        files(&cpu, &all);
        files(&memory, &[("memory.limit_in_bytes", "1073741824\n")]);
        let pod = "/kubepods/pod1/ab";
        let of_v1 = Hierarchies::of(
            &format!(
                "701 699 0:30 {pod} {} ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n\
                 702 699 0:31 {pod} {} ro,nosuid - cgroup cgroup rw,memory\n",
                cpu.display(),
                memory.display()
            ),
            &format!("5:memory:{pod}\n4:cpu,cpuacct:{pod}\n"),
        );
        for found in [of_v1, of_v2] {
            let version = found.version();
            assert_eq!(cpus_of(&found), Some(2.0), "{version}");
            assert_eq!(memory_of(&found), Some(1 << 30), "{version}");
            assert_eq!(throttled_ns(&found), Some(41_000), "{version}");
        }
    }

    #[test]
    fn this_process_has_a_cpu() {
        assert!(!CpuGrant::to_this_process().allowed.is_empty());
    }
}
