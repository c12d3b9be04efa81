//! What was used in the measurement, by whom.

use super::start::Subject;
use crate::generator::Loading;
use crate::{Failure, steady};
use prony_host::Usage;
use prony_measurement::{
    Classification, Measurement, Recording, Stage, StartUp, Steadiness, Warning, WarningKind,
};

/// The resources of all in the measurement.
pub(super) struct Window {
    service: Usage,
    generator: Option<Usage>,
    backend: Option<Usage>,
}

/// The measurement begins. The service is first and last: its window is the one that must be exact.
pub(super) fn begin(subject: &mut Subject, loading: &mut dyn Loading) -> Result<(), Failure> {
    subject
        .service
        .begin_window()
        .map_err(|error| Failure::host(Stage::Measure, &error))?;
    loading.begin_window();
    if let Some(backend) = &mut subject.backend {
        let _ = backend.process.begin_window();
    }
    Ok(())
}

/// The measurement ends.
pub(super) fn end(subject: &mut Subject, loading: &mut dyn Loading) -> Result<Window, Failure> {
    Ok(Window {
        service: subject
            .service
            .end_window()
            .map_err(|error| Failure::host(Stage::Measure, &error))?,
        generator: loading.end_window(),
        backend: subject
            .backend
            .as_mut()
            .and_then(|backend| backend.process.end_window().ok()),
    })
}

impl Window {
    /// The record of the measurement.
    pub(super) fn measurement(
        self,
        recording: Recording,
        steadiness: Steadiness,
        start_up: StartUp,
    ) -> Measurement {
        let mut warnings = Vec::new();
        warnings.extend(unsteady(&steadiness));
        warnings.extend(slower(&recording));
        Measurement {
            other_cpu_ns: self.other_cpu_ns(),
            steal_ns: self.service.machine.map(|machine| machine.steal_ns),
            recording,
            service: self.service.resources,
            generator: self.generator.map(|usage| usage.resources),
            backend: self.backend.map(|usage| usage.resources),
            start_up,
            steadiness: Some(steadiness),
            service_cpus: Vec::new(),
            generator_cpus: Vec::new(),
            warm_up_samples: self.service.before,
            warnings,
        }
    }

    /// CPU time that none of ours used.
    fn other_cpu_ns(&self) -> Option<u64> {
        let machine = self.service.machine?;
        let usages = [
            Some(&self.service),
            self.generator.as_ref(),
            self.backend.as_ref(),
        ];
        let own: u64 = usages
            .into_iter()
            .flatten()
            .map(|usage| usage.resources.cpu_ns.unwrap_or(0) + usage.supervisor_cpu_ns)
            .sum();
        // Without the service's own share nothing can be said about the others'.
        self.service.resources.cpu_ns?;
        Some(machine.busy_ns.saturating_sub(own))
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
        Classification::Flat | Classification::WarmedUp | Classification::Fixed => None,
    }
}

fn slower(recording: &Recording) -> Option<Warning> {
    let share = steady::slowed_down(&recording.intervals)?;
    let text = format!(
        "its throughput fell by {:.0} % within the measurement",
        share * 100.0
    );
    Some(Warning::new(WarningKind::SlowingDown, text))
}
