//! The names and base units under which metrics are exported, and the values that have them.

use crate::{Report, Row};
use prony_records::SAVED_LOADS;
use prony_statistics::{Metric, Quantity};

/// A metric as it is exported.
#[derive(Debug, Clone)]
pub(super) struct ExportedMetric {
    metric: Metric,
    /// The name without its unit.
    pub(super) name: String,
    /// The unit as a UCUM code, which OpenTelemetry requires.
    pub(super) unit: &'static str,
    /// The unit at the end of a name in Prometheus.
    pub(super) word: Option<&'static str>,
    /// How many of the metric's own unit are one base unit.
    per_unit: f64,
}

impl ExportedMetric {
    pub(super) fn of(metric: Metric) -> Self {
        let (unit, word, per_unit) = match metric.unit() {
            "ns" => ("s", Some("seconds"), 1e9),
            "ms" => ("s", Some("seconds"), 1e3),
            "s" => ("s", Some("seconds"), 1.0),
            "bytes" => ("By", Some("bytes"), 1.0),
            "1/s" => (counted(metric), Some("per_second"), 1.0),
            _ => ("{cpu}", None, 1.0),
        };
        let key = metric.key().trim_end_matches("_per_s");
        // CPUs are counted, so the name keeps the word.
        let is_unit = |word: &str| word == metric.unit() && word != "cpus";
        let words = key.split('_').filter(|word| !is_unit(word));
        Self {
            metric,
            name: words.collect::<Vec<&str>>().join("_"),
            unit,
            word,
            per_unit,
        }
    }

    /// The value of a row, or an end of its interval. A single trial has no interval.
    pub(super) fn value(&self, row: &Row, statistic: Statistic) -> Option<f64> {
        let quantity = row.summary.metrics.get(self.metric)?;
        let value = match (quantity.estimate(), statistic) {
            (Some(estimate), Statistic::Point) => estimate.point,
            (Some(estimate), Statistic::Low) => estimate.low,
            (Some(estimate), Statistic::High) => estimate.high,
            (None, Statistic::Point) => quantity.position()?,
            (None, _) => return None,
        };
        Some(value / self.per_unit)
    }

    /// Confidence of the interval of a row.
    pub(super) fn confidence(&self, row: &Row) -> Option<f64> {
        let quantity = row.summary.metrics.get(self.metric);
        Some(quantity.and_then(Quantity::estimate)?.confidence)
    }

    /// What it is, in words.
    pub(super) fn title(&self, statistic: Statistic) -> String {
        let title = self.metric.title();
        match statistic {
            Statistic::Point => title.to_owned(),
            Statistic::Low => format!("{title}, lower end of the confidence interval"),
            Statistic::High => format!("{title}, upper end of the confidence interval"),
        }
    }
}

/// The unit of a rate.
const fn counted(metric: Metric) -> &'static str {
    match metric {
        Metric::MessagesPerS => "{message}/s",
        Metric::SequencesPerS => "{sequence}/s",
        Metric::OfferedPerS => "{request}/s",
        _ => "{reply}/s",
    }
}

/// A number of an estimate. Each is a metric of its own, because sums and means over different ones make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    Point,
    Low,
    High,
}

impl Statistic {
    pub(super) const ALL: [Self; 3] = [Self::Point, Self::Low, Self::High];

    /// What it adds to a name.
    pub(super) const fn word(self) -> Option<&'static str> {
        match self {
            Self::Point => None,
            Self::Low => Some("low"),
            Self::High => Some("high"),
        }
    }
}

/// A number about a row that is not estimated.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) value: fn(&Row) -> Option<u32>,
}

pub(super) const FACTS: [Fact; 6] = [
    Fact {
        name: "rank",
        help: "Rank in its group; services that are statistically tied share one.",
        value: |row| row.summary.rank,
    },
    Fact {
        name: "rank_low",
        help: "The best rank that is compatible with the data.",
        value: |row| row.summary.rank_low,
    },
    Fact {
        name: "rank_high",
        help: "The worst rank that is compatible with the data.",
        value: |row| row.summary.rank_high,
    },
    Fact {
        name: "trials",
        help: "Trials with a measurement.",
        value: |row| Some(row.summary.trials),
    },
    Fact {
        name: "excluded",
        help: "1 if the service is excluded from the ranking.",
        value: |row| Some(u32::from(row.summary.excluded.is_some())),
    },
    Fact {
        name: "generator_bound",
        help: "1 if the generator was the limit, so that rates are lower bounds.",
        value: |row| Some(u32::from(row.summary.generator_bound)),
    },
];

/// The name of a saved load. The name of any other run is not part of its series: each run would start new ones.
pub(super) fn saved_name(report: &Report) -> Option<&str> {
    (report.suite == SAVED_LOADS).then_some(report.run.as_str())
}
