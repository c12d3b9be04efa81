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

/// Loopback: nothing of a run leaves the machine.
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
    /// This machine. `supervisor` is the command (program and arguments) that ends up in [`crate::supervise`].
    /// Ends what a run that was killed together with its supervisors may have left.
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

    /// The same, whose services are reached at this address.
    #[must_use]
    pub fn at(mut self, address: String) -> Self {
        self.address = address;
        self
    }

    /// The same without control groups, as for a user who may not make any: no limits, and resources from `/proc`.
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
