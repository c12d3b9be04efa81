//! The result of a worker: see [`Part`].

mod merger;
mod sample;
mod totals;
mod worker;

pub use merger::Merger;
pub use sample::{SampleEntry, WrongSample};
pub use totals::{AddressPart, LogPart, LowestThreadValue, ThreadPart, Totals};
pub use worker::{MeasurementStart, WorkerPart};

use crate::tally::{Tally, TallyLayout};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::Job;
use prony_records::{Answers, IntervalPart};
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

/// First byte of an encoded part. Must change whenever the fields of a part change.
const VERSION: u8 = 6;

/// Why parts cannot be decoded or merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The text is not a part.
    #[error("cannot decode the part of a worker: {0}; use the same version of prony on all workers")]
    Unreadable(String),
    /// Another version of prony wrote it.
    #[error(
        "the part of a worker has version {0}, but this prony needs version {VERSION}: use the same version of prony on all workers"
    )]
    Version(u8),
    /// The parts belong to different jobs.
    #[error(
        "the parts of the workers belong to different jobs: give all workers the same job, except for its share"
    )]
    OtherJob,
    /// The part of a thread was already merged.
    #[error(
        "two parts contain thread {thread}: give each worker its own share, and merge each part only once"
    )]
    Twice {
        /// Number of the thread among the threads of all workers.
        thread: u32,
    },
}

impl Part {
    /// Encodes the part as text: base64 of a version byte and [postcard](https://postcard.jamesmunns.com/wire-format) bytes.
    /// Distributions are encoded as [`CompactHistogram`](prony_records::CompactHistogram)s, so the length is bounded by the
    /// number of operations, intervals and threads, and equal parts give equal texts.
    pub fn encode(&self) -> String {
        let bytes = postcard::to_extend(self, vec![VERSION]).expect("invariant: a part is plain data");
        STANDARD.encode(bytes)
    }

    /// Decodes the output of [`Part::encode`].
    pub fn decode(text: &str) -> Result<Self, PartError> {
        let unreadable = |error: &dyn std::fmt::Display| PartError::Unreadable(error.to_string());
        let bytes = STANDARD.decode(text.trim()).map_err(|error| unreadable(&error))?;
        match bytes.split_first() {
            Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|error| unreadable(&error)),
            Some((&other, _)) => Err(PartError::Version(other)),
            None => Err(PartError::Unreadable("the text is empty".to_owned())),
        }
    }
}

/// Number of requests of a job by result, warm-up included; empty if the job does not count them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCounts {
    /// By index of the operation in the workload and status; `None`: no complete reply arrived.
    counts: BTreeMap<(u32, Option<u16>), u64>,
}

impl StatusCounts {
    /// Counts requests of an operation; a status of `None` means that no complete reply arrived.
    pub fn add(&mut self, operation: u32, status: Option<u16>, count: u64) {
        if count > 0 {
            *self.counts.entry((operation, status)).or_default() += count;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (&(operation, status), &count) in &other.counts {
            self.add(operation, status, count);
        }
    }

    /// Converts indices to the operation names of the contract. An operation that a workload sends with its own values counts as
    /// the same operation.
    pub(crate) fn named(&self, job: &Job) -> Option<Answers> {
        let mut named = Answers::default();
        for (&(operation, status), &count) in &self.counts {
            let Some(operation) = job.workload.operations.get(operation as usize) else {
                continue;
            };
            let name = operation.name.split('(').next().unwrap_or_default();
            match status {
                Some(status) => named.add_replies(name, status, count),
                None => named.add_unknown(name, count),
            }
        }
        job.count_replies.then_some(named)
    }
}
