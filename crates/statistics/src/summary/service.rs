//! Summarises one service of a group: the totals of its trials, and its warnings.

use super::drift::drift;
use super::sample::ServiceSample;
use super::shape::is_open;
use super::{Options, ServiceSummary};
use crate::duet::{WHOLE, usual_length};
use crate::{Metrics, StatisticsError, Variation, variation};
use prony_records::{
    Classification, Coverage, Exclusion, Fault, Measurement, Outcomes, Responses, TrialStage, Warning,
    WarningKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// The row of a service, before ranking.
pub(super) fn summarise(
    service: &ServiceSample<'_>,
    metrics: Metrics,
    options: &Options,
) -> Result<ServiceSummary, StatisticsError> {
    let mut outcomes = Outcomes::default();
    let (mut received, mut completed, mut offered, mut valid) = (0, 0, 0, 0);
    for (_, measured) in &service.measured {
        let recording = &measured.recording;
        outcomes.merge(&recording.outcomes);
        received += recording.bytes.received;
        completed += recording.replies();
        offered += recording.requests.offered;
        valid += recording.requests.valid;
    }
    let responses = merged(service)?;
    let variation = variation_of(service);
    Ok(ServiceSummary {
        id: service.id.clone(),
        rank: None,
        generator_bound: generator_bound(service),
        rank_low: None,
        rank_high: None,
        ratio_to_first: None,
        over_baseline: None,
        memory_bytes_per_connection: None,
        sustained_per_s: None,
        tls: None,
        tied_with: Vec::new(),
        metrics,
        bytes_per_reply: (completed > 0).then(|| received as f64 / completed as f64),
        error_share: (offered > 0).then(|| 1.0 - valid.min(offered) as f64 / offered as f64),
        outcomes,
        response_time_ns_merged: responses.as_ref().and_then(Responses::times),
        histogram: responses.as_ref().map(|responses| responses.valid.encode()),
        trials: service.measured.len() as u32,
        failed_trials: service.failed.len() as u32,
        classification: classification(service),
        trials_for_precision: variation
            .as_ref()
            .and_then(|variation| variation.trials_needed(options.precision, options.confidence)),
        variation,
        warnings: warnings(service),
        excluded: exclusion(service, valid),
    })
}

/// In an open load the service does not set the pace. A generator that cannot keep up only causes a warning there.
fn generator_bound(service: &ServiceSample<'_>) -> bool {
    let saturated = service
        .measured
        .iter()
        .filter(|(_, measured)| {
            let recording = &measured.recording;
            recording.generator.saturated && !is_open(&recording.load)
        })
        .count();
    saturated > 0 && 2 * saturated >= service.measured.len()
}

fn merged(service: &ServiceSample<'_>) -> Result<Option<Responses>, StatisticsError> {
    let mut all: Option<Responses> = None;
    // Histories are read without histograms.
    if service
        .measured
        .iter()
        .any(|(_, measured)| measured.recording.histogram.is_empty())
    {
        return Ok(None);
    }
    for (round, measured) in &service.measured {
        let one = Responses::of(&measured.recording).map_err(|error| StatisticsError::Histogram {
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

/// Variation of the throughput of the intervals of each start. Only complete intervals count, since the last one may be cut
/// short.
fn variation_of(service: &ServiceSample<'_>) -> Option<Variation> {
    let mut builds: BTreeMap<Option<u32>, Vec<Vec<f64>>> = BTreeMap::new();
    for ((_, measured), build) in service.measured.iter().zip(&service.builds) {
        let intervals = &measured.recording.intervals;
        let usual = usual_length(intervals);
        let whole = intervals
            .iter()
            .filter(|interval| interval.length_s > WHOLE * usual && interval.completed > 0);
        let start = whole.map(|interval| (interval.completed as f64 / interval.length_s).ln());
        builds.entry(*build).or_default().push(start.collect());
    }
    variation(&builds.into_values().collect::<Vec<_>>()).ok()
}

/// The most frequent classification; the worst one of several equally frequent ones.
fn classification(service: &ServiceSample<'_>) -> Option<Classification> {
    let worst_last = [
        Classification::Fixed,
        Classification::Cold,
        Classification::Settled,
        Classification::Unsettled,
        Classification::Warming,
        Classification::Short,
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

/// A service that violated its contract once does different work than the others; one that never produced a number has nothing to
/// rank.
fn exclusion(service: &ServiceSample<'_>, valid: u64) -> Option<Exclusion> {
    let own = |failed: &&&Exclusion| failed.fault == Fault::Service;
    let broke =
        |failed: &&&Exclusion| own(failed) && matches!(failed.stage, TrialStage::Check | TrialStage::Recheck);
    if let Some(failed) = service.failed.iter().find(broke) {
        return Some((*failed).clone());
    }
    if service.measured.is_empty() {
        let first = service.failed.iter().find(own).map(|&failed| failed.clone());
        return first.or_else(|| service.failed.first().map(|&failed| not_measured(failed)));
    }
    let is_loaded = service.measured.iter().any(|(_, measured)| measured.has_load());
    (is_loaded && valid == 0).then(|| Exclusion {
        stage: TrialStage::Measure,
        reason: "no reply of the measurement was valid".to_owned(),
        log_tail: Vec::new(),
        fault: Fault::Service,
    })
}

/// The exclusion of a service whose trials all ended in infrastructure failures: there is no number, and the service did not
/// cause that.
fn not_measured(failed: &Exclusion) -> Exclusion {
    Exclusion {
        reason: format!(
            "not measured because of infrastructure failures, not because of the service: {}",
            failed.reason
        ),
        ..failed.clone()
    }
}

fn survivors_only(measured: &Measurement) -> Option<Warning> {
    let is_old = measured.recording.coverage == Coverage::SurvivorsOnly;
    (is_old && measured.recording.response_time_ns.is_some()).then(|| {
        Warning::new(
            WarningKind::SurvivorsOnly,
            "Response times cover only requests with a complete reply, as an older version recorded them: those that waited longest \
             are missing.",
        )
        .advise("Measure again.")
    })
}

/// Each kind of warning once, with the number of trials that it occurred in.
fn warnings(service: &ServiceSample<'_>) -> Vec<Warning> {
    let trials = service.measured.len();
    let mut found: Vec<(Warning, BTreeSet<usize>)> = Vec::new();
    for (trial, (_, measured)) in service.measured.iter().enumerate() {
        let contradictions = measured.contradictions();
        let own = measured.warnings.iter().chain(&measured.recording.warnings);
        // Warnings that an older version stored about the same figures are computed again.
        let own = own.filter(|warning| !warning.kind.facts().recomputed);
        for warning in own.chain(&contradictions).chain(&survivors_only(measured)) {
            match found.iter_mut().find(|(known, _)| known.kind == warning.kind) {
                Some((_, trials)) => {
                    trials.insert(trial);
                }
                None => found.push((warning.clone(), BTreeSet::from([trial]))),
            }
        }
    }
    let often = |warning: Warning, count: usize| match trials {
        0 | 1 => warning,
        _ => warning.worded(format!(
            "{} (in {count} of {trials} trials).",
            warning.text.trim_end_matches('.')
        )),
    };
    let mut told: Vec<Warning> = found
        .into_iter()
        .map(|(warning, trials)| often(warning, trials.len()))
        .chain(drift(service))
        .collect();
    if trials == 1 {
        let text = "One trial: no interval, no comparison.";
        told.push(Warning::new(WarningKind::FewTrials, text).advise("Use --rounds 5."));
    }
    if let (Some(failed), true) = (service.failed.first(), trials > 0) {
        let (count, all) = (service.failed.len(), service.failed.len() + trials);
        let text = format!("{count} of {all} starts failed: {}.", failed.reason);
        told.push(Warning::new(WarningKind::Errors, text).advise("Read the log."));
    }
    told
}
