//! Where a trial runs, and beside which others.

use crate::testbed::Testbed;
use prony_config::contract::Contract;
use prony_host::{Placement, Wants};
use std::path::PathBuf;
use std::time::Duration;

/// Where one trial runs, and whether others run beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Which of its roles runs where.
    pub placement: Placement,
    /// Its lane, where several trials run at once.
    pub lane: Option<Lane>,
}

/// One of several trials that run at once. Their measurements begin together: when they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Its number, from 0.
    pub number: usize,
    /// Longest warm-up of a trial that is never told.
    pub warm_up_limit: Duration,
    /// Whether the speed of the service's CPUs is measured in each window.
    pub cpu_speed_probe: bool,
}

impl Seat {
    /// Of a trial that has a testbed for itself. `service_cpus` is how many the service may use at most.
    pub fn alone(testbed: &Testbed, contract: &Contract, service_cpus: Option<f64>) -> Self {
        let wants = Wants {
            backing_service: !contract.backing_services().is_empty(),
            service_cpus: service_cpus.map(|cpus| cpus.ceil() as usize),
        };
        Self {
            placement: testbed.place(wants),
            lane: None,
        }
    }

    /// The log of a process of this trial, within the folder of the logs of its host: each lane has its own.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        PathBuf::from(match self.lane {
            None => format!("{name}.log"),
            Some(lane) => format!("{name}-{}.log", lane.number),
        })
    }
}
