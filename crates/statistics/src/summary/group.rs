//! Summarises one group: estimates, order, ranks, and warnings.

use super::compare::{self, BoundPresence, Comparisons};
use super::interleaved::took_turns;
use super::sample::{GroupSample, ServiceSample};
use super::shape::is_open;
use super::{Group, Options, OverBaseline, ServiceSummary, estimates, service, tls};
use crate::design::Table;
use crate::interval;
use crate::ranking;
use crate::{Better, Metric, Metrics, StatisticsError, Verdict};
use prony_records::{Warning, WarningKind};
use std::collections::BTreeSet;

pub(super) fn summarise(group: &GroupSample<'_>, options: &Options) -> Result<Group, StatisticsError> {
    let services = &group.services;
    let requested = options.rank_by.or(group.rank_by.and_then(Metric::of_key));
    let requested = requested.unwrap_or_else(|| usual_metric(group));
    let ranked_by = supported_metric(group, requested);
    let metrics = all_metrics(services, options)?;
    let mut rows = services
        .iter()
        .zip(metrics)
        .map(|(service, metrics)| service::summarise(service, metrics, options))
        .collect::<Result<Vec<_>, _>>()?;
    tls::exclude_full_handshakes(group, &mut rows);
    let table = estimates::table(ranked_by, services)?;
    let order = if is_supported(group, ranked_by) {
        order(&rows, &table, ranked_by)
    } else {
        Vec::new()
    };
    let names: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    // A rate that the generator limited is a lower bound: it can prove a service better, never worse.
    let bounds: Vec<bool> = order
        .iter()
        .map(|&index| rows[index].is_lower_bound(ranked_by))
        .collect();
    let no_bounds: Vec<BoundPresence> = order
        .iter()
        .map(|&index| BoundPresence::of(rows[index].metrics.get(ranked_by)))
        .collect();
    // Services without a bound come last. No model can be fitted to them.
    let is_bounded = |presence: &&BoundPresence| **presence == BoundPresence::Everywhere;
    let bounded = &order[..no_bounds.iter().take_while(is_bounded).count()];
    let resolutions = estimates::resolutions(ranked_by, services);
    let of_bounded: Vec<f64> = bounded.iter().map(|&index| resolutions[index]).collect();
    let comparisons = compare::all_pairs(&table, bounded, &names, ranked_by, options)
        .with_resolutions(&of_bounded, ranked_by, options)
        .with_no_bounds(&no_bounds)
        .with_lower_bounds(&bounds);
    rank(&mut rows, &order, &comparisons);
    let is_exact = |index: &usize| !rows[*index].is_lower_bound(ranked_by);
    let exact: Vec<usize> = bounded.iter().copied().filter(is_exact).collect();
    set_ratios(&mut rows, &table, &exact, &resolutions, options);
    set_over_baselines(&mut rows, services, options)?;
    if is_capacity(group) {
        let bounds = estimates::prediction_bounds(&table, options.confidence);
        for (row, bound) in rows.iter_mut().zip(bounds) {
            row.sustained_per_s = bound.filter(|_| row.excluded.is_none());
        }
    }
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
        warnings: lower_bound_warning(&rows, ranked_by)
            .into_iter()
            .chain(other_rank_warning(group, requested, ranked_by))
            .collect(),
        services: in_order(rows, &order),
        pairs: comparisons.pairs,
    })
}

/// Sets the ratio of each of these services to the first of them.
fn set_ratios(
    rows: &mut [ServiceSummary],
    table: &Table,
    exact: &[usize],
    resolutions: &[f64],
    options: &Options,
) {
    let ratios = compare::ratios_to_first(table, exact, options);
    for (&index, ratio) in exact.iter().zip(ratios) {
        let is_first = index == exact[0];
        let resolution = if is_first {
            0.0
        } else {
            resolutions[index] + resolutions[exact[0]]
        };
        rows[index].ratio_to_first = Some(ratio.at_least(resolution));
    }
}

/// Compares each service that has a baseline with it, in the rounds that have both.
fn set_over_baselines(
    rows: &mut [ServiceSummary],
    services: &[ServiceSample<'_>],
    options: &Options,
) -> Result<(), StatisticsError> {
    if services.iter().all(|service| service.baseline.is_none()) {
        return Ok(());
    }
    let table = estimates::table(Metric::CpuNsPerRequest, services)?;
    let names: Vec<String> = services.iter().map(|service| service.id.to_string()).collect();
    for (index, service) in services.iter().enumerate() {
        let place = service
            .baseline
            .and_then(|baseline| names.iter().position(|name| name == baseline));
        let Some(place) = place.filter(|&place| place != index) else {
            continue;
        };
        let pairs: Vec<(f64, f64)> = table[index]
            .iter()
            .filter_map(|(round, value)| {
                let mut others = table[place].iter();
                let (_, other) = others.find(|(other, _)| other == round)?;
                (*value > 0.0 && *other > 0.0).then_some((*value, *other))
            })
            .collect();
        let differences: Vec<f64> = pairs.iter().map(|(value, other)| value - other).collect();
        let difference = interval::mean_interval(&differences, options.confidence);
        let ratio = interval::ratio_interval(&pairs, options.confidence);
        rows[index].over_baseline = difference.zip(ratio).map(|(difference, ratio)| OverBaseline {
            baseline: names[place].clone(),
            cpu_ns_per_request: difference,
            ratio,
        });
    }
    Ok(())
}

/// The default metric. Interleaved services are compared by CPU time per request. Under a closed load the service sets the pace,
/// so throughput compares services; if requests arrive on their own, response time does.
fn usual_metric(group: &GroupSample<'_>) -> Metric {
    let mut measured = group.services.iter().flat_map(|service| &service.measured);
    let is_paired = |metric: Metric| {
        let mut measured = measured.clone();
        measured.any(|(_, measured)| measured.paired.is_some() && metric.of(measured).is_some())
    };
    if is_paired(Metric::OverheadFirstNsP50) {
        Metric::OverheadFirstNsP50
    } else if is_paired(Metric::MemoryBytesPerStream) {
        Metric::MemoryBytesPerStream
    } else if measured.clone().any(|(_, measured)| took_turns(measured)) {
        // CPU time per request is affected least by other users of the machine.
        Metric::CpuNsPerRequest
    } else if is_capacity(group) {
        // Each service was offered the highest rate that it sustains.
        Metric::GoodputPerS
    } else if is_open(&group.first.load) {
        Metric::ResponseTimeNsP99
    } else if measured.any(|(_, measured)| measured.recording.sequences_per_s.is_some()) {
        Metric::SequencesPerS
    } else {
        Metric::GoodputPerS
    }
}

fn is_capacity(group: &GroupSample<'_>) -> bool {
    group.first.load["kind"] == "capacity"
}

/// Percentiles of the response time, highest first.
const PERCENTILES: [Metric; 5] = [
    Metric::ResponseTimeNsP99,
    Metric::ResponseTimeNsP95,
    Metric::ResponseTimeNsP90,
    Metric::ResponseTimeNsP75,
    Metric::ResponseTimeNsP50,
];

/// The metric to rank by if fewer than ten replies of a trial are beyond the requested percentile: CPU time per request if it is
/// known for all trials, else the highest percentile with ten replies beyond it.
fn supported_metric(group: &GroupSample<'_>, requested: Metric) -> Metric {
    if is_supported(group, requested) {
        return requested;
    }
    let mut measured = group.services.iter().flat_map(|service| &service.measured);
    if measured.all(|(_, measured)| Metric::CpuNsPerRequest.of(measured).is_some()) {
        return Metric::CpuNsPerRequest;
    }
    let mut lower = PERCENTILES.into_iter();
    lower
        .find(|&metric| is_supported(group, metric))
        .unwrap_or(requested)
}

fn is_supported(group: &GroupSample<'_>, metric: Metric) -> bool {
    fewest_replies(group).is_none_or(|fewest| fewest >= metric.fewest_replies())
}

/// Number of replies in the trial with the fewest.
fn fewest_replies(group: &GroupSample<'_>) -> Option<u64> {
    let measured = group.services.iter().flat_map(|service| &service.measured);
    measured
        .map(|(_, measured)| measured.recording.requests.completed)
        .min()
}

/// Explains why services are not ranked by the requested metric.
fn other_rank_warning(group: &GroupSample<'_>, requested: Metric, ranked_by: Metric) -> Option<Warning> {
    let fewest = fewest_replies(group).filter(|&fewest| fewest < requested.fewest_replies())?;
    let instead = if is_supported(group, ranked_by) {
        format!("Services are ranked by {}", ranked_by.title())
    } else {
        "Services have no ranks".to_owned()
    };
    let text = format!(
        "{instead}: a trial of {fewest} replies has fewer than ten beyond the {}, which needs {} replies.",
        requested.title(),
        requested.fewest_replies()
    );
    let advice = "Measure longer or at a higher rate.";
    Some(Warning::new(WarningKind::FewSamples, text).advise(advice))
}

fn all_metrics(services: &[ServiceSample<'_>], options: &Options) -> Result<Vec<Metrics>, StatisticsError> {
    let mut all = vec![Metrics::default(); services.len()];
    for &metric in Metric::ALL {
        let table = estimates::table(metric, services)?;
        let resolutions = estimates::resolutions(metric, services);
        let quantities = estimates::quantities(metric, &table, &resolutions, options);
        for (metrics, quantity) in all.iter_mut().zip(quantities) {
            metrics.set(metric, quantity);
        }
    }
    Ok(all)
}

/// The services that can be ranked, best first: by their means adjusted to all rounds, since a service may lack a trial in a round that
/// was slow for all.
fn order(rows: &[ServiceSummary], table: &Table, ranked_by: Metric) -> Vec<usize> {
    let mut order = by_value(rows, ranked_by);
    let is_bounded = |index: &usize| {
        let quantity = rows[*index].metrics.get(ranked_by);
        quantity.is_some_and(|quantity| quantity.no_bound().is_none())
    };
    // Those without a bound come last and stay there.
    let bounded = order.iter().take_while(|index| is_bounded(index)).count();
    if let Some(means) = compare::adjusted_means(table, &order[..bounded]) {
        let mut adjusted: Vec<(f64, usize)> =
            means.into_iter().zip(order[..bounded].iter().copied()).collect();
        adjusted.sort_by(|left, right| left.0.total_cmp(&right.0));
        if ranked_by.better() == Better::Higher {
            adjusted.reverse();
        }
        for (place, (_, index)) in order.iter_mut().zip(adjusted) {
            *place = index;
        }
    }
    order
}

/// The services that can be ranked, by their points, best first.
fn by_value(rows: &[ServiceSummary], ranked_by: Metric) -> Vec<usize> {
    // Values without a bound sort last.
    let position = |index: usize| {
        let quantity = rows[index].metrics.get(ranked_by)?;
        match quantity.no_bound() {
            Some(_) => Some(f64::INFINITY),
            None => quantity.estimate().map(|estimate| estimate.point),
        }
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

/// Ranks all services in `order`. A lower bound is never proven worse, so its ranks start at 1, and end at one more than the number of
/// services that are not proven worse than it.
fn rank(rows: &mut [ServiceSummary], order: &[usize], comparisons: &Comparisons) {
    let names: Vec<String> = order.iter().map(|&index| rows[index].id.to_string()).collect();
    let verdict = |left: usize, right: usize| comparisons.verdicts[left][right];
    let differ = |left, right| matches!(verdict(left, right), Verdict::Faster | Verdict::Slower);
    let ranges = ranking::ranges(order.len(), verdict);
    let ranks = ranking::ranks(&ranges);
    for (position, &index) in order.iter().enumerate() {
        let tied = (0..order.len()).filter(|&other| other != position && !differ(position, other));
        let row = &mut rows[index];
        row.tied_with = tied.map(|other| names[other].clone()).collect();
        row.rank = Some(ranks[position]);
        row.rank_low = Some(ranges[position].low);
        row.rank_high = Some(ranges[position].high);
    }
}

/// Names the ranked services whose values are lower bounds, and what to compare instead; one warning for all of them.
pub fn lower_bound_warning(services: &[ServiceSummary], ranked_by: Metric) -> Option<Warning> {
    let ranked: Vec<&ServiceSummary> = services.iter().filter(|row| row.rank.is_some()).collect();
    let bounds: Vec<&&ServiceSummary> = ranked
        .iter()
        .filter(|row| row.is_lower_bound(ranked_by))
        .collect();
    let whose = match bounds.as_slice() {
        [] => return None,
        [one] => one.id.to_string(),
        many => format!("{} of {} services", many.len(), ranked.len()),
    };
    let text = format!("{whose}: the generator was the limit; rates are lower bounds (≥).");
    let advice = "Compare CPU per request, best at a fixed rate (`prony run efficiency`), or give the generator more CPUs.";
    Some(Warning::new(WarningKind::GeneratorSaturated, text).advise(advice))
}

/// Ranked services come first, then services that cannot be ranked, and excluded ones.
fn in_order(rows: Vec<ServiceSummary>, order: &[usize]) -> Vec<ServiceSummary> {
    let mut placed: Vec<(usize, ServiceSummary)> = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| {
            let position = order.iter().position(|&ordered| ordered == index);
            let last = order.len() + usize::from(row.excluded.is_some());
            (position.unwrap_or(last), row)
        })
        .collect();
    placed.sort_by_key(|&(place, _)| place);
    placed.into_iter().map(|(_, row)| row).collect()
}
