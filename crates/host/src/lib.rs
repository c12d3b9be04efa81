//! Runs processes on a host: pins them to CPUs, limits and measures their resources, and cleans up after them.
//!
//! A process is never started directly but by a supervisor, which is this binary in another role ([`supervise`]). The
//! supervisor starts the process in its own process group, caps the size of its log, samples its resources, and kills
//! everything below it on request or when the caller is gone, however the caller ended. This crate must never know what a
//! service, a contract or a load is. Start at [`Host`]; [`Local`] is this machine, [`FakeHost`] is a stub for tests.

mod agent;
mod cgroup;
mod compiler_threads;
mod container;
mod cpu_lease;
mod cpus;
mod environment;
mod error;
mod fake;
mod folder;
mod host;
mod identity;
mod inherited;
mod listening;
mod local;
mod neighbours;
mod page_cache;
mod placement;
mod process;
mod remote;
mod sources;
mod supervisor;
mod topology;
mod tree;
mod virtual_network;
pub mod wire;

#[cfg(test)]
#[path = "../../../tests/skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;

pub use agent::agent;
pub use cgroup::CpuGrant;
pub use compiler_threads::CompilerKind;
pub use container::{Container, Engine, EngineKind, Image, sweep as sweep_containers};
pub use cpu_lease::{CpuLease, Locks};
pub use cpus::{Cpus, CpusError};
pub use environment::{hostname, lacks_proc};
pub use error::HostError;
pub use fake::{FakeHost, FakeProcess};
pub use folder::{free_bytes, writable};
pub use host::{Host, Process, UnmonitoredProcess};
pub use inherited::InheritedVariables;
pub use listening::listening_ports;
pub use local::Local;
pub use neighbours::{Neighbours, OtherUsage};
pub use page_cache::{CachedFile, PageCacheReport, PageCacheRequest};
pub use placement::{Placement, RolePlacement};
pub use process::{
    AttachSpec, AttachTarget, ExitReport, Isolation, KillReason, Limits, MachineUsage, Network, ProcessSpec,
    Stdio, Usage,
};
pub use remote::{
    Binary, Channel, ClockSample, Connect, HandshakeErrorFn, HandshakeFailure, LEASE, Pipe, Progress, Remote,
    RemoteClaim, Ssh, Transport, TransportGuard, UploadResult,
};
pub use sources::set_sources;
pub use supervisor::supervise;
pub use topology::{Core, CpuDemand, Split, Topology};
