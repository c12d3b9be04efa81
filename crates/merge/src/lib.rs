//! Merges results that were recorded in pieces, without loss. A [`Tally`] contains the counts of one thread in one interval, a
//! [`Part`] is the result of one worker, and [`assemble`] turns the merged part into a recording and adds warnings.
//!
//! Merging is exact: all sums are of integers, all distributions are counts of the same buckets, and where only one of several
//! values is kept, the choice does not depend on their order. So parts may be merged in any order and grouping, and one process
//! with four threads gives the same recording as two processes with two threads each. This crate must never compute a percentile
//! of percentiles, open a socket or read a clock.
//!
//! Start at [`Part`]. [`LiveMerge`] merges the intervals that workers send while they run; [`clock`] computes the offsets of their
//! clocks and their common start.

mod assemble;
pub mod clock;
mod live;
mod part;
mod tally;

pub use assemble::assemble;
pub use live::{LiveMerge, merge_intervals};
pub use part::{
    AddressPart, LogPart, LowestThreadValue, MeasurementStart, Merger, Part, PartError, SampleEntry,
    StatusCounts, ThreadPart, Totals, WorkerPart, WrongSample,
};
pub use tally::{
    GRPC_STATUSES, IdCounts, LlmAnswer, LlmTally, LlmWindow, MessageTally, OpenTimes, OperationTally,
    ReplyTimes, RoomTally, STATUSES, Tally, TallyLayout, WindowCounts,
};
