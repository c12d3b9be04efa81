//! Measures the usage of the whole machine.

use crate::{Cpus, MachineUsage};
use nix::unistd::{SysconfVar, sysconf};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Counters of the CPUs that we may use. Load on other CPUs does not disturb us.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    at: Instant,
    ours: Cpus,
    cpus: u32,
    idle_ns: u64,
    steal_ns: u64,
    /// Time that tasks ran on our CPUs, ns, if the kernel counts it.
    ran_ns: Option<u64>,
}

/// Possible mount points of the control groups of version 1 that count CPU time.
const COUNTERS: [&str; 2] = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"];

impl Machine {
    /// The current counters of the CPUs in `ours`; empty: all CPUs.
    pub(crate) fn read(ours: &Cpus) -> Option<Self> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let (cpus, idle, steal) = parse(&text, ours)?;
        let tick_ns = tick_ns();
        Some(Self {
            at: Instant::now(),
            ours: ours.clone(),
            cpus,
            idle_ns: idle * tick_ns,
            steal_ns: steal * tick_ns,
            ran_ns: COUNTERS.iter().find_map(|folder| ran(Path::new(folder), ours)),
        })
    }

    /// The usage since then.
    pub(crate) fn since(&self) -> Option<MachineUsage> {
        let now = Self::read(&self.ours)?;
        let window_ns = (now.at - self.at).as_nanos() as u64;
        let steal_ns = now.steal_ns.saturating_sub(self.steal_ns);
        let unused_ns = now.idle_ns.saturating_sub(self.idle_ns) + steal_ns;
        let ran_ns = now.ran_ns.zip(self.ran_ns);
        let busy_ns = busy(
            window_ns * u64::from(now.cpus),
            unused_ns,
            ran_ns.map(|(now, then)| now.saturating_sub(then)),
        );
        Some(MachineUsage {
            window_ns,
            cpus: now.cpus,
            busy_ns,
            steal_ns,
        })
    }
}

/// The number of our CPUs in `/proc/stat`, their idle ticks (including waiting for disk) and their stolen ticks.
fn parse(text: &str, ours: &Cpus) -> Option<(u32, u64, u64)> {
    let one = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        // The first line is the sum of all CPUs and has no number.
        let number = line
            .as_bytes()
            .get(3)?
            .is_ascii_digit()
            .then(|| fields.next())??;
        let number: usize = number.parse().ok()?;
        let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        let is_ours = ours.is_empty() || ours.as_slice().contains(&number);
        let idle = ticks.get(3)? + ticks.get(4)?;
        is_ours.then(|| (idle, ticks.get(7).copied().unwrap_or(0)))
    };
    let counted: Vec<(u64, u64)> = text.lines().filter_map(one).collect();
    let sum = |of: fn(&(u64, u64)) -> u64| counted.iter().map(of).sum();
    (!counted.is_empty()).then(|| (counted.len() as u32, sum(|cpu| cpu.0), sum(|cpu| cpu.1)))
}

/// Time that was neither idle nor stolen. The kernel measures idle time exactly, but only samples which task used the rest. If
/// it also counts the run time of tasks, that is an upper limit: waking an idle CPU takes time that belongs to no task, and a
/// service that waits for each single request wakes its CPU many thousand times per second.
fn busy(all_ns: u64, unused_ns: u64, ran_ns: Option<u64>) -> u64 {
    let not_idle_ns = all_ns.saturating_sub(unused_ns);
    ran_ns.map_or(not_idle_ns, |ran_ns| ran_ns.min(not_idle_ns))
}

/// Run time of tasks on our CPUs so far, ns; `None` if the folder is not the root group, which counts all tasks. Only the root
/// of a hierarchy has a release agent: a container may see its own group there, which does not count other containers.
fn ran(folder: &Path, ours: &Cpus) -> Option<u64> {
    if !folder.join("release_agent").exists() {
        return None;
    }
    let text = fs::read_to_string(folder.join("cpuacct.usage_percpu")).ok()?;
    let each: Vec<u64> = text.split_whitespace().filter_map(|ns| ns.parse().ok()).collect();
    if ours.is_empty() {
        return Some(each.iter().sum());
    }
    ours.as_slice().iter().map(|&cpu| each.get(cpu).copied()).sum()
}

/// Length of a tick of the kernel's counters, ns.
pub(crate) fn tick_ns() -> u64 {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    1_000_000_000 / per_second.max(1) as u64
}

/// Energy counters of all packages, µJ, each with its range, since they overflow.
#[derive(Debug, Clone)]
pub(in crate::supervisor) struct Energy(Vec<(String, u64, u64)>);

impl Energy {
    pub(in crate::supervisor) fn read() -> Option<Self> {
        Self::of(Path::new("/sys/class/powercap"))
    }

    fn of(folder: &Path) -> Option<Self> {
        let number = |path: std::path::PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
        let package = |entry: fs::DirEntry| {
            let name = entry.file_name().to_str()?.to_owned();
            // `intel-rapl:0` is a package, `intel-rapl:0:1` a part of it, which would be counted twice.
            let is_package = name.starts_with("intel-rapl:") && name.matches(':').count() == 1;
            let used = number(entry.path().join("energy_uj"))?;
            let range = number(entry.path().join("max_energy_range_uj"))?;
            is_package.then_some((name, used, range))
        };
        let packages: Vec<_> = fs::read_dir(folder).ok()?.flatten().filter_map(package).collect();
        if packages.is_empty() {
            None
        } else {
            Some(Self(packages))
        }
    }

    /// Energy used until `later`, J.
    pub(in crate::supervisor) fn until(&self, later: &Self) -> Option<f64> {
        let used = |(name, before, range): &(String, u64, u64)| {
            let (_, after, _) = later.0.iter().find(|(other, ..)| other == name)?;
            Some(if after >= before {
                after - before
            } else {
                range - before + after
            })
        };
        self.0
            .iter()
            .map(used)
            .sum::<Option<u64>>()
            .map(|microjoules| microjoules as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_our_cpus_alone() {
        let text = "cpu  100 5 50 1000 20 3 4 7 0 0\ncpu0 50 2 25 400 10 1 2 3 0 0\ncpu1 50 3 25 600 10 2 2 4 0 0\nintr 9\n";
        let cpus = |cpus: &[usize]| Cpus::from(cpus.to_vec());
        assert_eq!(parse(text, &cpus(&[])), Some((2, 1020, 7)));
        assert_eq!(parse(text, &cpus(&[0, 1])), Some((2, 1020, 7)));
        assert_eq!(parse(text, &cpus(&[1])), Some((1, 610, 4)));
        // The CPUs of a container may have other numbers: then nothing is known.
        assert_eq!(parse(text, &cpus(&[7])), None);
    }

    #[test]
    fn others_elsewhere_are_not_counted() {
        let Some(all) = Machine::read(&Cpus::default()) else {
            panic!("Linux counts it");
        };
        let first = Machine::read(&Cpus::from(vec![0])).expect("CPU 0 is always there");
        assert_eq!(first.cpus, 1);
        assert!(first.idle_ns <= Machine::read(&Cpus::default()).expect("there").idle_ns && all.cpus >= 1);
    }

    #[test]
    fn tasks_are_counted_on_our_cpus_and_only_at_the_root() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("cpuacct.usage_percpu"), "700 20 1 \n").expect("written");
        assert_eq!(
            ran(folder.path(), &Cpus::default()),
            None,
            "a container's own group"
        );
        fs::write(folder.path().join("release_agent"), "").expect("written");
        assert_eq!(ran(folder.path(), &Cpus::default()), Some(721));
        assert_eq!(ran(folder.path(), &Cpus::from(vec![0, 2])), Some(701));
        assert_eq!(ran(folder.path(), &Cpus::from(vec![5])), None);
    }

    /// The time to wake idle CPUs belongs to no task: it is not noise of other programs.
    #[test]
    fn time_that_no_task_ran_is_not_busy() {
        assert_eq!(busy(1_000, 100, Some(800)), 800);
        assert_eq!(busy(1_000, 600, Some(900)), 400);
        assert_eq!(busy(1_000, 100, None), 900);
    }

    #[test]
    fn energy_adds_packages_and_survives_an_overrun() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = |name: &str, used: u64| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).expect("made");
            fs::write(path.join("energy_uj"), used.to_string()).expect("written");
            fs::write(path.join("max_energy_range_uj"), "10000000").expect("written");
        };
        set("intel-rapl:0", 9_000_000);
        set("intel-rapl:1", 1_000_000);
        set("intel-rapl:0:0", 5_000_000);
        let before = Energy::of(folder.path()).expect("there");
        set("intel-rapl:0", 500_000);
        set("intel-rapl:1", 3_000_000);
        let after = Energy::of(folder.path()).expect("there");
        assert_eq!(before.until(&after), Some(3.5));
    }

    #[test]
    fn a_machine_without_counters_says_nothing() {
        assert!(Energy::of(Path::new("/nowhere")).is_none());
    }
}
