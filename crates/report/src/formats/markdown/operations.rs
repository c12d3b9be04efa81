//! The response time of each operation of a workload.

use super::safe;
use crate::number::digits;
use crate::{GroupReport, Report};
use prony_records::Quantile;

/// A row for each service and a column for each operation, in the order of the ranking; nothing for a workload with a
/// single operation.
pub(super) fn section(report: &Report, group: &GroupReport) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in group.services.iter().filter_map(|row| row.details.as_ref()) {
        for operation in &row.operations {
            if !names.contains(&operation.name.as_str()) {
                names.push(&operation.name);
            }
        }
    }
    if names.len() < 2 {
        return String::new();
    }
    let mut out =
        String::from("\nMedian response time of each operation, of all trials together:\n\n| service |");
    for name in &names {
        out += &format!(" {}, ms |", safe(name));
    }
    out += &format!("\n|---|{}\n", "---:|".repeat(names.len()));
    for row in &group.services {
        let Some(details) = &row.details else { continue };
        out += &format!("| {} |", safe(&report.name(&row.summary.id)));
        for name in &names {
            let operation = details.operations.iter().find(|one| one.name == *name);
            let median = operation.and_then(|one| one.response_time_ns_p50);
            let ms = |ns: u64| digits(ns as f64 / 1e6);
            let cell = match median {
                None => "–".to_owned(),
                Some(Quantile::Exact(ns)) => ms(ns),
                Some(Quantile::AtLeast(ns)) => format!("≥ {}", ms(ns)),
                Some(Quantile::Unbounded) => "no bound".to_owned(),
            };
            out += &format!(" {cell} |");
        }
        out.push('\n');
    }
    out
}
