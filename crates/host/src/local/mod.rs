//! This machine.

mod child;
mod orphans;
mod pipes;
mod port;
mod process;

use crate::supervisor::Machine;
use crate::{AttachSpec, Cpus, Host, HostError, MachineUsage, Process, ProcessSpec, Topology, environment};
use process::LocalProcess;
use prony_records::Environment;
use std::ffi::OsString;
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
        port::free(&self.address).map_err(|error| HostError::NoPort {
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

    fn pin_self(&self, cpus: &Cpus) -> Result<(), HostError> {
        crate::supervisor::pin(cpus).map_err(|error| HostError::Pin {
            cpus: cpus.to_string(),
            error,
        })
    }
}
