//! What a process tree used.

use serde::{Deserialize, Serialize};

/// What a process tree used in the measurement. `None`: this machine cannot tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Where the numbers come from: `cgroup2`, `cgroup1` or `proc`.
    pub source: String,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// CPU time in user mode, ns.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel, ns.
    pub cpu_system_ns: Option<u64>,
    /// CPU time in all, ns.
    pub cpu_ns: Option<u64>,
    /// Time for which the tree was kept from its CPUs by its limit, ns.
    pub cpu_throttled_ns: Option<u64>,
    /// Peak memory, bytes: from a cgroup what is charged to it without cached files, from `proc` the resident sets.
    pub memory_bytes_peak: Option<u64>,
    /// Mean memory over the samples, bytes.
    pub memory_bytes_mean: Option<u64>,
    /// Peak of the resident sets, bytes; pages that processes share count in each.
    #[serde(default)]
    pub rss_bytes_peak: Option<u64>,
    /// Proportional set size at the end of the window, bytes: reading it oftener would disturb the tree.
    pub pss_bytes_peak: Option<u64>,
    /// Peak anonymous memory, bytes.
    pub anon_bytes_peak: Option<u64>,
    /// Most threads at once.
    pub threads_peak: Option<u64>,
    /// Most processes at once.
    pub processes_peak: Option<u64>,
    /// Most open file descriptors at once.
    pub files_peak: Option<u64>,
    /// Context switches, voluntary and not.
    pub context_switches: Option<u64>,
    /// Minor page faults.
    pub page_faults_minor: Option<u64>,
    /// Major page faults.
    pub page_faults_major: Option<u64>,
    /// Energy of the package, J (the whole machine's, not the tree's alone).
    pub energy_j: Option<f64>,
    /// What was sampled, ten times a second.
    #[serde(default)]
    pub samples: Vec<ResourceSample>,
}

/// One sample of a process tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResourceSample {
    /// From the begin of the measurement, s; negative in the warm-up.
    pub at_s: f64,
    /// CPU time so far, ns.
    pub cpu_ns: Option<u64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
}

/// How a service came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StartUp {
    /// From the start of the process until it accepts a connection, ms.
    pub listening_ms: Option<f64>,
    /// From the start of the process until the first valid reply, ms.
    pub first_valid_ms: Option<f64>,
    /// Memory when it is up and idle, bytes.
    pub idle_memory_bytes: Option<u64>,
}
