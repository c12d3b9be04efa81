//! Where a trial runs, and beside which others.

use prony_contract::Contract;
use prony_host::{Host, Placement, Wants};
use std::path::{Path, PathBuf};
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
}

impl Seat {
    /// Of a trial that has a host for itself. `service_cpus` is how many the service may use at most.
    pub fn alone(host: &dyn Host, contract: &Contract, service_cpus: Option<f64>) -> Self {
        let wants = Wants {
            backend: contract.backend.is_some(),
            service_cpus: service_cpus.map(|cpus| cpus.ceil() as usize),
        };
        Self {
            placement: Placement::on(host, wants),
            lane: None,
        }
    }

    /// The log of a process of this trial: each lane has its own.
    pub(super) fn log(&self, logs: &Path, name: &str) -> PathBuf {
        logs.join(match self.lane {
            None => format!("{name}.log"),
            Some(lane) => format!("{name}-{}.log", lane.number),
        })
    }
}
