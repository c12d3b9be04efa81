//! The order of the trials of a round.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The order of the trials of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Design {
    /// One service after the other: each uses the machine alone from its start to its end.
    #[default]
    Sequence,
    /// Interleaved: all services of a group are started and warmed up, then loaded one after the other in many short windows.
    /// The other services are paused meanwhile.
    #[serde(alias = "turns")]
    Interleaved {
        /// Length of a window, ns.
        window_ns: u64,
        /// Windows of each service in a round.
        cycles: u32,
    },
    /// Two services are loaded at the same time, in each round in fresh starts.
    Duet,
    /// A duet of two versions of a service. While the new version looks slower, one version is also compared with itself.
    Regression,
}

impl Design {
    /// Default length of a window.
    pub const WINDOW: Duration = Duration::from_millis(200);
    /// Default number of windows of each service in a round.
    pub const CYCLES: u32 = 30;

    /// The default interleaved design; METHOD.md gives the reasons.
    pub const fn interleaved() -> Self {
        Self::Interleaved {
            window_ns: Self::WINDOW.as_nanos() as u64,
            cycles: Self::CYCLES,
        }
    }
}

/// The trials that a process start serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// Each trial has its own process start.
    #[default]
    Fresh,
    /// A process start serves all workloads and loads of a contract, one after the other in random order.
    Shared,
}
