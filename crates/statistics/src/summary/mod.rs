//! Summarises the trials of a run for reports.

mod compare;
mod drift;
mod estimates;
mod group;
mod held;
mod interleaved;
pub(crate) mod sample;
mod service;
mod shape;
mod speed;
mod tls;

pub(crate) use compare::all_pairs;
pub(crate) use estimates::{resolutions, table};
pub use group::lower_bound_warning;
pub use shape::{Group, Options, OverBaseline, ServiceSummary, Summary, TlsCost};

use crate::StatisticsError;
use prony_records::TrialRecord;

/// Summarises the trials of one run by contract, workload and load.
///
/// A repeated trial counts once: [`that_count`](prony_records::that_count) picks the record. Groups and services without a
/// successful trial stay in the summary, with the reason.
pub fn summarise(trials: &[TrialRecord], options: &Options) -> Result<Summary, StatisticsError> {
    options.check()?;
    let groups = sample::groups(trials);
    let summarise = |group: &sample::GroupSample<'_>| -> Result<Group, StatisticsError> {
        let mut summary = group::summarise(group, options)?;
        let costs = tls::costs(group, &groups, options);
        for (service, cost) in group.services.iter().zip(costs) {
            let row = summary.services.iter_mut().find(|row| row.id == *service.id);
            if let Some(row) = row {
                row.tls = Some(cost);
            }
        }
        Ok(summary)
    };
    let mut summaries: Vec<Group> = groups.iter().map(summarise).collect::<Result<_, _>>()?;
    held::set_memory_per_connection(&groups, &mut summaries, options);
    Ok(Summary { groups: summaries })
}
