//! Noise: what others do to the machine while it measures, and when that is too much.

use prony_host::{Host, MachineUsage};
use prony_records::{TrialRecord, Warning, WarningKind};
use std::time::Duration;

/// The noise beyond which a trial is repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseLimits {
    /// CPU time of others, as a share of the machine.
    pub others: f64,
    /// Time that the hypervisor took, as a share of the machine.
    pub steal: f64,
}

impl Default for NoiseLimits {
    /// A twentieth of the machine to others, a hundredth to the hypervisor: either moves a throughput by a percent or more.
    fn default() -> Self {
        Self {
            others: 0.05,
            steal: 0.01,
        }
    }
}

/// Trials that were as noisy when they were repeated, after which repeating is given up: the noise is there to stay.
const FRUITLESS: u32 = 3;

/// Decides which trials are repeated.
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

    /// Why the trial is to be repeated, if it is.
    pub(crate) fn wants(&mut self, record: &TrialRecord, cpus: usize) -> Option<String> {
        self.cpus = cpus;
        if self.fruitless >= FRUITLESS {
            return None;
        }
        disturbance(record, self.limits?, cpus)
    }

    /// Says in the record of the second trial that it is one.
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

    /// Once, when repeating has become pointless.
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

/// What others take of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// CPU time of other programs, as a share of the machine; `None`: not known.
    pub others: Option<f64>,
    /// Time that the hypervisor took, as a share of the machine; `None`: not known.
    pub steal: Option<f64>,
}

impl Noise {
    /// Looks for this long, while nothing of ours runs.
    pub fn before(host: &dyn Host, window: Duration) -> Option<Self> {
        let usage: MachineUsage = host.watch(window)?;
        let capacity = usage.window_ns as f64 * f64::from(usage.cpus);
        let share = |ns: u64| (capacity > 0.0).then(|| ns as f64 / capacity);
        Some(Self {
            others: share(usage.busy_ns),
            steal: share(usage.steal_ns),
        })
    }

    /// What a trial on a machine of so many CPUs suffered; `None` for one that was not measured.
    pub fn of(record: &TrialRecord, cpus: usize) -> Option<Self> {
        let measurement = record.result.as_ref().ok()?;
        let capacity = measurement.service.window_ns as f64 * cpus as f64;
        let share = |ns: Option<u64>| ns.filter(|_| capacity > 0.0).map(|ns| ns as f64 / capacity);
        Some(Self {
            others: share(measurement.other_cpu_ns),
            steal: share(measurement.steal_ns),
        })
    }

    /// All of it together, as a share of the machine; `None` where nothing is known.
    pub fn share(self) -> Option<f64> {
        match (self.others, self.steal) {
            (None, None) => None,
            (others, steal) => Some(others.unwrap_or(0.0) + steal.unwrap_or(0.0)),
        }
    }

    /// Who disturbs by more than these limits, in words.
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

    /// The warning of a run that begins on a machine which is not idle.
    pub fn warning(self) -> Option<Warning> {
        let noise = self.beyond(NoiseLimits::default())?;
        let text = format!(
            "the machine is not idle: {noise} before the run; end other programs, or expect wider intervals"
        );
        Some(Warning::new(WarningKind::Noise, text))
    }
}

/// What disturbed a trial, if it was too much.
fn disturbance(record: &TrialRecord, limits: NoiseLimits, cpus: usize) -> Option<String> {
    Noise::of(record, cpus)?.beyond(limits)
}
