//! Reads the resource usage of a process tree: from its control group if that counts it, otherwise from `/proc`.

use super::machine::tick_ns;
use crate::cgroup::Group;
use crate::environment::kib_field;
use crate::tree::{descendants, stat_field};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};
use prony_records::Footprint;
use std::collections::HashMap;
use std::fs;

/// Reads a process tree: everything below this process, or a tree that another program started.
#[derive(Debug)]
pub(in crate::supervisor) struct Probe {
    /// The tree's control group, if any.
    pub(in crate::supervisor) group: Option<Group>,
    /// The root of a tree that another program started.
    others: Option<i32>,
    page: u64,
}

/// Counters of a tree.
#[derive(Debug, Clone, Default)]
pub(in crate::supervisor) struct Counters {
    pub(in crate::supervisor) cpu_ns: Option<u64>,
    pub(in crate::supervisor) user_ns: Option<u64>,
    pub(in crate::supervisor) system_ns: Option<u64>,
    pub(in crate::supervisor) throttled_ns: Option<u64>,
    pub(in crate::supervisor) faults_minor: Option<u64>,
    pub(in crate::supervisor) faults_major: Option<u64>,
    pub(in crate::supervisor) switches: Switches,
}

/// Context switches so far: of each live thread by its id, and of all ended processes together.
#[derive(Debug, Clone, Default)]
pub(in crate::supervisor) struct Switches {
    living: HashMap<i32, (i32, u64)>,
    ended: u64,
}

/// The current state of a tree.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::supervisor) struct LiveUsage {
    pub(in crate::supervisor) cpu_ns: Option<u64>,
    /// CPU time of compiler threads; set by the sampler.
    pub(in crate::supervisor) compiler_ns: Option<u64>,
    pub(in crate::supervisor) memory: Option<u64>,
    pub(in crate::supervisor) cached: u64,
    pub(in crate::supervisor) anon: Option<u64>,
    pub(in crate::supervisor) rss: Option<u64>,
    pub(in crate::supervisor) threads: Option<u64>,
    pub(in crate::supervisor) processes: u64,
}

/// Maximum number of threads whose context switches are counted: reading more takes milliseconds.
const MOST_THREADS: usize = 2_000;

impl Probe {
    pub(in crate::supervisor) fn new(group: Option<Group>) -> Self {
        let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4_096);
        Self {
            group,
            others: None,
            page: page as u64,
        }
    }

    /// A tree that another program started, with this root.
    pub(in crate::supervisor) fn of_process(pid: i32) -> Self {
        Self {
            others: Some(pid),
            ..Self::new(None)
        }
    }

    /// The source of CPU time and memory.
    pub(in crate::supervisor) fn source(&self) -> &'static str {
        self.group.as_ref().and_then(Group::source).unwrap_or("proc")
    }

    /// The group, if it counts everything: two sources are never mixed.
    fn counting(&self) -> Option<&Group> {
        self.group.as_ref().filter(|group| group.source().is_some())
    }

    pub(in crate::supervisor) fn processes(&self) -> Vec<i32> {
        match (&self.group, self.others) {
            (Some(group), _) => group.processes(),
            (None, Some(pid)) => std::iter::once(pid).chain(descendants(pid)).collect(),
            (None, None) => descendants(std::process::id() as i32),
        }
    }

    pub(in crate::supervisor) fn counters(&self) -> Counters {
        let pids = self.processes();
        let switches = switches(&pids);
        // Reading a process's clock makes the kernel account for the time of its running threads within this tick.
        let living_ns: u64 = pids.iter().filter_map(|&pid| clock_ns(pid)).sum();
        if let Some(group) = self.counting() {
            let counted = group.counters();
            return Counters {
                cpu_ns: counted.cpu_ns,
                user_ns: counted.user_ns,
                system_ns: counted.system_ns,
                throttled_ns: counted.throttled_ns,
                faults_minor: counted
                    .faults
                    .map(|all| all.saturating_sub(counted.faults_major.unwrap_or(0))),
                faults_major: counted.faults_major,
                switches,
            };
        }
        from_proc(&pids, living_ns, switches)
    }

    /// CPU time and memory until now.
    pub(in crate::supervisor) fn footprint(&self) -> Footprint {
        let held = self.held();
        let of_files = match self.counting() {
            Some(group) => group.memory().map(|memory| memory.cached),
            None => held
                .rss
                .zip(held.anon)
                .map(|(resident, anon)| resident.saturating_sub(anon)),
        };
        Footprint {
            // Exact, unlike that of samples, which do not make the kernel account for this tick.
            cpu_ns: self.counters().cpu_ns,
            memory_bytes: held.memory,
            anonymous_bytes: held.anon,
            file_bytes: of_files,
        }
    }

    /// The current state, for the samples. Reads as few files as possible.
    pub(in crate::supervisor) fn held(&self) -> LiveUsage {
        let pids = self.processes();
        let sets: Vec<(u64, u64)> = pids.iter().filter_map(|&pid| self.sets(pid)).collect();
        let rss = sets.iter().map(|(resident, _)| resident).sum();
        let held = LiveUsage {
            rss: Some(rss),
            processes: pids.len() as u64,
            ..LiveUsage::default()
        };
        if let Some(group) = self.counting() {
            let memory = group.memory();
            return LiveUsage {
                cpu_ns: group.cpu_ns(),
                memory: memory.map(|memory| memory.held),
                cached: memory.map_or(0, |memory| memory.cached),
                anon: memory.map(|memory| memory.anon),
                threads: group.threads().or_else(|| Some(threads(&pids))),
                ..held
            };
        }
        let living: u64 = pids.iter().filter_map(|&pid| clock_ns(pid)).sum();
        let ended: u64 = pids
            .iter()
            .filter_map(|&pid| Stat::of(pid))
            .map(|stat| stat.ended_ns())
            .sum();
        LiveUsage {
            cpu_ns: Some(living + ended + children().cpu_ns),
            memory: Some(rss),
            anon: Some(sets.iter().map(|(_, anon)| anon).sum()),
            threads: Some(threads(&pids)),
            ..held
        }
    }

    /// Resident and anonymous bytes of a process.
    fn sets(&self, pid: i32) -> Option<(u64, u64)> {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut fields = text
            .split(' ')
            .skip(1)
            .filter_map(|field| field.parse::<u64>().ok());
        let (resident, shared) = (fields.next()?, fields.next()?);
        Some((resident * self.page, resident.saturating_sub(shared) * self.page))
    }

    /// The current number of open files.
    pub(in crate::supervisor) fn files(&self) -> Option<u64> {
        let count = |pid: &i32| {
            fs::read_dir(format!("/proc/{pid}/fd"))
                .ok()
                .map(|entries| entries.count() as u64)
        };
        let counts: Vec<u64> = self.processes().iter().filter_map(count).collect();
        if counts.is_empty() {
            None
        } else {
            Some(counts.iter().sum())
        }
    }

    /// The current proportional set size, bytes.
    pub(in crate::supervisor) fn pss(&self) -> Option<u64> {
        let of = |pid: &i32| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            kib_field(&text, "Pss:")
        };
        let sizes: Vec<u64> = self.processes().iter().filter_map(of).collect();
        if sizes.is_empty() {
            None
        } else {
            Some(sizes.iter().sum())
        }
    }

    /// Bytes that each live process has written to disk.
    pub(in crate::supervisor) fn written(&self) -> Vec<(i32, u64)> {
        let of = |pid: i32| {
            let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
            let bytes = text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?;
            Some((pid, bytes.trim().parse().ok()?))
        };
        self.processes().into_iter().filter_map(of).collect()
    }
}

impl Switches {
    /// Context switches from `self` to `later`. Those of threads that ended within a live process are unknown.
    pub(in crate::supervisor) fn until(&self, later: &Self) -> u64 {
        let living: u64 = later
            .living
            .iter()
            .map(|(tid, (_, count))| {
                count.saturating_sub(self.living.get(tid).map_or(0, |(_, before)| *before))
            })
            .sum();
        let alive: Vec<i32> = later.living.values().map(|(pid, _)| *pid).collect();
        let before: u64 = self
            .living
            .values()
            .filter(|(pid, _)| !alive.contains(pid))
            .map(|(_, count)| *count)
            .sum();
        living + later.ended.saturating_sub(self.ended + before)
    }
}

fn switches(pids: &[i32]) -> Switches {
    let mut living = HashMap::new();
    for &pid in pids {
        for entry in fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if living.len() >= MOST_THREADS {
                break;
            }
            let tid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let text = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            let count: u64 = text
                .lines()
                .filter(|line| line.contains("ctxt_switches"))
                .filter_map(|line| line.rsplit('\t').next()?.trim().parse::<u64>().ok())
                .sum();
            if let Some(tid) = tid {
                living.insert(tid, (pid, count));
            }
        }
    }
    Switches {
        living,
        ended: children().switches,
    }
}

/// Usage of the ended processes of the tree, which were reaped by the supervisor, or by their parents before.
#[derive(Debug, Clone, Copy, Default)]
struct EndedUsage {
    cpu_ns: u64,
    user_ns: u64,
    system_ns: u64,
    faults_minor: u64,
    faults_major: u64,
    switches: u64,
}

fn children() -> EndedUsage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return EndedUsage::default();
    };
    let (user, system) = (
        usage.user_time().num_nanoseconds() as u64,
        usage.system_time().num_nanoseconds() as u64,
    );
    EndedUsage {
        cpu_ns: user + system,
        user_ns: user,
        system_ns: system,
        faults_minor: usage.minor_page_faults() as u64,
        faults_major: usage.major_page_faults() as u64,
        switches: (usage.voluntary_context_switches() + usage.involuntary_context_switches()) as u64,
    }
}

fn from_proc(pids: &[i32], living_ns: u64, switches: Switches) -> Counters {
    let ended = children();
    let stats: Vec<Stat> = pids.iter().filter_map(|&pid| Stat::of(pid)).collect();
    let sum = |of: fn(&Stat) -> u64| stats.iter().map(of).sum::<u64>();
    let tick = tick_ns();
    Counters {
        cpu_ns: Some(living_ns + sum(Stat::ended_ns) + ended.cpu_ns),
        user_ns: Some(sum(|stat| stat.ticks[0] + stat.ticks[2]) * tick + ended.user_ns),
        system_ns: Some(sum(|stat| stat.ticks[1] + stat.ticks[3]) * tick + ended.system_ns),
        throttled_ns: None,
        faults_minor: Some(sum(|stat| stat.faults[0] + stat.faults[1]) + ended.faults_minor),
        faults_major: Some(sum(|stat| stat.faults[2] + stat.faults[3]) + ended.faults_major),
        switches,
    }
}

/// CPU time of a process and its threads, ns.
fn clock_ns(pid: i32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    clock_gettime(clock)
        .ok()
        .map(|time| time.num_nanoseconds() as u64)
}

fn threads(pids: &[i32]) -> u64 {
    pids.iter()
        .filter_map(|&pid| Stat::of(pid))
        .map(|stat| stat.threads)
        .sum()
}

/// Some fields of `/proc/<pid>/stat`.
struct Stat {
    /// Minor, minor of reaped children, major, major of reaped children.
    faults: [u64; 4],
    /// User, system, and the same of reaped children.
    ticks: [u64; 4],
    threads: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |number| stat_field(text, number)?.parse::<u64>().ok();
        Some(Self {
            faults: [field(10)?, field(11)?, field(12)?, field(13)?],
            ticks: [field(14)?, field(15)?, field(16)?, field(17)?],
            threads: field(20)?,
        })
    }

    /// CPU time of reaped children, ns.
    fn ended_ns(&self) -> u64 {
        (self.ticks[2] + self.ticks[3]) * tick_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(living: &[(i32, i32, u64)], ended: u64) -> Switches {
        Switches {
            living: living
                .iter()
                .map(|&(tid, pid, count)| (tid, (pid, count)))
                .collect(),
            ended,
        }
    }

    #[test]
    fn a_process_that_ended_counts_from_the_begin_of_the_window_on() {
        let before = switches(&[(10, 10, 100), (20, 20, 50)], 1_000);
        let after = switches(&[(10, 10, 130), (11, 10, 5)], 1_080);
        // 30 of thread 10, 5 of the new thread, and the 80 of process 20 minus the 50 from before the window.
        assert_eq!(before.until(&after), 30 + 5 + 30);
    }

    #[test]
    fn reads_the_fields_by_their_numbers() {
        let text = "7 (x) S 1 7 7 0 -1 4194560 10 11 12 13 14 15 16 17 20 0 9 0 100";
        let stat = Stat::parse(text).expect("fields");
        assert_eq!(
            (stat.faults, stat.ticks, stat.threads),
            ([10, 11, 12, 13], [14, 15, 16, 17], 9)
        );
    }
}
