//! Resource usage during the measurement, and the measurement that it becomes part of.

use crate::Failure;
use crate::bottleneck;
use crate::generators::{GeneratorUsage, RunningLoad};
use crate::start::StartedService;
use crate::warm_up::{self, Pace};
use prony_host::Usage;
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
    start_up: StartUp,
) -> Measurement {
    let mut warnings = Vec::new();
    warnings.extend(warm_up_warning(&steadiness));
    warnings.extend(slowdown_warning(&recording));
    let mut measurement = Measurement {
        recording: recording.rounded(),
        start_up,
        steadiness: Some(steadiness),
        warnings,
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
    /// CPU time of the service, ns.
    pub(crate) const fn service_cpu_ns(&self) -> Option<u64> {
        self.service.resources.cpu_ns
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

fn warm_up_warning(steadiness: &Steadiness) -> Option<Warning> {
    let seconds = steadiness.warm_up_s;
    match steadiness.classification {
        Classification::NoSteadyState => Some(Warning::new(
            WarningKind::NotSteady,
            format!("it was not steady after {seconds:.1} s of warm-up: give it longer (--warmup)"),
        )),
        Classification::SlowingDown => Some(Warning::new(
            WarningKind::SlowingDown,
            format!("it became slower in the {seconds:.1} s of its warm-up"),
        )),
        Classification::Flat | Classification::WarmedUp | Classification::Short | Classification::Fixed => {
            None
        }
    }
}

fn slowdown_warning(recording: &Recording) -> Option<Warning> {
    // Only recordings of tests have an unknown load.
    let load = Load::deserialize(&recording.load).ok();
    let pace = load.as_ref().map_or(Pace::OfService, Pace::of);
    let share = warm_up::slowed_down(&recording.intervals, pace)?;
    let text = format!(
        "its throughput fell by {:.0} % within the measurement",
        share * 100.0
    );
    Some(Warning::new(WarningKind::SlowingDown, text))
}
