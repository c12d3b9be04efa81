//! Requests without a valid reply: percentiles without a bound, CPU per request, and contradictions.

use crate::common::{TrialSpec, trials};
use prony_records::{Coverage, Measurement, Responses, TrialRecord, WarningKind};
use prony_statistics::{
    ChangeOptions, Group, Metric, NoBound, Options, Quantity, ServiceSummary, compare, summarise,
};

const BASE: [f64; 5] = [2_000.0, 2_024.0, 1_982.0, 2_008.0, 1_994.0];

/// Makes a share of the requests of some trials of a service time out.
fn time_out(records: &mut [TrialRecord], service: &str, share: f64, rounds: &[u32]) {
    let of_service = records
        .iter_mut()
        .filter(|record| record.service.service == service);
    for record in of_service.filter(|record| rounds.contains(&record.round)) {
        let Ok(Measurement { recording, .. }) = &mut record.result else {
            continue;
        };
        let lost = (recording.requests.valid as f64 * share) as u64;
        recording.outcomes.timeout = lost;
        recording.requests.offered += lost;
        recording.requests.sent += lost;
        let responses = Responses::of(recording).expect("own histogram");
        recording.response_time_ns = responses.times();
    }
}

fn board(records: &[TrialRecord]) -> Group {
    let summary = summarise(records, &Options::default()).expect("sound records");
    summary.groups.into_iter().next().expect("one group")
}

fn row<'a>(group: &'a Group, service: &str) -> &'a ServiceSummary {
    let found = group.services.iter().find(|row| row.id.service == service);
    found.expect("it was measured")
}

#[test]
fn a_service_without_bound_ranks_below_those_that_have_one() {
    let specs = ["good", "lossy", "once"].map(|name| TrialSpec::closed(name, &BASE).open());
    let mut records = trials(&specs);
    time_out(&mut records, "lossy", 0.05, &[0, 1, 2, 3, 4]);
    time_out(&mut records, "once", 0.05, &[2]);
    let group = board(&records);
    assert_eq!(group.ranked_by, Metric::ResponseTimeNsP99);
    let p99 = |service: &str| row(&group, service).metrics.response_time_ns_p99.clone();
    let none = |without_bound| {
        Some(Quantity::NoBound(NoBound {
            without_bound,
            trials: 5,
        }))
    };
    assert_eq!((p99("lossy"), p99("once")), (none(5), none(1)));
    assert!(matches!(p99("good"), Some(Quantity::Estimated(_))));
    assert_eq!(group.services[0].id.service, "good");
    let (good, lossy, once) = (row(&group, "good"), row(&group, "lossy"), row(&group, "once"));
    assert!(
        !good.tied_with.contains(&"lossy/current".to_owned()),
        "{:?}",
        good.tied_with
    );
    assert_eq!(lossy.rank_low, Some(2), "one is proven better");
    // One trial of five proves nothing about the service.
    assert_eq!((once.rank_low, once.rank_high), (Some(1), Some(3)));
    // Up to p95 there is a bound: no more than 1 of 20 has no reply.
    assert!(matches!(
        lossy.metrics.response_time_ns_p90,
        Some(Quantity::Estimated(_))
    ));
    let merged = lossy.response_time_ns_merged.expect("requests");
    assert_eq!(merged.p99, prony_records::Quantile::Unbounded);
}

/// Its rounds have no value, and no model can be fitted to it; the others are compared as without it.
#[test]
fn a_service_without_bound_does_not_make_the_others_ties() {
    let specs = ["fast", "lossy", "slow"].map(|name| TrialSpec::closed(name, &BASE).open());
    let mut records = trials(&specs);
    for (at, record) in records.iter_mut().enumerate() {
        let recording = &mut record.result.as_mut().expect("it gave numbers").recording;
        let slower = if record.service.service == "slow" {
            3_000_000
        } else {
            1_000_000
        };
        let mut times = prony_records::Histogram::new();
        times.record_many(slower + 10_000 * (at as u64 % 7), recording.requests.valid);
        recording.histogram = times.encode();
        recording.response_time_ns = times.summary().map(Into::into);
    }
    time_out(&mut records, "lossy", 0.05, &[0, 1, 2, 3, 4]);
    let group = board(&records);
    let ranks: Vec<(&str, Option<u32>, Option<u32>)> = group
        .services
        .iter()
        .map(|row| (row.id.service.as_str(), row.rank_low, row.rank_high))
        .collect();
    let wanted = [
        ("fast", Some(1), Some(1)),
        ("slow", Some(2), Some(2)),
        ("lossy", Some(3), Some(3)),
    ];
    assert_eq!(ranks, wanted);
    assert_eq!(group.pairs.len(), 1);
    assert!(row(&group, "slow").ratio_to_first.is_some());
}

#[test]
fn a_percentile_that_loses_its_bound_is_a_regression() {
    let records = trials(&[TrialSpec::closed("a", &BASE).open()]);
    let mut worse = records.clone();
    time_out(&mut worse, "a", 0.02, &[0, 1, 2, 3, 4]);
    let summary = |records: &[TrialRecord]| summarise(records, &Options::default()).expect("sound records");
    let options = ChangeOptions::default();
    let change = compare(&summary(&records), &summary(&worse), &options).expect("sound options");
    assert!(change.regressed);
    let told = change.without_bound.join("; ");
    assert!(
        told.contains("p99 of a/current") && told.contains("5 of 5 trials"),
        "{told}"
    );
    let same = compare(&summary(&records), &summary(&records), &options).expect("sound options");
    assert!(!same.regressed && same.without_bound.is_empty());
}

/// Replies to the backlog after the measurement do not count, since it has not used CPU time for them.
#[test]
fn cpu_per_request_counts_replies_of_the_measurement() {
    let mut records = trials(&[TrialSpec::closed("a", &[1_000.0, 1_000.0]).open()]);
    for record in &mut records {
        let measured = record.result.as_mut().expect("it gave numbers");
        measured.service.cpu_ns = Some(1_000_000_000);
        measured.recording.generator.cpu_s = 0.5;
        measured.recording.requests.completed = 4_000;
    }
    let measured = records[0].result.as_ref().expect("it gave numbers");
    assert_eq!(Metric::CpuNsPerRequest.of(measured), Some(1e6));
    assert_eq!(Metric::GeneratorCpuNsPerRequest.of(measured), Some(5e5));
    assert_eq!(measured.contradictions(), []);
}

#[test]
fn contradictions_are_reported_for_each_trial_with_errors_too() {
    let mut records = trials(&[TrialSpec::closed("a", &BASE)]);
    let kinds = |records: &[TrialRecord]| -> Vec<(WarningKind, String)> {
        let group = board(records);
        let warnings = row(&group, "a").warnings.iter();
        warnings.map(|warning| (warning.kind, warning.whole())).collect()
    };
    assert_eq!(kinds(&records), []);
    // A record of an older version: its mean accounts for two of the 64 requests in flight.
    for record in &mut records {
        let measured = record.result.as_mut().expect("it gave numbers");
        measured.recording.coverage = Coverage::SurvivorsOnly;
        measured.recording.outcomes.timeout = 40;
        // The CPU time was read over a longer period than the replies were counted in.
        measured.service.window_ns = 1_050_000_000;
    }
    time_out(&mut records, "none", 0.0, &[]);
    let found = kinds(&records);
    let text = |kind: WarningKind| {
        let found = found.iter().find(|(found, _)| *found == kind);
        found.unwrap_or_else(|| panic!("{kind:?}: {found:?}")).1.clone()
    };
    let little = text(WarningKind::LittlesLaw);
    assert!(
        little.contains("2.0 of 64") && little.contains("5 of 5 trials"),
        "{little}"
    );
    let cpu = text(WarningKind::CpuContradiction);
    assert!(
        cpu.contains("CPU per request") && cpu.contains("0.800 CPUs, but 0.762"),
        "{cpu}"
    );
    assert!(text(WarningKind::SurvivorsOnly).contains("Measure again."));
}
