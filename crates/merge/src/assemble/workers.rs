//! Results by worker, and whether the workers agree.

use super::{per_second, warnings::time};
use crate::part::{Part, ThreadPart, WorkerPart};
use prony_load::{Job, Load};
use prony_records::{CommonStart, CompactHistogram, Warning, WarningKind, WorkerRow};

/// A worker disagrees with the others if its rate differs from theirs by more than this share.
const RATE_BOUND: f64 = 0.10;
/// The same for the median response time.
const MEDIAN_BOUND: f64 = 0.25;
/// Medians that differ by less than this agree, since the network path of one worker may be longer, ns.
const MEDIAN_ROOM: f64 = 100_000.0;
/// Deviations below this number of standard deviations are attributed to chance.
const DEVIATIONS: f64 = 4.0;
/// Warn if the upper limit of the start spread is above this, ns.
const FAR_APART_NS: u64 = 5_000_000;
/// Warn if the upper limit of the start spread is above this share of the measurement.
const FAR_APART_SHARE: f64 = 0.01;

/// One row per worker; empty for a single worker.
pub(super) fn rows(part: &Part, duration_s: f64) -> Vec<WorkerRow> {
    if part.workers.len() < 2 {
        return Vec::new();
    }
    part.workers
        .iter()
        .map(|(&first, worker)| row(part, first, worker, duration_s))
        .collect()
}

fn row(part: &Part, first: u32, worker: &WorkerPart, duration_s: f64) -> WorkerRow {
    let threads = || {
        let own = first..first.saturating_add(worker.threads);
        part.threads.range(own).map(|(_, thread)| thread)
    };
    let quantiles = worker.response.quantiles([0.5, 0.99]);
    let p99 = |times: &Option<CompactHistogram>| times.as_ref()?.quantile(0.99);
    WorkerRow {
        name: worker.name.clone(),
        threads: worker.threads,
        connections: worker.connections,
        throughput_per_s: per_second(worker.completed, duration_s),
        goodput_per_s: per_second(worker.valid, duration_s),
        errors: worker.errors,
        response_time_ns_p50: quantiles.map(|[p50, _]| p50),
        response_time_ns_p99: quantiles.map(|[_, p99]| p99),
        schedule_lag_ns_p99: p99(&worker.lag),
        own_lag_ns_p99: p99(&worker.own_lag),
        cpu_s: threads().map(|thread| thread.cpu_ns).sum::<u64>() as f64 / 1e9,
        busiest_thread: threads().map(ThreadPart::busy).fold(0.0, f64::max),
        late_start_ns: worker.begun.late_ns(),
    }
}

/// A figure of one worker, with the standard deviation expected by chance, as a share of the figure.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    deviation: f64,
}

/// Warns about workers that disagree with the others.
///
/// Workers are compared by the rate of complete replies per connection and by the median response time. Each worker's figure is
/// compared with the median of all workers, or with the other worker if there are two. It disagrees if it deviates by more than a
/// fixed share (10 % of a rate, 25 % and 100 µs of a median) plus four standard deviations expected by chance. For a rate this is
/// the deviation of a Poisson count, which is more than a count in a closed loop varies; for a median it is half of the distance
/// between the quantiles ½ ± 1/√n (the interval of a quantile by order statistics; Conover, *Practical nonparametric
/// statistics*). Rates are not compared if users arrive, connections are added over time, or a number of requests ends the load:
/// there the share of a worker determines its rate.
pub(super) fn disagreement(job: &Job, part: &Part, duration_s: f64) -> Vec<Warning> {
    let workers: Vec<&WorkerPart> = part.workers.values().collect();
    if workers.len() < 2 || duration_s <= 0.0 {
        return Vec::new();
    }
    let is_even = !matches!(
        job.load,
        Load::Users { .. } | Load::Closed { growth: Some(_), .. }
    );
    let by_rate = is_even && job.limits.requests.is_none();
    let rates = by_rate.then(|| workers.iter().map(|worker| rate(worker, duration_s)).collect());
    let medians: Option<Vec<Figure>> = workers.iter().map(|worker| median_of(worker)).collect();
    let names = |off: Vec<(usize, f64)>| {
        let named = off
            .iter()
            .map(|&(index, share)| format!("{} ({:+.0} %)", workers[index].name, share * 100.0));
        named.collect::<Vec<_>>().join(", ")
    };
    let mut warnings = Vec::new();
    let off = rates
        .map(|rates: Vec<Figure>| odd_ones(&rates, RATE_BOUND, 0.0))
        .unwrap_or_default();
    if !off.is_empty() {
        let text = format!("Workers differ in rate per connection: {}.", names(off));
        warnings.push(
            Warning::new(WarningKind::WorkersDisagree, text).advise("Compare their CPUs and networks."),
        );
    }
    let off = medians
        .map(|medians| odd_ones(&medians, MEDIAN_BOUND, MEDIAN_ROOM))
        .unwrap_or_default();
    if !off.is_empty() {
        let text = format!("Workers differ in median latency: {}.", names(off));
        warnings.push(Warning::new(WarningKind::WorkersDisagree, text).advise("Compare their networks."));
    }
    warnings
}

fn rate(worker: &WorkerPart, duration_s: f64) -> Figure {
    let count = worker.completed as f64;
    Figure {
        value: count / duration_s / f64::from(worker.connections.max(1)),
        deviation: 1.0 / count.max(1.0).sqrt(),
    }
}

fn median_of(worker: &WorkerPart) -> Option<Figure> {
    let apart = 1.0 / (worker.response.len() as f64).max(4.0).sqrt();
    let [low, p50, high] = worker.response.quantiles([0.5 - apart, 0.5, 0.5 + apart])?;
    // The quantiles are two standard deviations away on either side: the share below a quantile has a standard deviation of ½/√n.
    let deviation = (high - low) as f64 / 4.0 / (p50 as f64).max(1.0);
    Some(Figure {
        value: p50 as f64,
        deviation,
    })
}

/// Indices of the figures that deviate by more than `bound` and by more than `room`, with the deviation.
fn odd_ones(figures: &[Figure], bound: f64, room: f64) -> Vec<(usize, f64)> {
    let all = middle(figures.iter().map(|figure| figure.value).collect());
    let of_all = middle(figures.iter().map(|figure| figure.deviation).collect());
    let odd = |(index, figure): (usize, &Figure)| {
        let (other, of_other) = match figures {
            [one, two] => {
                let other = if index == 0 { two } else { one };
                (other.value, other.deviation)
            }
            _ => (all, of_all),
        };
        let off = if other > 0.0 {
            figure.value / other - 1.0
        } else {
            f64::from(figure.value > 0.0)
        };
        let chance = DEVIATIONS * figure.deviation.hypot(of_other);
        let is_odd = off.abs() > bound + chance && (figure.value - other).abs() > room;
        is_odd.then_some((index, off))
    };
    figures.iter().enumerate().filter_map(odd).collect()
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// Warns if the workers may have started too far apart.
pub(super) fn far_apart(start: CommonStart, duration_s: f64) -> Option<Warning> {
    let most = (duration_s * 1e9 * FAR_APART_SHARE).min(FAR_APART_NS as f64);
    (start.bound_ns as f64 > most).then(|| {
        let text = format!(
            "Workers started up to {} apart; first and last intervals are incomplete.",
            time(start.bound_ns)
        );
        Warning::new(WarningKind::StartSpread, text).advise("Measure longer.")
    })
}
