//! Decides when to send, from due times, the current time and the queue. Pure; the worker acts on it.

use prony_load::{Arrival, Partition, Schedule};
use std::collections::VecDeque;

/// The arrivals of one thread in an open load or a load of arriving users.
///
/// Time is whatever the caller's clock says, in ns. Arrivals are handed out in the order in which they are due, and
/// never early.
#[derive(Debug)]
pub(crate) struct Pacer {
    arrival: Arrival,
    seed: u64,
    partition: Partition,
    schedule: Schedule,
    /// Start of the phase, from which the schedule counts.
    origin: u64,
    /// No arrival is due from this time on.
    until: u64,
    next: u64,
    /// Arrivals that may still become due.
    left: u64,
    /// The queue: when each arrival was due, and how much later it was noticed.
    waiting: VecDeque<(u64, u64)>,
    capacity: u64,
}

/// Capacity of the queue before it has to grow.
const RESERVED: u64 = 1 << 16;

impl Pacer {
    /// A pacer for a thread's part of the arrivals, with a queue of `capacity`. Nothing is due before
    /// [`Pacer::begin`].
    pub(crate) fn new(arrival: &Arrival, seed: u64, partition: Partition, capacity: u64) -> Self {
        Self {
            arrival: arrival.clone(),
            seed,
            partition,
            schedule: Schedule::new(arrival, seed, partition),
            origin: u64::MAX,
            until: 0,
            next: u64::MAX,
            left: 0,
            waiting: VecDeque::with_capacity(capacity.min(RESERVED) as usize),
            capacity,
        }
    }

    /// Removes the limit of the queue, because another queue counts the waiting arrivals.
    pub(crate) const fn wait_without_limit(&mut self) {
        self.capacity = u64::MAX;
    }

    /// Restarts the schedule at `origin`, for at most `arrivals` arrivals. Queued arrivals stay queued, except those
    /// due at or after `origin`: a late check has taken them from the previous schedule although they were due after
    /// its end.
    pub(crate) fn begin(&mut self, origin: u64, until: u64, arrivals: u64) {
        // Each phase has its own random arrivals; else the measurement would repeat the warm-up.
        self.seed = prony_protocols::request_values::mix(self.seed);
        self.schedule = Schedule::new(&self.arrival, self.seed, self.partition);
        self.waiting.retain(|(due, _)| *due < origin);
        self.origin = origin;
        self.until = until;
        self.left = arrivals;
        self.step();
    }

    /// Ends the arrivals at `until` or earlier.
    pub(crate) fn end_at(&mut self, until: u64) {
        self.until = self.until.min(until);
        if self.next >= self.until {
            self.next = u64::MAX;
        }
    }

    fn step(&mut self) {
        let due = self
            .schedule
            .next()
            .map_or(u64::MAX, |ns| self.origin.saturating_add(ns));
        let comes = due < self.until && self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.next = if comes { due } else { u64::MAX };
    }

    /// When the next arrival is due; `u64::MAX`: never.
    pub(crate) const fn next_due(&self) -> u64 {
        self.next
    }

    /// Queues the next arrival that is due by `now`. Returns when it was due, and whether it was queued: if the queue
    /// is full, it is lost.
    pub(crate) fn advance(&mut self, now: u64) -> Option<(u64, bool)> {
        if self.next > now {
            return None;
        }
        let due = self.next;
        let waits = (self.waiting.len() as u64) < self.capacity;
        if waits {
            self.waiting.push_back((due, now - due));
        }
        self.step();
        Some((due, waits))
    }

    /// Whether the queue is not empty.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the oldest queued arrival, if it was due by `limit`.
    pub(crate) fn take_due_by(&mut self, limit: u64) -> Option<(u64, u64)> {
        self.waiting.pop_front_if(|(due, _)| *due <= limit)
    }

    /// Takes the oldest queued arrival: its due time, and how much later it was noticed. It should have been noticed
    /// at once, so that is the generator's own delay.
    pub(crate) fn take(&mut self) -> Option<(u64, u64)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::{Profile, Rate, Spacing};
    use proptest::prelude::*;

    fn pacer(rate: f64, capacity: u64) -> Pacer {
        let arrival = Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(rate).expect("a rate"),
            },
            spacing: Spacing::Even,
        };
        Pacer::new(&arrival, 1, Partition::new(0, 1, 1), capacity)
    }

    fn all(pacer: &mut Pacer, now: u64) -> Vec<(u64, bool)> {
        std::iter::from_fn(|| pacer.advance(now)).collect()
    }

    #[test]
    fn nothing_is_due_before_the_begin() {
        let mut pacer = pacer(1000.0, 10);
        assert_eq!(pacer.advance(u64::MAX - 1), None);
        assert_eq!(pacer.take(), None);
    }

    #[test]
    fn a_late_look_finds_all_that_was_due() {
        let mut pacer = pacer(1000.0, 10);
        pacer.begin(5_000_000, 100_000_000, u64::MAX);
        assert!(all(&mut pacer, 8_000_000).iter().all(|(_, waits)| *waits));
        let arrivals: Vec<(u64, u64)> = std::iter::from_fn(|| pacer.take()).collect();
        let late = [3_000_000, 2_000_000, 1_000_000, 0];
        let due = [5_000_000, 6_000_000, 7_000_000, 8_000_000];
        assert_eq!(arrivals, std::iter::zip(due, late).collect::<Vec<_>>());
        assert_eq!(pacer.next_due(), 9_000_000);
    }

    #[test]
    fn beyond_the_backlog_arrivals_are_lost_and_said_so() {
        let mut pacer = pacer(1000.0, 2);
        pacer.begin(0, 100_000_000, u64::MAX);
        let arrived = all(&mut pacer, 4_000_000);
        let lost = arrived.iter().filter(|(_, waits)| !waits).map(|(due, _)| *due);
        assert_eq!(lost.collect::<Vec<u64>>(), [2_000_000, 3_000_000, 4_000_000]);
        assert_eq!(pacer.take(), Some((0, 4_000_000)));
    }

    /// The case of a thread that was not running when the next phase began.
    #[test]
    fn a_late_look_takes_nothing_from_a_schedule_that_is_over() {
        let mut pacer = pacer(1000.0, 100);
        pacer.begin(0, u64::MAX, u64::MAX);
        all(&mut pacer, 30_000_000);
        pacer.begin(10_000_000, 20_000_000, u64::MAX);
        all(&mut pacer, 30_000_000);
        let arrivals: Vec<u64> = std::iter::from_fn(|| pacer.take()).map(|(due, _)| due).collect();
        assert_eq!(arrivals, (0..20).map(|k| k * 1_000_000).collect::<Vec<u64>>());
    }

    #[test]
    fn no_more_arrivals_come_than_are_wanted() {
        let mut pacer = pacer(1000.0, 10);
        pacer.begin(0, 100_000_000, 3);
        all(&mut pacer, 50_000_000);
        assert_eq!(std::iter::from_fn(|| pacer.take()).count(), 3);
        assert_eq!(pacer.next_due(), u64::MAX);
    }

    proptest! {
        #[test]
        fn every_arrival_comes_once_whatever_the_looks(looks in proptest::collection::vec(0..5_000_000u64, 0..200)) {
            let mut pacer = pacer(2000.0, u64::MAX);
            pacer.begin(0, 50_000_000, u64::MAX);
            let (mut now, mut seen) = (0, Vec::new());
            for pause in looks.into_iter().chain([50_000_000]) {
                now += pause;
                all(&mut pacer, now);
                while let Some((intended, late)) = pacer.take() {
                    prop_assert_eq!(intended + late, now);
                    seen.push(intended);
                }
            }
            prop_assert_eq!(seen, (0..100).map(|k| k * 500_000).collect::<Vec<u64>>());
            prop_assert_eq!(pacer.next_due(), u64::MAX);
        }
    }
}
