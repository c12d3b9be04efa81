//! Resource usage of process trees.

use serde::{Deserialize, Serialize};

/// Resources that a process tree used in the measurement. `None` means that this machine does not provide the value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Source of the numbers: `cgroup2`, `cgroup1` or `proc`.
    pub source: String,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// CPU time in user mode, ns.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, ns.
    pub cpu_system_ns: Option<u64>,
    /// Total CPU time, ns.
    pub cpu_ns: Option<u64>,
    /// CPU time of the threads in which its runtime compiles, ns; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler_cpu_ns: Option<u64>,
    /// Time during which the tree was throttled by its CPU limit, ns.
    pub cpu_throttled_ns: Option<u64>,
    /// Peak memory, bytes: for a cgroup its charged memory without cached files, for `proc` the resident sets.
    pub memory_bytes_peak: Option<u64>,
    /// Mean memory over the samples, bytes.
    pub memory_bytes_mean: Option<u64>,
    /// Peak of the resident sets, bytes; pages shared by processes count in each of them.
    #[serde(default)]
    pub rss_bytes_peak: Option<u64>,
    /// Proportional set size at the end of the window, bytes: reading it more often would disturb the tree.
    pub pss_bytes_peak: Option<u64>,
    /// Peak anonymous memory, bytes.
    pub anon_bytes_peak: Option<u64>,
    /// Highest number of threads at once.
    pub threads_peak: Option<u64>,
    /// Highest number of processes at once.
    pub processes_peak: Option<u64>,
    /// Highest number of open file descriptors at once.
    pub files_peak: Option<u64>,
    /// Context switches, voluntary and not.
    pub context_switches: Option<u64>,
    /// Minor page faults.
    pub page_faults_minor: Option<u64>,
    /// Major page faults.
    pub page_faults_major: Option<u64>,
    /// Bytes written to disk, by processes that were alive at the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_written_bytes: Option<u64>,
    /// Energy of the CPU package, J (of the whole machine, not only of the tree).
    pub energy_j: Option<f64>,
    /// Samples, ten per second.
    #[serde(default)]
    pub samples: Vec<ResourceSample>,
}

/// The sum of the known values; `None` if there is none.
fn any(parts: &[Resources], of: fn(&Resources) -> Option<u64>) -> Option<u64> {
    parts.iter().filter_map(of).reduce(|sum, value| sum + value)
}

impl Resources {
    /// Share of the compiler threads in the CPU time; `None` if there are none, or no CPU time was used.
    pub fn compiler_share(&self) -> Option<f64> {
        let cpu_ns = self.cpu_ns.filter(|ns| *ns > 0)?;
        Some(self.compiler_cpu_ns? as f64 / cpu_ns as f64)
    }

    /// Makes the memory unknown.
    pub const fn forget_memory(&mut self) {
        self.memory_bytes_peak = None;
        self.memory_bytes_mean = None;
        self.rss_bytes_peak = None;
        self.pss_bytes_peak = None;
        self.anon_bytes_peak = None;
    }

    /// The sum over several trees, each on its own host. A value that is unknown for one of them is unknown for all. There are no
    /// samples, since theirs are from different moments.
    pub fn together(parts: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> Option<u64>| -> Option<u64> { parts.iter().map(of).sum() };
        Self {
            source: parts.first().map_or_else(String::new, |part| part.source.clone()),
            window_ns: parts.iter().map(|part| part.window_ns).max().unwrap_or(0),
            cpu_user_ns: sum(|part| part.cpu_user_ns),
            cpu_system_ns: sum(|part| part.cpu_system_ns),
            cpu_ns: sum(|part| part.cpu_ns),
            compiler_cpu_ns: any(parts, |part| part.compiler_cpu_ns),
            cpu_throttled_ns: sum(|part| part.cpu_throttled_ns),
            memory_bytes_peak: sum(|part| part.memory_bytes_peak),
            memory_bytes_mean: sum(|part| part.memory_bytes_mean),
            rss_bytes_peak: sum(|part| part.rss_bytes_peak),
            pss_bytes_peak: sum(|part| part.pss_bytes_peak),
            anon_bytes_peak: sum(|part| part.anon_bytes_peak),
            threads_peak: sum(|part| part.threads_peak),
            processes_peak: sum(|part| part.processes_peak),
            files_peak: sum(|part| part.files_peak),
            context_switches: sum(|part| part.context_switches),
            page_faults_minor: sum(|part| part.page_faults_minor),
            page_faults_major: sum(|part| part.page_faults_major),
            disk_written_bytes: sum(|part| part.disk_written_bytes),
            energy_j: parts.iter().map(|part| part.energy_j).sum(),
            samples: Vec::new(),
        }
    }
}

impl Resources {
    /// The sum over several windows of one process tree: times and counts are added, and peaks are the highest one. A value that
    /// is unknown in one window is unknown in all. Samples stay with their windows.
    pub fn join(windows: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> Option<u64>| windows.iter().map(of).sum::<Option<u64>>();
        let peak = |of: fn(&Self) -> Option<u64>| {
            let all: Option<Vec<u64>> = windows.iter().map(of).collect();
            all.and_then(|all| all.into_iter().max())
        };
        let Some(first) = windows.first() else {
            return Self::default();
        };
        let means = sum(|window| window.memory_bytes_mean);
        Self {
            source: first.source.clone(),
            window_ns: windows.iter().map(|window| window.window_ns).sum(),
            cpu_user_ns: sum(|window| window.cpu_user_ns),
            cpu_system_ns: sum(|window| window.cpu_system_ns),
            cpu_ns: sum(|window| window.cpu_ns),
            compiler_cpu_ns: any(windows, |window| window.compiler_cpu_ns),
            cpu_throttled_ns: sum(|window| window.cpu_throttled_ns),
            memory_bytes_peak: peak(|window| window.memory_bytes_peak),
            memory_bytes_mean: means.map(|sum| sum / windows.len() as u64),
            rss_bytes_peak: peak(|window| window.rss_bytes_peak),
            pss_bytes_peak: peak(|window| window.pss_bytes_peak),
            anon_bytes_peak: peak(|window| window.anon_bytes_peak),
            threads_peak: peak(|window| window.threads_peak),
            processes_peak: peak(|window| window.processes_peak),
            files_peak: peak(|window| window.files_peak),
            context_switches: sum(|window| window.context_switches),
            page_faults_minor: sum(|window| window.page_faults_minor),
            page_faults_major: sum(|window| window.page_faults_major),
            disk_written_bytes: sum(|window| window.disk_written_bytes),
            energy_j: windows.iter().map(|window| window.energy_j).sum(),
            samples: Vec::new(),
        }
    }
}

/// One sample of a process tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// Time since the start of the measurement, s; negative in the warm-up.
    pub at_s: f64,
    /// CPU time so far, ns.
    pub cpu_ns: Option<u64>,
    /// CPU time so far of the threads in which its runtime compiles, ns; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler_cpu_ns: Option<u64>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<u64>,
    /// Number of threads.
    pub threads: Option<u64>,
}

/// CPU time and memory that a process tree has used at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// CPU time since its start, ns.
    pub cpu_ns: Option<u64>,
    /// Memory without the page cache, bytes; without a control group the resident set, which includes pages of files.
    pub memory_bytes: Option<u64>,
    /// Anonymous memory, bytes.
    pub anonymous_bytes: Option<u64>,
    /// Pages of files, bytes: those that its control group was the first to read, else those that it has mapped.
    pub file_bytes: Option<u64>,
}

/// When a service reached its steady rate after its first reply.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyRate {
    /// Time from the first request of the load until the rate was steady, s; `None`: it took longer than the load.
    pub after_s: Option<f64>,
    /// Length of the load, s.
    pub limit_s: f64,
}

/// Times and memory of a service's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StartUp {
    /// Time from the start of the process until it accepts a connection, ms.
    pub listening_ms: Option<f64>,
    /// Time from the start of the process until the first valid reply, ms.
    pub first_valid_ms: Option<f64>,
    /// Memory when it is started and idle, bytes.
    pub idle_memory_bytes: Option<u64>,
    /// What it had used at its first valid reply, if its start was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_reply: Option<Footprint>,
    /// What it had used after its first reply and a rest without any request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Footprint>,
    /// What it had used after a load and a rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_load: Option<Footprint>,
    /// When it reached its steady rate, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_rate: Option<SteadyRate>,
}
