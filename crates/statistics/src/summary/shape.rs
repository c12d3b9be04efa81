//! The types of a summary: the `groups` of `prony run --json`.

use crate::{Adjustment, Estimate, Metric, Metrics, PairwiseComparison, StatisticsError, Variation};
use prony_records::{AgreedTls, Classification, Exclusion, Outcomes, ResponseTimes, ServiceId, Warning};
use serde::{Deserialize, Serialize};

/// Options of a summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Confidence of every interval and of all comparisons of a group together, 0 to 1.
    pub confidence: f64,
    /// Band of practical equivalence: with 0.01, services that are proven within 1 % of each other count as the same. 0: no band.
    pub tie_band: f64,
    /// Metric to rank by. Default: the metric that the suite sets for the group, else goodput under a closed load (sequences if
    /// the workload is one), and the 99th percentile of the response time if requests arrive on their own. A percentile with
    /// fewer than ten replies beyond it in a trial is replaced by CPU time per request or a lower percentile.
    pub rank_by: Option<Metric>,
    /// Requested half-width of intervals, 0.02 is ±2 %: used to compute the number of trials it would take.
    pub precision: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            tie_band: 0.01,
            rank_by: None,
            precision: 0.02,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), StatisticsError> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(StatisticsError::Confidence(self.confidence));
        }
        for (what, value) in [("the tie band", self.tie_band), ("the precision", self.precision)] {
            if !(0.0..1.0).contains(&value) {
                return Err(StatisticsError::Share { what, value });
            }
        }
        Ok(())
    }
}

/// The summary of the trials of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// One group per contract × workload × load, in the order of the plan.
    pub groups: Vec<Group>,
}

/// The services that did the same work under the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Name of the contract.
    pub contract: String,
    /// Name of the workload in the contract.
    pub workload: String,
    /// The load, as the load crate serialises it.
    pub load: serde_json::Value,
    /// Metric that the services are ranked by.
    pub ranked_by: Metric,
    /// Confidence of the intervals, and of all comparisons together.
    pub confidence: f64,
    /// Band of practical equivalence: see [`Options::tie_band`].
    pub tie_band: f64,
    /// How the comparisons were adjusted for their number; `None` if fewer than two services can be compared.
    pub adjustment: Option<Adjustment>,
    /// Number of rounds with a successful trial.
    pub rounds: u32,
    /// Best first, excluded services last.
    pub services: Vec<ServiceSummary>,
    /// All pairs of ranked services, in the order of `services`.
    pub pairs: Vec<PairwiseComparison>,
    /// Warnings about the whole group.
    pub warnings: Vec<Warning>,
}

/// The results of one service in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceSummary {
    /// Service and variant.
    #[serde(flatten)]
    pub id: ServiceId,
    /// One number for sorting: `rank_low`, but never better than that of a service with a better point; `None` if not ranked. The
    /// data supports only the range from `rank_low` to `rank_high`.
    pub rank: Option<u32>,
    /// Whether the generator, not the service, was the limit in at least half of the trials under a closed load. Its rates are
    /// then lower bounds, which are never proven worse than another rate.
    #[serde(default)]
    pub generator_bound: bool,
    /// The best rank that is compatible with the data: 1 + the services proven better.
    #[serde(default)]
    pub rank_low: Option<u32>,
    /// The worst rank that is compatible with the data: all ranked services − those proven worse.
    #[serde(default)]
    pub rank_high: Option<u32>,
    /// Its value of the metric that the group is ranked by, over that of the first service whose value is not a lower bound, within the
    /// same rounds: the machine's speed cancels. Absent for lower bounds, without a rank, and with fewer than two rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_first: Option<Estimate>,
    /// What it costs more than the service that does the same without a framework.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_baseline: Option<OverBaseline>,
    /// Memory per connection that is held open, with what belongs to it, such as a session, bytes: the slope over the groups that differ
    /// only in the number of connections. In the group with the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes_per_connection: Option<Estimate>,
    /// Capacity only: the rate that a further start sustains with the confidence of the group, per second (the lower bound of a
    /// prediction interval).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained_per_s: Option<f64>,
    /// The cost of TLS, if the group is over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsCost>,
    /// `service/variant` of the services that are not proven to differ from this one.
    pub tied_with: Vec<String>,
    /// Estimates by metric.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Bytes received per complete reply, including headers.
    pub bytes_per_reply: Option<f64>,
    /// Share of the offered requests that did not get a valid reply.
    pub error_share: Option<f64>,
    /// Outcomes of the requests of all trials.
    pub outcomes: Outcomes,
    /// Response times of all requests of all trials together. For charts only: without an interval they support no claim.
    pub response_time_ns_merged: Option<ResponseTimes>,
    /// Response times of valid replies: `HdrHistogram` V2, compressed, base64.
    pub histogram: Option<String>,
    /// Number of successful trials.
    pub trials: u32,
    /// Number of failed trials.
    pub failed_trials: u32,
    /// Behaviour of throughput over time: the most frequent classification of its trials.
    pub classification: Option<Classification>,
    /// Sources of the variation of its throughput: within a start, between starts, or between builds if there were several;
    /// `None` with one trial.
    pub variation: Option<Variation>,
    /// Number of trials that the requested precision takes with this variation.
    pub trials_for_precision: Option<u32>,
    /// Warnings about these numbers.
    pub warnings: Vec<Warning>,
    /// Why the service is excluded from the ranking.
    pub excluded: Option<Exclusion>,
}

/// The CPU time per request of a service compared with that of its baseline, within the same rounds: the machine's speed cancels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverBaseline {
    /// `service/variant` of the baseline.
    pub baseline: String,
    /// Its CPU time per request less that of the baseline, ns: the mean of the differences of the rounds, with its t interval.
    pub cpu_ns_per_request: Estimate,
    /// Its CPU time per request over that of the baseline.
    pub ratio: Estimate,
}

/// The cost of TLS for a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TlsCost {
    /// Rounds in which the service was measured over TLS and in clear.
    pub pairs: u32,
    /// CPU time per request over TLS ÷ in clear: the mean of the rounds on the log scale.
    pub cpu_ratio: Option<Estimate>,
    /// Goodput over TLS ÷ in clear, likewise.
    pub goodput_ratio: Option<Estimate>,
    /// CPU time of a handshake, ns: that of a new connection with one request over TLS, minus the same in clear. `None` unless each
    /// connection has one request.
    pub handshake_cpu_ns: Option<Estimate>,
    /// Share of the handshakes that resumed an earlier session, without the first one of each connection of the load.
    pub resumed_share: Option<f64>,
    /// What the handshakes agreed on.
    pub agreed: Option<AgreedTls>,
}

impl Group {
    /// Whether the workload is a sequence of operations.
    pub fn is_of_sequences(&self) -> bool {
        self.services
            .iter()
            .any(|row| row.metrics.sequences_per_s.is_some())
    }

    /// Whether requests arrive on their own (open, users) instead of after replies.
    pub fn is_open(&self) -> bool {
        is_open(&self.load)
    }
}

impl ServiceSummary {
    /// Whether the service's value of a metric is a lower bound because the generator set the pace.
    pub fn is_lower_bound(&self, metric: Metric) -> bool {
        self.generator_bound && metric.unit() == "1/s"
    }
}

pub(super) fn is_open(load: &serde_json::Value) -> bool {
    matches!(
        load.get("kind").and_then(serde_json::Value::as_str),
        Some("open" | "users")
    )
}
