//! What a worker hands over at the end: see [`Part`].

mod encoding;
mod merger;
mod sample;
mod status_counts;
mod totals;
mod worker;

pub use encoding::PartError;
pub use merger::Merger;
pub use sample::{SampleEntry, WrongSample};
pub use status_counts::Answered;
pub use totals::{AddressPart, First, LogPart, ThreadPart, Totals};
pub use worker::{Begun, WorkerPart};

use crate::tally::{Shape, Tally};
use prony_load::Job;
use prony_records::IntervalPart;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one worker recorded, or what several did, merged. Everything that a recording says comes from here and from the job.
///
/// Parts of the same job are merged in any order and grouping: the result is the same to the bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The measurement and its drain.
    pub tally: Tally,
    /// What is counted over the whole life of a worker.
    pub totals: Totals,
    /// What each thread noted about itself, by its number among those of all workers.
    pub threads: BTreeMap<u32, ThreadPart>,
    /// The intervals of the measurement, by number.
    pub intervals: BTreeMap<u64, IntervalPart>,
    /// The addresses of the target, as they are written in recordings.
    pub addresses: BTreeMap<String, AddressPart>,
    /// The transports that were used.
    pub transports: BTreeSet<String>,
    /// The largest step of a wall clock, ns.
    pub clock_step_ns: Option<i64>,
    /// Whether somebody ended the measurement before its time.
    pub interrupted: bool,
    /// The log of requests, where one was wanted.
    pub log: Option<LogPart>,
    /// What is shown of each worker, by the number of its first thread.
    pub workers: BTreeMap<u32, WorkerPart>,
}

impl Part {
    /// An empty part of a job. Merging it changes nothing.
    pub fn new(job: &Job) -> Self {
        Self {
            tally: Tally::new(Shape::of(job)),
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

    /// Adds what another worker recorded. For many parts with many intervals a [`Merger`] does the same faster.
    ///
    /// Fails, and changes nothing, where the other part is one of another job, or was added before.
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

    /// Whether another part can be added to this one.
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
            // Of two steps of the same size the one ahead.
            .max_by_key(|step| (step.unsigned_abs(), *step));
        self.interrupted |= other.interrupted;
        self.log = match (self.log.take(), &other.log) {
            (Some(ours), Some(theirs)) => Some(ours.merged(theirs)),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        self.workers
            .extend(other.workers.iter().map(|(&first, one)| (first, one.clone())));
    }

    /// Length of the measurement, ns: that of the thread that measured longest.
    pub fn length_ns(&self) -> u64 {
        self.threads
            .values()
            .map(|thread| thread.length_ns)
            .max()
            .unwrap_or(0)
    }
}
