//! The buckets of every histogram: those of an `HdrHistogram` from 1 ns to one hour with three significant digits.

/// Buckets per power of two: the number in an `HdrHistogram` with three significant digits.
const HALF: u64 = 1024;
/// Number of buckets up to the one of the longest duration, one hour, which is below 2 × 1024 × 2^31 ns.
pub(super) const BUCKETS: u64 = 33 * HALF;

/// The index of the bucket of a duration.
pub(super) const fn index_of(ns: u64) -> u64 {
    let octave = (ns | (2 * HALF - 1)).ilog2() as u64 + 1 - (2 * HALF).ilog2() as u64;
    octave * HALF + (ns >> octave)
}

/// The longest duration of a bucket.
pub(super) const fn highest_of(index: u64) -> u64 {
    let octave = (index / HALF).saturating_sub(1);
    ((index - octave * HALF + 1) << octave) - 1
}
