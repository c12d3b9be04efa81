//! One workload under several numbers of connections: the rate of each service for each of them.

use super::columns::{Column, Columns};
use super::workload_title;
use crate::number::grouped;
use crate::{GroupReport, Report};
use prony_records::ServiceId;
use serde_json::{Value, json};

/// A workload under several numbers of connections.
pub(super) struct Levels<'a> {
    /// The workload and the metric.
    pub(super) title: String,
    /// The numbers of connections, in ascending order.
    pub(super) heads: Vec<String>,
    /// Services with a cell for each number, in the order of their ranks at the lowest one.
    pub(super) rows: Vec<(&'a ServiceId, Vec<String>)>,
}

impl<'a> Levels<'a> {
    /// Returns nothing for a report that loads each workload with a single number of connections.
    pub(super) fn of(report: &'a Report) -> Vec<Self> {
        let mut families: Vec<(Value, Vec<(u64, &'a GroupReport)>)> = Vec::new();
        for group in &report.groups {
            let Some((family, connections)) = place(group) else {
                continue;
            };
            match families.iter_mut().find(|(known, _)| *known == family) {
                Some((_, levels)) => levels.push((connections, group)),
                None => families.push((family, vec![(connections, group)])),
            }
        }
        let several = families.into_iter().filter(|(_, levels)| levels.len() > 1);
        several.map(|(_, levels)| Self::in_order(levels)).collect()
    }

    fn in_order(mut levels: Vec<(u64, &'a GroupReport)>) -> Self {
        levels.sort_by_key(|(connections, _)| *connections);
        let first = levels[0].1;
        let mut ids: Vec<&ServiceId> = Vec::new();
        for row in levels.iter().flat_map(|(_, group)| &group.services) {
            if !ids.contains(&&row.summary.id) {
                ids.push(&row.summary.id);
            }
        }
        let cells = |id| levels.iter().map(|(_, group)| cell(group, id)).collect();
        Self {
            title: format!(
                "{} · {}, by number of connections",
                workload_title(first),
                rate(first).head(first)
            ),
            heads: levels
                .iter()
                .map(|(connections, _)| grouped(*connections as f64))
                .collect(),
            rows: ids.into_iter().map(|id| (id, cells(id))).collect(),
        }
    }
}

/// The properties of a closed load apart from its connections, and their number.
fn place(group: &GroupReport) -> Option<(Value, u64)> {
    let mut load = group.load.as_object()?.clone();
    if load.get("kind")? != "closed" {
        return None;
    }
    let connections = load.remove("connections")?.as_u64()?;
    Some((json!([group.contract, group.workload, load]), connections))
}

/// The first column of a closed load.
fn rate(group: &GroupReport) -> Column {
    Columns::of(group).first[0]
}

fn cell(group: &GroupReport, id: &ServiceId) -> String {
    match group.services.iter().find(|row| row.summary.id == *id) {
        Some(row) if row.summary.excluded.is_some() => "excluded".to_owned(),
        Some(row) => rate(group).cell(row),
        None => "–".to_owned(),
    }
}
