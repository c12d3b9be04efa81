//! From the trials of a run to what a report says.

mod compare;
mod estimates;
mod group;
mod interleaved;
pub(crate) mod sample;
mod service;
mod shape;
mod speed;

pub(crate) use compare::all_pairs;
pub(crate) use estimates::table;
pub use shape::{Group, Options, ServiceSummary, Summary};

use crate::StatisticsError;
use prony_records::TrialRecord;

/// What the trials of one run say, by contract, workload and load.
///
/// Of a trial that was repeated (same place) the last one counts. Groups and services without any trial that gave numbers
/// stay in, with the reason.
pub fn summarise(trials: &[TrialRecord], options: &Options) -> Result<Summary, StatisticsError> {
    options.check()?;
    let groups = sample::groups(trials);
    let summaries = groups.iter().map(|group| group::summarise(group, options));
    Ok(Summary {
        groups: summaries.collect::<Result<_, _>>()?,
    })
}
