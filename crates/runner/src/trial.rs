//! One trial of a plan: its parts and its record.

use crate::{BuildOutput, StartTime};
use prony_config::contract::Contract;
use prony_config::{Entry, GroupPlan, Plan, PlannedTrial, Service};
use prony_records::{Exclusion, Measurement, ServiceId, TrialRecord};

/// One trial to measure.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its number, round and entry in the plan.
    pub planned: PlannedTrial,
    /// The service.
    pub service: &'a Service,
    /// Its build.
    pub built: &'a BuildOutput,
    /// The contract.
    pub contract: &'a Contract,
}

impl<'a> Trial<'a> {
    pub fn entry(&self) -> &'a Entry {
        &self.plan.entries[self.planned.entry]
    }

    pub fn group(&self) -> &'a GroupPlan {
        self.plan.group_of(self.entry())
    }

    /// Seed of its random choices; the same for all services of a round.
    pub fn seed(&self) -> u64 {
        self.plan
            .seed
            .wrapping_add(u64::from(self.planned.round).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// Suffix of the variant of a copy, for a service that is compared with itself. The copy uses the same build.
pub(crate) const COPY: &str = "+again";

/// The service whose build this one uses: that of which it is a copy, or itself.
pub(crate) fn original(service: &ServiceId) -> ServiceId {
    ServiceId {
        service: service.service.clone(),
        variant: service.variant.trim_end_matches(COPY).to_owned(),
    }
}

/// Service and variant of an entry.
pub(crate) fn service_id(entry: &Entry) -> ServiceId {
    ServiceId {
        service: entry.service.clone(),
        variant: entry.variant.clone(),
    }
}

/// The record of a trial with this result.
pub(crate) fn record(
    plan: &Plan,
    planned: PlannedTrial,
    began: Option<StartTime>,
    result: Result<Measurement, Exclusion>,
) -> TrialRecord {
    let entry = &plan.entries[planned.entry];
    let group = plan.group_of(entry);
    TrialRecord {
        number: planned.number,
        round: planned.round,
        build: plan.build_number(planned.round),
        start: None,
        provisional: false,
        service: service_id(entry),
        contract: group.contract.clone(),
        workload: group.workload.clone(),
        load: group.load_record(),
        rank_by: group.ranked_by(),
        baseline: group.baselines.get(&service_id(entry).to_string()).cloned(),
        started_at: began.unwrap_or_else(StartTime::now).time_of_day(),
        took_s: began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
        result,
    }
}
