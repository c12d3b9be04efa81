//! Generates requests: their numbers, their operations, and how many may still start.

use super::channels::Pool;
use super::slots::DueRequest;
use crate::workload::OperationPicker;
use prony_load::Partition;
use prony_protocols::request_values::{below, mix};
use std::sync::Arc;

/// Generates the requests of one thread. The content of request `n` of a job depends only on the seed and on `n`.
#[derive(Debug)]
pub(super) struct Source {
    order: Arc<OperationPicker>,
    key: u64,
    partition: Partition,
    /// Number of requests of this thread so far.
    own: u64,
    /// If the arrivals of the measurement are counted: those that this thread may still start.
    left: Option<u64>,
    pool: Option<Arc<Pool>>,
}

impl Source {
    pub(super) fn new(order: Arc<OperationPicker>, seed: u64, partition: Partition) -> Self {
        Self {
            order,
            key: mix(seed ^ 0x6f70),
            partition,
            own: 0,
            left: None,
            pool: None,
        }
    }

    /// From now on, takes arrivals from this thread's exact share, and then from a pool shared by all threads.
    pub(super) fn take_from(&mut self, pool: Option<Arc<Pool>>) {
        self.left = pool.as_ref().map(|pool| pool.own(self.partition));
        self.pool = pool;
    }

    /// Whether one more arrival may start; it is counted.
    pub(super) fn claim(&mut self) -> bool {
        let Some(left) = &mut self.left else { return true };
        if *left == 0
            && let Some(pool) = &self.pool
        {
            *left = pool.take();
        }
        let is_there = *left > 0;
        *left -= u64::from(is_there);
        is_there
    }

    /// Whether no more arrivals may start.
    pub(super) fn is_dry(&self) -> bool {
        self.left == Some(0) && self.pool.as_ref().is_some_and(|pool| pool.is_empty())
    }

    /// The first request of an arrival that was due at `intended` and noticed `late` ns later.
    pub(super) fn arrival(&mut self, intended: u64, late: u64) -> DueRequest {
        let number = self.partition.number(self.own);
        self.own += 1;
        DueRequest {
            operation: self.operation(0, number),
            step: 0,
            number,
            intended,
            late,
            sequence_begin: intended,
            starts_arrival: false,
            resend_state: None,
        }
    }

    /// The operation of step `step` of request `number`.
    fn operation(&self, step: u16, number: u64) -> u16 {
        match &*self.order {
            OperationPicker::One(operation) => *operation,
            OperationPicker::Sequence(steps) => steps[usize::from(step)],
            OperationPicker::Mix(weighted) => {
                let total = weighted.last().map_or(1, |(sum, _)| *sum);
                let drawn = below(mix(self.key ^ mix(number)), u128::from(total)) as u32;
                weighted[weighted.partition_point(|(sum, _)| *sum <= drawn)].1
            }
        }
    }

    /// The operation of step `step` of the sequence; `None` after its end, or if there is no sequence.
    pub(super) fn step(&self, step: u16) -> Option<u16> {
        match &*self.order {
            OperationPicker::Sequence(steps) => steps.get(usize::from(step)).copied(),
            _ => None,
        }
    }

    pub(super) fn is_sequence(&self) -> bool {
        matches!(*self.order, OperationPicker::Sequence(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(threads: u32, order: &Arc<OperationPicker>) -> Vec<(u64, u16)> {
        let mut all: Vec<(u64, u16)> = (0..threads)
            .flat_map(|thread| {
                let partition = Partition::new(thread, threads, 6);
                let mut source = Source::new(Arc::clone(order), 7, partition);
                (0..600 / threads).map(move |_| {
                    let due = source.arrival(0, 0);
                    (due.number, due.operation)
                })
            })
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn requests_are_the_same_however_many_threads_make_them() {
        let order = Arc::new(OperationPicker::Mix(vec![(3, 0), (4, 1)]));
        let one = operations(1, &order);
        assert_eq!(one, operations(2, &order));
        assert_eq!(one, operations(3, &order));
        assert_eq!(
            one.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            (0..600).collect::<Vec<u64>>()
        );
        let share = one.iter().filter(|(_, operation)| *operation == 0).count() as f64 / 600.0;
        assert!((share - 0.75).abs() < 0.1, "{share}");
    }

    #[test]
    fn a_pool_gives_what_it_has_and_no_more() {
        let pool = Arc::new(Pool::new(1_000, 2));
        let mut sources: Vec<Source> = (0..2)
            .map(|thread| {
                let mut source =
                    Source::new(Arc::new(OperationPicker::One(0)), 1, Partition::new(thread, 2, 2));
                assert!(
                    source.claim() && !source.is_dry(),
                    "without a pool, arrivals are unlimited"
                );
                source.take_from(Some(Arc::clone(&pool)));
                source
            })
            .collect();
        let mut claimed = 0;
        while sources[claimed % 2].claim() {
            claimed += 1;
        }
        while sources[(claimed + 1) % 2].claim() {
            claimed += 1;
        }
        // Arrivals that one thread has taken are not available to the other.
        while sources[claimed % 2].claim() {
            claimed += 1;
        }
        assert!(claimed <= 1_000);
        while sources.iter_mut().any(Source::claim) {
            claimed += 1;
        }
        assert_eq!(claimed, 1_000);
        assert!(sources.iter().all(Source::is_dry));
    }
}
