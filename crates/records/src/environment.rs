//! Where and with what a run happened.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where and with what a run happened. `None`: this machine cannot tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of prony.
    pub prony: String,
    /// Commit of the checkout, with `+dirty` where it had changes.
    pub commit: Option<String>,
    /// Address of the repository, as the project's `CITATION.cff` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Name and release of the operating system.
    pub os: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// The CPUs.
    pub cpu: Cpu,
    /// Memory of the machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Memory that the control group of prony may have, bytes, where that is less than the machine has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Memory free when the run began, bytes.
    pub memory_available_bytes: Option<u64>,
    /// `kvm`, `firecracker`, `docker`, …; `none` on bare metal.
    pub virtualisation: Option<String>,
    /// `v2`, `v1`, `hybrid` or `none`.
    pub cgroup: Option<String>,
    /// Load average over one minute when the run began.
    pub load_average: Option<f64>,
    /// Most open files of one process.
    pub open_files_limit: Option<u64>,
    /// Mitigations of the CPU's faults, by fault.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// Versions of the toolchains and runtimes used, by name.
    #[serde(default)]
    pub runtimes: BTreeMap<String, String>,
    /// What costs accuracy here.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The hosts of the lab, by name, where there were several; all else here is then said of the service's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, LabHost>,
    /// What the network between different hosts of the lab carried before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LabLink>,
}

/// The network between two hosts of a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabLink {
    /// The host that begins connections.
    pub from: String,
    /// The host that they go to.
    pub to: String,
    /// Median time of a small message there and back, ns.
    pub round_trip_ns: u64,
    /// Bits per second of one TCP connection.
    pub bits_per_s: f64,
}

/// A host of a lab.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabHost {
    /// What it is for: `service`, `load`, `companion`.
    pub roles: Vec<String>,
    /// Where the others of the lab reach it.
    pub address: String,
    /// The CPUs of it that prony uses.
    pub cpus: Vec<usize>,
    /// Where and with what it runs.
    pub environment: Environment,
}

impl LabHost {
    /// What the node of a pod is called among its runtimes.
    pub const NODE: &str = "kubernetes node";

    /// Whether it is a pod of a cluster, which gives another address and other CPUs to each.
    pub fn is_pod(&self) -> bool {
        self.environment.runtimes.contains_key(Self::NODE)
    }
}

/// The CPUs of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name.
    pub model: Option<String>,
    /// CPUs that this process may use.
    pub online: u32,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Whether two CPUs share a core.
    pub smt: Option<bool>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Whether the CPU raises its frequency by itself.
    pub turbo: Option<bool>,
}

/// Something about the machine that costs accuracy, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub text: String,
    /// How to mend it.
    pub remedy: String,
}
