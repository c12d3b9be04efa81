//! The contract of a service: checked before any load, and again after it.

use super::ServiceSlot;
use crate::services::ready_service::request;
use crate::services::{RECHECK_PAUSE, RECHECKS};
use crate::start::{self, ServiceTargets};
use crate::trial::{self, Trial};
use crate::{Failure, Progress, Run, RunContext};
use prony_config::{Service, WorkerKind};
use prony_host::{Placement, Process};
use prony_records::{TrialStage, Warning, WarningKind};
use std::thread;

impl<'a> ServiceSlot<'a> {
    /// Checks the contract before any load.
    pub(crate) fn check(&mut self, run: &Run<'_>, watch: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        if run.context.cancel.is_now() {
            return Err(Failure::interrupted(TrialStage::Check));
        }
        let trial = self.open_parts().expect("invariant: a trial has begun");
        let trials = self.one_trial_per_channel();
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        let targets = ready.subject.targets.clone();
        let subject = &mut ready.subject;
        let mut warnings = Vec::new();
        for trial in trials {
            // Only in the first round: these checks take seconds, and their result does not vary between starts.
            let checked = if trial.planned.round == 0 {
                Some(prony_check::CheckedService {
                    backing: &mut subject.backing_services,
                    cpu_time: &mut |window| start::cpu_time(&mut *subject.service, window),
                })
            } else {
                None
            };
            let report = prony_check::check_beside(&request(&trial, &targets), checked)?;
            watch(Progress::Checked(Box::new(
                report.row(&trial::service_id(trial.entry())),
            )));
            if let Some(failure) = report.first_failure() {
                // The interrupt ends the service, too.
                if run.context.cancel.is_now() {
                    return Err(Failure::interrupted(TrialStage::Check));
                }
                let over = if trial.entry().channel.is_tls() {
                    " over TLS"
                } else {
                    ""
                };
                return Err(Failure::new(
                    TrialStage::Check,
                    format!("it breaks its contract{over}: {failure}"),
                ));
            }
            warnings.extend(report.warnings);
        }
        let mut all = warnings_of_start(&trial, &self.placement.placement, &*subject.service);
        all.extend(warnings);
        ready.warnings = all;
        Ok(())
    }

    /// An open trial for each channel of the start.
    fn one_trial_per_channel(&self) -> Vec<Trial<'a>> {
        let mut chosen: Vec<Trial<'a>> = Vec::new();
        let open = self.trials.iter().filter(|one| one.is_open());
        for trial in open.filter_map(|one| one.parts.as_ref().ok()) {
            if chosen
                .iter()
                .all(|known| known.entry().channel != trial.entry().channel)
            {
                chosen.push(*trial);
            }
        }
        chosen
    }
}

/// Checks the contract after the load: a service that no longer fulfils it is excluded.
pub(super) fn check_again(
    context: &RunContext<'_>,
    trial: &Trial<'_>,
    targets: &ServiceTargets,
    watch: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let request = request(trial, targets);
    let mut last = None;
    for attempt in 0..RECHECKS {
        if context.cancel.is_now() {
            return Err(Failure::interrupted(TrialStage::Recheck));
        }
        if attempt > 0 {
            thread::sleep(RECHECK_PAUSE);
        }
        let report = prony_check::recheck(&request);
        match report.first_failure() {
            None => return Ok(()),
            Some(failure) => last = Some((failure, report)),
        }
    }
    let Some((failure, report)) = last else {
        return Ok(());
    };
    if context.cancel.is_now() {
        return Err(Failure::interrupted(TrialStage::Recheck));
    }
    watch(Progress::Checked(Box::new(
        report.row(&trial::service_id(trial.entry())),
    )));
    Err(Failure::new(
        TrialStage::Recheck,
        format!("after the load it breaks its contract: {failure}"),
    ))
}

/// Warnings about a service and its place.
pub(super) fn warnings_of_start(
    trial: &Trial<'_>,
    placement: &Placement,
    service: &dyn Process,
) -> Vec<Warning> {
    let set = placement.warnings.iter().chain(service.warnings());
    let mut warnings: Vec<Warning> = set.cloned().collect();
    warnings.extend(one_cpu(trial.service, placement));
    warnings.extend(start::external_note(trial.service, trial.plan.limits));
    warnings
}

fn one_cpu(service: &Service, placement: &Placement) -> Option<Warning> {
    let several = placement.service.cpus.len();
    (service.workers.kind == Some(WorkerKind::OneCpu) && several > 1).then(|| {
        let text = format!("Uses only one of {several} CPUs ({}).", service.workers.note);
        Warning::new(WarningKind::OneCpu, text)
    })
}
