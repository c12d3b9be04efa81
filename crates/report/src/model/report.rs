//! The report as a whole: the JSON object of `prony report --format json`.

use super::descriptions;
use super::export::upgrade_export;
use super::group::{GroupReport, is_planned_as, planned_groups};
use super::published::{Agreement, ReferenceRow, agreement, reference};
use crate::{Input, ReportError, ServiceInfo, service_names};
use prony_records::{CheckMatrix, Environment, SCHEMA, ServiceId, TrialRecord, Warning, load_id};
use prony_statistics::{Group, Metric};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The results of a run. Keys may be added, but are never renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the JSON.
    pub schema: u32,
    pub run: String,
    pub suite: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; `None` while it runs, or if it was killed.
    pub ended_at: Option<String>,
    /// Time that it took, s, without the pauses between its sessions; `None` while it runs, or if prony did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_s: Option<f64>,
    pub state: State,
    /// Trials in the plan.
    pub planned_trials: u32,
    /// Trials that have ended; a repeated one counts once.
    pub trials: u32,
    /// Seed of every random choice. It is text because it exceeds the number range of JavaScript.
    pub seed: String,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// The machine and software of the run.
    pub environment: Environment,
    pub plan: Value,
    /// How the run was measured, in one sentence each.
    pub method: Vec<String>,
    /// Metadata of the services.
    pub services: Vec<ServiceInfo>,
    /// A group for each contract × workload × load.
    pub groups: Vec<GroupReport>,
    pub checks: Option<CheckMatrix>,
    /// Published results of others.
    pub reference: Vec<ReferenceRow>,
    /// Agreement of their order with ours.
    pub agreement: Vec<Agreement>,
    /// Every metric.
    #[serde(skip_deserializing)]
    pub metrics: MetricTable,
    /// Warnings about the whole run.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It ended as planned, or because its budget was used up.
    Ended,
    /// It is still in progress.
    Running,
    /// It has no end and is not in progress: it was killed.
    Unfinished,
}

impl Report {
    /// The report of a run, finished or not.
    pub fn new(input: &Input<'_>) -> Result<Self, ReportError> {
        let run = input.run;
        let mut in_order: Vec<&Group> = input.summary.groups.iter().collect();
        in_order.sort_by_key(|group| place_in_plan(&run.plan, group));
        let groups = in_order
            .into_iter()
            .map(|group| GroupReport::of(input, group))
            .collect::<Result<Vec<_>, _>>()?;
        let groups = distinguished(groups);
        Ok(Self {
            schema: SCHEMA,
            run: run.id.clone(),
            suite: run.suite.clone(),
            started_at: run.started_at.clone(),
            ended_at: run.ended_at.clone(),
            spent_s: run.spent_s,
            state: match (&run.ended_at, input.running) {
                (Some(_), _) => State::Ended,
                (None, true) => State::Running,
                (None, false) => State::Unfinished,
            },
            planned_trials: run.planned_trials,
            trials: ended_trials(input.trials),
            seed: run.seed.to_string(),
            confidence: input
                .summary
                .groups
                .first()
                .map_or(0.95, |group| group.confidence),
            environment: run.environment.clone(),
            plan: run.plan.clone(),
            method: descriptions::method(input),
            services: services(input),
            reference: reference(input.references, &groups),
            agreement: agreement(input.references, &groups),
            groups,
            checks: input.checks.cloned(),
            metrics: MetricTable,
            warnings: run.warnings.clone(),
        })
    }

    /// Reads the JSON of a report of this version or an earlier one.
    pub fn read(mut report: Value) -> Result<Self, ReportError> {
        upgrade_export(&mut report)?;
        let mut report: Self = serde_json::from_value(report).map_err(ReportError::NoReport)?;
        for group in &mut report.groups {
            group.load_id = load_id(&group.load);
        }
        Ok(report)
    }

    /// The display name of a service in this report.
    pub(crate) fn name(&self, id: &ServiceId) -> String {
        service_names::name(&self.services, id)
    }

    /// Metadata of a service.
    pub(crate) fn info(&self, id: &ServiceId) -> Option<&ServiceInfo> {
        service_names::info(&self.services, id)
    }
}

/// Adds the identity of a load to its description where two groups would have the same: numbers in words have three digits.
fn distinguished(mut groups: Vec<GroupReport>) -> Vec<GroupReport> {
    let titles: Vec<[String; 3]> = groups
        .iter()
        .map(|group| [&group.contract, &group.workload, &group.load_text].map(Clone::clone))
        .collect();
    for (group, title) in groups.iter_mut().zip(&titles) {
        if titles.iter().filter(|other| *other == title).count() > 1 {
            group.load_text = format!("{} ({})", group.load_text, group.load_id);
        }
    }
    groups
}

/// A repeated trial counts once.
fn ended_trials(trials: &[TrialRecord]) -> u32 {
    let numbers: BTreeSet<u32> = trials.iter().map(|trial| trial.number).collect();
    numbers.len() as u32
}

/// The trials of a round run in random order; readers expect the order of the plan.
fn place_in_plan(plan: &Value, group: &Group) -> usize {
    let found = planned_groups(plan)
        .iter()
        .position(|entry| is_planned_as(entry, group));
    found.unwrap_or(usize::MAX)
}

/// Only services that occur in the report.
fn services(input: &Input<'_>) -> Vec<ServiceInfo> {
    let named = |info: &&ServiceInfo| {
        let same = |service: &str, variant: &str| info.service == service && info.variant == variant;
        let measured = input.summary.groups.iter().flat_map(|group| &group.services);
        let checked = input.checks.iter().flat_map(|matrix| &matrix.services);
        measured
            .map(|row| &row.id)
            .any(|id| same(&id.service, &id.variant))
            || checked
                .into_iter()
                .any(|check| same(&check.service, &check.variant))
    };
    input.services.iter().filter(named).cloned().collect()
}

/// A table of all metrics. Its content depends only on the version of prony.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricTable;

impl Serialize for MetricTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::ALL.iter().map(|metric| {
            let row = json!({
                "title": metric.title(),
                "unit": metric.unit(),
                "better": metric.better(),
                "figures": metric.figures(),
            });
            (metric.key(), row)
        }))
    }
}
