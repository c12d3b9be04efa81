//! What was used in the measurement, by whom.

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

/// The resources of all in the measurement.
#[derive(Clone)]
pub(crate) struct WindowUsage {
    service: Usage,
    generator: Option<GeneratorUsage>,
    backing_services: Vec<(BackingUsage, Option<GeneratorUsage>)>,
}

/// The measurement begins. The service is first and last: its window is the one that must be exact.
pub(crate) fn begin(subject: &mut StartedService, loading: &mut dyn RunningLoad) -> Result<(), Failure> {
    subject
        .service
        .begin_window()
        .map_err(|error| Failure::host(TrialStage::Measure, &error))?;
    loading.begin_window();
    subject.backing_services.begin_window();
    Ok(())
}

/// The measurement ends.
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

/// The record of the measurement; without a window nothing is known of resources.
pub(crate) fn measurement(
    window: Option<WindowUsage>,
    recording: Recording,
    steadiness: Steadiness,
    start_up: StartUp,
) -> Measurement {
    let mut warnings = Vec::new();
    warnings.extend(unsteady(&steadiness));
    warnings.extend(slower(&recording));
    let mut measurement = Measurement {
        other_cpu_ns: None,
        steal_ns: None,
        recording: recording.rounded(),
        service: Resources::default(),
        generator: None,
        backing_services: Vec::new(),
        after: Vec::new(),
        start_up,
        steadiness: Some(steadiness),
        service_cpus: Vec::new(),
        generator_cpus: Vec::new(),
        interleaved: None,
        warm_up_samples: Vec::new(),
        warnings,
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

/// Adds what in the trial contradicts itself; the recording has said what it knows of that already.
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

    /// A failure within it, with what the service's connections waited for meanwhile, where that was much.
    pub(crate) fn beside(&self, failure: Failure) -> Failure {
        let waited = bottleneck::waited(self.backing_services.iter().map(|(used, _)| used));
        match waited {
            None => failure,
            Some(waited) => Failure {
                reason: format!("{}; {waited}", failure.reason),
                ..failure
            },
        }
    }

    /// CPU time that none of ours used.
    pub(crate) fn other_cpu_ns(&self) -> Option<u64> {
        let machine = self.service.machine?;
        let backing_services = self
            .backing_services
            .iter()
            .filter_map(|(_, spent)| spent.as_ref());
        let beside = self.generator.iter().chain(backing_services);
        let beside: u64 = beside.map(|spent| spent.beside_service_ns).sum();
        // Without the service's own share nothing can be said about the others'.
        let own = self.service.resources.cpu_ns? + self.service.supervisor_cpu_ns;
        Some(machine.busy_ns.saturating_sub(own + beside))
    }
}

fn unsteady(steadiness: &Steadiness) -> Option<Warning> {
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

fn slower(recording: &Recording) -> Option<Warning> {
    // A recording whose load is not known is that of a test.
    let load = Load::deserialize(&recording.load).ok();
    let pace = load.as_ref().map_or(Pace::OfService, Pace::of);
    let share = warm_up::slowed_down(&recording.intervals, pace)?;
    let text = format!(
        "its throughput fell by {:.0} % within the measurement",
        share * 100.0
    );
    Some(Warning::new(WarningKind::SlowingDown, text))
}
