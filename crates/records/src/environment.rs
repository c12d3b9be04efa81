//! The environment of a run: machine, system, versions, hosts.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The environment of a run. `None` means that this machine does not provide the value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of prony.
    pub prony: String,
    /// Commit of the checkout, with `+dirty` if it had changes.
    pub commit: Option<String>,
    /// URL of the repository, from the project's `CITATION.cff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Name and release of the operating system.
    pub os: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// CPUs of the machine.
    pub cpu: Cpu,
    /// Memory of the machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Memory limit of prony's control group, bytes, if it is below the memory of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Free memory at the start of the run, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Kind of virtualisation: `kvm`, `firecracker`, `docker`, …; `none` on bare metal.
    pub virtualisation: Option<String>,
    /// Version of control groups: `v2`, `v1`, `hybrid` or `none`.
    pub cgroup: Option<String>,
    /// Load average over one minute at the start of the run.
    pub load_average: Option<f64>,
    /// Limit of open files per process.
    pub open_files_limit: Option<u64>,
    /// Mitigations of CPU vulnerabilities, by vulnerability.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// The variables that prony was started with, as far as builds and services depend on them.
    #[serde(default, skip_serializing_if = "CallerVariables::is_empty")]
    pub variables: CallerVariables,
    /// Versions of the toolchains and runtimes used, by name.
    #[serde(default)]
    pub runtimes: BTreeMap<String, String>,
    /// Properties of the machine that reduce accuracy.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The hosts of the testbed, by name, if there were several. All other fields then describe the service's host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, TestbedHost>,
    /// Network between different hosts of the testbed, measured before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TestbedLink>,
}

/// The variables that prony was started with on a host, as far as they matter to builds and services there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerVariables {
    /// Those that can change what a service does, such as the locale, with their values.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The names of those that builds and services inherit. Values may be secret.
    #[serde(default)]
    pub inherited: BTreeSet<String>,
    /// The names of those that are known to change what runtimes do, but are not inherited.
    #[serde(default)]
    pub withheld: BTreeSet<String>,
}

impl CallerVariables {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Measured network between two hosts of a testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestbedLink {
    /// Host that opens the connections.
    pub from: String,
    /// Host that accepts them.
    pub to: String,
    /// Median round-trip time of a small message, ns.
    pub round_trip_ns: u64,
    /// Throughput of one TCP connection, bits per second.
    pub bits_per_s: f64,
}

/// A host of a testbed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TestbedHost {
    /// Roles of the host: `service`, `load`, `backing service`.
    pub roles: Vec<String>,
    /// Address at which the other hosts of the testbed connect to it.
    pub address: String,
    /// CPUs of the host that prony uses.
    pub cpus: Vec<usize>,
    /// The environment of the host.
    pub environment: Environment,
}

impl TestbedHost {
    /// Key in `runtimes` that holds the node of a pod.
    pub const NODE: &str = "kubernetes node";

    /// Whether it is a pod of a cluster: address and CPUs then differ from run to run.
    pub fn is_pod(&self) -> bool {
        self.environment.runtimes.contains_key(Self::NODE)
    }
}

/// The CPUs of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Name of the CPU model.
    pub model: Option<String>,
    /// Number of CPUs that this process may use.
    pub online: u32,
    /// Number of physical cores.
    pub cores: Option<u32>,
    /// Whether simultaneous multithreading is on: two CPUs share a core.
    pub smt: Option<bool>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Whether the CPU raises its frequency by itself.
    pub turbo: Option<bool>,
}

/// A property of the machine that reduces accuracy, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found, as a sentence.
    pub text: String,
    /// How to fix it.
    pub remedy: String,
}
