//! Computes what trials show: estimates with intervals, comparisons, ranks with ties, and when to stop.
//!
//! Pure functions of values. The unit of every sample is the trial, a fresh start of a service; the requests of one start are
//! never a sample. This crate must never measure, read a clock or a file, draw an unseeded random number, or return a point
//! without its interval. Start at [`summarise`]. `docs/METHOD.md` lists each formula with its source.

#![warn(missing_docs)]

mod calibration;
mod change;
mod design;
mod distribution;
mod duet;
mod error;
mod estimate;
mod interval;
mod metric;
mod ranking;
#[cfg(test)]
mod simulation;
mod slope;
mod steady_rate;
mod stopping;
mod summary;

pub use calibration::{
    AaTest, Calibration, NoiseFloor, SmallestDifference, TruthCheck, machine_name, same_twice,
    stalled_gap_quantile, stalled_quantile,
};
pub use change::{
    BaselineHistory, Change, ChangeOptions, ChangePoint, DetectableChange, GroupChange, LOOKS, Mismatch,
    RunChange, RunConditions, ServiceChange, change_points, compare, compare_in_run, generators, mismatches,
    part_mismatches, share_of_others,
};
pub use duet::{Duet, DuetRound, DuetSample, PairedWindows, consecutive, duet, synchronous};
pub use error::StatisticsError;
pub use estimate::{Estimate, Method, MethodEstimate, NoBound, Precision, Quantity, Score, TooFewTrials};
pub use interval::median;
pub use metric::{Better, Metric, Metrics};
pub use ranking::{Adjustment, PairwiseComparison, Verdict};
pub use slope::slope_interval;
pub use steady_rate::steady_rate;
pub use stopping::{
    Component, Decision, Level, Progress, StopReason, StopRule, Variation, next_round, rounds_for_difference,
    smallest_difference, variation,
};
pub use summary::{
    Group, Options, OverBaseline, ServiceSummary, Summary, TlsCost, lower_bound_warning, summarise,
};
