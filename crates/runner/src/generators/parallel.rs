//! The same done with each of many workers.

use std::thread::{self, ScopedJoinHandle};

/// So many are done one after the other: at the same time they would take the controller's CPUs from each other, and clocks are
/// known best when nothing else goes on.
const IN_TURN: usize = 8;
/// Most that are done at the same time.
const MOST: usize = 16;

/// Does something with each, and gives what came of it in their order. Few are done one after the other; of hundreds, each of
/// which takes some round trips, several at the same time.
pub(super) fn each<T: Sync, R: Send>(all: &[T], what: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let lanes = (all.len() / IN_TURN).clamp(1, MOST);
    let what = &what;
    thread::scope(|scope| {
        let begun: Vec<ScopedJoinHandle<'_, Vec<R>>> = all
            .chunks(all.len().div_ceil(lanes).max(1))
            .map(|some| scope.spawn(move || some.iter().map(what).collect()))
            .collect();
        let ended = begun.into_iter().map(ScopedJoinHandle::join);
        ended
            .flat_map(|lane| lane.expect("invariant: what is done does not panic"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_came_of_each_is_in_order_and_few_are_done_in_turn() {
        for (many, lanes) in [(0, 0), (1, 1), (8, 1), (15, 1), (16, 2), (100, 12), (500, 16)] {
            let all: Vec<usize> = (0..many).collect();
            let done = each(&all, |&number| {
                (number * 2, format!("{:?}", thread::current().id()))
            });
            let numbers: Vec<usize> = done.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (0..many).map(|number| number * 2).collect::<Vec<_>>());
            let threads: BTreeSet<&String> = done.iter().map(|(_, thread)| thread).collect();
            assert_eq!(threads.len(), lanes, "{many}");
        }
    }
}
