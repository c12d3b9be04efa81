//! Published results of others, next to ours.

use super::{GroupReport, Row};
use crate::{PublishedFigure, References, service_names};
use prony_records::ServiceId;
use prony_statistics::Metric;
use serde::{Deserialize, Serialize};

/// The results of a source for one service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceRow {
    /// Short name of the source.
    pub source: String,
    /// Title and date of the source.
    pub title: String,
    pub contract: String,
    pub workload: String,
    /// Our load that is closest to that of the source, in words.
    pub load_text: String,
    /// The name as the source prints it.
    pub name: String,
    /// Our corresponding service; `None` if it was not measured.
    pub service: Option<String>,
    pub variant: Option<String>,
    /// Replies per second, as published: a single value without an interval, on another machine.
    pub throughput_per_s: Option<f64>,
    /// All published figures that prony estimates too, including throughput.
    pub figures: Vec<ReferenceFigure>,
    /// Remarks on the figure.
    pub notes: Vec<String>,
}

/// One published number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceFigure {
    pub metric: Metric,
    /// As published, in the unit of the metric.
    pub published: f64,
    /// The point of our estimate; `None` if we have none, or the two cannot be compared.
    pub ours: Option<f64>,
}

impl ReferenceRow {
    /// Our service and variant.
    pub fn ours(&self) -> Option<ServiceId> {
        Some(ServiceId {
            service: self.service.clone()?,
            variant: self.variant.clone()?,
        })
    }
}

/// Agreement between the order of a source and ours in one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Short name of the source.
    pub source: String,
    pub contract: String,
    pub workload: String,
    /// The load in words.
    pub load_text: String,
    /// Number of services that both have.
    pub services: u32,
    /// Spearman's rank correlation, -1 to 1; `None` with fewer than three services, or where all share one rank.
    pub rank_correlation: Option<f64>,
}

/// The figures that concern a group of the report.
pub(super) fn reference(references: &[References], groups: &[GroupReport]) -> Vec<ReferenceRow> {
    let mut rows = Vec::new();
    for source in references {
        for figure in &source.figures {
            let Some(group) = groups.iter().find(|group| concerns(source, figure, group)) else {
                continue;
            };
            let ours = ours(group, figure);
            let comparable = ours.filter(|_| figure.incomparable.is_none());
            let figures: Vec<ReferenceFigure> = Metric::ALL
                .iter()
                .filter_map(|&metric| {
                    Some(ReferenceFigure {
                        metric,
                        published: figure.value(metric)?,
                        ours: comparable.and_then(|row| row.summary.metrics.get(metric)?.position()),
                    })
                })
                .collect();
            if figures.is_empty() {
                continue;
            }
            rows.push(ReferenceRow {
                source: source.source.clone(),
                title: format!("{}, {}", source.title, source.date),
                contract: source.contract.clone(),
                workload: figure.workload.clone(),
                load_text: group.load_text.clone(),
                name: figure.service.clone(),
                service: ours.map(|row| row.summary.id.service.clone()),
                variant: ours.map(|row| row.summary.id.variant.clone()),
                throughput_per_s: figure.value(Metric::ThroughputPerS),
                figures,
                notes: figure.incomparable.iter().chain(&figure.notes).cloned().collect(),
            });
        }
    }
    rows
}

/// Whether a figure has the same contract, workload and kind of load: users who arrive at the same rate, or a closed
/// loop. Throughput at an offered rate equals that rate, so it is not compared.
fn concerns(source: &References, figure: &PublishedFigure, group: &GroupReport) -> bool {
    let profile = &group.load["arrival"]["profile"];
    let same_load = match figure.users_per_s {
        Some(users) => [&profile["to"], &profile["rate"]]
            .iter()
            .any(|peak| peak.as_f64() == Some(users)),
        None => group.load["kind"] == "closed",
    };
    group.contract == source.contract && group.workload == figure.workload && same_load
}

/// One agreement for each source and group that have a service in common.
pub(super) fn agreement(references: &[References], groups: &[GroupReport]) -> Vec<Agreement> {
    let mut all = Vec::new();
    for source in references {
        for group in groups.iter().filter(|group| group.contract == source.contract) {
            let pairs: Vec<(f64, f64)> = source
                .figures
                .iter()
                .filter(|figure| figure.incomparable.is_none() && concerns(source, figure, group))
                .filter_map(|figure| {
                    let ours = ours(group, figure)?.summary.metrics.get(Metric::ThroughputPerS)?;
                    Some((figure.value(Metric::ThroughputPerS)?, ours.position()?))
                })
                .collect();
            if pairs.is_empty() {
                continue;
            }
            all.push(Agreement {
                source: source.source.clone(),
                contract: group.contract.clone(),
                workload: group.workload.clone(),
                load_text: group.load_text.clone(),
                services: pairs.len() as u32,
                rank_correlation: spearman(&pairs),
            });
        }
    }
    all
}

/// Our service for a figure: the pinned variant if there is one, since it has the published version, otherwise the one
/// that is highest in the ranking.
fn ours<'a>(group: &'a GroupReport, figure: &PublishedFigure) -> Option<&'a Row> {
    let fitting = || {
        group.services.iter().filter(|row| {
            let throughput = row.summary.metrics.get(Metric::ThroughputPerS);
            service_names::fits(&figure.ours, &row.summary.id.to_string())
                && throughput.is_some_and(|quantity| quantity.position().is_some())
        })
    };
    fitting()
        .find(|row| row.summary.id.variant.starts_with("pinned"))
        .or_else(|| fitting().next())
}

/// Spearman's rank correlation with midranks for ties: Pearson's correlation of the ranks.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let left = midranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let right = midranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    let mean = f64::midpoint(pairs.len() as f64, 1.0);
    let product =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let spread = (product(&left, &left) * product(&right, &right)).sqrt();
    (spread > 0.0).then(|| product(&left, &right) / spread)
}

fn midranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values
                .iter()
                .filter(|other| other.total_cmp(value).is_lt())
                .count() as f64;
            let equal = values
                .iter()
                .filter(|other| other.total_cmp(value).is_eq())
                .count() as f64;
            below + f64::midpoint(equal, 1.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_by_hand() {
        let close = |found: Option<f64>, wanted: f64| (found.expect("enough pairs") - wanted).abs() < 1e-12;
        assert!(close(spearman(&[(1.0, 10.0), (2.0, 20.0), (3.0, 500.0)]), 1.0));
        assert!(close(spearman(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), -1.0));
        // 1 − 6 Σd² / (n (n² − 1)) with d = (0, 1, −1, 0): 1 − 12 / 60.
        assert!(close(
            spearman(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]),
            0.8
        ));
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }
}
