//! Compares two services of one run, or two variants or revisions of a service, in every metric over the rounds they share.

use super::gate::{
    Change, ChangeOptions, GroupChange, RunChange, ServiceChange, UnadjustedRatio, adjust, check, estimated,
};
use crate::StatisticsError;
use crate::design::{Table, values};
use crate::interval;
use crate::summary::{Options, resolutions, sample, summarise, table};
use prony_records::{ServiceId, TrialRecord};

/// Compares `new` with `base` in one run. Trials are paired by round, so that disturbances of a round affect both: the result is
/// far tighter than that of two runs. Uses Student's t on the logarithms of the per-round ratios, adjusted as in
/// [`compare`](crate::compare).
pub fn compare_in_run(
    trials: &[TrialRecord],
    base: &ServiceId,
    new: &ServiceId,
    options: &ChangeOptions,
) -> Result<RunChange, StatisticsError> {
    check(options)?;
    let both: Vec<TrialRecord> = trials
        .iter()
        .filter(|trial| trial.service == *base || trial.service == *new)
        .cloned()
        .collect();
    let summary = summarise(
        &both,
        &Options {
            confidence: options.confidence,
            ..Options::default()
        },
    )?;
    let mut change = RunChange::new();
    let mut raws = Vec::new();
    for (group, sample) in summary.groups.iter().zip(sample::groups(&both)) {
        let row = |id: &ServiceId| {
            group
                .services
                .iter()
                .find(|row| row.id == *id && row.excluded.is_none())
        };
        let place = |id: &ServiceId| sample.services.iter().position(|service| service.id == id);
        let (Some(old), Some(now), Some(first), Some(second)) =
            (row(base), row(new), place(base), place(new))
        else {
            change.missing.push(format!(
                "{} · {} has no numbers for at least one of the two",
                group.contract, group.workload
            ));
            continue;
        };
        let mut changes = Vec::new();
        for metric in options.compared_metrics(group.ranked_by) {
            let (Some(then), Some(present)) = (estimated(old, metric), estimated(now, metric)) else {
                continue;
            };
            let values = table(metric, &sample.services)?;
            let resolutions = resolutions(metric, &sample.services);
            let Some(raw) = paired(&values, &resolutions, (first, second)) else {
                continue;
            };
            changes.push(Change::open(
                metric,
                then,
                present,
                options.gated(metric, group.ranked_by),
            ));
            raws.push(raw);
        }
        change.groups.push(GroupChange {
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load.clone(),
            services: vec![ServiceChange {
                service: new.to_string(),
                changes,
            }],
        });
    }
    adjust(&mut change, &raws, options);
    for group in &summary.groups {
        let row = |id: &ServiceId| group.services.iter().find(|row| row.id == *id);
        if let (Some(old), Some(now)) = (row(base), row(new)) {
            change.note_lost_bounds((old, now), group, options);
        }
    }
    Ok(change)
}

/// Mean and standard error of the logarithm of new over base, over the rounds in which both have a value above zero. The error is at
/// least that of counting whole replies, which rounds each count by up to one half.
fn paired(table: &Table, resolutions: &[f64], (base, new): (usize, usize)) -> Option<UnadjustedRatio> {
    let ratios: Vec<(u32, f64)> = table[new]
        .iter()
        .filter_map(|&(round, value)| {
            let (_, then) = table[base].iter().find(|&&(theirs, _)| theirs == round)?;
            (value > 0.0 && *then > 0.0).then(|| (round, (value / then).ln()))
        })
        .collect();
    let ratios = values(&ratios);
    let freedom = ratios.len().checked_sub(1).filter(|&freedom| freedom > 0)? as f64;
    let rounding = (resolutions[base].powi(2) + resolutions[new].powi(2)) / 12.0;
    let variance = (interval::squares(&ratios) / freedom).max(rounding);
    Some(UnadjustedRatio {
        point: interval::mean(&ratios),
        error: (variance / ratios.len() as f64).sqrt(),
        freedom,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_cancel() {
        let base = vec![(0, 10.0), (1, 20.0), (2, 40.0)];
        let new = vec![(0, 11.0), (1, 22.0), (2, 44.0)];
        let raw = paired(&vec![base, new], &[0.0; 2], (0, 1)).expect("three rounds");
        assert!((raw.point - 1.1f64.ln()).abs() < 1e-12 && raw.error < 1e-12);
        assert!(paired(&vec![vec![(0, 1.0)], vec![(1, 1.0)]], &[0.0; 2], (0, 1)).is_none());
    }
}
