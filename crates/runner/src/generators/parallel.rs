//! Runs the same action for each of many workers.

use std::thread::{self, ScopedJoinHandle};

/// Number of workers that are handled one after the other. In parallel they would compete for the CPUs of the controller, and
/// clocks are measured best on an idle machine.
const IN_TURN: usize = 8;
/// Maximum number of threads.
const MOST: usize = 16;

/// Runs an action for each item and returns the results in order. A few items are handled one after the other; hundreds, each
/// of which takes some round trips, by several threads.
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
            .flat_map(|lane| lane.expect("invariant: the action does not panic"))
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
