//! What the command compared, and each change of it that can fail a job.

use super::headline::{percent, worse};
use super::noise::is_within;
use super::revisions::RevisionComparison;
use super::{Comparison, FailOn};
use crate::exit::Exit;
use prony_statistics::{Change, GroupChange, Metric};
use serde::Serialize;

/// One comparison, or those of two git revisions.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum CompareOutcome {
    One(Box<Comparison>),
    Revisions(Box<RevisionComparison>),
}

/// A change of a service under a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceMetric<'a> {
    pub(super) comparison: &'a Comparison,
    pub(super) group: &'a GroupChange,
    /// The service as it was compared, without its revision.
    pub(super) service: &'a str,
    pub(super) change: &'a Change,
}

impl CompareOutcome {
    pub(super) fn comparisons(&self) -> &[Comparison] {
        match self {
            Self::One(comparison) => std::slice::from_ref(comparison),
            Self::Revisions(revisions) => &revisions.comparisons,
        }
    }

    /// The comparisons of two git revisions.
    pub(super) const fn revisions(&self) -> Option<&RevisionComparison> {
        match self {
            Self::One(_) => None,
            Self::Revisions(revisions) => Some(revisions),
        }
    }

    pub(super) fn exit(&self, fail_on: FailOn) -> Exit {
        match self {
            Self::One(comparison) => comparison.outcome(fail_on),
            Self::Revisions(revisions) => revisions.outcome(fail_on),
        }
    }

    /// Every change of every service.
    pub(super) fn metrics(&self) -> impl Iterator<Item = ServiceMetric<'_>> {
        self.comparisons().iter().flat_map(|comparison| {
            let groups = comparison.change.groups.iter();
            groups.flat_map(move |group| {
                group.services.iter().flat_map(move |service| {
                    service.changes.iter().map(move |change| ServiceMetric {
                        comparison,
                        group,
                        service: plain_name(&service.service),
                        change,
                    })
                })
            })
        })
    }
}

/// The name of a service without its revision, and without the variant if that is the only one.
fn plain_name(service: &str) -> &str {
    let name = service.split('@').next().unwrap_or_default();
    name.strip_suffix("/default").unwrap_or(name)
}

impl ServiceMetric<'_> {
    /// The service and its load: `shop, hello/json`.
    pub(super) fn title(&self) -> String {
        format!(
            "{}, {}/{}",
            self.service, self.group.contract, self.group.workload
        )
    }

    /// The change in words: `CPU time per request: 3.1 to 5.2 % slower (limit 2 %)`.
    pub(super) fn sentence(&self) -> String {
        let sides = self.comparison.measured.as_ref();
        let layout = sides.and_then(|sides| sides.code_layout);
        match layout.filter(|&share| is_within(self.change, share)) {
            Some(share) => format!(
                "{}; differences below {} may come from code layout",
                self.finding(),
                percent(share)
            ),
            None => self.finding(),
        }
    }

    fn finding(&self) -> String {
        let (loss, metric) = (self.change.loss(), self.change.metric);
        let limit = percent(self.comparison.max_slowdown);
        let verdict = if self.change.regressed {
            format!(
                "{} to {}",
                percent(loss.low).trim_end_matches(" %"),
                percent(loss.high)
            )
        } else if self.change.inconclusive {
            let smallest = self.smallest().map_or_else(String::new, |smallest| {
                format!(
                    "; the smallest change that this run could show is {}",
                    percent(smallest)
                )
            });
            return format!(
                "{}: inconclusive, up to {} {} (limit {limit}){smallest}",
                metric.title(),
                percent(loss.high.max(0.0)),
                worse(metric)
            );
        } else {
            format!("at most {}", percent(loss.high.max(0.0)))
        };
        format!("{}: {verdict} {} (limit {limit})", metric.title(), worse(metric))
    }

    /// The smallest change of this metric that the rounds could show.
    fn smallest(&self) -> Option<f64> {
        let sides = self.comparison.measured.as_ref()?;
        let found = sides.smallest_differences.iter();
        let of_metric = |metric: Metric| metric == self.change.metric;
        found
            .filter(|smallest| of_metric(smallest.metric))
            .map(|smallest| smallest.difference)
            .next()
    }
}
