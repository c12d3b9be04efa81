//! Decides when a service is warm, from the series that the generator reports. Pure functions.
//!
//! The series are cut at the changes of mean and variance that PELT finds (Killick, Fearnhead, Eckley: Optimal detection of
//! changepoints with a linear computational cost, JASA 107, 2012), and classified as in Barrett, Bolz-Tereick, Killick,
//! Mount, Tratt: Virtual machine warmup blows hot and cold, OOPSLA 2017: flat, warmed up, slowing down, no steady state.
//! Both the throughput and the 99th percentile of the response time must be steady. Where the load decides how many replies there
//! are, the throughput says nothing about the service, and only response times count.

mod series;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use watch::{WarmUpProgress, WarmUpResult, WarmUpWatch};

use prony_load::Load;
use prony_records::{Classification, Interval, Steadiness};
use series::{Better, EqualityTolerance, Series};
use std::time::Duration;

/// When a warm-up may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

/// Who decides how many replies there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The service: the next request waits for the reply to the last one.
    OfService,
    /// The load: requests come at times of its own.
    OfLoad,
}

impl Pace {
    /// Of this load.
    pub const fn of(load: &Load) -> Self {
        if load.is_paced() {
            Self::OfLoad
        } else {
            Self::OfService
        }
    }
}

/// Watches a warm-up.
#[derive(Debug, Clone)]
pub struct Detector {
    bounds: Bounds,
    pace: Pace,
    intervals: Vec<Interval>,
    verdict: Option<Classification>,
}

/// Intervals that the steady end of a series must have, at least.
const STEADY_INTERVALS: usize = 10;
/// Share of the whole series that its steady end must have: a service that has just changed may change again.
const STEADY_SHARE: f64 = 0.25;
/// Highest standard error of the level of the steady end, in units of the tolerance: with more noise it takes longer to decide
/// whether there is a change.
const STEADY_ERROR: f64 = 1.0;
/// Throughputs that differ by less than this share are the same.
const SAME_THROUGHPUT: EqualityTolerance = EqualityTolerance::Share(0.03);
/// Percentiles that differ by less than about this share (as logarithms) are the same.
const SAME_P99: EqualityTolerance = EqualityTolerance::Difference(0.15);
/// Medians that differ by less than about this share (as logarithms) are the same.
const SAME_P50: EqualityTolerance = EqualityTolerance::Difference(0.15);
/// Replies in an interval below which its 99th percentile is not used: it would be the highest or second highest value.
const REPLIES_FOR_P99: u64 = 100;
/// Replies in an interval below which its median says nothing.
const REPLIES_FOR_P50: u64 = 10;

/// Intervals from which a warm-up in which no change was found is called flat. The penalty of a change is high for few
/// values: in 10 intervals that vary by 2 % it takes a step of about 22 % to be found, in 30 of about 8 %.
const CLASSIFIED: usize = 30;

impl Detector {
    /// A detector at the start of a warm-up.
    pub const fn new(bounds: Bounds, pace: Pace) -> Self {
        Self {
            bounds,
            pace,
            intervals: Vec::new(),
            verdict: None,
        }
    }

    /// The next interval of the warm-up.
    pub fn push(&mut self, interval: Interval) {
        self.intervals.push(interval);
    }

    /// Length of the warm-up so far.
    pub fn elapsed(&self) -> Duration {
        let seconds = self
            .intervals
            .last()
            .map_or(0.0, |last| last.start_s + last.length_s);
        Duration::from_secs_f64(seconds.max(0.0))
    }

    /// Whether the warm-up may end now: it is steady, or has reached its limit. The verdict that ends it stands, also
    /// when an interval follows that was under way.
    pub fn is_over(&mut self) -> bool {
        let elapsed = self.elapsed();
        if self.verdict.is_none() && elapsed >= self.bounds.least {
            let found = classify(&self.intervals, self.pace);
            let over = elapsed >= self.bounds.most || found != Classification::NoSteadyState;
            self.verdict = over.then_some(found);
        }
        self.verdict.is_some()
    }

    /// How it went so far.
    pub fn classify(&self) -> Classification {
        self.verdict
            .unwrap_or_else(|| classify(&self.intervals, self.pace))
    }

    /// What is recorded of the warm-up.
    pub fn finish(self) -> Steadiness {
        let classification = match self.classify() {
            Classification::Flat if self.intervals.len() < CLASSIFIED => Classification::Short,
            found => found,
        };
        Steadiness {
            classification,
            warm_up_s: self.elapsed().as_secs_f64(),
            worst_p99_ns: worst_p99(&self.intervals),
            intervals: self.intervals,
        }
    }
}

/// The record of a warm-up of fixed length.
pub fn fixed(intervals: Vec<Interval>) -> Steadiness {
    Steadiness {
        classification: Classification::Fixed,
        warm_up_s: intervals.last().map_or(0.0, |last| last.start_s + last.length_s),
        worst_p99_ns: worst_p99(&intervals),
        intervals,
    }
}

/// The share by which the throughput fell from the start to the end of a measurement; `None` if it did not fall, or if the load
/// determines it.
pub fn slowed_down(intervals: &[Interval], pace: Pace) -> Option<f64> {
    if pace == Pace::OfLoad {
        return None;
    }
    let throughput = Series::new(&throughputs(intervals), SAME_THROUGHPUT);
    let segments = throughput.segments();
    let (first, last) = (segments.first()?.mean, segments.last()?.mean);
    (segments.len() > 1 && last < first).then(|| 1.0 - last / first)
}

/// How a series of intervals went.
fn classify(intervals: &[Interval], pace: Pace) -> Classification {
    // Connections are still being made in the first one, and the last one may have been cut short.
    let whole = intervals.first().map_or(0.0, |first| first.length_s / 2.0);
    let intervals = match intervals.get(1..).unwrap_or_default() {
        [rest @ .., last] if last.length_s < whole => rest,
        all => all,
    };
    if intervals.is_empty() {
        return Classification::NoSteadyState;
    }
    let p99 = p99s(intervals).map(|values| Series::new(&values, SAME_P99).verdict(Better::Lower));
    let other = match pace {
        Pace::OfService => {
            Some(Series::new(&throughputs(intervals), SAME_THROUGHPUT).verdict(Better::Higher))
        }
        // Many loads are too light for percentiles of a tenth of a second.
        Pace::OfLoad if p99.is_none() => {
            p50s(intervals).map(|values| Series::new(&values, SAME_P50).verdict(Better::Lower))
        }
        Pace::OfLoad => None,
    };
    let both = [other, p99];
    let any = |wanted| both.contains(&Some(wanted));
    // The worse of the two counts.
    [
        Classification::NoSteadyState,
        Classification::SlowingDown,
        Classification::WarmedUp,
    ]
    .into_iter()
    .find(|&wanted| any(wanted))
    .unwrap_or(Classification::Flat)
}

fn throughputs(intervals: &[Interval]) -> Vec<f64> {
    let full = |interval: &&Interval| interval.length_s > 0.0;
    intervals
        .iter()
        .filter(full)
        .map(|interval| interval.completed as f64 / interval.length_s)
        .collect()
}

/// 99th percentiles of the response time. `None`: too few replies for them.
fn p99s(intervals: &[Interval]) -> Option<Vec<f64>> {
    logarithms(intervals, REPLIES_FOR_P99, |interval| {
        interval.response_time_ns_p99
    })
}

/// Medians of the response time. `None`: too few replies for them.
fn p50s(intervals: &[Interval]) -> Option<Vec<f64>> {
    logarithms(intervals, REPLIES_FOR_P50, |interval| {
        interval.response_time_ns_p50
    })
}

/// Logarithms of response times, which have a long tail. `None` if fewer than half of the intervals have this number of replies.
fn logarithms(
    intervals: &[Interval],
    replies: u64,
    time_ns: fn(&Interval) -> Option<u64>,
) -> Option<Vec<f64>> {
    let telling = intervals.iter().filter(|interval| interval.completed >= replies);
    let values: Vec<f64> = telling
        .filter_map(time_ns)
        .map(|ns| (ns.max(1) as f64).ln())
        .collect();
    (values.len() * 2 > intervals.len()).then_some(values)
}

fn worst_p99(intervals: &[Interval]) -> Option<u64> {
    intervals
        .iter()
        .filter_map(|interval| interval.response_time_ns_p99)
        .max()
}
