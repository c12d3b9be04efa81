//! Sends the metrics of a run to a collector (`--otlp`), in addition to showing the run to the user.

use super::view::View;
use anyhow::Context as _;
use prony_config::{Catalogue, Plan};
use prony_records::{RunRecord, TrialRecord, load_id};
use prony_report::describe_load;
use prony_runner::Progress;
use prony_runner::{BuildResults, SessionObserver};
use prony_telemetry::{Exporter, IntervalCounts, Labels};

pub(super) struct LiveRun<'a> {
    view: &'a mut View,
    exporter: Exporter,
    /// By entry of the plan.
    labels: Vec<Labels>,
    /// The entry of each trial, in the order of the plan.
    entries: Vec<usize>,
    /// The entry that is being loaded.
    now: Option<usize>,
}

impl<'a> LiveRun<'a> {
    pub(super) fn new(
        view: &'a mut View,
        exporter: Exporter,
        plan: &Plan,
        catalogue: &Catalogue,
    ) -> anyhow::Result<Self> {
        let of = |entry: &prony_config::Entry| {
            let group = plan.group_of(entry);
            let contract = catalogue.contracts.get(&group.contract);
            let contract = contract.with_context(|| format!("no contract `{}`", group.contract))?;
            let workload = contract.workload(&group.workload, entry.channel.protocol())?;
            let is_sequence = contract.is_sequence(&group.workload);
            let mut labels = Labels::of(entry.channel.protocol(), &workload);
            labels.set("prony.service", entry.service.clone());
            labels.set("prony.variant", entry.variant.clone());
            labels.set("prony.contract", group.contract.clone());
            labels.set("prony.workload", group.workload.clone());
            let load = group.load_record();
            labels.set("prony.load", describe_load(&load, is_sequence));
            labels.set("prony.load_id", load_id(&load));
            Ok(labels)
        };
        let labels: anyhow::Result<Vec<Labels>> = plan.entries.iter().map(of).collect();
        Ok(Self {
            view,
            exporter,
            labels: labels?,
            entries: plan.trials().map(|planned| planned.entry).collect(),
            now: None,
        })
    }

    fn warn(&self) {
        if let Some(text) = self.exporter.warning() {
            self.view.message(&format!("warning: {text}"));
        }
    }
}

impl SessionObserver for LiveRun<'_> {
    fn message(&self, text: &str) {
        self.view.message(text);
    }

    fn build_progress(&self, progress: &Progress) {
        self.view.build_progress(progress);
    }

    fn builds_done(&self, built: &BuildResults) {
        self.view.builds_done(built);
    }

    fn run_started(&mut self, run: &RunRecord) {
        for labels in &mut self.labels {
            labels.set("prony.run", run.id.clone());
        }
        self.view.run_started(run);
    }

    fn stored_trials(&mut self, trials: &[TrialRecord]) {
        self.view.stored_trials(trials);
    }

    fn progress(&mut self, progress: &Progress) {
        let entry_of = |trial: u32| self.entries.get(trial as usize).copied();
        match progress {
            Progress::Begins { number, .. } => self.now = entry_of(number.saturating_sub(1)),
            Progress::Turn { number } => self.now = entry_of(*number),
            Progress::Loads { number, host, port } => {
                if let Some(labels) = entry_of(*number).and_then(|entry| self.labels.get_mut(entry)) {
                    labels.set("server.address", host.clone());
                    labels.set("server.port", *port);
                }
            }
            Progress::Phase(phase) => {
                if let Some(labels) = self.now.and_then(|entry| self.labels.get(entry)) {
                    self.exporter.phase(labels, *phase, None);
                }
            }
            Progress::Interval {
                phase,
                interval,
                times,
                failures,
            } => {
                let counted = IntervalCounts {
                    interval,
                    failures,
                    times,
                };
                if let Some(labels) = self.now.and_then(|entry| self.labels.get(entry)) {
                    self.exporter.interval(labels, *phase, counted);
                }
            }
            _ => {}
        }
        self.warn();
        self.view.progress(progress);
    }

    fn trials_done(&mut self) {
        self.exporter.finish();
        self.warn();
        self.view.trials_done();
    }
}
