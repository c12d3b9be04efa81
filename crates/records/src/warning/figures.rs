//! Sets of figures: what a warning affects, and where a metric belongs.

use serde::{Serialize, Serializer};

/// A set of the kinds of figures that a load gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures(u8);

impl Figures {
    /// No figure.
    pub const NONE: Self = Self(0);
    /// Throughput, goodput and what else counts per second.
    pub const RATES: Self = Self(1);
    /// Response times and other times of requests.
    pub const TIMES: Self = Self(1 << 1);
    /// Of these, p99 and above.
    pub const TAIL: Self = Self(1 << 2);
    /// CPU time.
    pub const CPU: Self = Self(1 << 3);
    /// Memory.
    pub const MEMORY: Self = Self(1 << 4);
    /// Figures of the start, and those that belong to no other set.
    pub const OTHER: Self = Self(1 << 5);
    /// Every figure.
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

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a figure is in both.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it holds no figure.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A list of names.
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
