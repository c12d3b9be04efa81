//! This machine.

mod orphans;
mod process;
mod supervisor;

use crate::page_cache::page_cache;
use crate::supervisor::Machine;
use crate::{
    AttachSpec, Cpus, Host, HostError, MachineUsage, PageCacheReport, PageCacheRequest, Process, ProcessSpec,
    Topology, environment,
};
use process::LocalProcess;
use prony_records::Environment;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// Loopback: no traffic of a run leaves the machine.
const ADDRESS: &str = "127.0.0.1";

/// This machine.
#[derive(Debug, Clone)]
pub struct Local {
    topology: Topology,
    supervisor: Vec<OsString>,
    groups: bool,
    address: String,
}

impl Local {
    /// This machine. `supervisor` is the command (program and arguments) that runs [`crate::supervise`].
    /// Kills processes left by earlier runs that were killed together with their supervisors.
    pub fn new(supervisor: Vec<OsString>) -> Self {
        orphans::inherit();
        crate::cgroup::sweep();
        orphans::sweep();
        Self {
            topology: Topology::of_this_machine(),
            supervisor,
            groups: true,
            address: ADDRESS.to_owned(),
        }
    }

    /// Sets the address at which services are reachable.
    #[must_use]
    pub fn at(mut self, address: String) -> Self {
        self.address = address;
        self
    }

    /// Disables control groups, as for a user who may not create any: no limits, and resource usage from `/proc`.
    #[must_use]
    pub const fn without_groups(mut self) -> Self {
        self.groups = false;
        self
    }
}

impl Host for Local {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn free_port(&self) -> Result<u16, HostError> {
        free_port(&self.address).map_err(|error| HostError::NoPort {
            address: self.address.clone(),
            error,
        })
    }

    fn start(&self, spec: &ProcessSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(LocalProcess::start(self, spec)?))
    }

    fn attach(&self, spec: &AttachSpec) -> Result<Box<dyn Process>, HostError> {
        Ok(Box::new(LocalProcess::attach(self, spec)?))
    }

    fn environment(&self) -> Environment {
        environment::read(&self.topology)
    }

    fn watch(&self, window: Duration) -> Option<MachineUsage> {
        let before = Machine::read(&self.topology.cpus())?;
        thread::sleep(window);
        before.since()
    }

    fn memory_available_bytes(&self) -> Option<u64> {
        environment::memory_available_bytes()
    }

    fn page_cache(&self, request: &PageCacheRequest) -> Result<PageCacheReport, HostError> {
        page_cache(request)
    }

    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        crate::supervisor::pin(cpus).map_err(|error| HostError::Pin {
            cpus: cpus.to_string(),
            error,
        })
    }
}

/// Lowest port that is tried: lower ones belong to well-known services.
const LOWEST: u16 = 10_000;
/// Number of random ports that are tried before the kernel chooses one.
const TRIES: usize = 64;

/// A port that nothing listens on. If possible it is below the ephemeral range: a generator opens thousands of outgoing
/// connections, and one of them could otherwise take the port before the service binds it.
fn free_port(address: &str) -> io::Result<u16> {
    let ephemeral = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let lowest_ephemeral = ephemeral
        .split_whitespace()
        .next()
        .and_then(|port| port.parse().ok());
    let highest = lowest_ephemeral.unwrap_or(32_768_u16).saturating_sub(1);
    let is_free = |port: &u16| TcpListener::bind((address, *port)).is_ok();
    let chosen = (highest > LOWEST)
        .then(|| candidates(highest).take(TRIES).find(is_free))
        .flatten();
    match chosen {
        Some(port) => Ok(port),
        None => TcpListener::bind((address, 0))?
            .local_addr()
            .map(|address| address.port()),
    }
}

/// Random ports, so that two concurrent runs do not try the same ones.
fn candidates(highest: u16) -> impl Iterator<Item = u16> {
    let random = RandomState::new();
    (0_u32..).map(move |number| {
        let mut hasher = random.build_hasher();
        hasher.write_u32(number);
        LOWEST + (hasher.finish() % u64::from(highest - LOWEST)) as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free_port("127.0.0.1").expect("a port");
        TcpListener::bind(("127.0.0.1", port)).expect("free");
    }

    #[test]
    fn candidates_keep_to_their_range() {
        assert!(
            candidates(10_100)
                .take(500)
                .all(|port| (LOWEST..10_100).contains(&port))
        );
    }
}
