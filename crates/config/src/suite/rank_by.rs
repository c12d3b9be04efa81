//! The metric by which the services of a group are ranked.

use prony_load::Load;
use serde::{Deserialize, Serialize};

/// The metric by which the services of a group are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankBy {
    /// Valid replies per second.
    Goodput,
    /// Complete sequences per second.
    Sequences,
    /// Median response time.
    P50,
    /// 75th percentile of the response time.
    P75,
    /// 90th percentile of the response time.
    P90,
    /// 95th percentile of the response time.
    P95,
    /// 99th percentile of the response time.
    P99,
    /// 99.9th percentile of the response time.
    #[serde(rename = "p99.9")]
    P99_9,
    /// 99.99th percentile of the response time.
    #[serde(rename = "p99.99")]
    P99_99,
    /// CPU time of the service per request.
    Cpu,
    /// Time from the start of the process to its first valid reply.
    StartUp,
    /// Memory of the service when it is started and idle.
    Memory,
    /// Time under load until throughput is steady.
    SteadyRate,
    /// What a gateway adds to the median time to the first event.
    Overhead,
    /// CPU time of the service per event that it relays.
    CpuPerEvent,
    /// Memory of the service per open stream.
    MemoryPerStream,
}

impl RankBy {
    /// Every metric.
    pub const ALL: [Self; 16] = [
        Self::Goodput,
        Self::Sequences,
        Self::P50,
        Self::P75,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::P99_99,
        Self::Cpu,
        Self::StartUp,
        Self::Memory,
        Self::SteadyRate,
        Self::Overhead,
        Self::CpuPerEvent,
        Self::MemoryPerStream,
    ];

    /// The name in suites.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Sequences => "sequences",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::P99_99 => "p99.99",
            Self::Cpu => "cpu",
            Self::StartUp => "start_up",
            Self::Memory => "memory",
            Self::SteadyRate => "steady_rate",
            Self::Overhead => "overhead",
            Self::CpuPerEvent => "cpu_per_event",
            Self::MemoryPerStream => "memory_per_stream",
        }
    }

    /// The metric's key in reports.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_per_s",
            Self::Sequences => "sequences_per_s",
            Self::P50 => "response_time_ns_p50",
            Self::P75 => "response_time_ns_p75",
            Self::P90 => "response_time_ns_p90",
            Self::P95 => "response_time_ns_p95",
            Self::P99 => "response_time_ns_p99",
            Self::P99_9 => "response_time_ns_p99_9",
            Self::P99_99 => "response_time_ns_p99_99",
            Self::Cpu => "cpu_ns_per_request",
            Self::StartUp => "start_ms",
            Self::Memory => "memory_bytes_idle",
            Self::SteadyRate => "steady_rate_s",
            Self::Overhead => "overhead_first_ns_p50",
            Self::CpuPerEvent => "cpu_ns_per_event",
            Self::MemoryPerStream => "memory_bytes_per_stream",
        }
    }

    /// Why services cannot be ranked by this metric under a load, and what to do; `None`: they can.
    pub(crate) fn refused(
        self,
        load: &Load,
        searches: bool,
        is_sequence: bool,
    ) -> Option<(&'static str, &'static str)> {
        let is_closed = matches!(load, Load::Closed { .. });
        match self {
            Self::Goodput | Self::Sequences if !is_closed && !searches => Some((
                "the load has the same rate for all services",
                "remove it to rank by the 99th percentile, or write another percentile or \"cpu\"",
            )),
            Self::Sequences if !is_sequence => Some((
                "the workload is not a sequence",
                "remove it to rank by goodput, or write \"goodput\"",
            )),
            Self::Goodput
            | Self::Sequences
            | Self::Cpu
            | Self::StartUp
            | Self::Memory
            | Self::Overhead
            | Self::CpuPerEvent
            | Self::MemoryPerStream => None,
            Self::SteadyRate => Some((
                "only a group with `start = \"steady_rate\"` measures it",
                "remove it, or give the group that `start`",
            )),
            _ if searches => Some((
                "each service is loaded at its highest sustainable rate",
                "remove it to rank by goodput, or write \"cpu\"",
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_file() {
        for metric in RankBy::ALL {
            assert_eq!(serde_json::to_value(metric).expect("plain data"), metric.name());
        }
    }
}
