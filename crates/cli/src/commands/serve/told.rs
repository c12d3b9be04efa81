//! What the list of runs says of each: what was compared, and what came out.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use prony_measurement::{RunRecord, ServiceInfo};
use prony_store::Store;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// Services, and workloads, that a line names.
const NAMED: usize = 3;

/// What a duet is stored as.
const DUET: &str = "duet";

/// Services and workloads in a line; `None` where the run kept neither.
pub(super) fn compared(run: &RunRecord) -> Option<String> {
    let infos: Vec<ServiceInfo> = run
        .plan
        .get("services")
        .and_then(|services| serde_json::from_value(services.clone()).ok())
        .unwrap_or_default();
    let titles = unlike(infos.into_iter().map(|info| info.title));
    let groups = run.plan.get("groups").and_then(|groups| groups.as_array());
    let workloads = unlike(groups.into_iter().flatten().filter_map(|group| {
        let (contract, workload) = (group["contract"].as_str()?, group["workload"].as_str()?);
        Some(if contract == workload {
            contract.to_owned()
        } else {
            format!("{contract} {workload}")
        })
    }));
    let parts: Vec<String> = [titles, workloads]
        .into_iter()
        .filter_map(|names| listed(&names))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Each once, in the order of the first.
fn unlike(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

fn listed(names: &[String]) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    match (names, more) {
        ([], _) => None,
        (_, 0) => Some(names.join(", ")),
        // One more takes no more room than to say so.
        (_, 1) => Some(names.join(", ")),
        _ => Some(format!("{} and {more} others", names[..NAMED].join(", "))),
    }
}

/// What came out of a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer {
    /// In a sentence; `None` where no trial has ended.
    answer: Option<String>,
    /// Further boards of the run.
    more: usize,
}

pub(super) async fn answer(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<Json<Answer>, Failure> {
    let told = blocking(&state, move |store, state| answered(store, state, &run));
    Ok(Json(told.await?))
}

/// A run that ended says the same for ever, and to find it out takes all of its trials: it is kept.
fn answered(store: &Store, state: &Shared, wanted: &str) -> anyhow::Result<Answer> {
    let id = store.find_run(wanted)?;
    let kept = || state.answers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().get(&id) {
        return Ok(known.clone());
    }
    let run = store.run(&id)?;
    let found = of(store, state, &run)?;
    if run.ended_at.is_some() {
        kept().insert(id, found.clone());
    }
    Ok(found)
}

fn of(store: &Store, state: &Shared, run: &RunRecord) -> anyhow::Result<Answer> {
    // A duet compares two services that ran at once: what it found stands in the record of the run.
    if run.suite == DUET && run.ended_at.is_some() {
        let answer = run.warnings.last().map(|said| said.text.clone());
        return Ok(Answer { answer, more: 0 });
    }
    let report = reporting::report(store, &run.id, &state.beside)?;
    let first = report.groups.first();
    Ok(Answer {
        answer: first.map(|group| group.finding.clone()),
        more: report.groups.len().saturating_sub(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(plan: serde_json::Value) -> RunRecord {
        RunRecord {
            id: "run".to_owned(),
            suite: "quick".to_owned(),
            started_at: String::new(),
            ended_at: None,
            environment: prony_measurement::Environment::default(),
            plan,
            planned_trials: 1,
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
        assert_eq!(compared(&few).as_deref(), Some("axum, Go · hello"));
        let titles: Vec<ServiceInfo> = ["a", "b", "c", "d", "e"].map(service).into();
        let many = run(
            json!({ "services": titles, "groups": [group("person", "getPerson"), group("person", "getPerson")] }),
        );
        assert_eq!(
            compared(&many).as_deref(),
            Some("a, b, c and 2 others · person getPerson")
        );
        assert_eq!(compared(&run(json!({}))), None);
    }
}
