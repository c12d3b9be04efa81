//! Merges the intervals of several workers while they run.

use prony_records::{Event, IntervalPart, Phase};
use std::collections::BTreeMap;

/// Maximum number of intervals that wait for a slow worker.
const WAITING: usize = 64;

/// Merges the intervals that workers send while they run (`Event::IntervalPart`), for live output and for detecting a steady
/// state. Intervals wait for a silent worker up to a limit; then they are reported without it.
#[derive(Debug)]
pub struct LiveMerge {
    workers: usize,
    open: BTreeMap<(bool, u64), (usize, IntervalPart)>,
}

impl LiveMerge {
    /// Merges the intervals of `workers` workers.
    pub const fn new(workers: usize) -> Self {
        Self {
            workers,
            open: BTreeMap::new(),
        }
    }

    /// Adds an interval of one worker. Returns the events of the intervals that it completes, in the order in which one generator
    /// would send them.
    ///
    /// The warm-ups of workers do not start together: there, intervals with the same index are merged. Those that are still
    /// incomplete when the measurement starts are dropped.
    pub fn take(&mut self, phase: Phase, part: IntervalPart) -> Vec<Event> {
        if phase == Phase::Drain {
            return Vec::new();
        }
        let key = (phase == Phase::Measurement, part.index);
        let (received, sum) = self
            .open
            .entry(key)
            .and_modify(|(received, sum)| {
                *received += 1;
                sum.merge(&part);
            })
            .or_insert((1, part));
        let mut done = Vec::new();
        if *received >= self.workers {
            done.push(event(phase, sum.clone()));
            // Earlier intervals have arrived from every worker that still sends any.
            self.open.retain(|&other, _| other > key);
        }
        while self.open.len() > WAITING {
            if let Some(((is_measured, _), (_, sum))) = self.open.pop_first() {
                let phase = if is_measured {
                    Phase::Measurement
                } else {
                    Phase::WarmUp
                };
                done.push(event(phase, sum));
            }
        }
        done
    }
}

/// The event that a single generator would send for the interval.
fn event(phase: Phase, part: IntervalPart) -> Event {
    Event::Interval {
        phase,
        interval: part.interval(),
        failures: part.failures,
        times: part.times,
    }
}

/// Merges the intervals of several workers with the same index; `None` without any.
pub fn merge_intervals<'a>(parts: impl IntoIterator<Item = &'a IntervalPart>) -> Option<IntervalPart> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next()?.clone();
    parts.for_each(|part| sum.merge(part));
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::{CompactHistogram, Histogram, Interval};

    fn part(index: u64, times: &[u64]) -> IntervalPart {
        let mut histogram = Histogram::new();
        for &time in times {
            histogram.record(time);
        }
        IntervalPart {
            index,
            begin_ns: index * 100,
            end_ns: index * 100 + 100,
            completed: times.len() as u64,
            valid: times.len() as u64,
            errors: 1,
            failures: Box::default(),
            messages: None,
            times: CompactHistogram::of(&histogram),
        }
    }

    fn intervals(events: Vec<Event>) -> Vec<(Phase, Interval)> {
        let of = |event| match event {
            Event::Interval { phase, interval, .. } => (phase, interval),
            other => panic!("{other:?}"),
        };
        events.into_iter().map(of).collect()
    }

    #[test]
    fn an_interval_is_reported_when_all_workers_have_sent_theirs() {
        let mut live = LiveMerge::new(2);
        assert!(live.take(Phase::WarmUp, part(0, &[1])).is_empty());
        assert!(live.take(Phase::WarmUp, part(1, &[1])).is_empty());
        assert!(live.take(Phase::Measurement, part(0, &[10, 10, 10])).is_empty());
        let received = intervals(live.take(Phase::WarmUp, part(0, &[3])));
        assert_eq!(received[0].0, Phase::WarmUp);
        assert_eq!((received[0].1.completed, received[0].1.errors), (2, 2));
        let received = intervals(live.take(Phase::Measurement, part(0, &[500])));
        assert_eq!(received.len(), 1);
        let (phase, interval) = received[0];
        assert_eq!((phase, interval.completed), (Phase::Measurement, 4));
        // The median of all four, not of two medians.
        assert_eq!(interval.response_time_ns_p50, Some(10));
        assert_eq!(interval.response_time_ns_p99, Some(500));
    }

    #[test]
    fn intervals_are_merged_in_any_order() {
        let parts = [part(3, &[1, 2]), part(3, &[900]), part(3, &[2, 40])];
        let forth = merge_intervals(&parts).expect("an interval");
        assert_eq!(merge_intervals(parts.iter().rev()), Some(forth.clone()));
        assert_eq!((forth.completed, forth.errors, forth.index), (5, 3, 3));
        assert_eq!(forth.times, part(3, &[1, 2, 900, 2, 40]).times);
        assert_eq!(merge_intervals([]), None);
    }

    #[test]
    fn a_silent_worker_does_not_block_the_others_for_ever() {
        let mut live = LiveMerge::new(2);
        let received: Vec<_> = (0..WAITING as u64 + 3)
            .flat_map(|index| intervals(live.take(Phase::Measurement, part(index, &[1]))))
            .map(|(_, interval)| interval.start_s)
            .collect();
        assert_eq!(received, [0.0, 100e-9, 200e-9]);
    }
}
