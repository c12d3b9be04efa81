//! Tracks the intervals of a phase and decides which of them are over. Pure.

/// The position of a worker in the phases.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhaseClock {
    pub(super) begin: u64,
    /// The index of the current interval, and when it began.
    pub(super) interval: u64,
    interval_begin: u64,
    /// End of the measurement, once it is over.
    pub(super) end: u64,
}

impl PhaseClock {
    pub(super) const fn at(begin: u64) -> Self {
        Self {
            begin,
            interval: 0,
            interval_begin: begin,
            end: 0,
        }
    }

    /// When the current interval ends, in a phase that ends at `end`.
    pub(super) fn interval_end(&self, length: u64, end: u64) -> u64 {
        self.begin
            .saturating_add((self.interval + 1).saturating_mul(length))
            .min(end)
    }

    /// The next interval that is over by `now`, if any: its index, start and end. A late caller gets them one after
    /// the other, so that each thread hands over each of them.
    pub(super) fn next_over(&mut self, now: u64, length: u64, end: u64) -> Option<(u64, u64, u64)> {
        let until = self.interval_end(length, end);
        if now < until || self.interval_begin >= end {
            return None;
        }
        let over = (self.interval, self.interval_begin, until);
        self.interval += 1;
        self.interval_begin = until;
        Some(over)
    }
}

/// Progress of the connections before the load starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectProgress {
    /// Most connections open at once so far.
    pub(super) open: u32,
    /// When the last of them opened; initially, the time of the first check. 0: not set yet.
    pub(super) since: u64,
    /// Whether the caller has been informed that the worker is ready.
    pub(super) is_told: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_over(clock: &mut PhaseClock, now: u64, end: u64) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| clock.next_over(now, 100, end)).collect()
    }

    /// A thread that could not run for some time hands over the same intervals as the others.
    #[test]
    fn a_late_worker_leaves_no_interval_out() {
        let expected: Vec<(u64, u64, u64)> = (0..4)
            .map(|index| (index, 1_000 + index * 100, (1_100 + index * 100).min(1_350)))
            .collect();
        let mut late = PhaseClock::at(1_000);
        assert_eq!(all_over(&mut late, 9_000, 1_350), expected);
        let mut punctual = PhaseClock::at(1_000);
        let seen: Vec<_> = (1_000..1_400)
            .flat_map(|now| all_over(&mut punctual, now, 1_350))
            .collect();
        assert_eq!(seen, expected);
    }

    /// The end of a measurement with a limited number of requests is known only after it.
    #[test]
    fn an_end_in_the_past_gives_no_interval_behind_it() {
        let mut clock = PhaseClock::at(0);
        assert_eq!(all_over(&mut clock, 210, u64::MAX), [(0, 0, 100), (1, 100, 200)]);
        assert_eq!(all_over(&mut clock, 220, 150), []);
        let mut clock = PhaseClock::at(0);
        assert_eq!(all_over(&mut clock, 110, u64::MAX), [(0, 0, 100)]);
        assert_eq!(all_over(&mut clock, 220, 150), [(1, 100, 150)]);
    }
}
