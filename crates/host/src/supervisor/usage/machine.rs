//! What the whole machine does.

use crate::MachineUsage;
use nix::unistd::{SysconfVar, sysconf};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Counters of the whole machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    at: Instant,
    cpus: u32,
    idle_ns: u64,
    steal_ns: u64,
}

impl Machine {
    /// As they are now.
    pub(crate) fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let (cpus, idle, steal) = parse(&text)?;
        let tick_ns = tick_ns();
        Some(Self {
            at: Instant::now(),
            cpus,
            idle_ns: idle * tick_ns,
            steal_ns: steal * tick_ns,
        })
    }

    /// What happened since. Busy is what was neither idle nor stolen: the kernel measures idle time, but only samples who
    /// used the rest.
    pub(crate) fn since(&self) -> Option<MachineUsage> {
        let now = Self::read()?;
        let window_ns = (now.at - self.at).as_nanos() as u64;
        let steal_ns = now.steal_ns.saturating_sub(self.steal_ns);
        let unused_ns = now.idle_ns.saturating_sub(self.idle_ns) + steal_ns;
        let busy_ns = (window_ns * u64::from(now.cpus)).saturating_sub(unused_ns);
        Some(MachineUsage {
            window_ns,
            cpus: now.cpus,
            busy_ns,
            steal_ns,
        })
    }
}

/// CPUs, idle ticks (waiting for a disk is idle) and stolen ticks of `/proc/stat`.
fn parse(text: &str) -> Option<(u32, u64, u64)> {
    let mut lines = text.lines();
    let all: Vec<u64> = lines
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    let cpus = lines.take_while(|line| line.starts_with("cpu")).count();
    Some((
        cpus as u32,
        all.get(3)? + all.get(4)?,
        all.get(7).copied().unwrap_or(0),
    ))
}

/// Length of a tick of the kernel's counters, ns.
pub(in crate::supervisor) fn tick_ns() -> u64 {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    1_000_000_000 / per_second.max(1) as u64
}

/// Energy that all packages have used, J; the counters run over, so their range comes along.
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
            // `intel-rapl:0` is a package, `intel-rapl:0:1` a part of one, which would count twice.
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
    fn reads_the_first_line_and_counts_the_cpus() {
        let text = "cpu  100 5 50 1000 20 3 4 7 0 0\ncpu0 50 2 25 500 10 1 2 3 0 0\ncpu1 50 3 25 500 10 2 2 4 0 0\nintr 9\n";
        assert_eq!(parse(text), Some((2, 1020, 7)));
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
