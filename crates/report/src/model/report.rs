//! The report as a whole: the JSON object of `prony report --format json`.

use super::details::{Details, details};
use super::published::{Agreement, ReferenceRow, agreement, reference};
use super::words;
use crate::{Input, ReportError, ServiceInfo, names};
use prony_measurement::{CheckMatrix, Environment, SCHEMA, ServiceId, TrialRecord, Warning, WarningKind};
use prony_statistics::{Adjustment, Group, Metric, Pair, ServiceSummary};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Warnings that speak of the machine more than of the service: where every service has one, the numbers in it matter little.
const OF_THE_MACHINE: [WarningKind; 4] = [
    WarningKind::ScheduleLag,
    WarningKind::NotSteady,
    WarningKind::Noise,
    WarningKind::Repeated,
];

/// What the trials of a run say. Keys are added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Version of the JSON.
    pub schema: u32,
    /// The run's name.
    pub run: String,
    /// The suite.
    pub suite: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End; `None` while it runs or when it was killed.
    pub ended_at: Option<String>,
    /// Whether it ended.
    pub state: State,
    /// Trials that the plan holds.
    pub planned_trials: u32,
    /// Trials that ended.
    pub trials: u32,
    /// Seed of every random choice: as text, since it does not fit the numbers of JavaScript.
    pub seed: String,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Where and with what it happened.
    pub environment: Environment,
    /// The plan.
    pub plan: Value,
    /// How it was measured, a sentence each.
    pub method: Vec<String>,
    /// What is known of the services.
    pub services: Vec<ServiceInfo>,
    /// A group for each contract × workload × load.
    pub groups: Vec<GroupReport>,
    /// The contract checks.
    pub checks: Option<CheckMatrix>,
    /// Published figures of others.
    pub reference: Vec<ReferenceRow>,
    /// How their order and ours agree.
    pub agreement: Vec<Agreement>,
    /// Reasons to doubt the whole run.
    pub warnings: Vec<Warning>,
}

/// Whether a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It ended as planned or by its budget.
    Ended,
    /// It still goes on.
    Running,
    /// It has no end and does not go on: it was killed.
    Unfinished,
}

/// The services that did the same work under the same load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupReport {
    /// The contract.
    pub contract: String,
    /// The workload.
    pub workload: String,
    /// The load, as the load crate writes it.
    pub load: Value,
    /// The load in words.
    pub load_text: String,
    /// Requests offered per second, where the load has one rate.
    pub offered_per_s: Option<f64>,
    /// The highest rate that any service can reach under this load, where a backend sets one.
    pub ceiling_per_s: Option<f64>,
    /// The ceiling and its reason in words.
    pub ceiling_text: Option<String>,
    /// What the services are ranked by.
    pub ranked_by: Metric,
    /// Confidence of the intervals, and of all comparisons together, 0 to 1.
    pub confidence: f64,
    /// Relative difference that counts as none.
    pub tie_band: f64,
    /// How the comparisons were adjusted for their number.
    pub adjustment: Option<Adjustment>,
    /// Rounds with a trial that gave numbers.
    pub rounds: u32,
    /// The result in a sentence.
    pub finding: String,
    /// Those that the generator kept from their rank first, then best first, excluded ones last.
    pub services: Vec<Row>,
    /// All pairs of ranked services.
    pub pairs: Vec<Pair>,
    /// Reasons to doubt the whole group.
    pub warnings: Vec<Warning>,
}

/// A service in a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Rank, estimates, warnings, and the reason where it is excluded.
    #[serde(flatten)]
    pub summary: ServiceSummary,
    /// Where the numbers come from; `None` where no trial gave any.
    pub details: Option<Details>,
}

impl GroupReport {
    /// What the summary alone says: without details, and with services called by their ids.
    pub(crate) fn bare(group: &Group) -> Self {
        let row = |summary: &ServiceSummary| Row {
            summary: summary.clone(),
            details: None,
        };
        Self {
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load.clone(),
            load_text: words::describe_load(&group.load),
            offered_per_s: words::one_rate(&group.load),
            ceiling_per_s: None,
            ceiling_text: None,
            ranked_by: group.ranked_by,
            confidence: group.confidence,
            tie_band: group.tie_band,
            adjustment: group.adjustment,
            rounds: group.rounds,
            finding: words::finding(group, ToString::to_string),
            services: group.services.iter().map(row).collect(),
            pairs: group.pairs.clone(),
            warnings: group.warnings.clone(),
        }
    }

    /// Whether others have the rank of this row too.
    pub(crate) fn shares_rank(&self, row: &Row) -> bool {
        let rank = row.summary.rank;
        rank.is_some()
            && self
                .services
                .iter()
                .filter(|other| other.summary.rank == rank)
                .count()
                > 1
    }

    /// Whether the group says what a row's warning says: that the generator was the limit, or what holds for all services.
    pub(crate) fn says_for_all(&self, row: &Row, warning: &Warning) -> bool {
        let says = |said: &Warning| {
            said.kind == warning.kind
                && (said.text.ends_with(&warning.text) || OF_THE_MACHINE.contains(&warning.kind))
        };
        match warning.kind {
            WarningKind::GeneratorSaturated => row.summary.generator_bound,
            _ => self.warnings.iter().any(says),
        }
    }

    /// Whether requests arrive on their own (open, users) rather than after replies.
    pub(crate) fn is_open(&self) -> bool {
        self.load.get("kind").and_then(Value::as_str) != Some("closed")
    }
}

impl Report {
    /// The report of a run, finished or not.
    pub fn new(input: &Input<'_>) -> Result<Self, ReportError> {
        let run = input.run;
        let mut in_order: Vec<&Group> = input.summary.groups.iter().collect();
        in_order.sort_by_key(|group| place_in_plan(&run.plan, group));
        let groups = in_order
            .into_iter()
            .map(|group| group_report(input, group))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            schema: SCHEMA,
            run: run.id.clone(),
            suite: run.suite.clone(),
            started_at: run.started_at.clone(),
            ended_at: run.ended_at.clone(),
            state: match (&run.ended_at, input.running) {
                (Some(_), _) => State::Ended,
                (None, true) => State::Running,
                (None, false) => State::Unfinished,
            },
            planned_trials: run.planned_trials,
            trials: ended(input.trials),
            seed: run.seed.to_string(),
            confidence: input
                .summary
                .groups
                .first()
                .map_or(0.95, |group| group.confidence),
            environment: run.environment.clone(),
            plan: run.plan.clone(),
            method: words::method(input),
            services: services(input),
            reference: reference(input.references, &groups),
            agreement: agreement(input.references, &groups),
            groups,
            checks: input.checks.cloned(),
            warnings: run.warnings.clone(),
        })
    }

    /// What a service is called in this report.
    pub(crate) fn name(&self, id: &ServiceId) -> String {
        names::name(&self.services, id)
    }

    /// What is known of a service.
    pub(crate) fn info(&self, id: &ServiceId) -> Option<&ServiceInfo> {
        names::info(&self.services, id)
    }
}

/// A trial that was repeated counts once.
fn ended(trials: &[TrialRecord]) -> u32 {
    let places: BTreeSet<u32> = trials.iter().map(|trial| trial.place).collect();
    places.len() as u32
}

/// The trials of a round come in random order; readers expect the order that they wrote.
fn place_in_plan(plan: &Value, group: &Group) -> usize {
    let found = planned(plan).iter().position(|entry| is_planned_as(entry, group));
    found.unwrap_or(usize::MAX)
}

fn planned(plan: &Value) -> &[Value] {
    plan.get("groups")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn is_planned_as(entry: &Value, group: &Group) -> bool {
    // The load of a search is recorded as one of its own kind.
    let searched =
        group.load["kind"] == "capacity" && entry["search"]["objective"] == group.load["objective"];
    entry["contract"] == group.contract.as_str()
        && entry["workload"] == group.workload.as_str()
        && (entry["load"] == group.load || searched)
}

/// Only what the report speaks of.
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

fn group_report(input: &Input<'_>, group: &Group) -> Result<GroupReport, ReportError> {
    let mut report = GroupReport::bare(group);
    for row in &mut report.services {
        row.details = details(input.trials, group, &row.summary)?;
    }
    report.warnings.extend(warnings_of_all(&report.services, input));
    report.finding = words::finding(group, |id| names::name(input.services, id));
    let entry = planned(&input.run.plan)
        .iter()
        .find(|entry| is_planned_as(entry, group));
    report.ceiling_per_s = entry.and_then(|entry| entry["ceiling_per_s"].as_f64());
    report.ceiling_text = report
        .ceiling_per_s
        .map(|ceiling| words::ceiling(&group.load, ceiling));
    Ok(report)
}

/// What every service that gave numbers is warned of, each kind once: a reader who meets it at every row reads none.
fn warnings_of_all(rows: &[Row], input: &Input<'_>) -> Vec<Warning> {
    let measured: Vec<&Row> = rows.iter().filter(|row| row.summary.excluded.is_none()).collect();
    let Some((first, others)) = measured.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let said = |warning: &Warning| {
        // Where the generator was the limit, the group says it with the consequences.
        if warning.kind == WarningKind::GeneratorSaturated {
            return None;
        }
        let fits = |other: &Warning| {
            other.kind == warning.kind
                && (other.text == warning.text || OF_THE_MACHINE.contains(&warning.kind))
        };
        let theirs: Option<Vec<&Warning>> = others
            .iter()
            .map(|row| row.summary.warnings.iter().find(|other| fits(other)))
            .collect();
        let alike = theirs?.iter().all(|other| other.text == warning.text);
        let whose = if alike {
            "for all services".to_owned()
        } else {
            let name = names::name(input.services, &first.summary.id);
            format!("for all services (the numbers are those of {name})")
        };
        Some(Warning::new(warning.kind, format!("{whose}: {}", warning.text)))
    };
    first.summary.warnings.iter().filter_map(said).collect()
}
