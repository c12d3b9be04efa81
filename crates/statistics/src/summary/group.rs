//! One group: estimates, order, ranks, and the reasons beside them.

use super::compare::{self, Comparisons};
use super::sample::{GroupSample, ServiceSample};
use super::shape::is_open;
use super::{Group, Options, ServiceSummary, estimates};
use crate::ranking::{letters, place};
use crate::{Better, Metric, Metrics, StatisticsError, Verdict};
use prony_measurement::{Classification, Exclusion, Histogram, Outcomes, Stage, Warning, WarningKind};
use std::collections::BTreeSet;

pub(super) fn summarise(group: &GroupSample<'_>, options: &Options) -> Result<Group, StatisticsError> {
    let services = &group.services;
    let ranked_by = options.rank_by.unwrap_or_else(|| usual_metric(group));
    let metrics = all_metrics(services, options)?;
    let mut rows = services
        .iter()
        .zip(metrics)
        .map(|(service, metrics)| row(service, metrics))
        .collect::<Result<Vec<_>, _>>()?;
    let order = order(&rows, ranked_by);
    let table = estimates::table(ranked_by, services)?;
    let names: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    let comparisons = compare::all_pairs(&table, &order, &names, ranked_by, options);
    rank(&mut rows, &order, &comparisons);
    let rounds: BTreeSet<u32> = services
        .iter()
        .flat_map(|service| service.measured.iter().map(|&(round, _)| round))
        .collect();
    Ok(Group {
        contract: group.first.contract.clone(),
        workload: group.first.workload.clone(),
        load: group.first.load.clone(),
        ranked_by,
        confidence: options.confidence,
        tie_band: options.tie_band,
        adjustment: comparisons.adjustment,
        rounds: rounds.len() as u32,
        services: in_order(rows, &order),
        pairs: comparisons.pairs,
        warnings: Vec::new(),
    })
}

/// Under a closed load the service sets the pace; where requests arrive on their own, response time tells services apart.
fn usual_metric(group: &GroupSample<'_>) -> Metric {
    let mut measured = group.services.iter().flat_map(|service| &service.measured);
    if is_open(&group.first.load) {
        Metric::ResponseTimeNsP99
    } else if measured.any(|(_, measured)| measured.recording.sequences_per_s.is_some()) {
        Metric::SequencesPerS
    } else {
        Metric::GoodputPerS
    }
}

fn all_metrics(services: &[ServiceSample<'_>], options: &Options) -> Result<Vec<Metrics>, StatisticsError> {
    let mut all = vec![Metrics::default(); services.len()];
    for &metric in Metric::ALL {
        let table = estimates::table(metric, services)?;
        for (metrics, quantity) in all.iter_mut().zip(estimates::quantities(&table, options)) {
            metrics.set(metric, quantity);
        }
    }
    Ok(all)
}

fn row(service: &ServiceSample<'_>, metrics: Metrics) -> Result<ServiceSummary, StatisticsError> {
    let mut outcomes = Outcomes::default();
    let (mut received, mut completed, mut offered, mut valid) = (0, 0, 0, 0);
    for (_, measured) in &service.measured {
        let recording = &measured.recording;
        outcomes.merge(&recording.outcomes);
        received += recording.bytes.received;
        completed += recording.requests.completed;
        offered += recording.requests.offered;
        valid += recording.requests.valid;
    }
    let histogram = merged(service)?;
    Ok(ServiceSummary {
        id: service.id.clone(),
        rank: None,
        rank_interval: None,
        tied_with: Vec::new(),
        letters: None,
        metrics,
        bytes_per_reply: (completed > 0).then(|| received as f64 / completed as f64),
        error_share: (offered > 0).then(|| 1.0 - valid.min(offered) as f64 / offered as f64),
        outcomes,
        response_time_ns_merged: histogram.as_ref().and_then(Histogram::summary),
        histogram: histogram.as_ref().map(Histogram::encode),
        trials: service.measured.len() as u32,
        failed_trials: service.failed.len() as u32,
        classification: classification(service),
        warnings: warnings(service),
        excluded: exclusion(service, valid),
    })
}

fn merged(service: &ServiceSample<'_>) -> Result<Option<Histogram>, StatisticsError> {
    let mut all: Option<Histogram> = None;
    for (round, measured) in &service.measured {
        let one = measured
            .recording
            .response_times()
            .map_err(|error| StatisticsError::Histogram {
                service: service.id.to_string(),
                round: *round,
                reason: error.to_string(),
            })?;
        match &mut all {
            Some(sum) => sum.merge(&one),
            None => all = Some(one),
        }
    }
    Ok(all)
}

/// The most frequent classification; of equally frequent ones the worst.
fn classification(service: &ServiceSample<'_>) -> Option<Classification> {
    let worst_last = [
        Classification::Fixed,
        Classification::Flat,
        Classification::WarmedUp,
        Classification::SlowingDown,
        Classification::NoSteadyState,
    ];
    let of_trials = || {
        service
            .measured
            .iter()
            .filter_map(|(_, measured)| measured.steadiness.as_ref())
    };
    let count = |wanted| {
        of_trials()
            .filter(|steadiness| steadiness.classification == wanted)
            .count()
    };
    of_trials().next()?;
    worst_last.into_iter().max_by_key(|&kind| count(kind))
}

/// A service that broke its contract once does other work than the rest; one that never gave a number has none to rank.
fn exclusion(service: &ServiceSample<'_>, valid: u64) -> Option<Exclusion> {
    let broke = |failed: &&&Exclusion| matches!(failed.stage, Stage::Check | Stage::Recheck);
    if let Some(failed) = service.failed.iter().find(broke) {
        return Some((*failed).clone());
    }
    if service.measured.is_empty() {
        return service.failed.first().map(|&failed| failed.clone());
    }
    (valid == 0).then(|| Exclusion {
        stage: Stage::Measure,
        reason: "not one reply of the measurement was valid".to_owned(),
        log_tail: Vec::new(),
    })
}

/// Each warning once, with the number of trials that have it.
fn warnings(service: &ServiceSample<'_>) -> Vec<Warning> {
    let trials = service.measured.len();
    let mut found: Vec<(Warning, usize)> = Vec::new();
    for (_, measured) in &service.measured {
        let mut kinds = BTreeSet::new();
        for warning in measured.warnings.iter().chain(&measured.recording.warnings) {
            let known = found.iter_mut().find(|(known, _)| known.kind == warning.kind);
            match known {
                Some((_, count)) => *count += usize::from(kinds.insert(format!("{:?}", warning.kind))),
                None => {
                    kinds.insert(format!("{:?}", warning.kind));
                    found.push((warning.clone(), 1));
                }
            }
        }
    }
    let mut told: Vec<Warning> = found
        .into_iter()
        .map(|(warning, count)| {
            let often = format!("{} (in {count} of {trials} trials)", warning.text);
            if trials == 1 {
                warning
            } else {
                Warning::new(warning.kind, often)
            }
        })
        .collect();
    if trials == 1 {
        told.push(Warning::new(
            WarningKind::FewTrials,
            "one trial only: no interval and no comparison",
        ));
    }
    if !service.failed.is_empty() && trials > 0 {
        let text = format!(
            "{} of {} trials failed: {}",
            service.failed.len(),
            service.failed.len() + trials,
            service.failed[0].reason
        );
        told.push(Warning::new(WarningKind::Errors, text));
    }
    told
}

/// The services that can be ranked, best first.
fn order(rows: &[ServiceSummary], ranked_by: Metric) -> Vec<usize> {
    let position = |index: usize| {
        rows[index]
            .metrics
            .get(ranked_by)?
            .estimate()
            .map(|estimate| estimate.point)
    };
    let mut order: Vec<usize> = (0..rows.len())
        .filter(|&index| rows[index].excluded.is_none() && position(index).is_some_and(|point| point > 0.0))
        .collect();
    order.sort_by(|&left, &right| {
        let ascending = position(left)
            .partial_cmp(&position(right))
            .expect("invariant: all are numbers");
        if ranked_by.better() == Better::Higher {
            ascending.reverse()
        } else {
            ascending
        }
    });
    order
}

fn rank(rows: &mut [ServiceSummary], order: &[usize], comparisons: &Comparisons) {
    let names: Vec<String> = order.iter().map(|&index| rows[index].id.to_string()).collect();
    let verdict = |left: usize, right: usize| {
        let (first, second) = (left.min(right), left.max(right));
        let pair = comparisons
            .pairs
            .iter()
            .find(|pair| pair.a == names[first] && pair.b == names[second]);
        let verdict = pair.map_or(Verdict::CannotTell, |pair| pair.verdict);
        if left < right { verdict } else { verdict.reversed() }
    };
    let differ = |left, right| matches!(verdict(left, right), Verdict::Faster | Verdict::Slower);
    let intervals = place::intervals(order.len(), verdict);
    let ranks = place::ranks(&intervals);
    let letters = letters::display(order.len(), differ);
    for (position, &index) in order.iter().enumerate() {
        let tied = (0..order.len()).filter(|&other| other != position && !differ(position, other));
        rows[index].tied_with = tied.map(|other| names[other].clone()).collect();
        rows[index].rank = Some(ranks[position]);
        rows[index].rank_interval = Some(intervals[position]);
        rows[index].letters = Some(letters[position].clone());
    }
}

/// Ranked ones first, then those that cannot be ranked, then the excluded.
fn in_order(rows: Vec<ServiceSummary>, order: &[usize]) -> Vec<ServiceSummary> {
    let mut placed: Vec<(usize, ServiceSummary)> = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| {
            let ranked = order.iter().position(|&ranked| ranked == index);
            let unranked = order.len() + usize::from(row.excluded.is_some());
            (ranked.unwrap_or(unranked), row)
        })
        .collect();
    placed.sort_by_key(|&(place, _)| place);
    placed.into_iter().map(|(_, row)| row).collect()
}
