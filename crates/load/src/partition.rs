//! Divides a load among the threads of the generator, and among the workers that make it together.

use serde::{Deserialize, Serialize};

/// A thread's part of items that are numbered across all threads: connections, arrivals, requests.
///
/// Item `k` belongs to connection `k % connections`, and connection `j` to thread `j % threads`; with rooms of
/// `members` connections each, room `j / members` belongs to thread `j / members % threads`. So all connections have
/// the same number of items, however many connections a thread has, and no item belongs to two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    thread: u32,
    threads: u32,
    connections: u32,
    members: u32,
}

impl Partition {
    /// The part of thread `thread` (from 0) of `threads`, which have `connections` connections in total.
    ///
    /// # Panics
    /// If a thread would have no connection.
    pub fn new(thread: u32, threads: u32, connections: u32) -> Self {
        Self::in_rooms(thread, threads, (connections, 1))
    }

    /// The same for connections in rooms of `members`; no room belongs to two threads.
    ///
    /// # Panics
    /// If a thread would have no room, or a room is not full.
    pub fn in_rooms(thread: u32, threads: u32, (connections, members): (u32, u32)) -> Self {
        assert!(
            thread < threads && threads <= connections / members && connections.is_multiple_of(members),
            "thread {thread} of {threads} with {connections} connections in rooms of {members}"
        );
        Self {
            thread,
            threads,
            connections,
            members,
        }
    }

    /// The number of this thread.
    pub const fn thread(self) -> u32 {
        self.thread
    }

    /// This thread's share of `whole` equal items.
    pub const fn share(self, whole: u64) -> u64 {
        whole / self.threads as u64 + ((self.thread as u64) < whole % self.threads as u64) as u64
    }

    /// Number of connections of this thread.
    pub const fn connections(self) -> u32 {
        self.share((self.connections / self.members) as u64) as u32 * self.members
    }

    /// The number across all threads of this thread's connection `own`.
    pub const fn connection(self, own: u32) -> u32 {
        (self.thread + own / self.members * self.threads) * self.members + own % self.members
    }

    /// The number across all threads of the room of this thread's connection `own`.
    pub const fn room(self, own: u32) -> u32 {
        self.thread + own / self.members * self.threads
    }

    /// The number across all threads of this thread's item `own`, from 0.
    #[inline]
    pub const fn number(self, own: u64) -> u64 {
        // The result of the code below for one thread; a shortcut, because this runs for each request.
        if self.threads == 1 {
            return own;
        }
        let (connections, mine) = (self.connections as u64, self.connections() as u64);
        own / mine * connections + self.connection((own % mine) as u32) as u64
    }

    /// How many of the items below `number` belong to this thread.
    pub const fn below(self, number: u64) -> u64 {
        let (rounds, rest) = (number / self.connections as u64, number % self.connections as u64);
        let (thread, threads, members) = (self.thread as u64, self.threads as u64, self.members as u64);
        let (rooms, within) = (rest / members, rest % members);
        let whole = (rooms + threads - 1 - thread) / threads * members;
        let part = if rooms % threads == thread { within } else { 0 };
        rounds * self.connections() as u64 + whole + part
    }
}

/// The part of a load that one worker makes.
///
/// All numbered items (connections, arrivals, requests, users, rows of tables, counters) are divided among all
/// threads of all workers as if they were threads of one: see [`Partition`](crate::Partition). So the workers
/// together send the same load as one worker with the same total number of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The worker's name, for display.
    pub worker: String,
    /// The number of the worker's first thread across all workers.
    pub first_thread: u32,
    /// Total number of threads of all workers.
    pub of_threads: u32,
}

impl Share {
    /// The shares of workers, given their names and numbers of threads, in order.
    pub fn split<'a>(workers: impl IntoIterator<Item = (&'a str, u32)>) -> Vec<Self> {
        let mut sum = 0;
        let mut shares: Vec<Self> = workers
            .into_iter()
            .map(|(worker, threads)| {
                let first_thread = sum;
                sum += threads;
                Self {
                    worker: worker.to_owned(),
                    first_thread,
                    of_threads: 0,
                }
            })
            .collect();
        for share in &mut shares {
            share.of_threads = sum;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_belongs_to_one_thread_and_to_connections_evenly(
            threads in 1..9u32,
            more in 0..9u32,
            members in 1..5u32,
        ) {
            let connections = (threads + more) * members;
            let part = |thread| Partition::in_rooms(thread, threads, (connections, members));
            let parts: Vec<Partition> = (0..threads).map(part).collect();
            for part in &parts {
                for own in 0..part.connections() {
                    prop_assert_eq!(part.connection(own) / members, part.room(own));
                    prop_assert_eq!(part.room(own) % threads, part.thread());
                }
            }
            let rounds = 3 * u64::from(connections);
            let mut all: Vec<u64> = parts
                .iter()
                .flat_map(|part| (0..3 * u64::from(part.connections())).map(|own| part.number(own)))
                .collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rounds).collect::<Vec<u64>>());
            let sum: u64 = parts.iter().map(|part| part.share(1_001)).sum();
            prop_assert_eq!(sum, 1_001);
            for part in parts {
                for number in 0..rounds {
                    let before = (0..rounds).take_while(|&own| part.number(own) < number).count() as u64;
                    prop_assert_eq!(part.below(number), before);
                }
            }
        }

        #[test]
        fn shares_cover_all_threads_once(threads in proptest::collection::vec(1..9u32, 1..9), more in 0..9u32) {
            let all: u32 = threads.iter().sum();
            let shares = Share::split(threads.iter().map(|&own| ("w", own)));
            let mut numbers = Vec::new();
            for (share, own) in shares.iter().zip(&threads) {
                prop_assert_eq!(share.of_threads, all);
                for thread in 0..*own {
                    let partition = Partition::new(share.first_thread + thread, share.of_threads, all + more);
                    numbers.extend((0..2 * u64::from(partition.connections())).map(|one| partition.number(one)));
                }
            }
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..2 * u64::from(all + more)).collect::<Vec<u64>>());
        }
    }
}
