//! A run for a site. It is read from the JSON of its report: a stored run and an exported one are then the same.

use super::{SiteFile, paths};
use crate::formats::{drawn, page_of, title_of};
use crate::model::{is_shown_for_all, ranks, upgrade_export};
use crate::number::{Unit, estimated_with, no_bound};
use crate::{ReportError, service_names};
use prony_records::{Environment, Fingerprint, RunRecord, ServiceId, ServiceInfo, Warning};
use prony_statistics::{
    Group, Metric, Mismatch, Quantity, RunConditions, ServiceSummary, Summary, mismatches,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// A run of a site: the content of its pages, without distributions and pairs, so that many fit into memory.
#[derive(Debug, Clone)]
pub struct SiteRun {
    pub(super) run: String,
    pub(super) suite: String,
    /// Display name of the suite.
    pub(super) title: String,
    pub(super) started_at: String,
    pub(super) ended_at: Option<String>,
    pub(super) environment: Environment,
    /// What the results of each service depend on; empty if an earlier version of prony measured it.
    fingerprints: BTreeMap<String, Fingerprint>,
    pub(super) services: Vec<ServiceInfo>,
    pub(super) boards: Vec<Ranking>,
    /// Warnings about the whole run.
    pub(super) warnings: Vec<Warning>,
}

/// The services of one workload under one load, ranked.
#[derive(Debug, Clone)]
pub(super) struct Ranking {
    pub(super) group: Group,
    pub(super) load_text: String,
    /// The result in a sentence.
    pub(super) finding: String,
}

/// The parts of the JSON that are read.
#[derive(Deserialize)]
struct ReportJson {
    run: String,
    suite: String,
    started_at: String,
    ended_at: Option<String>,
    environment: Environment,
    #[serde(default)]
    services: Vec<ServiceInfo>,
    groups: Vec<ExportedGroup>,
    #[serde(default)]
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct ExportedGroup {
    load_text: String,
    finding: String,
    #[serde(flatten)]
    group: Group,
}

impl SiteRun {
    /// Reads the JSON of a report, and makes the page of the run.
    pub fn read(mut report: Value) -> Result<(Self, SiteFile), ReportError> {
        upgrade_export(&mut report)?;
        let title = report["plan"]["title"].as_str().map(str::to_owned);
        let fingerprints = RunRecord::fingerprints_in(&report["plan"]).unwrap_or_default();
        let exported = ReportJson::deserialize(&report).map_err(ReportError::NoReport)?;
        let page = page(report, &exported)?;
        let mut boards = Vec::new();
        for told in exported.groups {
            let mut group = told.group;
            group.pairs = Vec::new();
            for row in &mut group.services {
                row.histogram = None;
            }
            boards.push(Ranking {
                group,
                load_text: told.load_text,
                finding: told.finding,
            });
        }
        let run = Self {
            title: title
                .filter(|title| !title.trim().is_empty())
                .unwrap_or_else(|| exported.suite.clone()),
            run: exported.run,
            suite: exported.suite,
            started_at: exported.started_at,
            ended_at: exported.ended_at,
            fingerprints,
            environment: exported.environment,
            services: exported.services,
            warnings: exported.warnings,
            boards,
        };
        Ok((run, page))
    }

    pub fn name(&self) -> &str {
        &self.run
    }

    /// The display name of a service in this run.
    pub(super) fn display_name(&self, id: &ServiceId) -> String {
        service_names::name(&self.services, id)
    }

    /// Start of the run; an invalid time sorts before all others.
    pub(super) fn began(&self) -> SystemTime {
        time(&self.started_at)
    }

    /// Differences from another run, apart from the services.
    pub(super) fn differs(&self, before: &Self) -> Vec<Mismatch> {
        mismatches(&before.circumstances(), &self.circumstances())
    }

    fn circumstances(&self) -> RunConditions<'_> {
        RunConditions {
            suite: &self.suite,
            environment: &self.environment,
            generators: None,
            settings: BTreeMap::new(),
            others: None,
            fingerprints: self.fingerprints.clone(),
        }
    }

    /// Its rankings in the form that the statistics use.
    pub(super) fn summary(&self) -> Summary {
        Summary {
            groups: self.boards.iter().map(|board| board.group.clone()).collect(),
        }
    }
}

impl Ranking {
    /// The title that distinguishes it from the other rankings of its run.
    pub(super) fn title(&self) -> String {
        title_of(&self.group.contract, &self.group.workload, &self.load_text)
    }

    /// Its address on the page of its run.
    pub(super) fn address(&self, run: &SiteRun) -> String {
        let key = [
            self.group.contract.as_str(),
            &self.group.workload,
            &self.load_text,
        ]
        .join("/");
        format!("{}#group={}", paths::run_page(&run.run), paths::encoded(&key))
    }

    /// Whether services did the same under the same load.
    pub(super) fn is_same_work(&self, other: &Self) -> bool {
        let (one, other) = (&self.group, &other.group);
        one.contract == other.contract && one.workload == other.workload && one.load == other.load
    }

    /// The ranks of a service among all ranked services: `2–5 of 14`.
    pub(super) fn rank(&self, row: &ServiceSummary) -> String {
        let compared = self.compared();
        ranks(row).map_or_else(|| "–".to_owned(), |ranks| format!("{ranks} of {compared}"))
    }

    /// The number of ranked services.
    pub(super) fn compared(&self) -> usize {
        let services = self.group.services.iter();
        services.filter(|row| row.rank.is_some()).count()
    }

    /// The value of a metric of a service, marked only for its own warnings: those about all services mark none.
    pub(super) fn own_value(&self, row: &ServiceSummary, metric: Metric) -> Option<String> {
        let own = |warning: &Warning| {
            warning.affects(metric.figures())
                && !is_shown_for_all(&self.group.warnings, row.generator_bound, warning)
        };
        marked_value(row, metric, row.warnings.iter().any(own))
    }
}

/// The value of a metric of a service, in its unit, with a sign if it is in doubt: `72,086/s ± 2.3 % ⚠`.
pub(super) fn value(row: &ServiceSummary, metric: Metric) -> Option<String> {
    marked_value(
        row,
        metric,
        row.warnings
            .iter()
            .any(|warning| warning.affects(metric.figures())),
    )
}

fn marked_value(row: &ServiceSummary, metric: Metric, doubted: bool) -> Option<String> {
    Some(shown(row, metric)? + if doubted { " ⚠" } else { "" })
}

fn shown(row: &ServiceSummary, metric: Metric) -> Option<String> {
    let quantity = row.metrics.get(metric)?;
    if let Some(none) = quantity.no_bound() {
        return Some(no_bound(*none));
    }
    let position = quantity.position()?;
    let sign = if row.is_lower_bound(metric) { "≥ " } else { "" };
    let unit = Unit::for_metric(metric, &[position]);
    let value = match quantity {
        Quantity::NoBound(_) | Quantity::TooFewTrials(_) => format!("{} (1 trial)", unit.show_with(position)),
        Quantity::Estimated(known) => estimated_with(&known.estimate, unit),
    };
    Some(format!("{sign}{value}"))
}

/// Parses a time of RFC 3339; an invalid one becomes the start of 1970.
pub(super) fn time(text: &str) -> SystemTime {
    humantime::parse_rfc3339_weak(text).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The day of a time: `2026-11-21`.
pub(super) fn day(text: &str) -> String {
    let written = humantime::format_rfc3339_seconds(time(text)).to_string();
    written.chars().take("2026-11-21".len()).collect()
}

/// The report page of the run, with links to the first page and to those of its services.
fn page(mut report: Value, exported: &ReportJson) -> Result<SiteFile, ReportError> {
    let all = exported.groups.iter().flat_map(|told| &told.group.services);
    let pages: BTreeMap<String, String> = all
        .map(|row| {
            (
                row.id.to_string(),
                format!("../{}", paths::service_page(&row.id.service)),
            )
        })
        .collect();
    report["site"] = json!({ "home": format!("../{}", paths::FIRST), "services": pages });
    let pairs = exported.groups.iter().map(|told| told.group.pairs.as_slice());
    Ok(SiteFile {
        path: paths::run_page(&exported.run),
        text: page_of(&drawn(report, pairs))?,
    })
}
