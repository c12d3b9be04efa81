//! What a run compared, in one line.

use crate::reporting;
use prony_records::RunRecord;
use std::collections::BTreeSet;

/// Maximum number of services, and of workloads, that a line names.
const NAMED: usize = 3;

/// Services and workloads in one line; `None` if the run recorded neither.
pub(super) fn run_line(run: &RunRecord) -> Option<String> {
    let infos = reporting::recorded_services(run);
    let titles = distinct(infos.into_iter().flatten().map(|info| info.title));
    let groups = run.plan.get("groups").and_then(|groups| groups.as_array());
    let workloads = distinct(groups.into_iter().flatten().filter_map(|group| {
        let (contract, workload) = (group["contract"].as_str()?, group["workload"].as_str()?);
        Some(if contract == workload {
            contract.to_owned()
        } else {
            format!("{contract} {workload}")
        })
    }));
    let parts: Vec<String> = [titles, workloads]
        .into_iter()
        .filter_map(|names| join_names(&names))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Each name once, in the order of first occurrence.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names.filter(|name| known.insert(name.clone())).collect()
}

fn join_names(names: &[String]) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    match (names, more) {
        ([], _) => None,
        // To name one more takes no more room than to count it.
        (_, 0 | 1) => Some(names.join(", ")),
        _ => Some(format!("{} and {more} others", names[..NAMED].join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::ServiceInfo;
    use serde_json::json;

    fn run(plan: serde_json::Value) -> RunRecord {
        RunRecord {
            id: "run".to_owned(),
            suite: "quick".to_owned(),
            started_at: String::new(),
            ended_at: None,
            environment: prony_records::Environment::default(),
            plan,
            planned_trials: 1,
            spent_s: None,
            seed: 1,
            warnings: Vec::new(),
        }
    }

    fn service(title: &str) -> ServiceInfo {
        ServiceInfo {
            title: title.to_owned(),
            ..ServiceInfo::default()
        }
    }

    #[test]
    fn what_was_compared_is_named_and_counted() {
        let group = |contract: &str, workload: &str| json!({ "contract": contract, "workload": workload });
        let few = run(
            json!({ "services": [service("axum"), service("axum"), service("Go")], "groups": [group("hello", "hello")] }),
        );
        assert_eq!(run_line(&few).as_deref(), Some("axum, Go · hello"));
        let titles: Vec<ServiceInfo> = ["a", "b", "c", "d", "e"].map(service).into();
        let many = run(
            json!({ "services": titles, "groups": [group("person", "getPerson"), group("person", "getPerson")] }),
        );
        assert_eq!(
            run_line(&many).as_deref(),
            Some("a, b, c and 2 others · person getPerson")
        );
        assert_eq!(run_line(&run(json!({}))), None);
    }
}
