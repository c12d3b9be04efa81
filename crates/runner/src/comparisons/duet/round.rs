//! What a round of a duet gave.

use prony_records::{Bottleneck, Measurement, Quantile, Recording, ResponseTimes};
use prony_statistics::{DuetRound, synchronous};
use serde::Serialize;

/// What a round gave.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// Whether the two had exchanged their places.
    pub swapped: bool,
    /// Valid replies per second of both.
    pub goodput_per_s: [f64; 2],
    /// First over second in each synchronous window.
    pub ratios: Vec<f64>,
    /// First over second over all of them.
    pub whole: Option<f64>,
    /// Median response time of both, ns.
    pub response_time_ns_p50: [Option<Quantile>; 2],
    /// 99th percentile of the response time of both, ns.
    pub response_time_ns_p99: [Option<Quantile>; 2],
    /// First over second, CPU time per reply.
    pub cpu_ratio: Option<f64>,
    /// That the network was the limit, where it was.
    #[serde(skip)]
    pub network_limit: Option<String>,
}

impl Round {
    /// Of what both measured at once.
    pub(super) fn of(swapped: bool, both: [&Measurement; 2]) -> Self {
        let [one, other] = both.map(|measurement| &measurement.recording);
        let [first_cpu, second_cpu] = both.map(|measurement| {
            let replies = measurement.recording.replies();
            let ns = measurement.service.cpu_ns.filter(|_| replies > 0);
            ns.map(|ns| ns as f64 / replies as f64)
        });
        let cpu_ratio = first_cpu.zip(second_cpu).map(|(one, other)| one / other);
        let windows = synchronous(&one.intervals, &other.intervals);
        let times = |of: fn(&ResponseTimes) -> Quantile| {
            [one, other].map(|recording: &Recording| recording.response_time_ns.as_ref().map(of))
        };
        Self {
            swapped,
            goodput_per_s: [one.goodput_per_s, other.goodput_per_s],
            ratios: windows.ratios,
            whole: windows.whole,
            response_time_ns_p50: times(|latency| latency.p50),
            response_time_ns_p99: times(|latency| latency.p99),
            cpu_ratio: cpu_ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
            network_limit: network_limit(&both),
        }
    }

    /// Its goodput, window by window.
    pub(super) fn windows(&self) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: self.ratios.clone(),
            whole: self.whole,
        }
    }

    /// A metric that has one ratio for a round.
    pub(super) fn single(&self, ratio: f64) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: vec![ratio],
            whole: None,
        }
    }
}

fn network_limit(both: &[&Measurement]) -> Option<String> {
    let mut warnings = both.iter().flat_map(|measurement| &measurement.warnings);
    let found = warnings.find(|warning| warning.kind.facts().bottleneck == Some(Bottleneck::Network));
    found.map(|warning| warning.text.clone())
}
