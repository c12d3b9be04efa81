//! Resource usage during the measurement, and the measurement that it becomes part of.

use crate::Failure;
use crate::bottleneck;
use crate::generators::{GeneratorUsage, RunningLoad};
use crate::start::StartedService;
use crate::warm_up::{self, Pace};
use prony_host::{CompilerKind, Usage};
use prony_load::Load;
use prony_records::{
    BackingUsage, Classification, Measurement, Recording, Resources, StartUp, Steadiness, TrialStage,
    Warning, WarningKind,
};
use serde::Deserialize as _;

/// Resource usage of service, generator and backing services in one window.
#[derive(Clone)]
pub(crate) struct WindowUsage {
    service: Usage,
    generator: Option<GeneratorUsage>,
    backing_services: Vec<(BackingUsage, Option<GeneratorUsage>)>,
}

/// Begins the window. The window of the service begins first and ends first: it must be exact.
pub(crate) fn begin(subject: &mut StartedService, loading: &mut dyn RunningLoad) -> Result<(), Failure> {
    subject
        .service
        .begin_window()
        .map_err(|error| Failure::host(TrialStage::Measure, &error))?;
    loading.begin_window();
    subject.backing_services.begin_window();
    Ok(())
}

/// Ends the window.
pub(crate) fn end(
    subject: &mut StartedService,
    loading: &mut dyn RunningLoad,
) -> Result<WindowUsage, Failure> {
    Ok(WindowUsage {
        service: subject
            .service
            .end_window()
            .map_err(|error| Failure::host(TrialStage::Measure, &error))?,
        generator: loading.end_window(),
        backing_services: subject.backing_services.end_window(),
    })
}

/// The measurement record. Without a window its resources are unknown.
pub(crate) fn measurement(
    window: Option<WindowUsage>,
    recording: Recording,
    steadiness: Steadiness,
    start_up: &StartUp,
) -> Measurement {
    // Windows that were joined are seconds apart: a change between them may be one of the machine.
    let drift = window
        .as_ref()
        .and_then(|_| drift_warning(&recording, steadiness.classification));
    let mut measurement = Measurement {
        recording: recording.rounded(),
        start_up: *start_up,
        steadiness: Some(steadiness),
        warnings: drift.into_iter().collect(),
        ..Measurement::default()
    };
    if let Some(window) = window {
        measurement.other_cpu_ns = window.other_cpu_ns();
        measurement.steal_ns = window.service.machine.map(|machine| machine.steal_ns);
        measurement.service = window.service.resources;
        measurement.generator = window.generator.map(|usage| usage.resources);
        measurement.backing_services = window
            .backing_services
            .into_iter()
            .map(|(used, _)| used)
            .collect();
        measurement.warm_up_samples = window.service.before;
        label_one(&mut measurement, window.service.compiler);
    }
    add_contradictions(&mut measurement);
    measurement
}

/// Adds warnings about contradictions in the trial, except those that the recording already has.
pub(crate) fn add_contradictions(measurement: &mut Measurement) {
    for found in measurement.contradictions() {
        let known = measurement.warnings.iter().chain(&measurement.recording.warnings);
        if !known.into_iter().any(|known| known.kind == found.kind) {
            measurement.warnings.push(found);
        }
    }
}

impl WindowUsage {
    /// The resources of the service.
    pub(crate) const fn service(&self) -> &Resources {
        &self.service.resources
    }

    /// CPU time of the service, ns.
    pub(crate) const fn service_cpu_ns(&self) -> Option<u64> {
        self.service.resources.cpu_ns
    }

    /// Number of times that threads of the service left their CPUs.
    pub(crate) const fn context_switches(&self) -> Option<u64> {
        self.service.resources.context_switches
    }

    /// Time that the hypervisor took from the machine, ns.
    pub(crate) fn steal_ns(&self) -> Option<u64> {
        self.service.machine.map(|machine| machine.steal_ns)
    }

    /// Time that the CPU speed probe took on the service's CPUs, ns.
    pub(crate) const fn cpu_speed_probe_ns(&self) -> Option<f64> {
        self.service.cpu_speed_probe_ns
    }

    /// The resources of the service and of its backing services.
    pub(crate) fn into_used(self) -> (Resources, Vec<BackingUsage>) {
        let backing_services = self.backing_services.into_iter().map(|(used, _)| used);
        (self.service.resources, backing_services.collect())
    }

    /// Adds to a failure in this window what the connections of the service waited for, if many did.
    pub(crate) fn with_waits(&self, failure: Failure) -> Failure {
        let waited = bottleneck::waited(self.backing_services.iter().map(|(used, _)| used));
        match waited {
            None => failure,
            Some(waited) => Failure {
                reason: format!("{}; {waited}", failure.reason),
                ..failure
            },
        }
    }

    /// CPU time of other programs, ns.
    pub(crate) fn other_cpu_ns(&self) -> Option<u64> {
        let machine = self.service.machine?;
        let backing_services = self
            .backing_services
            .iter()
            .filter_map(|(_, spent)| spent.as_ref());
        let others = self.generator.iter().chain(backing_services);
        let others: u64 = others.map(|spent| spent.beside_service_ns).sum();
        // Unknown if the service's own CPU time is unknown.
        let own = self.service.resources.cpu_ns? + self.service.supervisor_cpu_ns;
        Some(machine.busy_ns.saturating_sub(own + others))
    }
}

/// Labels a measurement in one piece.
pub(crate) fn label_one(measurement: &mut Measurement, compiler: Option<CompilerKind>) {
    let used = measurement.service.clone();
    label(measurement, compiler, std::slice::from_ref(&used));
}

/// Labels a measurement whose service was not warm, with a warning. `compiler`: what the compiler threads of the service do.
/// `windows`: what it used in each window of the measurement.
pub(crate) fn label(measurement: &mut Measurement, compiler: Option<CompilerKind>, windows: &[Resources]) {
    let Some(steadiness) = &mut measurement.steadiness else {
        return;
    };
    if steadiness.classification == Classification::Cold {
        return;
    }
    let threads = (compiler, steadiness.settled_share);
    if warm_up::is_warming(windows, threads) {
        steadiness.classification = Classification::Warming;
    }
    let warm_up_s = steadiness.warm_up_s + steadiness.light_s.unwrap_or(0.0);
    let warning = match steadiness.classification {
        Classification::Warming => {
            let share = measurement.service.compiler_share();
            let share = share.map_or_else(String::new, |share| {
                format!(": it used {:.0} % of the CPU time", 100.0 * share)
            });
            Warning::new(
                WarningKind::Warming,
                format!(
                    "Its compiler was still at work after {warm_up_s:.0} s of warm-up{share}. It may become several times faster."
                ),
            )
            .advise("Give it longer (`max` of warm_up).")
        }
        Classification::Unsettled => Warning::new(
            WarningKind::Unsettled,
            format!("CPU per request not steady after {warm_up_s:.0} s of warm-up."),
        )
        .advise("Use a quieter machine, or a longer warm-up (`max` of warm_up)."),
        _ => return,
    };
    warning.replace_in(&mut measurement.warnings);
}

fn drift_warning(recording: &Recording, classification: Classification) -> Option<Warning> {
    if classification == Classification::Cold {
        // It is measured while it becomes faster, as requested.
        return None;
    }
    // Only recordings of tests have an unknown load.
    let load = Load::deserialize(&recording.load).ok();
    let pace = load.as_ref().map_or(Pace::OfService, Pace::of);
    let change = warm_up::drift(&recording.intervals, pace)?;
    Some(Warning::drift(change, "during measurement"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::{Interval, WarningKind};

    #[test]
    fn a_cold_service_may_become_faster() {
        let faster = |number: u64| Interval {
            start_s: number as f64 / 10.0,
            length_s: 0.1,
            completed: 100 * (number + 1),
            valid: 100 * (number + 1),
            errors: 0,
            messages: None,
            response_time_ns_p50: None,
            response_time_ns_p99: None,
        };
        let recording = Recording {
            intervals: (0..50).map(faster).collect(),
            ..Recording::default()
        };
        let found = |classification| drift_warning(&recording, classification).map(|warning| warning.kind);
        assert_eq!(found(Classification::Settled), Some(WarningKind::SpeedingUp));
        assert_eq!(found(Classification::Cold), None);
    }
}
