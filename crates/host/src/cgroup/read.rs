//! Reads the counters of a control group.

use super::group::{Group, GroupOwner};
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The kernel charges memory in batches: a group that has reached its limit is below it by less than this, bytes.
const CHARGED_AHEAD: u64 = 1 << 20;

/// Counters of a group. `None`: the group does not count this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GroupCounters {
    /// CPU time, ns.
    pub(crate) cpu_ns: Option<u64>,
    /// CPU time in user mode, ns.
    pub(crate) user_ns: Option<u64>,
    /// CPU time in the kernel, ns.
    pub(crate) system_ns: Option<u64>,
    /// Time for which the CPU limit throttled it, ns.
    pub(crate) throttled_ns: Option<u64>,
    /// Page faults, minor and major.
    pub(crate) faults: Option<u64>,
    /// Page faults that read from disk.
    pub(crate) faults_major: Option<u64>,
    /// Processes killed because of a lack of memory.
    pub(crate) oom_kills: Option<u64>,
    /// Whether it reached its own memory limit. Processes may be killed without this: because a group around it, or the machine, has
    /// no memory left.
    pub(crate) at_limit: Option<bool>,
}

/// Memory of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GroupMemory {
    /// All memory except the page cache, which the kernel would reclaim first, bytes.
    pub(crate) held: u64,
    /// Page cache, bytes.
    pub(crate) cached: u64,
    /// Anonymous memory, bytes.
    pub(crate) anon: u64,
}

impl Group {
    /// The version that counts CPU time and memory: `cgroup1` or `cgroup2`. `None` if one of them is not counted.
    pub(crate) fn source(&self) -> Option<&'static str> {
        if self.v1.contains_key("cpuacct") && self.v1.contains_key("memory") {
            Some("cgroup1")
        } else if self.unified_rules {
            Some("cgroup2")
        } else {
            None
        }
    }

    pub(crate) fn counters(&self) -> GroupCounters {
        let mut counters = GroupCounters::default();
        if let Some(folder) = self.v1.get("cpuacct") {
            counters.cpu_ns = number(folder, "cpuacct.usage");
            counters.user_ns = number(folder, "cpuacct.usage_user");
            counters.system_ns = number(folder, "cpuacct.usage_sys");
        } else if let Some(folder) = &self.unified {
            let stat = text(folder, "cpu.stat");
            let ns = |key| keyed(&stat, key).map(|us| us * 1_000);
            counters.cpu_ns = ns("usage_usec");
            counters.user_ns = ns("user_usec");
            counters.system_ns = ns("system_usec");
        }
        if let Some(folder) = self.v1.get("cpu") {
            counters.throttled_ns = keyed(&text(folder, "cpu.stat"), "throttled_time");
        } else if let Some(folder) = &self.unified {
            counters.throttled_ns = keyed(&text(folder, "cpu.stat"), "throttled_usec").map(|us| us * 1_000);
        }
        if let Some(folder) = self.v1.get("memory") {
            let stat = text(folder, "memory.stat");
            counters.faults = keyed(&stat, "total_pgfault");
            counters.faults_major = keyed(&stat, "total_pgmajfault");
            counters.oom_kills = keyed(&text(folder, "memory.oom_control"), "oom_kill");
            // Not every kernel counts in memory.failcnt.
            let most = number(folder, "memory.max_usage_in_bytes");
            let limit = number(folder, "memory.limit_in_bytes");
            counters.at_limit = most.zip(limit).map(|(most, limit)| most + CHARGED_AHEAD >= limit);
        } else if let Some(folder) = &self.unified {
            let stat = text(folder, "memory.stat");
            counters.faults = keyed(&stat, "pgfault");
            counters.faults_major = keyed(&stat, "pgmajfault");
            let events = text(folder, "memory.events");
            counters.oom_kills = keyed(&events, "oom_kill");
            counters.at_limit = keyed(&events, "oom").map(|times| times > 0);
        }
        counters
    }

    /// CPU time so far, ns. Reads a single file: for the sampler.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        match (self.v1.get("cpuacct"), &self.unified) {
            (Some(folder), _) => number(folder, "cpuacct.usage"),
            (None, Some(folder)) => keyed(&text(folder, "cpu.stat"), "usage_usec").map(|us| us * 1_000),
            (None, None) => None,
        }
    }

    /// The current number of threads.
    pub(crate) fn threads(&self) -> Option<u64> {
        let folder = self.v1.get("pids").or(self.unified.as_ref())?;
        number(folder, "pids.current")
    }

    /// The current memory.
    pub(crate) fn memory(&self) -> Option<GroupMemory> {
        if let Some(folder) = self.v1.get("memory") {
            let charged = number(folder, "memory.usage_in_bytes")?;
            let stat = text(folder, "memory.stat");
            let of = |key| keyed(&stat, key);
            // `cache` includes shared memory, which belongs to the service.
            let cached = of("total_cache")?.saturating_sub(of("total_shmem").unwrap_or(0));
            let anon = of("total_rss")?;
            return Some(GroupMemory {
                held: charged.saturating_sub(cached),
                cached,
                anon,
            });
        }
        let folder = self.unified.as_ref().filter(|_| self.unified_rules)?;
        let charged = number(folder, "memory.current")?;
        let stat = text(folder, "memory.stat");
        let cached = keyed(&stat, "file")?.saturating_sub(keyed(&stat, "shmem").unwrap_or(0));
        Some(GroupMemory {
            held: charged.saturating_sub(cached),
            cached,
            anon: keyed(&stat, "anon")?,
        })
    }

    /// Starts to record the peak of the charge; `None` if the kernel has only a peak since creation.
    pub(crate) fn watch_peak(&self) -> Option<PeakMemory> {
        if self.owner == GroupOwner::Others {
            return None;
        }
        if let Some(folder) = self.v1.get("memory") {
            let path = folder.join("memory.max_usage_in_bytes");
            fs::write(&path, "0").ok()?;
            return File::open(path).ok().map(PeakMemory);
        }
        let folder = self.unified.as_ref().filter(|_| self.unified_rules)?;
        // Since Linux 6.12 a write resets the peak, for this file description only.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(folder.join("memory.peak"))
            .ok()?;
        file.write_all(b"0").ok()?;
        Some(PeakMemory(file))
    }
}

/// The highest charge since the recording started.
#[derive(Debug)]
pub(crate) struct PeakMemory(File);

impl PeakMemory {
    /// Bytes, including the page cache.
    pub(crate) fn bytes(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.0.seek(SeekFrom::Start(0)).ok()?;
        self.0.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

/// Finds the value of `key` in lines of `key value`.
pub(super) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            fs::write(folder.join(file), text).expect("written");
        }
    }

    fn of_others(unified: Option<PathBuf>, v1: BTreeMap<String, PathBuf>) -> Group {
        Group {
            owner: GroupOwner::Others,
            unified_rules: unified.is_some(),
            unified,
            v1,
        }
    }

    /// The usage of a machine, in the format of version 1.
    fn in_the_first_version(own: &Path) -> Group {
        let old = ["cpu", "cpuacct", "memory", "pids"].map(|name| (name.to_owned(), own.to_owned()));
        let v1 = of_others(None, BTreeMap::from(old));
        write(
            own,
            &[
                ("cpuacct.usage", "9000000\n"),
                ("cpuacct.usage_user", "6000000\n"),
                ("cpuacct.usage_sys", "3000000\n"),
                ("cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 25000\n"),
                ("memory.usage_in_bytes", "1000000\n"),
                (
                    "memory.stat",
                    "cache 1\ntotal_cache 400000\ntotal_rss 500000\ntotal_shmem 100000\ntotal_pgfault 70\ntotal_pgmajfault 2\n",
                ),
                (
                    "memory.oom_control",
                    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
                ),
                ("memory.max_usage_in_bytes", "1990000\n"),
                ("memory.limit_in_bytes", "2000000\n"),
                ("pids.current", "12\n"),
            ],
        );
        v1
    }

    /// The same usage in the format of version 2.
    fn in_the_second_version(own: &Path) -> Group {
        let v2 = of_others(Some(own.to_owned()), BTreeMap::new());
        write(
            own,
            &[
                (
                    "cpu.stat",
                    "usage_usec 9000\nuser_usec 6000\nsystem_usec 3000\nnr_periods 4\nnr_throttled 1\nthrottled_usec 25\n",
                ),
                ("memory.current", "1000000\n"),
                (
                    "memory.stat",
                    "anon 500000\nfile 400000\nshmem 100000\npgfault 70\npgmajfault 2\n",
                ),
                (
                    "memory.events",
                    "low 0\nhigh 0\nmax 5\noom 1\noom_kill 1\noom_group_kill 1\n",
                ),
                ("pids.current", "12\n"),
            ],
        );
        v2
    }

    #[test]
    fn either_version_counts_the_same() {
        let (first, second) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let v1 = in_the_first_version(first.path());
        let v2 = in_the_second_version(second.path());
        let counted = GroupCounters {
            cpu_ns: Some(9_000_000),
            user_ns: Some(6_000_000),
            system_ns: Some(3_000_000),
            throttled_ns: Some(25_000),
            faults: Some(70),
            faults_major: Some(2),
            oom_kills: Some(1),
            at_limit: Some(true),
        };
        let held = GroupMemory {
            held: 700_000,
            cached: 300_000,
            anon: 500_000,
        };
        for (group, source) in [(v1, "cgroup1"), (v2, "cgroup2")] {
            assert_eq!(group.source(), Some(source));
            assert_eq!(group.counters(), counted, "{source}");
            assert_eq!(group.memory(), Some(held), "{source}");
            assert_eq!(
                (group.cpu_ns(), group.threads()),
                (Some(9_000_000), Some(12)),
                "{source}"
            );
            assert!(
                group.watch_peak().is_none(),
                "{source}: groups of others are never written to"
            );
        }
    }

    #[test]
    fn a_value_that_a_group_does_not_count_is_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let empty = of_others(Some(folder.path().to_owned()), BTreeMap::new());
        assert_eq!(empty.counters(), GroupCounters::default());
        assert_eq!(
            (empty.memory(), empty.cpu_ns(), empty.threads()),
            (None, None, None)
        );
        let nowhere = of_others(None, BTreeMap::new());
        assert_eq!((nowhere.source(), nowhere.memory()), (None, None));
    }
}
