//! What the services of a group are ranked by, where that is not what its load suggests.

use prony_load::Load;
use serde::{Deserialize, Serialize};

/// What the services of a group are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankBy {
    /// Valid replies per second.
    Goodput,
    /// Whole sequences per second.
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

    /// Why services cannot be ranked so under a load, where they cannot.
    pub(crate) fn refused(self, load: &Load, searches: bool, is_sequence: bool) -> Option<&'static str> {
        let is_closed = matches!(load, Load::Closed { .. });
        match self {
            Self::Goodput | Self::Sequences if !is_closed && !searches => Some(
                "requests come at a rate that is the same for all services: leave it out for the 99th percentile, or write \"p50\" or \"cpu\"",
            ),
            Self::Sequences if !is_sequence => {
                Some("the workload is no sequence: leave it out for goodput, or write \"goodput\"")
            }
            Self::P50 | Self::P99 if searches => Some(
                "each service is loaded at the highest rate that it carries: leave it out for goodput, or write \"cpu\"",
            ),
            _ => None,
        }
    }
}
