//! The result of a worker: see [`Part`].

mod encoding;
mod merger;
mod sample;
mod status_counts;
mod totals;
mod worker;

pub use encoding::PartError;
pub use merger::Merger;
pub use sample::{SampleEntry, WrongSample};
pub use status_counts::StatusCounts;
pub use totals::{AddressPart, LogPart, LowestThreadValue, ThreadPart, Totals};
pub use worker::{MeasurementStart, WorkerPart};

use crate::tally::{Tally, TallyLayout};
use prony_load::Job;
use prony_records::IntervalPart;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The result of one worker, or the merged result of several. A recording is derived only from this and the job.
///
/// Parts of the same job may be merged in any order and grouping: the result is bit-for-bit the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Counts of the measurement and its drain.
    pub tally: Tally,
    /// Counts over the whole life of a worker.
    pub totals: Totals,
    /// Statistics of each thread, by its number among the threads of all workers.
    pub threads: BTreeMap<u32, ThreadPart>,
    /// The intervals of the measurement, by index.
    pub intervals: BTreeMap<u64, IntervalPart>,
    /// The addresses of the target, formatted as in recordings.
    pub addresses: BTreeMap<String, AddressPart>,
    /// Transports in use: `io_uring` or `epoll`.
    pub transports: BTreeSet<String>,
    /// Largest jump of a wall clock, ns.
    pub clock_step_ns: Option<i64>,
    /// Whether the measurement was ended early.
    pub interrupted: bool,
    /// The log of requests, if one was requested.
    pub log: Option<LogPart>,
    /// Results of each worker, by the number of its first thread.
    pub workers: BTreeMap<u32, WorkerPart>,
}

impl Part {
    /// An empty part of a job, the neutral element of merging.
    pub fn new(job: &Job) -> Self {
        Self {
            tally: Tally::new(TallyLayout::of(job)),
            totals: Totals::new(job.check.keep),
            threads: BTreeMap::new(),
            intervals: BTreeMap::new(),
            addresses: BTreeMap::new(),
            transports: BTreeSet::new(),
            clock_step_ns: None,
            interrupted: false,
            log: None,
            workers: BTreeMap::new(),
        }
    }

    /// Adds the result of another worker. A [`Merger`] does the same faster for many parts with many intervals.
    ///
    /// Fails without changing anything if the other part belongs to another job or was added before.
    pub fn merge(&mut self, other: &Self) -> Result<(), PartError> {
        self.check(other)?;
        for (&index, theirs) in &other.intervals {
            self.intervals
                .entry(index)
                .and_modify(|ours| ours.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
        self.merge_all_but_intervals(other);
        Ok(())
    }

    /// Checks whether another part can be added to this one.
    fn check(&self, other: &Self) -> Result<(), PartError> {
        if self.tally.shape() != other.tally.shape() || self.totals.sample.room != other.totals.sample.room {
            return Err(PartError::OtherJob);
        }
        match other
            .threads
            .keys()
            .find(|&thread| self.threads.contains_key(thread))
        {
            Some(&thread) => Err(PartError::Twice { thread }),
            None => Ok(()),
        }
    }

    fn merge_all_but_intervals(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.totals.merge(&other.totals);
        self.threads.extend(&other.threads);
        for (address, theirs) in &other.addresses {
            self.addresses
                .entry(address.clone())
                .and_modify(|ours| ours.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
        self.transports.extend(other.transports.iter().cloned());
        self.clock_step_ns = self
            .clock_step_ns
            .into_iter()
            .chain(other.clock_step_ns)
            // Prefers the forward step of two with the same size.
            .max_by_key(|step| (step.unsigned_abs(), *step));
        self.interrupted |= other.interrupted;
        self.log = match (self.log.take(), &other.log) {
            (Some(ours), Some(theirs)) => Some(ours.merged(theirs)),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        self.workers
            .extend(other.workers.iter().map(|(&first, one)| (first, one.clone())));
    }

    /// Length of the measurement, ns: the longest one of all threads.
    pub fn length_ns(&self) -> u64 {
        self.threads
            .values()
            .map(|thread| thread.length_ns)
            .max()
            .unwrap_or(0)
    }
}
