//! Assembles the measurement of a trial from its windows.

use super::ready_service::ReadyService;
use crate::bottleneck::backing_service_bound;
use crate::noise::neighbours;
use crate::schedule::{LoadPath, WindowPosition};
use crate::usage::{self, WindowUsage, add_contradictions};
use crate::warm_up::WarmUpResult;
use crate::{Failure, RunContext, TrialPlacement};
use prony_config::Plan;
use prony_records::{
    BackingUsage, Bottleneck, InterleavedWindow, InterleavedWindows, Measurement, PairedBlock, PairedBlocks,
    Recording, Resources, TrialStage, Warning, WarningKind,
};

/// One measured window of a trial.
#[derive(Clone)]
pub(super) struct MeasuredWindow {
    pub(super) recording: Recording,
    pub(super) usage: WindowUsage,
    /// Its position, if the trial is interleaved.
    pub(super) position: Option<WindowPosition>,
    /// Its path, if the trial is paired.
    pub(super) path: Option<LoadPath>,
}

/// The facts about a trial in addition to its windows.
pub(super) struct TrialFacts<'a> {
    pub(super) ready: &'a ReadyService,
    pub(super) placement: &'a TrialPlacement,
    pub(super) warmed: Option<&'a WarmUpResult>,
    /// Whether its start also serves other trials.
    pub(super) is_shared: bool,
    /// Whether its start has served another trial before.
    pub(super) is_later: bool,
}

impl TrialFacts<'_> {
    /// The measurement of these windows.
    pub(super) fn measurement(
        &self,
        windows: Vec<MeasuredWindow>,
        context: &RunContext<'_>,
    ) -> Result<Measurement, Failure> {
        let is_interleaved = windows.iter().any(|window| window.position.is_some());
        let is_paired = windows.iter().any(|window| window.path.is_some());
        let mut measurement = if is_paired {
            self.paired(windows)?
        } else if is_interleaved {
            self.joined(windows, context)?
        } else {
            let one = windows.into_iter().next_back();
            let one =
                one.ok_or_else(|| Failure::infrastructure(TrialStage::Measure, "no window was measured"))?;
            self.single(one.recording, Some(one.usage))?
        };
        let blames = self.ready.subject.backing_services.blames();
        measurement
            .warnings
            .extend(blames.map(|text| Warning::new(WarningKind::Errors, text)));
        Ok(measurement)
    }

    fn single(&self, recording: Recording, usage: Option<WindowUsage>) -> Result<Measurement, Failure> {
        let steadiness = self.warmed()?.steadiness.clone();
        let warm_up_s = steadiness.warm_up_s;
        let mut measurement = usage::measurement(usage, recording, steadiness, &self.ready.start_up);
        measurement.after.clone_from(&self.ready.invariants.found);
        let placement = &self.placement.placement;
        measurement.service_cpus = placement.service.cpus.as_slice().to_vec();
        measurement.generator_cpus = placement.generator().cpus.as_slice().to_vec();
        let bound = backing_service_bound(&measurement, placement);
        measurement.warnings.extend(bound);
        measurement.warnings.extend(self.ready.warnings.iter().cloned());
        if self.placement.slot.is_some() {
            // The CPU time of the other slots is not noise.
            measurement.other_cpu_ns = None;
        }
        if self.is_later {
            // It holds what earlier loads left behind.
            measurement.service.forget_memory();
        }
        if self.is_shared {
            // Earlier samples belong to other loads.
            measurement
                .warm_up_samples
                .retain(|sample| sample.at_s >= -warm_up_s);
        }
        Ok(measurement)
    }

    /// Windows of one service as one measurement.
    fn single_of(&self, windows: Vec<MeasuredWindow>) -> Result<Measurement, Failure> {
        let (mut recordings, mut service, mut backing_services) = (Vec::new(), Vec::new(), Vec::new());
        for window in windows {
            recordings.push(window.recording);
            let (resources, used) = window.usage.into_used();
            service.push(resources);
            backing_services.push(used);
        }
        let failed = |text: String| Failure::infrastructure(TrialStage::Measure, text);
        let joined = Recording::join(&recordings).map_err(|error| failed(error.to_string()))?;
        let joined = joined.ok_or_else(|| failed("no window was measured".to_owned()))?;
        let mut measurement = self.single(joined, None)?;
        measurement.service = Resources::join(&service);
        if self.is_later {
            measurement.service.forget_memory();
        }
        measurement.backing_services = BackingUsage::join(&backing_services);
        add_contradictions(&mut measurement);
        let bound = backing_service_bound(&measurement, &self.placement.placement);
        measurement.warnings.extend(bound);
        Ok(measurement)
    }

    /// The blocks of a paired trial as one measurement: that of the blocks via the service, or of the last one if their loads differ.
    fn paired(&self, windows: Vec<MeasuredWindow>) -> Result<Measurement, Failure> {
        let blocks = windows.iter().map(paired_block).collect();
        let is_held =
            |window: &MeasuredWindow| matches!(window.path, Some(LoadPath::Via { streams: Some(_) }));
        let mut via: Vec<MeasuredWindow> = windows
            .into_iter()
            .filter(|window| window.path != Some(LoadPath::Direct))
            .collect();
        if via.iter().any(is_held) {
            via.drain(..via.len() - 1);
        }
        let sum = |of: fn(&WindowUsage) -> Option<u64>| {
            let each = via.iter().map(|window| of(&window.usage));
            each.sum::<Option<u64>>()
        };
        let (other_cpu_ns, steal_ns) = (sum(WindowUsage::other_cpu_ns), sum(WindowUsage::steal_ns));
        let mut measurement = self.single_of(via)?;
        (measurement.other_cpu_ns, measurement.steal_ns) = (other_cpu_ns, steal_ns);
        usage::label_one(&mut measurement, self.warmed()?.compiler);
        measurement.paired = Some(PairedBlocks { blocks });
        Ok(measurement)
    }

    /// All windows of an interleaved trial as one measurement.
    fn joined(&self, windows: Vec<MeasuredWindow>, context: &RunContext<'_>) -> Result<Measurement, Failure> {
        let warmed = self.warmed()?;
        let records: Vec<InterleavedWindow> = windows.iter().map(window_record).collect();
        let used: Vec<Resources> = windows
            .iter()
            .map(|window| window.usage.service().clone())
            .collect();
        let mut measurement = self.single_of(windows)?;
        if measurement.recording.due() == 0 {
            let text = "no request was due in any of its windows: the rate is too low for their length";
            return Err(Failure::infrastructure(TrialStage::Measure, text));
        }
        if self.placement.placement.generator_shares_cpus() {
            // It waits for the service and the service for it: that is no limit.
            let limits = |warning: &Warning| warning.kind.facts().bottleneck == Some(Bottleneck::Generator);
            measurement.recording.warnings.retain(|warning| !limits(warning));
        }
        let sum = |of: fn(&InterleavedWindow) -> Option<u64>| records.iter().map(of).sum::<Option<u64>>();
        measurement.other_cpu_ns = sum(|window| window.other_cpu_ns);
        measurement.steal_ns = sum(|window| window.steal_ns);
        let cpus = context.host().topology().cpus().len();
        measurement.warnings.extend(neighbours(&records, cpus));
        usage::label(&mut measurement, warmed.compiler, &used);
        measurement.interleaved = Some(InterleavedWindows {
            rested: true,
            warm_up_cpu_ns: warmed.used_ns,
            windows: records,
        });
        Ok(measurement)
    }

    fn warmed(&self) -> Result<&WarmUpResult, Failure> {
        self.warmed
            .ok_or_else(|| Failure::infrastructure(TrialStage::WarmUp, "it was not warmed up"))
    }
}

fn paired_block(window: &MeasuredWindow) -> PairedBlock {
    let (direct, streams) = match window.path {
        Some(LoadPath::Via { streams }) => (false, streams),
        Some(LoadPath::Direct) | None => (true, None),
    };
    PairedBlock::of(direct, streams, &window.recording, window.usage.service())
}

fn window_record(window: &MeasuredWindow) -> InterleavedWindow {
    let MeasuredWindow {
        recording,
        usage,
        position,
        path: _,
    } = window;
    let times = recording.response_time_ns;
    InterleavedWindow {
        block: position.map_or(0, |position| position.block),
        cycle: position.map_or(0, |position| position.cycle),
        place: position.map_or(0, |position| position.place),
        length_s: recording.duration_s,
        completed: recording.replies(),
        valid: recording.valid_replies(),
        cpu_ns: usage.service_cpu_ns(),
        context_switches: usage.context_switches(),
        other_cpu_ns: usage.other_cpu_ns(),
        steal_ns: usage.steal_ns(),
        response_time_ns_p50: times.map(|times| times.p50),
        response_time_ns_p99: times.map(|times| times.p99),
        cpu_speed_probe_ns: usage.cpu_speed_probe_ns(),
    }
}

/// Fails if the recording has no result, or if it has errors and the suite allows none.
pub(super) fn judge_recording(plan: &Plan, recording: &Recording) -> Result<(), Failure> {
    if let Some(excluded) = recording.exclusion() {
        let text = match recording.errors_in_words() {
            errors if errors.is_empty() => excluded.reason,
            errors => format!("{} ({errors})", excluded.reason),
        };
        return Err(Failure {
            fault: excluded.fault,
            ..Failure::new(excluded.stage, text)
        });
    }
    if plan.no_errors && recording.outcomes.errors() > 0 {
        let errors = recording.errors_in_words();
        let text = format!("there were errors, and the suite allows none ({errors})");
        return Err(Failure::new(TrialStage::Measure, text));
    }
    Ok(())
}
