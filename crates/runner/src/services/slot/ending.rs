//! The end of a service, and the attempts that it leaves.

use super::ServiceSlot;
use super::trial::SlotTrial;
use crate::Failure;
use crate::failure::fault_of;
use crate::history::Attempt;
use crate::schedule::OnFailure;
use crate::services::ready_service::LOG_LINES;
use crate::trial;
use prony_config::Plan;
use prony_host::{ExitReport, HostError};
use prony_records::{Exclusion, Fault, TrialRecord, TrialStage, Warning, WarningKind};

impl ServiceSlot<'_> {
    /// Ends the service after a failed step. A failure before any load applies to all of its trials; a failure under a load applies to
    /// that trial, or to all if the block goes on without the service.
    pub(crate) fn fail(&mut self, failure: Failure, on_failure: OnFailure) {
        let loaded = self.load.take().map(|load| load.run.load);
        self.has_failed = true;
        let is_interrupted = failure.is_interrupted();
        let excluded = match self.ready.take() {
            Some(ready) => ready.end_after(failure),
            None => failure.with_log(Vec::new()),
        };
        let mut open = (0..self.trials.len()).filter(|&index| self.trials[index].is_open());
        let Some(first) = open.next().filter(|_| !is_interrupted) else {
            return;
        };
        let is_loaded = |&index: &usize| loaded == Some(self.trials[index].planned.entry);
        let index = open.find(is_loaded).unwrap_or(first);
        let is_of_all = on_failure == OnFailure::DropSlot
            || excluded.fault == Fault::Service
                && matches!(excluded.stage, TrialStage::Start | TrialStage::Check);
        let rest = Exclusion {
            reason: format!(
                "its start failed under `{}`: {}",
                self.trials[index].workload(),
                excluded.reason
            ),
            ..excluded.clone()
        };
        self.end_trial(index, Err(excluded));
        while let Some(next) = self
            .trials
            .iter()
            .position(SlotTrial::is_open)
            .filter(|_| is_of_all)
        {
            self.end_trial(next, Err(rest.clone()));
            self.trials[next].clear_start();
        }
    }

    /// Stops the service. What is found now applies to all of its trials: a warning, or a failure that invalidates them. Returns notes
    /// about invalidated trials whose end was already shown.
    pub(crate) fn stop(&mut self) -> Vec<Warning> {
        let Some(mut ready) = self.ready.take() else {
            return Vec::new();
        };
        let service = &mut ready.subject.service;
        let ended = service.ended();
        let stopped = service.stop();
        let changed = stopped
            .as_ref()
            .ok()
            .and_then(|ending| ready.subject.build.changed_by_service(ending));
        let judged = match ended {
            Some(ending) => Err(Failure::service_ended(
                TrialStage::Measure,
                &ending,
                format!("the service {ending} after its last load"),
            )),
            None => judge_stop(stopped),
        };
        let judged = judged.map_err(|failure| failure.with_log(service.log_tail(LOG_LINES)));
        let mut invalidated = Vec::new();
        for one in &mut self.trials {
            let Some(record) = &mut one.record else { continue };
            match (&judged, &mut record.result) {
                (Ok(warning), Ok(measurement)) => {
                    measurement
                        .warnings
                        .extend(warning.iter().chain(&changed).cloned());
                }
                (Err(excluded), result @ Ok(_)) => {
                    *result = Err(excluded.clone());
                    if one.is_shown {
                        let text = format!("{} {}: {}", record.service, record.workload, excluded.reason);
                        invalidated.push(Warning::new(WarningKind::Note, text));
                    }
                }
                (_, Err(_)) => {}
            }
        }
        invalidated
    }

    /// Returns failed attempts and reopens their trials, for another start.
    pub(crate) fn take_failed_attempts(&mut self) -> Vec<Attempt> {
        self.has_failed = false;
        self.warmed.clear();
        let mut attempts = Vec::new();
        for one in &mut self.trials {
            if let Some(record) = one.record.take_if(|record| record.result.is_err()) {
                attempts.push(one.attempt(record));
                one.began = None;
                one.windows = Vec::new();
                one.is_shown = false;
            }
        }
        attempts
    }

    /// Ended trials that were not shown yet, if the start serves several.
    pub(crate) fn take_newly_ended(&mut self) -> Vec<TrialRecord> {
        if self.trials.len() == 1 {
            return Vec::new();
        }
        let new = self.trials.iter_mut().filter(|one| !one.is_shown);
        new.filter_map(|one| {
            one.is_shown = one.record.is_some();
            one.record.clone()
        })
        .collect()
    }

    /// An attempt for each ended trial, and for each that could not be tried.
    pub(crate) fn into_attempts(mut self, plan: &Plan) -> Vec<Attempt> {
        let is_alone = self.trials.len() == 1;
        let mut attempts = Vec::new();
        for one in &mut self.trials {
            let record = match (&one.parts, one.record.take()) {
                (Err(excluded), _) => trial::record(plan, one.planned, None, Err(excluded.clone())),
                (Ok(_), Some(mut record)) => {
                    if let Some(began) = one.began.filter(|_| is_alone) {
                        record.took_s = began.elapsed().as_secs_f64();
                    }
                    record
                }
                (Ok(_), None) => continue,
            };
            attempts.push(one.attempt(record));
        }
        attempts
    }
}

/// Judges how a running service stopped.
fn judge_stop(stopped: Result<ExitReport, HostError>) -> Result<Option<Warning>, Failure> {
    let ending = stopped.map_err(|error| Failure::host(TrialStage::Stop, &error))?;
    if ending.why.is_some() {
        // One of several processes; the service as a whole continued.
        return Err(Failure {
            fault: fault_of(&ending),
            ..Failure::new(TrialStage::Measure, format!("one of its processes {ending}"))
        });
    }
    let text = "Killed: it ignored SIGTERM.";
    Ok(ending.ignored_term.then(|| Warning::new(WarningKind::Note, text)))
}
