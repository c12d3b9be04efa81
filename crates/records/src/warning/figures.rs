//! Sets of figures: the figures that a warning affects and that a metric belongs to.

use serde::{Serialize, Serializer};

/// A set of kinds of figures of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures(u8);

impl Figures {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Throughput, goodput and other rates.
    pub const RATES: Self = Self(1);
    /// Response times and other times of requests.
    pub const TIMES: Self = Self(1 << 1);
    /// The times at p99 and above.
    pub const TAIL: Self = Self(1 << 2);
    /// CPU time and CPUs busy.
    pub const CPU: Self = Self(1 << 3);
    /// Memory of the service.
    pub const MEMORY: Self = Self(1 << 4);
    /// Start-up times, and figures in no other set.
    pub const OTHER: Self = Self(1 << 5);
    /// The set of all figures.
    pub const ALL: Self = Self((1 << 6) - 1);

    /// Each set with its name in JSON.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("rates", Self::RATES),
        ("times", Self::TIMES),
        ("tail", Self::TAIL),
        ("cpu", Self::CPU),
        ("memory", Self::MEMORY),
        ("other", Self::OTHER),
    ];

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets have a figure in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Serialised as a list of names.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = Self::NAMED.iter();
        serializer.collect_seq(
            named
                .filter(|(_, set)| self.intersects(*set))
                .map(|(name, _)| name),
        )
    }
}
