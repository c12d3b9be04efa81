//! How the trials of a round follow each other.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the trials of a round follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Design {
    /// One service after the other: each has the machine for itself from its start to its end.
    #[default]
    Sequence,
    /// All services of a group are started and warmed up, then loaded in turns, in many short windows. Who has no turn
    /// stands still.
    Turns {
        /// Length of a window, ns.
        window_ns: u64,
        /// Windows of each service in a round.
        cycles: u32,
    },
    /// Two services are loaded at the same time, in each round in fresh starts.
    Duet,
    /// The same for two versions of a service, and one of them against itself, as long as the new one looks slower.
    Regression,
}

impl Design {
    /// Length of a window unless told otherwise.
    pub const WINDOW: Duration = Duration::from_millis(200);
    /// Windows of each service in a round unless told otherwise.
    pub const CYCLES: u32 = 30;

    /// Turns as they are unless told otherwise: METHOD.md says why.
    pub const fn turns() -> Self {
        Self::Turns {
            window_ns: Self::WINDOW.as_nanos() as u64,
            cycles: Self::CYCLES,
        }
    }
}

/// Which trials a process start serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// Each trial has a process start of its own.
    #[default]
    Fresh,
    /// A process start serves all workloads and loads of a contract, one after the other in a random order.
    Shared,
}
