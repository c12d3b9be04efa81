//! What a suite measures of the start of services.

use super::RankBy;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is measured of the start of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    /// The time to the first valid reply, with all files in the page cache.
    Warm,
    /// The same, with none of its files in the page cache.
    Cold,
    /// Memory at the first reply, after a rest, and after a load and a rest.
    Memory,
    /// The time under load until throughput is at 95 % of its steady value.
    SteadyRate,
}

impl StartKind {
    /// The name in suites.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Memory => "memory",
            Self::SteadyRate => "steady_rate",
        }
    }

    /// Whether its services are loaded after their first reply.
    pub const fn has_load(self) -> bool {
        matches!(self, Self::Memory | Self::SteadyRate)
    }

    /// The metric of the ranking, unless the suite sets another one.
    pub(crate) const fn rank_by(self) -> RankBy {
        match self {
            Self::Warm | Self::Cold => RankBy::StartUp,
            Self::Memory => RankBy::Memory,
            Self::SteadyRate => RankBy::SteadyRate,
        }
    }
}

/// How the start of a service is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StartPlan {
    pub measures: StartKind,
    /// Time without a request before memory is read, ns.
    pub rest_ns: u64,
}

impl StartPlan {
    /// The default time without a request.
    pub const REST: Duration = Duration::from_secs(5);

    pub const fn rest(self) -> Duration {
        Duration::from_nanos(self.rest_ns)
    }
}
