//! Closed load: each slot sends its next request when the reply to the last one is complete and a pause is over.

use super::{DecisionTime, SlotAction};
use crate::worker::source::Source;
use prony_load::{Growth, Partition};

/// A closed load.
pub(in crate::worker) struct ClosedLoad {
    /// Pause between a reply and the next request, ns.
    pub(super) think: u64,
    growth: Option<Growth>,
    connections: u32,
}

impl ClosedLoad {
    pub(in crate::worker) const fn new(think: u64, growth: Option<Growth>, connections: u32) -> Self {
        Self {
            think,
            growth,
            connections,
        }
    }

    pub(super) fn next_action(at: DecisionTime, source: &mut Source) -> SlotAction {
        if at.is_loading && source.claim() {
            SlotAction::Send(source.arrival(at.now, 0))
        } else {
            SlotAction::Idle
        }
    }

    /// How long a slot of this thread waits for its first request if its connection is open from the start, ns; `in_flight`: the slots
    /// of a connection. Users who pause do not act in step: the first requests are spread over the pause, and so are all later ones.
    pub(in crate::worker) fn first_pause(&self, partition: Partition, own: u32, in_flight: u32) -> u64 {
        let connection = partition.connection(own / in_flight);
        let number = u64::from(connection) * u64::from(in_flight) + u64::from(own % in_flight);
        let all = u64::from(self.connections) * u64::from(in_flight);
        (u128::from(self.think) * u128::from(number) / u128::from(all.max(1))) as u64
    }

    /// When a connection of this thread is added, relative to the start of the load; `None`: it is open from the
    /// start.
    pub(in crate::worker) fn delay_of(&self, partition: Partition, own: u32) -> Option<u64> {
        let growth = self.growth?;
        let number = partition.connection(own);
        let grown = u64::from(number.checked_sub(growth.from)?) + 1;
        let all = u64::from(self.connections.saturating_sub(growth.from).max(1));
        Some((u128::from(growth.over_ns) * u128::from(grown) / u128::from(all)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_come_one_after_the_other_over_all_threads() {
        let growth = Growth {
            from: 2,
            over_ns: 400,
        };
        let closed = ClosedLoad::new(0, Some(growth), 6);
        let mut times: Vec<Option<u64>> = (0..3)
            .flat_map(|thread| {
                let partition = Partition::new(thread, 3, 6);
                [0, 1].map(|own| closed.delay_of(partition, own))
            })
            .collect();
        times.sort_unstable();
        assert_eq!(times, [None, None, Some(100), Some(200), Some(300), Some(400)]);
        assert_eq!(
            ClosedLoad::new(0, None, 6).delay_of(Partition::new(0, 1, 6), 5),
            None
        );
    }
}
