//! Noise: CPU time that other programs and the hypervisor take during a measurement, and its limits.

use prony_host::{Host, MachineUsage};
use prony_records::{TrialRecord, Warning, WarningKind};
use std::time::Duration;

/// A trial with more noise is repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseLimits {
    /// Share of the machine's CPU time that other programs use.
    pub others: f64,
    /// Share of the machine's CPU time that the hypervisor takes (steal).
    pub steal: f64,
}

impl Default for NoiseLimits {
    /// 5 % for other programs and 1 % for the hypervisor: each changes the throughput by 1 % or more.
    fn default() -> Self {
        Self {
            others: 0.05,
            steal: 0.01,
        }
    }
}

/// After this number of repetitions in a row that were noisy again, trials are no longer repeated: the noise is permanent.
const FRUITLESS: u32 = 3;

#[derive(Debug)]
pub(crate) struct Repeats {
    limits: Option<NoiseLimits>,
    fruitless: u32,
    told: bool,
    cpus: usize,
}

impl Repeats {
    pub(crate) const fn new(limits: Option<NoiseLimits>) -> Self {
        Self {
            limits,
            fruitless: 0,
            told: false,
            cpus: 1,
        }
    }

    /// Why the trial must be repeated, if it must.
    pub(crate) fn wants(&mut self, record: &TrialRecord, cpus: usize) -> Option<String> {
        self.cpus = cpus;
        if self.fruitless >= FRUITLESS {
            return None;
        }
        disturbance(record, self.limits?, cpus)
    }

    /// Marks the record of a repetition.
    pub(crate) fn mark(&mut self, again: &mut TrialRecord, reason: &str) {
        let still = self
            .limits
            .and_then(|limits| disturbance(again, limits, self.cpus));
        self.fruitless = if still.is_some() { self.fruitless + 1 } else { 0 };
        if let Ok(measurement) = &mut again.result {
            let text = format!("the trial was repeated because the first one was disturbed: {reason}");
            measurement
                .warnings
                .push(Warning::new(WarningKind::Repeated, text));
            let noise =
                still.map(|still| Warning::new(WarningKind::Noise, format!("so was the second: {still}")));
            measurement.warnings.extend(noise);
        }
    }

    /// Returns a warning once when repeating is given up.
    pub(crate) fn given_up(&mut self) -> Option<Warning> {
        if self.fruitless < FRUITLESS || self.told {
            return None;
        }
        self.told = true;
        let text =
            format!("{FRUITLESS} disturbed trials were disturbed again: trials are no longer repeated");
        Some(Warning::new(WarningKind::Noise, text))
    }
}

/// CPU time that others take from a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Share of the machine's CPU time that other programs use; `None` if unknown.
    pub others: Option<f64>,
    /// Share of the machine's CPU time that the hypervisor takes; `None` if unknown.
    pub steal: Option<f64>,
}

impl Noise {
    /// Observes the machine for this time. prony itself must be idle.
    pub fn before(host: &dyn Host, window: Duration) -> Option<Self> {
        let usage: MachineUsage = host.watch(window)?;
        let capacity = usage.window_ns as f64 * f64::from(usage.cpus);
        let share = |ns: u64| (capacity > 0.0).then(|| ns as f64 / capacity);
        Some(Self {
            others: share(usage.busy_ns),
            steal: share(usage.steal_ns),
        })
    }

    /// The noise during a trial on a machine with this number of CPUs; `None` if the trial was not measured.
    pub fn of(record: &TrialRecord, cpus: usize) -> Option<Self> {
        let measurement = record.result.as_ref().ok()?;
        let capacity = measurement.service.window_ns as f64 * cpus as f64;
        let share = |ns: Option<u64>| ns.filter(|_| capacity > 0.0).map(|ns| ns as f64 / capacity);
        Some(Self {
            others: share(measurement.other_cpu_ns),
            steal: share(measurement.steal_ns),
        })
    }

    /// The sum, as a share of the machine; `None` if both are unknown.
    pub fn share(self) -> Option<f64> {
        match (self.others, self.steal) {
            (None, None) => None,
            (others, steal) => Some(others.unwrap_or(0.0) + steal.unwrap_or(0.0)),
        }
    }

    /// Names the source of the noise if it exceeds these limits.
    pub fn beyond(self, limits: NoiseLimits) -> Option<String> {
        let percent = |share: f64| format!("{:.1} % of the machine", share * 100.0);
        match (self.others, self.steal) {
            (_, Some(steal)) if steal > limits.steal => {
                Some(format!("the hypervisor took {}", percent(steal)))
            }
            (Some(others), _) if others > limits.others => {
                Some(format!("other programs used {}", percent(others)))
            }
            _ => None,
        }
    }

    /// The warning of a run that starts on a busy machine.
    pub fn warning(self) -> Option<Warning> {
        let noise = self.beyond(NoiseLimits::default())?;
        let text = format!(
            "the machine is not idle: {noise} before the run; stop other programs, or expect wider confidence intervals"
        );
        Some(Warning::new(WarningKind::Noise, text))
    }
}

/// The disturbance of a trial, if it exceeds the limits.
fn disturbance(record: &TrialRecord, limits: NoiseLimits, cpus: usize) -> Option<String> {
    Noise::of(record, cpus)?.beyond(limits)
}
