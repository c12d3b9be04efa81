//! The JSON of a report as it was exported, perhaps by an earlier version.

use super::group::renew;
use crate::{ReportError, service_names};
use prony_records::{SCHEMA, ServiceInfo, upgrade};
use prony_statistics::Group;
use serde::Deserialize;
use serde_json::{Value, json};

/// Converts an export of an earlier version: renamed keys, ranks as one range, and what was said about rankings. One of a later
/// version is refused.
pub(crate) fn upgrade_export(report: &mut Value) -> Result<(), ReportError> {
    let version = report["schema"].as_u64();
    if version.is_some_and(|version| !(1..=u64::from(SCHEMA)).contains(&version)) {
        return Err(ReportError::Version {
            found: report["schema"].to_string(),
            read: SCHEMA,
        });
    }
    upgrade(report);
    for group in list(report, "groups") {
        for row in list(group, "services")
            .iter_mut()
            .filter_map(Value::as_object_mut)
        {
            if let Some(range) = row.remove("rank_interval") {
                row.insert("rank_low".to_owned(), range["best"].clone());
                row.insert("rank_high".to_owned(), range["worst"].clone());
            }
        }
        rank_lower_bounds(group);
    }
    if version < Some(u64::from(SCHEMA)) {
        renew_rankings(report);
    }
    Ok(())
}

/// Lower bounds came first and had no rank. Which services are proven worse was not kept, so the rank may be any.
fn rank_lower_bounds(group: &mut Value) {
    let metric = group["ranked_by"].as_str().unwrap_or_default().to_owned();
    let is_bound = |row: &Value| {
        let is_measured = row["excluded"].is_null() && row[&metric]["point"].is_number();
        row["generator_bound"] == true && row["rank"].is_null() && is_measured
    };
    let rows = list(group, "services");
    if !metric.ends_with("_per_s") || !rows.iter().any(is_bound) {
        return;
    }
    let ranked = rows
        .iter()
        .filter(|row| is_bound(row) || !row["rank"].is_null())
        .count();
    for row in rows.iter_mut().filter(|row| is_bound(row)) {
        row["rank"] = 1.into();
        row["rank_low"] = 1.into();
        row["rank_high"] = ranked.into();
    }
    let value = |row: &Value| {
        let point = row[&metric]["point"].as_f64().unwrap_or_default();
        if row["rank"].is_null() {
            f64::NEG_INFINITY
        } else {
            point
        }
    };
    rows.sort_by(|left, right| value(right).total_cmp(&value(left)));
}

/// Says the results of the rankings in the current words, with the warnings of most services above them. A group that cannot be
/// read is left to its reader, who reports the error.
fn renew_rankings(report: &mut Value) {
    let services = Vec::<ServiceInfo>::deserialize(&report["services"]).unwrap_or_default();
    for json in list(report, "groups") {
        if let Ok(mut group) = Group::deserialize(&*json) {
            let finding = renew(&mut group, |id| service_names::name(&services, id));
            json["finding"] = finding.into();
            json["warnings"] = json!(group.warnings);
        }
    }
}

fn list<'a>(value: &'a mut Value, key: &str) -> &'a mut [Value] {
    let found = value.get_mut(key).and_then(Value::as_array_mut);
    found.map(Vec::as_mut_slice).unwrap_or_default()
}
