//! What was recorded in pieces, merged without loss: a [`Tally`] is what a thread counts in an interval, a [`Part`] is what a
//! worker hands over at the end, and [`assemble`] makes the one recording of them and looks for reasons to doubt it.
//!
//! Merging is exact: all sums are of integers, all distributions are counts of the same buckets, and where one of several
//! values is kept, a rule that does not look at their order says which. So parts may be merged in any order and grouping, and
//! one process with four threads gives the recording that two with two threads give. Nothing here computes a percentile of
//! percentiles, and nothing opens a socket or reads a clock.
//!
//! Start at [`Part`]. [`Live`] merges the intervals that workers tell while they run; [`clock`] has the arithmetic of their
//! clocks and of their common start.

mod assemble;
pub mod clock;
mod live;
mod part;
mod tally;

pub use assemble::assemble;
pub use live::{Live, merge_intervals};
pub use part::{
    AddressPart, Answered, Begun, First, LogPart, Merger, Part, PartError, SampleEntry, ThreadPart, Totals,
    WorkerPart, WrongSample,
};
pub use tally::{
    Answer, GRPC_STATUSES, IdCounts, LlmTally, LlmWindow, MessageTally, OpenTimes, OperationTally,
    ReplyTimes, RoomTally, STATUSES, Shape, Tally, Window,
};
