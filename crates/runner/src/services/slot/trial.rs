//! One trial of a service.

use crate::backing::SeededContracts;
use crate::history::{Attempt, History};
use crate::services::measurement::MeasuredWindow;
use crate::trial::{self, Trial};
use crate::{Run, StartTime};
use prony_config::contract::Contract;
use prony_config::{GroupPlan, PlannedTrial, Service};
use prony_load::Protocol;
use prony_records::{Exclusion, Fault, TrialRecord, TrialStage, Warning};

/// One trial of a service.
pub(super) struct SlotTrial<'a> {
    pub(super) planned: PlannedTrial,
    /// The trial, or why it cannot be tried.
    pub(super) parts: Result<Trial<'a>, Exclusion>,
    pub(super) began: Option<StartTime>,
    pub(super) windows: Vec<MeasuredWindow>,
    /// Warnings of the design about its measurement.
    pub(super) warnings: Vec<Warning>,
    /// The record of the finished trial.
    pub(super) record: Option<TrialRecord>,
    /// Whether its end has been shown.
    pub(super) is_shown: bool,
}

impl<'a> SlotTrial<'a> {
    pub(super) fn new(
        planned: PlannedTrial,
        run: &'a Run<'a>,
        contracts: &'a SeededContracts<'a>,
        history: &History<'_>,
    ) -> Self {
        Self {
            planned,
            parts: parts(planned, run, contracts, history),
            began: None,
            windows: Vec::new(),
            warnings: Vec::new(),
            record: None,
            is_shown: false,
        }
    }

    /// Whether it can be tried and is not over.
    pub(super) const fn is_open(&self) -> bool {
        self.parts.is_ok() && self.record.is_none()
    }

    pub(super) fn is_measured(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.result.is_ok())
    }

    pub(super) fn workload(&self) -> &str {
        self.parts.as_ref().map_or("", |trial| &trial.group().workload)
    }

    /// Removes start and duration from the record of a trial that was not started itself.
    pub(super) fn clear_start(&mut self) {
        if let Some(record) = &mut self.record {
            record.start = None;
            record.took_s = 0.0;
        }
    }

    pub(super) fn attempt(&self, record: TrialRecord) -> Attempt {
        Attempt {
            record,
            planned: self.planned,
            is_shown: self.is_shown,
        }
    }
}

/// The trial of a plan; the error says why it cannot be tried, for example because the service was not built.
fn parts<'a>(
    planned: PlannedTrial,
    run: &'a Run<'a>,
    contracts: &'a SeededContracts<'a>,
    history: &History<'_>,
) -> Result<Trial<'a>, Exclusion> {
    let (plan, entry) = (run.plan, &run.plan.entries[planned.entry]);
    let not_built = |reason: String| Exclusion {
        stage: TrialStage::Build,
        reason,
        log_tail: Vec::new(),
        fault: Fault::Service,
    };
    let missing = |what: &str| not_built(format!("{what} is no longer in this checkout"));
    let id = trial::service_id(entry);
    let service = run.context.catalogue.variant(&entry.service, &entry.variant);
    let service = service.ok_or_else(|| missing(&id.to_string()))?;
    let contract = &plan.group_of(entry).contract;
    let contract = contracts
        .get(service, contract)
        .unwrap_or_else(|| Err(missing(contract)))?;
    if let Some(reason) = refusal(service, contract, plan.group_of(entry), entry.channel.protocol()) {
        return Err(Exclusion {
            stage: TrialStage::Check,
            ..not_built(reason)
        });
    }
    let built = match run.build_of(&planned) {
        Some(built) => built.as_ref().map_err(Clone::clone)?,
        None => return Err(not_built("it was not built".to_owned())),
    };
    match history.exclusion(planned.entry) {
        Some(excluded) => Err(excluded),
        None => Ok(Trial {
            plan,
            planned,
            service,
            built,
            contract,
        }),
    }
}

/// Why a service that prony did not start gets no load of a group: its requests may change data.
fn refusal(service: &Service, contract: &Contract, group: &GroupPlan, protocol: Protocol) -> Option<String> {
    if service.allows_writes() {
        return None;
    }
    // A workload that cannot be read fails later, with its own message.
    let steps = contract.unsafe_steps(&group.workload, protocol).ok()?;
    (!steps.is_empty()).then(|| {
        format!(
            "workload `{}` sends requests that may change data ({}), and prony did not start this server: set `allow_writes = true` in \
             its service.toml, or load safe operations only",
            group.workload,
            steps.join(", ")
        )
    })
}
