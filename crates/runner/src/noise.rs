//! Noise: CPU time that other programs and the hypervisor take during measurements, and its limits.

use prony_host::{Host, MachineUsage};
use prony_records::{InterleavedWindow, TrialRecord, Warning, WarningKind};
use prony_statistics::median;
use std::time::Duration;

/// The noise above which a trial is repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseLimits {
    /// CPU time of other programs; a share of the machine.
    pub others: f64,
    /// Time that the hypervisor took; a share of the machine.
    pub steal: f64,
}

impl Default for NoiseLimits {
    /// 5 % of the machine for other programs, 1 % for the hypervisor: either changes throughput by 1 % or more.
    fn default() -> Self {
        Self {
            others: 0.05,
            steal: 0.01,
        }
    }
}

/// CPU time that is not prony's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// CPU time of other programs; a share of the machine. `None` if unknown.
    pub others: Option<f64>,
    /// Time that the hypervisor took; a share of the machine. `None` if unknown.
    pub steal: Option<f64>,
}

impl Noise {
    /// Observes the machine for this long, before prony starts any process.
    pub fn before(host: &dyn Host, window: Duration) -> Option<Self> {
        let usage: MachineUsage = host.watch(window)?;
        Some(Self {
            others: usage.share(usage.busy_ns),
            steal: usage.share(usage.steal_ns),
        })
    }

    /// The noise during a trial on a machine with `cpus` CPUs; `None` if the trial was not measured.
    pub fn of(record: &TrialRecord, cpus: usize) -> Option<Self> {
        let measurement = record.result.as_ref().ok()?;
        let capacity = measurement.service.window_ns as f64 * cpus as f64;
        let share = |ns: Option<u64>| ns.filter(|_| capacity > 0.0).map(|ns| ns as f64 / capacity);
        Some(Self {
            others: share(measurement.other_cpu_ns),
            steal: share(measurement.steal_ns),
        })
    }

    /// The sum of both; a share of the machine. `None` if both are unknown.
    pub fn share(self) -> Option<f64> {
        match (self.others, self.steal) {
            (None, None) => None,
            (others, steal) => Some(others.unwrap_or(0.0) + steal.unwrap_or(0.0)),
        }
    }

    /// What exceeds these limits, in words.
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
        let text = format!("Not idle before the run: {noise}.");
        let advice = "Stop other programs, or expect wider intervals.";
        Some(Warning::new(WarningKind::Noise, text).advise(advice))
    }
}

/// What disturbed a trial, if it exceeds the limits.
pub(crate) fn disturbance(record: &TrialRecord, limits: NoiseLimits, cpus: usize) -> Option<String> {
    Noise::of(record, cpus)?.beyond(limits)
}

/// By how much other programs raise the CPU time per request, for each machine that they use. Four programs on two CPUs took 61 % of the
/// time, and ten services needed 8 to 14 % more (`research/method-notes.md`).
const RISE: f64 = 0.18;

/// Warns if other programs used more of the machine than the default limit, and says how far the CPU time per request of the service is
/// probably off. Its value is the median over its windows, and the share is, too: one window that was disturbed changes neither.
pub(crate) fn neighbours(windows: &[InterleavedWindow], cpus: usize) -> Option<Warning> {
    let taken = windows.iter().map(InterleavedWindow::others_cpus);
    let taken: Vec<f64> = taken
        .collect::<Option<_>>()
        .filter(|taken: &Vec<f64>| !taken.is_empty())?;
    let share = median(&taken) / cpus.max(1) as f64;
    (share > NoiseLimits::default().others).then(|| {
        let text = format!(
            "Other programs used {:.0} % of the machine: goodput and response times are worse for it, and CPU per request is about \
             {:.0} % higher than on a quiet machine.",
            share * 100.0,
            share * RISE * 100.0
        );
        Warning::new(WarningKind::Noise, text).advise("Compare ratios of CPU per request only.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(other_cpu_ns: Option<u64>) -> InterleavedWindow {
        InterleavedWindow {
            length_s: 0.5,
            other_cpu_ns,
            ..InterleavedWindow::default()
        }
    }

    #[test]
    fn neighbours_are_told_where_they_matter() {
        // Two CPUs for half a second: of 1 s of CPU time they took 0.4 s in the middle of three windows.
        let busy = [900_000_000, 400_000_000, 0].map(|ns| window(Some(ns)));
        let warning = neighbours(&busy, 2).expect("more than a twentieth");
        assert!(
            warning
                .text
                .starts_with("Other programs used 40 % of the machine"),
            "{}",
            warning.text
        );
        // 0.4 · 18 %.
        assert!(warning.text.contains("about 7 % higher"), "{}", warning.text);
        assert_eq!(neighbours(&[window(Some(20_000_000))], 2), None);
        let once = [900_000_000, 20_000_000, 0].map(|ns| window(Some(ns)));
        assert_eq!(neighbours(&once, 2), None);
        assert_eq!(neighbours(&[window(None), window(Some(500_000_000))], 2), None);
    }
}
