//! Describes the hardware and software of this machine, and what costs accuracy.

mod findings;
mod machine;

pub(crate) use machine::kib_field;
pub use machine::{hostname, lacks_proc};

use crate::Topology;
use crate::cgroup::Hierarchies;
use nix::sys::resource::{Resource, getrlimit};
use prony_records::Environment;

/// Memory that new processes can use without swapping out others, bytes.
pub(crate) fn memory_available_bytes() -> Option<u64> {
    machine::memory().1
}

/// The environment of this machine. The caller adds version, commit and runtimes.
pub(crate) fn read(topology: &Topology) -> Environment {
    let memory = machine::memory();
    let mut environment = Environment {
        os: machine::os(),
        kernel: machine::kernel(),
        cpu: machine::cpu(topology),
        memory_bytes: memory.0,
        memory_limit_bytes: crate::cgroup::memory_limit(memory.0),
        memory_available_bytes: memory.1,
        virtualisation: machine::virtualisation(),
        cgroup: Some(Hierarchies::of_this_process().version().to_owned()),
        load_average: machine::load_average(),
        open_files_limit: getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft),
        mitigations: machine::mitigations(),
        variables: crate::inherited::record(),
        ..Environment::default()
    };
    let checks = findings::MachineChecks {
        may_limit: crate::cgroup::may_limit(),
        quota: crate::cgroup::quota(),
        lacks_ring: machine::lacks_ring(environment.kernel.as_deref()),
        lacks_proc: lacks_proc(),
    };
    environment.findings = findings::of(&environment, &checks);
    environment
}
