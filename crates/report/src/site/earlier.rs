//! Reports of earlier versions: their format, and what they said about their rankings.

use super::run::ReportJson;
use crate::model::renew;
use crate::service_names;
use prony_records::upgrade;
use serde_json::{Value, json};

/// Converts the format: renamed keys, ranks as one range, and lower bounds without a rank.
pub(super) fn bring_up_to_date(report: &mut Value) {
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
    let value = |row: &Value| match row["rank"].is_null() {
        true => f64::NEG_INFINITY,
        false => row[&metric]["point"].as_f64().unwrap_or_default(),
    };
    rows.sort_by(|left, right| value(right).total_cmp(&value(left)));
}

/// Says the results of the rankings in the current words, with the warnings of most services above them.
pub(super) fn renew_rankings(report: &mut Value, exported: &mut ReportJson) {
    let services = &exported.services;
    for (json, told) in list(report, "groups").iter_mut().zip(&mut exported.groups) {
        told.finding = renew(&mut told.group, |id| service_names::name(services, id));
        json["finding"] = told.finding.as_str().into();
        json["warnings"] = json!(told.group.warnings);
    }
}

fn list<'a>(value: &'a mut Value, key: &str) -> &'a mut [Value] {
    let found = value.get_mut(key).and_then(Value::as_array_mut);
    found.map(Vec::as_mut_slice).unwrap_or_default()
}
