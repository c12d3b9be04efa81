//! Two runs side by side.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting::{self, ReportContext};
use axum::Json;
use axum::extract::{Query, State};
use prony_records::{RunRecord, TrialRecord};
use prony_report::{ServiceInfo, describe_load};
use prony_statistics::{ChangeOptions, GroupChange, RunConditions, Summary, compare, mismatches};
use prony_store::Store;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Two runs to compare: the base and the new one.
#[derive(Debug, Deserialize)]
pub(super) struct RunPair {
    a: String,
    b: String,
}

/// The changes from one run to the other.
#[derive(Debug, Serialize)]
pub(super) struct ComparisonView {
    base: Compare,
    new: Compare,
    confidence: f64,
    mismatches: Vec<String>,
    groups: Vec<GroupChange>,
    /// The load of each group, in words.
    load_texts: Vec<String>,
    missing: Vec<String>,
    services: Vec<ServiceInfo>,
}

/// One of the two runs.
#[derive(Debug, Serialize)]
struct Compare {
    id: String,
    suite: String,
    started_at: String,
}

/// A run with everything that is needed to compare it.
struct LoadedRun {
    run: RunRecord,
    trials: Vec<TrialRecord>,
    summary: Summary,
}

impl LoadedRun {
    fn read(store: &Store, wanted: &str) -> anyhow::Result<Self> {
        let run = store.run(&store.find_run(wanted)?)?;
        let trials = store.heads(&run.id)?;
        let summary = reporting::summary(&run, &trials)?;
        Ok(Self { run, trials, summary })
    }

    fn circumstances(&self) -> RunConditions<'_> {
        reporting::conditions(&self.run, &self.trials)
    }

    fn shown(&self) -> Compare {
        Compare {
            id: self.run.id.clone(),
            suite: self.run.suite.clone(),
            started_at: self.run.started_at.clone(),
        }
    }
}

pub(super) async fn two(
    State(state): State<Arc<Shared>>,
    Query(two): Query<RunPair>,
) -> Result<Json<ComparisonView>, Failure> {
    let compared = blocking(&state, move |store, state| compared(store, &two, &state.context));
    Ok(Json(compared.await?))
}

fn compared(store: &Store, two: &RunPair, context: &ReportContext) -> anyhow::Result<ComparisonView> {
    let (base, new) = (LoadedRun::read(store, &two.a)?, LoadedRun::read(store, &two.b)?);
    let options = ChangeOptions::default();
    let change = compare(&base.summary, &new.summary, &options)?.ungated();
    let differences = mismatches(&base.circumstances(), &new.circumstances());
    Ok(ComparisonView {
        confidence: options.confidence,
        mismatches: differences.iter().map(ToString::to_string).collect(),
        load_texts: change
            .groups
            .iter()
            .map(|group| describe_load(&group.load, group.is_of_sequences()))
            .collect(),
        groups: change.groups,
        missing: change.missing,
        services: reporting::services_of(&new.run, context),
        base: base.shown(),
        new: new.shown(),
    })
}
