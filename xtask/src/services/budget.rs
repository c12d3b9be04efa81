//! The time budget for variants that the change under test has invalidated.

use super::select::{Id, SelectedVariants, SelectionInput, SelectionReason};
use super::verify::concurrent_runs;
use std::fmt;
use std::time::{Duration, SystemTime};

/// The time budget for variants that the change under test has invalidated.
pub(super) struct Budget {
    allowed: Duration,
    /// The approximate time for these variants.
    change: Duration,
    /// The approximate time for all others.
    other: Duration,
    /// The number of invalidated variants.
    variants: usize,
}

impl Budget {
    /// The budget for a selection of variants.
    pub(super) fn of(input: &SelectionInput<'_>, selected: &SelectedVariants, allowed: Duration) -> Self {
        let (change, other): (Vec<_>, Vec<_>) =
            selected.iter().partition(|(id, why)| input.is_change(id, why));
        let estimate = |ids: &[(&Id, &SelectionReason)]| {
            input.estimate(ids.iter().map(|(id, _)| *id), concurrent_runs())
        };
        Self {
            allowed,
            change: estimate(&change),
            other: estimate(&other),
            variants: change.len(),
        }
    }

    /// Whether the invalidated variants fit.
    pub(super) fn fits(&self) -> bool {
        self.change <= self.allowed
    }

    /// The deadline. Variants that are verified every time get twice their estimate, and some minutes for a machine with cold caches.
    pub(super) fn deadline(&self) -> SystemTime {
        let change = if self.fits() { self.allowed } else { Duration::ZERO };
        SystemTime::now() + change + self.other * 2 + Duration::from_mins(5)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        write!(
            formatter,
            "{} variants to verify because of the change, about {:.0} minutes; the others about {:.0} minutes",
            self.variants,
            minutes(self.change).ceil(),
            minutes(self.other).ceil()
        )?;
        if self.fits() {
            return Ok(());
        }
        write!(
            formatter,
            "\nmore than the budget of {:.0} minutes: none of them is verified now",
            minutes(self.allowed)
        )
    }
}

/// The earlier of two optional times.
pub(super) fn earlier(one: Option<SystemTime>, other: Option<SystemTime>) -> Option<SystemTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
