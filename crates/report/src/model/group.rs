//! A group of the report: services with the same work under the same load.

use super::descriptions;
use super::details::{Details, details};
use crate::{Input, ReportError, service_names};
use prony_records::{Bottleneck, ServiceId, Warning, load_id};
use prony_statistics::{Adjustment, Group, Metric, PairwiseComparison, ServiceSummary, lower_bound_warning};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Services with the same work under the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    pub contract: String,
    pub workload: String,
    /// The load as the load crate serialises it.
    pub load: Value,
    /// The identity of the load, by which its results in several runs belong together.
    #[serde(default)]
    pub load_id: String,
    /// The load in words.
    pub load_text: String,
    /// Requests offered per second, if the load has a single rate.
    pub offered_per_s: Option<f64>,
    /// The highest rate that any service can reach under this load, if a backend limits it.
    pub ceiling_per_s: Option<f64>,
    /// The ceiling and its reason in words.
    pub ceiling_text: Option<String>,
    /// The metric by which the services are ranked.
    pub ranked_by: Metric,
    /// Display names of the backing services, in the order of the contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backing_services: Vec<String>,
    /// Confidence of the intervals, and of all comparisons jointly, 0 to 1.
    pub confidence: f64,
    /// Relative difference up to which services count as equal.
    pub tie_band: f64,
    /// How the comparisons were adjusted for their number.
    pub adjustment: Option<Adjustment>,
    /// Rounds with a measurement.
    pub rounds: u32,
    /// The result in a sentence.
    pub finding: String,
    /// The best first, excluded ones last.
    pub services: Vec<Row>,
    /// All pairs of ranked services.
    pub pairs: Vec<PairwiseComparison>,
    /// Warnings about the whole group.
    pub warnings: Vec<Warning>,
}

/// A service in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Rank, estimates, warnings, and the reason if it is excluded.
    #[serde(flatten)]
    pub summary: ServiceSummary,
    /// Data behind the numbers; `None` if no trial has a measurement, or if an export of an earlier version has other details.
    #[serde(default, deserialize_with = "readable_details")]
    pub details: Option<Details>,
}

/// Details are not needed for a table, so a report with others is read without them.
fn readable_details<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Details>, D::Error> {
    let details = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(details).ok())
}

impl Row {
    /// The ranks that the data allows: `2–5`, or `2` for a single one.
    pub(crate) fn ranks(&self) -> Option<String> {
        ranks(&self.summary)
    }
}

/// The ranks that the data allows a service: `2–5`, or `2` for a single one.
pub(crate) fn ranks(summary: &ServiceSummary) -> Option<String> {
    let (low, high) = (summary.rank_low?, summary.rank_high?);
    Some(if low == high {
        low.to_string()
    } else {
        format!("{low}–{high}")
    })
}

impl GroupReport {
    /// The group with everything that the run knows about it.
    pub(super) fn of(input: &Input<'_>, group: &Group) -> Result<Self, ReportError> {
        let mut report = Self::bare(group);
        for row in &mut report.services {
            row.details = details(input.trials, group, &row.summary)?;
        }
        report.backing_services = backing_service_names(&report.services);
        let name = |id: &ServiceId| service_names::name(input.services, id);
        report
            .warnings
            .extend(shared_warnings(group.services.iter(), name));
        report.finding = descriptions::finding(group, name);
        let entry = planned_groups(&input.run.plan)
            .iter()
            .find(|entry| is_planned_as(entry, group));
        report.ceiling_per_s = entry.and_then(|entry| entry["ceiling_per_s"].as_f64());
        report.ceiling_text = report
            .ceiling_per_s
            .map(|ceiling| descriptions::ceiling(&group.load, ceiling));
        Ok(report)
    }

    /// The group from its summary alone: without details, and with IDs as the names of services.
    pub(crate) fn bare(group: &Group) -> Self {
        let row = |summary: &ServiceSummary| Row {
            summary: summary.clone(),
            details: None,
        };
        Self {
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load.clone(),
            load_id: load_id(&group.load),
            load_text: descriptions::describe_load(&group.load, group.is_of_sequences()),
            offered_per_s: descriptions::one_rate(&group.load),
            ceiling_per_s: None,
            ceiling_text: None,
            ranked_by: group.ranked_by,
            backing_services: Vec::new(),
            confidence: group.confidence,
            tie_band: group.tie_band,
            adjustment: group.adjustment,
            rounds: group.rounds,
            finding: descriptions::finding(group, ToString::to_string),
            services: group.services.iter().map(row).collect(),
            pairs: group.pairs.clone(),
            warnings: group.warnings.clone(),
        }
    }

    /// Whether the group already says what a row's warning says: that the generator was the limit, or a warning about
    /// most services.
    pub(crate) fn says_for_all(&self, row: &Row, warning: &Warning) -> bool {
        is_shown_for_all(&self.warnings, row.summary.generator_bound, warning)
    }

    /// Whether requests arrive independently of replies (open, users).
    pub(crate) fn is_open(&self) -> bool {
        self.load.get("kind").and_then(Value::as_str) != Some("closed")
    }
}

/// Whether the warnings of a ranking already say what a warning of one of its services says: that the generator was the
/// limit (for this service: `generator_bound`), or a warning about most services.
pub(crate) fn is_shown_for_all(of_group: &[Warning], generator_bound: bool, warning: &Warning) -> bool {
    match warning.kind.facts().bottleneck {
        Some(Bottleneck::Generator) => generator_bound,
        _ => of_group.iter().any(|said| said.says_the_same(warning)),
    }
}

/// Names of the backing services, which are the same for each service.
fn backing_service_names(rows: &[Row]) -> Vec<String> {
    let points = rows
        .iter()
        .filter_map(|row| row.details.as_ref())
        .flat_map(|details| &details.points);
    let mut lists = points.map(|point| &point.backing_services);
    let first = lists.find(|backing_services| !backing_services.is_empty());
    let titles = first.into_iter().flatten().map(|one| one.title.clone());
    titles.collect()
}

/// The groups of a plan.
pub(super) fn planned_groups(plan: &Value) -> &[Value] {
    plan.get("groups")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether a group of a plan is this one.
pub(super) fn is_planned_as(entry: &Value, group: &Group) -> bool {
    // The load of a search is recorded as one of its own kind.
    let searched =
        group.load["kind"] == "capacity" && entry["search"]["objective"] == group.load["objective"];
    // So is a measured start.
    let started = group.load["kind"] == "start" && entry["start"]["measures"] == group.load["measures"];
    entry["contract"] == group.contract.as_str()
        && entry["workload"] == group.workload.as_str()
        && (recorded_load(entry) == group.load || searched || started)
}

/// The load of a planned group as its trials record it: what becomes of connections is a part of it.
fn recorded_load(entry: &Value) -> Value {
    let mut load = entry["load"].clone();
    if let Some(members) = load.as_object_mut() {
        let keys = ["over", "requests_per_connection", "resumption"].into_iter();
        members.extend(keys.filter_map(|key| Some((key.to_owned(), entry.get(key)?.clone()))));
    }
    load
}

/// Warnings that more than half of the measured services have, each kind once with the number of services: readers skip what is
/// repeated on every row.
fn shared_warnings<'a>(
    rows: impl Iterator<Item = &'a ServiceSummary>,
    name: impl Fn(&ServiceId) -> String,
) -> Vec<Warning> {
    let measured: Vec<&ServiceSummary> = rows.filter(|row| row.excluded.is_none()).collect();
    if measured.len() < 2 {
        return Vec::new();
    }
    let mut found: Vec<(&ServiceSummary, &Warning)> = Vec::new();
    for &row in &measured {
        // If the generator was the limit, the group says so together with the consequences.
        for warning in row.warnings.iter().filter(|warning| !is_of_generator(warning)) {
            if !found.iter().any(|(_, known)| known.says_the_same(warning)) {
                found.push((row, warning));
            }
        }
    }
    let shared = |(first, warning): (&ServiceSummary, &Warning)| {
        let same: Vec<&Warning> = measured
            .iter()
            .filter_map(|row| row.warnings.iter().find(|other| warning.says_the_same(other)))
            .collect();
        if 2 * same.len() <= measured.len() {
            return None;
        }
        let whose = if same.len() == measured.len() {
            "All services".to_owned()
        } else {
            format!("{} of {} services", same.len(), measured.len())
        };
        let example = if same.iter().all(|other| other.text == warning.text) {
            String::new()
        } else {
            format!(" (example: {})", name(&first.id))
        };
        Some(warning.worded(format!("{whose}: {}{example}", warning.text)))
    };
    found.into_iter().filter_map(shared).collect()
}

fn is_of_generator(warning: &Warning) -> bool {
    warning.kind.facts().bottleneck == Some(Bottleneck::Generator)
}

/// Replaces what an earlier version said about a whole ranking, and returns its result in a sentence.
pub(crate) fn renew(group: &mut Group, name: impl Fn(&ServiceId) -> String) -> String {
    let is_outdated =
        |warning: &Warning| is_of_generator(warning) || warning.text.starts_with("for all services");
    group.warnings.retain(|warning| !is_outdated(warning));
    let bound = lower_bound_warning(&group.services, group.ranked_by);
    let shared = shared_warnings(group.services.iter(), &name);
    group.warnings.extend(bound.into_iter().chain(shared));
    descriptions::finding(group, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::WarningKind;

    #[test]
    fn a_warning_of_the_ranking_is_not_repeated_on_its_rows() {
        let warning = |kind, text: &str| Warning::new(kind, text);
        let all = |text: &str| format!("All services: {text} (example: a)");
        let header = "No Date header.";
        for (what, group, bound, one, said) in [
            (
                "nothing for all",
                vec![],
                false,
                warning(WarningKind::Noise, "9 %"),
                false,
            ),
            (
                "the same words",
                vec![warning(WarningKind::MissingHeader, &all(header))],
                false,
                warning(WarningKind::MissingHeader, header),
                true,
            ),
            (
                "other words",
                vec![warning(WarningKind::MissingHeader, &all(header))],
                false,
                warning(WarningKind::MissingHeader, "No Content-Type header."),
                false,
            ),
            (
                "a warning with another value",
                vec![warning(WarningKind::LittlesLaw, "5 of 9 services: 30 of 64.")],
                false,
                warning(WarningKind::LittlesLaw, "40 of 64."),
                true,
            ),
            (
                "another kind",
                vec![warning(WarningKind::Note, &all(header))],
                false,
                warning(WarningKind::MissingHeader, header),
                false,
            ),
            (
                "the machine, with another number",
                vec![warning(WarningKind::Noise, &all("5 %"))],
                false,
                warning(WarningKind::Noise, "9 %"),
                true,
            ),
            (
                "a lower bound",
                vec![],
                true,
                warning(WarningKind::GeneratorSaturated, "limit"),
                true,
            ),
            (
                "no lower bound",
                vec![warning(WarningKind::GeneratorSaturated, "limit")],
                false,
                warning(WarningKind::GeneratorSaturated, "limit"),
                false,
            ),
        ] {
            assert_eq!(is_shown_for_all(&group, bound, &one), said, "{what}");
        }
    }
}
