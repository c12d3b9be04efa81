//! Requests that the peer left unprocessed: they are sent again, and counted once.

use super::core::Core;
use super::send::Due;
use crate::layer::Layer;
use crate::protocol::Protocol;
use crate::recorder::{Epoch, Finished};
use prony_measurement::Outcome;
use std::collections::VecDeque;

/// What a request keeps when it is sent again: it is counted as sent once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub(super) epoch: Epoch,
    pub(super) refusals: u8,
}

/// The oldest comes first: else the same ones might stand at the end of one connection after the other, and be left
/// unprocessed each time.
fn insert_by_age(queue: &mut VecDeque<Due>, due: Due) {
    let age = |due: &Due| (due.intended, due.number);
    let place = queue.partition_point(|other| age(other) <= age(&due));
    queue.insert(place, due);
}

impl<P: Protocol, L: Layer> Core<P, L> {
    /// The request in a place that the peer left unprocessed.
    pub(super) fn unprocessed(&mut self, place: u32) -> Due {
        let slot = self.slots.get(place);
        slot.send_again = false;
        self.totals.sent_again += 1;
        Due {
            operation: slot.operation,
            step: slot.step,
            number: slot.number,
            intended: slot.intended,
            sequence_begin: slot.sequence_begin,
            again: Some(Again {
                epoch: slot.epoch,
                refusals: slot.refusals,
            }),
        }
    }

    /// Queues a request to be sent again.
    pub(super) fn queue_again(&mut self, due: Due) {
        insert_by_age(&mut self.again, due);
    }

    /// A request that was to be sent again and cannot be any more.
    pub(super) fn drop_unprocessed(&mut self, due: Due, now: u64) {
        let epoch = due.again.map(|again| again.epoch).unwrap_or_default();
        let request = Finished {
            epoch,
            operation: due.operation,
            intended: due.intended,
            sent: due.intended,
            first_byte: 0,
            end: now,
            outcome: Outcome::Reset,
        };
        self.recorder.finished(&request, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_sent_first() {
        let mut queue = VecDeque::new();
        for (intended, number) in [(30, 3), (10, 2), (20, 9), (10, 1), (40, 4)] {
            let due = Due {
                operation: 0,
                step: 0,
                number,
                intended,
                sequence_begin: intended,
                again: None,
            };
            insert_by_age(&mut queue, due);
        }
        let order: Vec<u64> = queue.iter().map(|due| due.number).collect();
        assert_eq!(order, [1, 2, 9, 3, 4]);
    }
}
