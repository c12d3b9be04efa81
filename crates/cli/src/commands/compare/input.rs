//! One side of a comparison: a run of the store or an exported report.

use crate::checkout::{StoreArgs, usage};
use crate::exit::bad_input;
use crate::reporting;
use anyhow::{Context as _, anyhow};
use prony_records::{Environment, RunRecord};
use prony_statistics::{
    ChangePoint, Circumstances, Earlier, Group, Metric, Quantity, Summary, change_points, generators,
    mismatches,
};
use prony_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Versions of the JSON of a report that can be read.
const SCHEMA: u64 = 1;

pub(super) struct Side {
    pub(super) name: String,
    pub(super) summary: Summary,
    suite: String,
    environment: Environment,
    generators: Option<BTreeSet<String>>,
    settings: BTreeMap<String, String>,
    /// What other programs used of the machine during saved loads, as a share of it.
    pub(super) others: Option<f64>,
}

/// What is read of an exported report.
#[derive(Deserialize)]
struct Exported {
    schema: u64,
    run: String,
    suite: String,
    environment: Environment,
    groups: Vec<Group>,
}

/// How a service's metric went over the runs of its suite.
#[derive(Debug, Serialize)]
pub(super) struct History {
    pub(super) contract: String,
    pub(super) workload: String,
    pub(super) load: serde_json::Value,
    pub(super) service: String,
    pub(super) metric: Metric,
    /// Runs, the oldest first.
    pub(super) runs: Vec<String>,
    /// The value of each run.
    pub(super) points: Vec<f64>,
    /// Where it changed, as indices into `runs`.
    pub(super) changes: Vec<ChangePoint>,
}

impl Side {
    /// A file where there is one of that name, else a run.
    pub(super) fn find(wanted: &str, store: &StoreArgs, confidence: f64) -> anyhow::Result<Self> {
        let path = Path::new(wanted);
        if path.is_file() {
            return Self::of_file(path, confidence);
        }
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = format!(
                "there is no file {wanted}: write one with `prony report --format json --out {wanted}`"
            );
            return Err(bad_input(anyhow!(text)));
        }
        let store = store.open_existing()?;
        let id = store.find_run(wanted).map_err(usage)?;
        Self::of_run(&store, store.run(&id)?, confidence)
    }

    fn of_file(path: &Path, confidence: f64) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let read: Result<Exported, _> = serde_json::from_str(&text);
        let exported = read.map_err(|error| {
            bad_input(anyhow!(
                "{} is no report of prony ({error}): write one with `prony report --format json`",
                path.display()
            ))
        })?;
        if exported.schema != SCHEMA {
            let text = format!(
                "{} has version {} of the report, this prony reads version {SCHEMA}",
                path.display(),
                exported.schema
            );
            return Err(bad_input(anyhow!(text)));
        }
        let of_file = exported
            .groups
            .first()
            .map_or(confidence, |group| group.confidence);
        if (of_file - confidence).abs() > 1e-9 {
            eprintln!(
                "prony: the estimates of {} are at {:.1} %; the ratios are at {:.1} %",
                path.display(),
                100.0 * of_file,
                100.0 * confidence
            );
        }
        Ok(Self {
            name: exported.run,
            summary: Summary {
                groups: exported.groups,
            },
            suite: exported.suite,
            environment: exported.environment,
            generators: None,
            settings: BTreeMap::new(),
            others: None,
        })
    }

    fn of_run(store: &Store, run: RunRecord, confidence: f64) -> anyhow::Result<Self> {
        let trials = store.heads(&run.id)?;
        let mut run = run;

        run.plan["confidence"] = confidence.into();
        Ok(Self {
            summary: reporting::summary(&run, &trials)?,
            generators: Some(generators(&trials)),
            settings: reporting::settings(&run),
            others: reporting::share_of_others(&run, &trials),
            name: run.id,
            suite: run.suite,
            environment: run.environment,
        })
    }

    pub(super) fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            suite: &self.suite,
            environment: &self.environment,
            generators: self.generators.clone(),
            settings: self.settings.clone(),
            others: self.others,
        }
    }

    /// Whether it holds loads that were saved by a name.
    pub(super) fn are_loads(&self) -> bool {
        self.suite == reporting::LOADS
    }

    /// The history of each service under each load, over the runs of the store under the same circumstances: of the metric
    /// that it is ranked by, and of those that may fail.
    pub(super) fn history(
        &self,
        store: &StoreArgs,
        gates: &[Metric],
        confidence: f64,
    ) -> anyhow::Result<Vec<History>> {
        let store = store.open_existing()?;
        let mut runs = Vec::new();
        for entry in store
            .runs()?
            .into_iter()
            .rev()
            .filter(|entry| entry.suite == self.suite && entry.trials > 0)
        {
            let run = store.run(&entry.id)?;
            // Its trials are read only where the rest is alike.
            let known = Circumstances {
                suite: &run.suite,
                environment: &run.environment,
                generators: None,
                settings: BTreeMap::new(),
                others: None,
            };
            if !mismatches(&self.circumstances(), &known).is_empty() {
                continue;
            }
            let side = Self::of_run(&store, run, confidence)?;
            if mismatches(&self.circumstances(), &side.circumstances()).is_empty() {
                runs.push(side);
            }
        }
        let groups = self.summary.groups.iter();
        let each = groups.flat_map(|group| group.services.iter().map(move |row| (group, row.id.to_string())));
        let metrics = |ranked_by: Metric| {
            let gates = gates.iter().copied().filter(move |&gate| gate != ranked_by);
            std::iter::once(ranked_by).chain(gates)
        };
        each.flat_map(|(group, service)| {
            metrics(group.ranked_by).map(move |metric| (group, service.clone(), metric))
        })
        .map(|(group, service, metric)| history(&runs, group, (&service, metric), confidence))
        .collect()
    }
}

impl History {
    /// What came before a run.
    pub(super) fn before(&self, run: &str) -> Earlier {
        let end = self.runs.iter().position(|known| known == run);
        Earlier {
            contract: self.contract.clone(),
            workload: self.workload.clone(),
            load: self.load.clone(),
            service: self.service.clone(),
            metric: self.metric,
            points: self.points[..end.unwrap_or(self.points.len())].to_vec(),
        }
    }
}

fn history(
    runs: &[Side],
    group: &Group,
    (service, metric): (&str, Metric),
    confidence: f64,
) -> anyhow::Result<History> {
    let point = |side: &Side| {
        let same = |other: &&Group| {
            other.contract == group.contract && other.workload == group.workload && other.load == group.load
        };
        let found = side.summary.groups.iter().find(same)?;
        let row = found.services.iter().find(|row| row.id.to_string() == service)?;
        let estimate = row.metrics.get(metric).and_then(Quantity::estimate)?;
        (estimate.point > 0.0).then(|| (side.name.clone(), estimate.point))
    };
    let (names, points): (Vec<String>, Vec<f64>) = runs.iter().filter_map(point).unzip();
    Ok(History {
        contract: group.contract.clone(),
        workload: group.workload.clone(),
        load: group.load.clone(),
        service: service.to_owned(),
        metric,
        changes: change_points(&points, confidence)?,
        runs: names,
        points,
    })
}
