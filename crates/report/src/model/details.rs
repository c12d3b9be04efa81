//! Details of a row: distributions, each trial, one trial over time.

use super::backing_service::{BackingPoint, backing_services};
use super::curves;
use crate::ReportError;
use prony_records::{
    AfterLoad, Classification, CommonStart, Distribution, Histogram, Interval, Measurement, Messages,
    Outcomes, Quantile, ResourceSample, Responses, SharedStart, TrialRecord, WorkerRow, that_count,
};
use prony_statistics::{Group, Metric, ServiceSummary};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum number of points of a resource line: more cannot be seen and make the page heavy.
const MOST_POINTS: usize = 48;

/// Details of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Shares of the requests, each with the response time in ns that it does not exceed, as far as that has a bound.
    /// Over all trials, for charts.
    pub response_time_curve: Vec<(f64, u64)>,
    /// Lower and upper bound in ns, and the share of the valid replies between them.
    pub response_time_density: Vec<(u64, u64, f64)>,
    /// Outcomes of the requests of all trials.
    pub outcomes: Outcomes,
    /// The operations of the workload, if it has several.
    pub operations: Vec<OperationRow>,
    pub points: Vec<Point>,
    /// The trial with the median throughput, over time.
    pub series: Option<Series>,
    /// Its windows, if it was interleaved with others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interleaved: Vec<InterleavedWindow>,
    pub service_cpus: Vec<usize>,
    pub generator_cpus: Vec<usize>,
}

/// An operation over all trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationRow {
    pub name: String,
    /// Complete replies.
    pub completed: u64,
    /// Requests without a valid reply.
    pub errors: u64,
    /// Median response time of all trials together, ns.
    pub response_time_ns_p50: Option<Quantile>,
    /// 99th percentile of the response time of all trials together, ns.
    pub response_time_ns_p99: Option<Quantile>,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// From 0.
    pub round: u32,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The value of each metric, under the metric's key: a number, `"no_bound"`, or null if it is not known.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Value>,
    /// Position in the order of the whole run, from 0.
    pub order: u32,
    /// The process start of the trial, if it served other trials too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<SharedStart>,
    /// How its warm-up ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpPoint>,
    /// Share of the compiler threads in the CPU time of the service while it was measured; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler_share: Option<f64>,
    /// Time that the hypervisor took from the machine during the measurement, ns.
    pub steal_ns: Option<u64>,
    /// CPU time of everything else on the machine during the measurement, ns.
    pub other_cpu_ns: Option<u64>,
    /// CPU time of the generator during the measurement, s.
    pub generator_cpu_s: Option<f64>,
    /// Requests in flight on average, under a closed load: throughput times their mean response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<f64>,
    /// The messages of its streams, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// Resource use of each backing service during the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backing_services: Vec<BackingPoint>,
    /// Checks in the backing services after the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterLoad>,
    /// Results of each worker, if several hosts made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRow>,
    /// How far apart the workers started, if several hosts made the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_start: Option<CommonStart>,
    /// Why it has no measurement.
    pub excluded: Option<String>,
}

/// The warm-up of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmUpPoint {
    /// How it ended.
    pub classification: Classification,
    /// Length of the light load, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub light_s: Option<f64>,
    /// Length under the planned load, s.
    pub planned_s: f64,
}

/// A window of a service that was interleaved with others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InterleavedWindow {
    /// From 0.
    pub round: u32,
    /// From 0. Windows of the same round and cycle are within seconds of each other.
    pub cycle: u32,
    /// CPU time of the service per complete reply, ns.
    pub cpu_ns_per_request: Option<f64>,
    /// Valid replies per second.
    pub goodput_per_s: f64,
    /// CPUs kept busy by anything but the service and the generator, including the hypervisor.
    pub others_cpus: Option<f64>,
    /// CPU time of the CPU speed probe, ns: the longer, the slower the service's CPUs were.
    pub cpu_speed_probe_ns: Option<f64>,
}

/// One trial over time. Times count from the start of the measurement; those of the warm-up are negative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// From 0.
    pub round: u32,
    pub duration_s: f64,
    pub warm_up_s: Option<f64>,
    /// Whether and how it warmed up.
    pub classification: Option<Classification>,
    /// Results of the generator.
    pub intervals: Vec<SeriesInterval>,
    /// Resource use of the service.
    pub resources: Vec<SeriesResource>,
    /// Response times of parts of the measurement, for a heat map; empty if they were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
}

/// Results of the generator in an interval of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeriesInterval {
    /// Start, s.
    pub at_s: f64,
    /// Complete replies per second.
    pub throughput_per_s: f64,
    /// Messages of streams per second, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_per_s: Option<f64>,
    /// Failed requests per second, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors_per_s: Option<f64>,
    /// 99th percentile of the response time, ns.
    pub response_time_ns_p99: Option<u64>,
}

/// Resource use of the service in an interval of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeriesResource {
    /// End, s.
    pub at_s: f64,
    /// CPUs kept busy.
    pub cpus_busy: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

/// The details of a service in a group; `None` if it has no trial.
pub(super) fn details(
    trials: &[TrialRecord],
    group: &Group,
    summary: &ServiceSummary,
) -> Result<Option<Details>, ReportError> {
    let trials = last_of_each_place(trials, group, summary);
    if trials.is_empty() {
        return Ok(None);
    }
    let damaged = |source| ReportError::Histogram {
        service: summary.id.to_string(),
        source,
    };
    let histogram = summary
        .histogram
        .as_deref()
        .map(Histogram::decode)
        .transpose()
        .map_err(damaged)?;
    let measured: Vec<(&TrialRecord, &Measurement)> = trials
        .iter()
        .filter_map(|trial| Some((*trial, trial.result.as_ref().ok()?)))
        .collect();
    let median = median_trial(&measured);
    let responses = histogram.map(|valid| Responses::new(valid, None, &summary.outcomes));
    Ok(Some(Details {
        response_time_curve: responses.as_ref().map(curves::curve).unwrap_or_default(),
        response_time_density: responses
            .as_ref()
            .map(|responses| curves::density(&responses.valid))
            .unwrap_or_default(),
        outcomes: summary.outcomes,
        operations: operations(&measured).map_err(damaged)?,
        points: trials.iter().map(|trial| point(trial)).collect(),
        // A start without a load is no series.
        series: median
            .filter(|(_, measured)| measured.has_load())
            .map(|(trial, measured)| series(trial, measured)),
        interleaved: measured
            .iter()
            .flat_map(|(trial, one)| windows(trial, one))
            .collect(),
        service_cpus: median
            .map(|(_, one)| one.service_cpus.clone())
            .unwrap_or_default(),
        generator_cpus: median
            .map(|(_, one)| one.generator_cpus.clone())
            .unwrap_or_default(),
    }))
}

fn last_of_each_place<'a>(
    trials: &'a [TrialRecord],
    group: &Group,
    summary: &ServiceSummary,
) -> Vec<&'a TrialRecord> {
    let of_service = |trial: &&TrialRecord| {
        let of_group =
            trial.contract == group.contract && trial.workload == group.workload && trial.load == group.load;
        of_group && trial.service == summary.id
    };
    that_count(trials).into_iter().filter(of_service).collect()
}

fn median_trial<'a>(
    measured: &[(&'a TrialRecord, &'a Measurement)],
) -> Option<(&'a TrialRecord, &'a Measurement)> {
    let mut sorted = measured.to_vec();
    sorted.sort_by(|(_, left), (_, right)| {
        left.recording
            .throughput_per_s
            .total_cmp(&right.recording.throughput_per_s)
    });
    sorted.get(sorted.len() / 2).copied()
}

fn operations(
    measured: &[(&TrialRecord, &Measurement)],
) -> Result<Vec<OperationRow>, prony_records::HistogramError> {
    let mut merged: Vec<(OperationRow, Responses)> = Vec::new();
    let recordings = measured.iter().flat_map(|(_, one)| &one.recording.operations);
    for operation in recordings {
        let responses = Responses::of_operation(operation)?;
        match merged.iter_mut().find(|(row, _)| row.name == operation.name) {
            Some((row, all)) => {
                row.completed += operation.requests.completed;
                row.errors += operation.outcomes.errors();
                all.merge(&responses);
            }
            None => merged.push((
                OperationRow {
                    name: operation.name.clone(),
                    completed: operation.requests.completed,
                    errors: operation.outcomes.errors(),
                    response_time_ns_p50: None,
                    response_time_ns_p99: None,
                },
                responses,
            )),
        }
    }
    let with_times = |(row, responses): (OperationRow, Responses)| OperationRow {
        response_time_ns_p50: responses.quantile(0.5),
        response_time_ns_p99: responses.quantile(0.99),
        ..row
    };
    Ok(merged.into_iter().map(with_times).collect())
}

fn point(trial: &TrialRecord) -> Point {
    let measured = trial.result.as_ref().ok();
    let of = |metric: Metric| match measured.and_then(|measured| metric.of(measured)) {
        None => Value::Null,
        Some(value) if value.is_infinite() => "no_bound".into(),
        Some(value) => value.into(),
    };
    Point {
        order: trial.number,
        start: trial.start,
        warm_up: measured.and_then(|measured| {
            let steadiness = measured.steadiness.as_ref()?;
            Some(WarmUpPoint {
                classification: steadiness.classification,
                light_s: steadiness.light_s.map(|s| rounded(s, 10.0)),
                planned_s: rounded(steadiness.warm_up_s, 10.0),
            })
        }),
        compiler_share: measured
            .and_then(|measured| measured.service.compiler_share())
            .map(|share| rounded(share, 1000.0)),
        steal_ns: measured.and_then(|measured| measured.steal_ns),
        other_cpu_ns: measured.and_then(|measured| measured.other_cpu_ns),
        generator_cpu_s: measured.map(|measured| measured.recording.generator.cpu_s),
        in_flight: measured
            .and_then(|measured| measured.recording.in_flight())
            .map(|requests| rounded(requests, 1000.0)),
        round: trial.round,
        started_at: trial.started_at.clone(),
        metrics: Metric::ALL
            .iter()
            .map(|&metric| (metric.key().to_owned(), of(metric)))
            .collect(),
        messages: measured.and_then(|measured| measured.recording.messages),
        backing_services: measured.map_or_else(Vec::new, backing_services),
        after: measured.map_or_else(Vec::new, |measured| measured.after.clone()),
        workers: measured.map_or_else(Vec::new, |measured| measured.recording.workers.clone()),
        workers_start: measured.and_then(|measured| measured.recording.start),
        excluded: trial
            .result
            .as_ref()
            .err()
            .map(|exclusion| exclusion.reason.clone()),
    }
}

fn windows(trial: &TrialRecord, measured: &Measurement) -> Vec<InterleavedWindow> {
    let windows = measured
        .interleaved
        .iter()
        .flat_map(|interleaved| &interleaved.windows);
    let row = |window: &prony_records::InterleavedWindow| InterleavedWindow {
        round: trial.round,
        cycle: window.cycle,
        cpu_ns_per_request: window.cpu_ns_per_request().map(|ns| rounded(ns, 10.0)),
        goodput_per_s: rounded(window.goodput_per_s(), 10.0),
        others_cpus: window.others_cpus().map(|cpus| rounded(cpus, 1000.0)),
        cpu_speed_probe_ns: window.cpu_speed_probe_ns.map(|ns| rounded(ns, 1.0)),
    };
    windows.map(row).collect()
}

fn series(trial: &TrialRecord, measured: &Measurement) -> Series {
    let steadiness = measured.steadiness.as_ref();
    let warm_up_s = steadiness.map(|steadiness| steadiness.warm_up_s);
    let warm = steadiness.map_or(&[][..], |steadiness| &steadiness.intervals);
    let shifted = |offset: f64| move |interval: &Interval| series_interval(interval, offset);
    let mut intervals: Vec<SeriesInterval> = warm.iter().map(shifted(-warm_up_s.unwrap_or(0.0))).collect();
    intervals.extend(measured.recording.intervals.iter().map(shifted(0.0)));
    let samples: Vec<ResourceSample> = measured
        .warm_up_samples
        .iter()
        .chain(&measured.service.samples)
        .copied()
        .collect();
    Series {
        round: trial.round,
        duration_s: measured.recording.duration_s,
        warm_up_s,
        classification: steadiness.map(|steadiness| steadiness.classification),
        intervals,
        resources: thinned(&samples),
        distributions: measured.recording.distributions.clone(),
    }
}

fn series_interval(interval: &Interval, offset: f64) -> SeriesInterval {
    let per_s = |count: u64| rounded(count as f64 / interval.length_s, 10.0);
    SeriesInterval {
        at_s: rounded(interval.start_s + offset, 100.0),
        throughput_per_s: per_s(interval.completed),
        messages_per_s: interval.messages.map(per_s),
        errors_per_s: (interval.errors > 0).then(|| per_s(interval.errors)),
        response_time_ns_p99: interval.response_time_ns_p99,
    }
}

/// CPU time is a counter, so thinning loses nothing: the difference of two kept samples yields the mean between them.
fn thinned(samples: &[ResourceSample]) -> Vec<SeriesResource> {
    let step = samples.len().div_ceil(MOST_POINTS).max(1);
    let kept: Vec<&ResourceSample> = samples.iter().step_by(step).collect();
    kept.windows(2)
        .map(|pair| {
            let (from, to) = (pair[0], pair[1]);
            let seconds = to.at_s - from.at_s;
            let used = to
                .cpu_ns
                .zip(from.cpu_ns)
                .and_then(|(to, from)| to.checked_sub(from));
            SeriesResource {
                at_s: rounded(to.at_s, 100.0),
                cpus_busy: used
                    .filter(|_| seconds > 0.0)
                    .map(|ns| rounded(ns as f64 / 1e9 / seconds, 1000.0)),
                memory_bytes: to.memory_bytes,
            }
        })
        .collect()
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
