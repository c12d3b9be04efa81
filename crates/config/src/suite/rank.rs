//! The metric by which the services of a group are ranked, if it is not the default of the load.

use prony_load::Load;
use serde::{Deserialize, Serialize};

/// The metric by which the services of a group are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankBy {
    /// Valid replies per second.
    Goodput,
    /// Complete sequences per second.
    Sequences,
    /// Median response time.
    P50,
    /// 99th percentile of the response time.
    P99,
    /// CPU time of the service per request.
    Cpu,
}

impl RankBy {
    /// The metric's key in reports.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_per_s",
            Self::Sequences => "sequences_per_s",
            Self::P50 => "response_time_ns_p50",
            Self::P99 => "response_time_ns_p99",
            Self::Cpu => "cpu_ns_per_request",
        }
    }

    /// Why services cannot be ranked by this metric under a load, if so.
    pub(crate) fn refused(self, load: &Load, searches: bool, is_sequence: bool) -> Option<&'static str> {
        let is_closed = matches!(load, Load::Closed { .. });
        match self {
            Self::Goodput | Self::Sequences if !is_closed && !searches => Some(
                "the rate of requests is the same for all services: remove it to rank by the 99th percentile, or write \"p50\" or \"cpu\"",
            ),
            Self::Sequences if !is_sequence => {
                Some("the workload is not a sequence: remove it to rank by goodput, or write \"goodput\"")
            }
            Self::P50 | Self::P99 if searches => Some(
                "each service is loaded at its highest sustainable rate: remove it to rank by goodput, or write \"cpu\"",
            ),
            _ => None,
        }
    }
}
