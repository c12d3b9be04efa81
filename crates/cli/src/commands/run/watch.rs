//! What a run does with what happens: keeps each trial, shows it, decides after each round whether another one is wanted.

use super::view::View;
use crate::reporting;
use prony_measurement::{RunRecord, TrialRecord};
use prony_plan::Plan;
use prony_statistics::{Decision, Progress as RunProgress, StopRule, next_round};
use prony_store::{Progress as StoredProgress, Store};
use prony_trial::{Progress, Watcher};
use std::time::{Duration, Instant, SystemTime};

/// Rounds before a stop for precision is considered.
const FEWEST_ROUNDS: u32 = 5;
/// Time between two notes of the progress in the store.
const NOTE_EVERY: Duration = Duration::from_millis(500);

pub(super) struct Watch<'a> {
    store: &'a Store,
    record: &'a RunRecord,
    plan: &'a Plan,
    view: &'a mut View,
    began: Instant,
    noted: Option<Instant>,
    now: StoredProgress,
}

impl<'a> Watch<'a> {
    pub(super) fn new(store: &'a Store, record: &'a RunRecord, plan: &'a Plan, view: &'a mut View) -> Self {
        let now = StoredProgress {
            at: record.started_at.clone(),
            done: 0,
            planned: plan.len(),
            eta_s: None,
            service: None,
            contract: None,
            workload: None,
            step: None,
            phase: None,
            throughput_per_s: None,
            response_time_ns_p99: None,
        };
        Self {
            store,
            record,
            plan,
            view,
            began: Instant::now(),
            noted: None,
            now,
        }
    }

    pub(super) fn done(&mut self) {
        self.view.done();
    }

    /// Keeps up what those see who watch from another process. A note that fails costs nothing but that.
    fn note(&mut self, progress: &Progress) {
        match progress {
            Progress::Begins {
                number,
                remaining,
                service,
                workload,
                ..
            } => {
                self.now.done = number.saturating_sub(1);
                self.now.eta_s = Some(remaining.as_secs_f64());
                self.now.service = Some(service.clone());
                self.now.workload = Some(workload.clone());
                self.now.step = Some("start".to_owned());
                self.now.phase = None;
                self.noted = None;
            }
            Progress::Phase(phase) => {
                self.now.phase = Some(*phase);
                self.now.step = None;
                self.noted = None;
            }
            Progress::Interval {
                throughput_per_s,
                response_time_ns_p99,
                ..
            } => {
                self.now.throughput_per_s = Some(*throughput_per_s);
                self.now.response_time_ns_p99 = *response_time_ns_p99;
            }
            Progress::Ended(_) => self.now.done += 1,
            _ => return,
        }
        if self.noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY) {
            self.now.at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
            let _ = self.store.set_progress(&self.record.id, &self.now);
            self.noted = Some(Instant::now());
        }
    }

    fn decide(&self, round: u32) -> anyhow::Result<bool> {
        let trials = self.store.trials(&self.record.id)?;
        let summary = reporting::summary(self.record, &trials)?;
        let rule = StopRule {
            precision: self.plan.precision,
            fewest_rounds: FEWEST_ROUNDS,
            most_rounds: self.plan.rounds,
            budget_s: self.plan.budget_ns.map(|ns| ns as f64 / 1e9),
        };
        let spent_s = self.began.elapsed().as_secs_f64();
        let progress = RunProgress {
            rounds: round + 1,
            spent_s,
            next_round_s: spent_s / f64::from(round + 1),
        };
        Ok(!matches!(
            next_round(&summary.groups, &rule, &progress),
            Decision::Stop(_)
        ))
    }
}

impl Watcher for Watch<'_> {
    fn saw(&mut self, progress: Progress) {
        self.note(&progress);
        self.view.saw(&progress);
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), String> {
        let kept = self.store.append_trial(&self.record.id, record);
        kept.map(drop).map_err(|error| error.to_string())
    }

    fn wants_more(&mut self, round: u32) -> bool {
        // Numbers that cannot be computed yet are no reason to stop.
        self.decide(round).unwrap_or(true)
    }
}
