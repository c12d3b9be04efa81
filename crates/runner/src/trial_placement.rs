//! The CPUs of a trial.

use crate::testbed::Testbed;
use prony_config::contract::Contract;
use prony_host::{CpuDemand, Placement};
use std::path::PathBuf;

/// The CPUs of the roles of a trial, and its slot if several services are up at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialPlacement {
    /// Host and CPUs of each role.
    pub placement: Placement,
    /// Its slot, if the services of several trials are up at once.
    pub slot: Option<ConcurrentSlot>,
}

/// The slot of one of several services that are up at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrentSlot {
    /// Number, from 0.
    pub number: usize,
    /// Whether the speed of the service's CPUs is measured in each window.
    pub cpu_speed_probe: bool,
}

impl TrialPlacement {
    /// The placement of a trial that has the testbed for itself. `service_cpus` limits the CPUs of the service.
    pub fn alone(testbed: &Testbed, contract: &Contract, service_cpus: Option<f64>) -> Self {
        Self::of(testbed, contract.has_busy_backing_services(), service_cpus)
    }

    /// Like [`Self::alone`], with CPUs for backing services or without.
    pub(crate) fn of(testbed: &Testbed, backing_service: bool, service_cpus: Option<f64>) -> Self {
        let demand = CpuDemand {
            backing_service,
            service_cpus: service_cpus.map(|cpus| cpus.ceil() as usize),
        };
        Self {
            placement: testbed.place(demand),
            slot: None,
        }
    }

    /// Name of the log of a process of this trial. Each slot has its own.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        PathBuf::from(match self.slot {
            None => format!("{name}.log"),
            Some(slot) => format!("{name}-{}.log", slot.number),
        })
    }
}
