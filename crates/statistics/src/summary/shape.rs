//! What a summary holds: the `groups` of `prony run --json`.

use crate::{Adjustment, Metric, Metrics, Pair, StatisticsError, Variation};
use prony_records::{Classification, Exclusion, Outcomes, ResponseTimes, ServiceId, Warning};
use serde::{Deserialize, Serialize};

/// How to summarise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Confidence of every interval and of all comparisons of a group together, 0 to 1.
    pub confidence: f64,
    /// Band of practical equivalence: 0.01 calls services that are proven within 1 % of each other the same. 0: none.
    pub tie_band: f64,
    /// What to rank by. Unless told: what the suite says of the group, else goodput under a closed load (sequences where the workload is one), the 99th percentile
    /// of the response time where requests arrive on their own. A percentile with fewer than ten replies beyond it in a trial gives way to what a request costs, or to
    /// a lower percentile.
    pub rank_by: Option<Metric>,
    /// Half-width of an interval that is wished for, 0.02 is ±2 %: for the number of trials that it would take.
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
        for (what, value) in [
            ("the band of a tie", self.tie_band),
            ("the precision", self.precision),
        ] {
            if !(0.0..1.0).contains(&value) {
                return Err(StatisticsError::Share { what, value });
            }
        }
        Ok(())
    }
}

/// What the trials of a run say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// One for each contract × workload × load, in the order of the plan.
    pub groups: Vec<Group>,
}

/// The services that did the same work under the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The contract.
    pub contract: String,
    /// The workload of the contract.
    pub workload: String,
    /// The load, as the load crate writes it.
    pub load: serde_json::Value,
    /// What the services are ranked by.
    pub ranked_by: Metric,
    /// Confidence of the intervals, and of all comparisons together.
    pub confidence: f64,
    /// Band of practical equivalence.
    pub tie_band: f64,
    /// How the comparisons were adjusted for their number; `None` where fewer than two services can be compared.
    pub adjustment: Option<Adjustment>,
    /// Rounds with a trial that gave numbers.
    pub rounds: u32,
    /// Those that the generator kept from their rank first, then best first, excluded ones last.
    pub services: Vec<ServiceSummary>,
    /// All pairs of ranked services, in the order of `services`.
    pub pairs: Vec<Pair>,
    /// Reasons to doubt the whole group.
    pub warnings: Vec<Warning>,
}

/// One service of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceSummary {
    /// Service and variant.
    #[serde(flatten)]
    pub id: ServiceId,
    /// One number for sorting: `rank_low`, but never better than that of a service with a better point; `None` where not
    /// ranked. What the data says is the range from `rank_low` to `rank_high`.
    pub rank: Option<u32>,
    /// Whether the generator, not the service, was the limit in half of its trials or more under a closed load: its rates
    /// are then lower bounds, by which it is not ranked.
    #[serde(default)]
    pub generator_bound: bool,
    /// The best rank that the data allows: 1 + the services proven better.
    #[serde(default)]
    pub rank_low: Option<u32>,
    /// The worst rank that the data allows: all ranked services − those proven worse.
    #[serde(default)]
    pub rank_high: Option<u32>,
    /// `service/variant` of those it cannot be told apart from.
    pub tied_with: Vec<String>,
    /// The estimates.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Bytes received per complete reply, heads included.
    pub bytes_per_reply: Option<f64>,
    /// Share of the offered requests that did not become a valid reply.
    pub error_share: Option<f64>,
    /// What became of the requests of all trials.
    pub outcomes: Outcomes,
    /// Response times of all requests of all trials together, for pictures: no interval, no claim.
    pub response_time_ns_merged: Option<ResponseTimes>,
    /// Those of valid replies: `HdrHistogram` V2, compressed, base64.
    pub histogram: Option<String>,
    /// Trials that gave numbers.
    pub trials: u32,
    /// Trials that did not.
    pub failed_trials: u32,
    /// How throughput went over its trials: the most frequent verdict.
    pub classification: Option<Classification>,
    /// Where the variation of its throughput comes from: within a start, between starts, or between builds where there were
    /// several; `None` with one trial.
    pub variation: Option<Variation>,
    /// Trials that the wished precision takes with this variation.
    pub trials_for_precision: Option<u32>,
    /// Reasons to doubt these numbers.
    pub warnings: Vec<Warning>,
    /// Why it is not ranked.
    pub excluded: Option<Exclusion>,
}

impl Group {
    /// Whether its workload is a sequence of operations.
    pub fn is_of_sequences(&self) -> bool {
        self.services
            .iter()
            .any(|row| row.metrics.sequences_per_s.is_some())
    }

    /// Whether requests arrive on their own (open, users) rather than after replies.
    pub fn is_open(&self) -> bool {
        is_open(&self.load)
    }
}

impl ServiceSummary {
    /// Whether the service's value of a metric is a lower bound, because the generator set the pace.
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
