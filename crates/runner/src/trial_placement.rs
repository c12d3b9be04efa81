//! Where a trial runs, and beside which others.

use crate::testbed::Lab;
use prony_config::contract::Contract;
use prony_host::{Placement, Wants};
use std::path::PathBuf;
use std::time::Duration;

/// Where one trial runs, and whether others run beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialPlacement {
    /// Which of its roles runs where.
    pub placement: Placement,
    /// Its lane, where several trials run at once.
    pub lane: Option<ConcurrentSlot>,
}

/// One of several trials that run at once. Their measurements begin together: when they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrentSlot {
    /// Its number, from 0.
    pub number: usize,
    /// Longest warm-up of a trial that is never told.
    pub warm_up_limit: Duration,
    /// Whether the speed of the service's CPUs is measured in each window.
    pub yardstick: bool,
}

impl TrialPlacement {
    /// Of a trial that has a lab for itself. `service_cpus` is how many the service may use at most.
    pub fn alone(lab: &Lab, contract: &Contract, service_cpus: Option<f64>) -> Self {
        let wants = Wants {
            companion: !contract.companions().is_empty(),
            service_cpus: service_cpus.map(|cpus| cpus.ceil() as usize),
        };
        Self {
            placement: lab.place(wants),
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
