//! Where a trial runs, and next to which others.

use crate::testbed::Testbed;
use prony_config::contract::Contract;
use prony_host::{CpuDemand, Placement};
use std::path::PathBuf;

/// Where one trial runs, and whether others run next to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialPlacement {
    /// Which of its roles runs where.
    pub placement: Placement,
    /// Its slot, where the services of several trials are up at once.
    pub slot: Option<ConcurrentSlot>,
}

/// One of several services that are up at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrentSlot {
    /// Its number, from 0.
    pub number: usize,
    /// Whether the speed of the service's CPUs is measured in each window.
    pub cpu_speed_probe: bool,
}

impl TrialPlacement {
    /// That of a trial that has a testbed for itself. `service_cpus`: the most that the service may use.
    pub fn alone(testbed: &Testbed, contract: &Contract, service_cpus: Option<f64>) -> Self {
        Self::of(testbed, !contract.backing_services().is_empty(), service_cpus)
    }

    /// The same with backing services, or without.
    pub(crate) fn of(testbed: &Testbed, backing_service: bool, service_cpus: Option<f64>) -> Self {
        let wants = CpuDemand {
            backing_service,
            service_cpus: service_cpus.map(|cpus| cpus.ceil() as usize),
        };
        Self {
            placement: testbed.place(wants),
            slot: None,
        }
    }

    /// The log of a process of this trial, within the folder of the logs of its host: each slot has its own.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        PathBuf::from(match self.slot {
            None => format!("{name}.log"),
            Some(slot) => format!("{name}-{}.log", slot.number),
        })
    }
}
