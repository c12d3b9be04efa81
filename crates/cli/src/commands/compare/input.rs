//! One side of a comparison: a stored run or an exported report.

use crate::checkout::{StoreArgs, usage};
use crate::exit::bad_input;
use crate::reporting;
use anyhow::anyhow;
use prony_records::{
    Environment, Fingerprint, RunRecord, SAVED_LOADS, SCHEMA, ServiceId, ServiceInfo, load_id, upgrade,
};
use prony_report::describe_load;
use prony_runner::REQUESTS_SETTING;
use prony_statistics::{
    BaselineHistory, ChangePoint, Group, Metric, Mismatch, Quantity, RunConditions, Summary, change_points,
    generators, mismatches,
};
use prony_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) struct CompareSide {
    pub(super) name: String,
    pub(super) summary: Summary,
    suite: String,
    /// RFC 3339, UTC.
    started_at: String,
    /// What saved loads went to; `None` for other runs.
    target: Option<String>,
    environment: Environment,
    generators: Option<BTreeSet<String>>,
    settings: BTreeMap<String, String>,
    services: Vec<ServiceInfo>,
    /// Share of the machine that other programs used during saved loads.
    pub(super) others: Option<f64>,
    fingerprints: BTreeMap<String, Fingerprint>,
}

/// The fields of an exported report that are read.
#[derive(Deserialize)]
struct ReportExport {
    schema: u32,
    run: String,
    suite: String,
    started_at: String,
    #[serde(default)]
    plan: serde_json::Value,
    environment: Environment,
    #[serde(default)]
    services: Vec<ServiceInfo>,
    groups: Vec<Group>,
}

/// A metric of a service over the runs of its suite.
#[derive(Debug, Serialize)]
pub(super) struct History {
    pub(super) contract: String,
    pub(super) workload: String,
    pub(super) load: serde_json::Value,
    pub(super) service: String,
    pub(super) metric: Metric,
    /// Oldest first.
    pub(super) runs: Vec<String>,
    /// When each of them began, RFC 3339, UTC.
    started_at: Vec<String>,
    /// One value for each run.
    pub(super) points: Vec<f64>,
    /// Where it changed, as indices into `runs`.
    pub(super) changes: Vec<ChangePoint>,
}

impl CompareSide {
    /// Reads the file of that name if there is one, else the run.
    pub(super) fn find(wanted: &str, store: &StoreArgs, confidence: f64) -> anyhow::Result<Self> {
        let path = Path::new(wanted);
        if path.is_file() {
            return Self::of_file(path, confidence);
        }
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = format!(
                "there is no file {wanted} → Write one with `prony report --format json --out {wanted}`"
            );
            return Err(bad_input(anyhow!(text)));
        }
        let store = store.open_existing()?;
        let id = store.find_run(wanted).map_err(usage)?;
        Self::of_run(&store, store.run(&id)?, confidence)
    }

    fn of_file(path: &Path, confidence: f64) -> anyhow::Result<Self> {
        let mut report = reporting::read_report(path)?;
        upgrade(&mut report);
        let fingerprints = RunRecord::fingerprints_in(&report["plan"]).unwrap_or_default();
        let exported = serde_json::from_value::<ReportExport>(report).map_err(|error| {
            bad_input(anyhow!(
                "{} is not a prony report ({error}) → Write one with `prony report --format json`",
                path.display()
            ))
        })?;
        if !(1..=SCHEMA).contains(&exported.schema) {
            let text = format!(
                "{} has version {} of the report format, but this prony reads up to version {SCHEMA}",
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
                "prony: the estimates in {} have {:.1} % confidence; the ratios have {:.1} %",
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
            target: reporting::target_in(&exported.plan),
            suite: exported.suite,
            started_at: exported.started_at,
            environment: exported.environment,
            generators: None,
            settings: BTreeMap::new(),
            services: exported.services,
            others: None,
            fingerprints,
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
            services: reporting::recorded_services(&run).unwrap_or_default(),
            others: reporting::share_of_others(&run, &trials),
            fingerprints: run.fingerprints().unwrap_or_default(),
            target: reporting::target(&run),
            name: run.id,
            suite: run.suite,
            started_at: run.started_at,
            environment: run.environment,
        })
    }

    pub(super) fn circumstances(&self) -> RunConditions<'_> {
        RunConditions {
            suite: &self.suite,
            environment: &self.environment,
            generators: self.generators.clone(),
            settings: self.settings.clone(),
            others: self.others,
            fingerprints: self.fingerprints.clone(),
        }
    }

    /// Gives the only group the requests and the load of another one: saved loads are compared although these differ. Returns what differed:
    /// the old and the new path of an API may be compared, and their requests must differ for that.
    pub(super) fn align_with(&mut self, new: &Self) -> Vec<Mismatch> {
        let ([base], [new_group]) = (self.summary.groups.as_mut_slice(), new.summary.groups.as_slice())
        else {
            return Vec::new();
        };
        let described = |group: &Group| describe_load(&group.load, group.is_of_sequences());
        // Numbers in words have three digits.
        let is_clear = described(base) != described(new_group);
        let load = |group: &Group| {
            if is_clear {
                described(group)
            } else {
                load_id(&group.load)
            }
        };
        let mut differences = Vec::new();
        let mut differs = |what: &str, base: String, new: String| {
            if base != new {
                let what = what.to_owned();
                differences.push(Mismatch { what, base, new });
            }
        };
        let origin = |target: &Option<String>| target.as_deref().map(origin).unwrap_or_default();
        differs("target", origin(&self.target), origin(&new.target));
        differs("request", base.workload.clone(), new_group.workload.clone());
        differs("load", load(base), load(new_group));
        if base.workload != new_group.workload {
            // Its hash says less.
            self.settings.remove(REQUESTS_SETTING);
        }
        base.workload.clone_from(&new_group.workload);
        base.load.clone_from(&new_group.load);
        differences
    }

    /// Whether the runs are loads saved with `prony load --save`.
    pub(super) fn are_loads(&self) -> bool {
        self.suite == SAVED_LOADS
    }

    /// The history of each service under each load over the stored runs with the same circumstances, for the metric that the
    /// service is ranked by and for the gated ones.
    pub(super) fn history(
        &self,
        store: &StoreArgs,
        gates: &[Metric],
        confidence: f64,
    ) -> anyhow::Result<RunHistory> {
        let store = store.open_existing()?;
        let mut entries = store.runs()?;
        entries.retain(|entry| entry.suite == self.suite && entry.trials > 0);
        // Changes are looked for over time, also between runs of this store and imported ones.
        entries.reverse();
        entries.sort_by(|left, right| left.started_at.cmp(&right.started_at));
        let mut runs = Vec::new();
        let mut left_out = LeftOut::default();
        for entry in entries {
            let run = store.run(&entry.id)?;
            // Loads of another target are of another service.
            if reporting::target(&run) != self.target {
                continue;
            }
            // The trials are read only if everything else matches.
            let known = RunConditions {
                suite: &run.suite,
                environment: &run.environment,
                generators: None,
                settings: reporting::settings(&run),
                others: None,
                fingerprints: run.fingerprints().unwrap_or_default(),
            };
            let is_earlier = self.is_after(&run);
            let differences = mismatches(&self.circumstances(), &known);
            if !differences.is_empty() {
                left_out.add(&differences, is_earlier);
                continue;
            }
            let side = Self::of_run(&store, run, confidence)?;
            let differences = mismatches(&self.circumstances(), &side.circumstances());
            if differences.is_empty() {
                runs.push(side);
            } else {
                left_out.add(&differences, is_earlier);
            }
        }
        let groups = self.summary.groups.iter();
        let each = groups.flat_map(|group| group.services.iter().map(move |row| (group, &row.id)));
        let metrics = |ranked_by: Metric| {
            let gates = gates.iter().copied().filter(move |&gate| gate != ranked_by);
            std::iter::once(ranked_by).chain(gates)
        };
        let lines = each
            .flat_map(|(group, service)| metrics(group.ranked_by).map(move |metric| (group, service, metric)))
            .map(|(group, service, metric)| {
                let names = self.services.iter().find(|info| info.is_or_was(service));
                let is_same = |id: &ServiceId| id == service || names.is_some_and(|info| info.is_or_was(id));
                let row = HistoryRow {
                    group,
                    service,
                    metric,
                };
                history(&runs, &row, &is_same, confidence)
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(RunHistory { lines, left_out })
    }

    /// Whether this run began after the other one.
    fn is_after(&self, other: &RunRecord) -> bool {
        self.name != other.id && self.started_at > other.started_at
    }
}

/// The histories of a run, and what they do not contain.
#[derive(Debug, Default)]
pub(super) struct RunHistory {
    pub(super) lines: Vec<History>,
    pub(super) left_out: LeftOut,
}

/// Earlier runs of the suite that were made in other circumstances.
#[derive(Debug, Default, Serialize)]
pub(super) struct LeftOut {
    pub(super) runs: usize,
    /// The number of runs by what differs; a run may differ in several ways.
    pub(super) differences: BTreeMap<String, usize>,
}

impl LeftOut {
    fn add(&mut self, differences: &[Mismatch], is_earlier: bool) {
        if !is_earlier {
            return;
        }
        self.runs += 1;
        for difference in differences {
            *self.differences.entry(difference.what.clone()).or_default() += 1;
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs == 0
    }
}

impl History {
    /// The points of the runs before the new one.
    pub(super) fn before(&self, base: &CompareSide, new: &CompareSide) -> BaselineHistory {
        let until = |side: &CompareSide| {
            let named = self.runs.iter().position(|run| *run == side.name);
            named.unwrap_or_else(|| {
                self.started_at
                    .partition_point(|started| *started < side.started_at)
            })
        };
        let end = until(new);
        let base_end = match self.runs.iter().position(|run| *run == base.name) {
            Some(at) => at + 1,
            None => until(base),
        };
        BaselineHistory {
            contract: self.contract.clone(),
            workload: self.workload.clone(),
            load: self.load.clone(),
            service: self.service.clone(),
            metric: self.metric,
            points: self.points[..end].to_vec(),
            up_to_base: base_end.min(end),
        }
    }
}

/// The scheme and authority of a target. Its path is in the name of the workload.
fn origin(target: &str) -> String {
    let authority = target.find("://").map_or(0, |at| at + "://".len());
    let end = target[authority..].find(['/', '?', '#']);
    target[..end.map_or(target.len(), |end| authority + end)].to_owned()
}

/// Whose history it is, and of which metric.
struct HistoryRow<'a> {
    group: &'a Group,
    service: &'a ServiceId,
    metric: Metric,
}

fn history(
    runs: &[CompareSide],
    row: &HistoryRow<'_>,
    is_same: &dyn Fn(&ServiceId) -> bool,
    confidence: f64,
) -> anyhow::Result<History> {
    let HistoryRow {
        group,
        service,
        metric,
    } = *row;
    let point = |side: &CompareSide| {
        let same = |other: &&Group| {
            other.contract == group.contract && other.workload == group.workload && other.load == group.load
        };
        let found = side.summary.groups.iter().find(same)?;
        let row = found.services.iter().find(|row| is_same(&row.id))?;
        let estimate = row.metrics.get(metric).and_then(Quantity::estimate)?;
        (estimate.point > 0.0).then_some(estimate.point)
    };
    let known: Vec<(&CompareSide, f64)> = runs
        .iter()
        .filter_map(|side| Some((side, point(side)?)))
        .collect();
    let points: Vec<f64> = known.iter().map(|(_, point)| *point).collect();
    Ok(History {
        contract: group.contract.clone(),
        workload: group.workload.clone(),
        load: group.load.clone(),
        service: service.to_string(),
        metric,
        changes: change_points(&points, confidence)?,
        runs: known.iter().map(|(side, _)| side.name.clone()).collect(),
        started_at: known.iter().map(|(side, _)| side.started_at.clone()).collect(),
        points,
    })
}
