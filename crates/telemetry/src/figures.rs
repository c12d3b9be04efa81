//! Sums of all reported intervals, by load and phase.

use crate::labels::Labels;
use prony_records::{CompactHistogram, Event, Interval, Outcomes, Phase};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Upper bounds of the response-time buckets, ns: services answer within microseconds, and stall for seconds.
pub(crate) const BOUNDS_NS: [u64; 21] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    20_000_000_000,
    50_000_000_000,
];
/// The last bucket has no upper bound.
pub(crate) const BUCKETS: usize = BOUNDS_NS.len() + 1;
/// Scale of the exponential buckets: each is wider than the previous one by 2^(1/8), which is 9 %.
pub(crate) const SCALE: i32 = 3;

/// What happened, with the failures by outcome.
#[derive(Debug, Clone, Copy)]
pub struct IntervalCounts<'a> {
    pub interval: &'a Interval,
    pub failures: &'a Outcomes,
    /// Response times of valid replies.
    pub times: &'a CompactHistogram,
}

/// A time that was observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Exemplar {
    pub(crate) seconds: f64,
    pub(crate) at_ns: u64,
}

/// The sums of a series. They only grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) completed: u64,
    pub(crate) valid: u64,
    pub(crate) failures: Outcomes,
    /// Messages of streams, if there are any.
    pub(crate) messages: Option<u64>,
    /// Response times by bucket.
    pub(crate) buckets: [u64; BUCKETS],
    /// The same in exponential buckets.
    pub(crate) exponential: BTreeMap<i32, u64>,
    pub(crate) sum_s: f64,
    /// The longest time of the last interval in each bucket.
    pub(crate) exemplars: [Option<Exemplar>; BUCKETS],
}

/// The sums of one load in one phase.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) labels: Labels,
    pub(crate) phase: Phase,
    /// Start of counting, ns of Unix time.
    pub(crate) began_ns: u64,
    /// When the last interval was added, ns of Unix time.
    pub(crate) at_ns: u64,
    pub(crate) counts: Counts,
    /// Connections when the phase began, if they are known.
    pub(crate) connections: Option<u64>,
    start: StartSample,
    /// Whether the collector does not have the current values yet.
    is_due: bool,
}

/// The sample with zeros at the start of a series: without it, `increase()` of Prometheus misses the first interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartSample {
    Due,
    InFlight,
    Accepted,
}

/// A series with its values at one time.
pub(crate) struct Sample<'a> {
    pub(crate) series: &'a Series,
    pub(crate) counts: Counts,
    pub(crate) at_ns: u64,
}

/// All sums so far. A collector that misses a request loses no count.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    series: Vec<Series>,
}

impl Figures {
    /// A phase of a load starts.
    pub(crate) fn phase(&mut self, labels: &Labels, phase: Phase, connections: Option<u64>) {
        // Nothing is counted during the drain.
        if phase != Phase::Drain {
            let series = self.series(labels, phase, now_ns());
            series.connections = connections.or(series.connections);
        }
    }

    /// Adds an interval.
    pub(crate) fn take(&mut self, labels: &Labels, phase: Phase, counted: IntervalCounts<'_>) {
        if phase == Phase::Drain {
            return;
        }
        let now = now_ns();
        let length = (counted.interval.length_s * 1e9) as u64;
        let series = self.series(labels, phase, now.saturating_sub(length.max(1)));
        series.counts.add(counted, now);
        series.at_ns = now;
        series.is_due = true;
    }

    /// Counts what an event reports. Single workers of a testbed do not count: their totals arrive as intervals.
    pub(crate) fn event(&mut self, labels: &Labels, event: &Event) {
        match event {
            Event::Phase { phase, established } => self.phase(labels, *phase, Some(*established)),
            Event::Interval {
                phase,
                interval,
                times,
                failures,
            } => {
                let counted = IntervalCounts {
                    interval,
                    failures,
                    times,
                };
                self.take(labels, *phase, counted);
            }
            Event::IntervalPart { .. }
            | Event::Workers { .. }
            | Event::Part { .. }
            | Event::Recording { .. }
            | Event::Failed { .. } => {}
        }
    }

    fn series(&mut self, labels: &Labels, phase: Phase, began_ns: u64) -> &mut Series {
        let mut all = self.series.iter();
        let known = all.position(|series| series.phase == phase && series.labels == *labels);
        let index = known.unwrap_or_else(|| {
            self.series.push(Series::new(labels.clone(), phase, began_ns));
            self.series.len() - 1
        });
        &mut self.series[index]
    }

    /// Everything that the collector does not have yet; first the starts of series. Empty if it has everything.
    pub(crate) fn due(&mut self) -> Vec<Sample<'_>> {
        let starts = self.series.iter().any(|series| series.start == StartSample::Due);
        let mut due = Vec::new();
        for series in &mut self.series {
            let is_due = if starts {
                series.start == StartSample::Due
            } else {
                std::mem::take(&mut series.is_due)
            };
            if starts && is_due {
                series.start = StartSample::InFlight;
            }
            if is_due {
                due.push(if starts { series.first() } else { series.current() });
            }
        }
        due
    }

    /// The current values of everything.
    pub(crate) fn current(&self) -> Vec<Sample<'_>> {
        self.series.iter().map(Series::current).collect()
    }

    /// The collector accepted the last request.
    pub(crate) fn accepted(&mut self) {
        for series in &mut self.series {
            if series.start == StartSample::InFlight {
                series.start = StartSample::Accepted;
            }
        }
    }

    /// The collector did not accept the last request.
    pub(crate) fn owe_all(&mut self) {
        for series in &mut self.series {
            series.is_due |= series.at_ns > series.began_ns;
            if series.start == StartSample::InFlight {
                series.start = StartSample::Due;
            }
        }
    }
}

impl Series {
    fn new(labels: Labels, phase: Phase, began_ns: u64) -> Self {
        let counts = Counts {
            messages: labels.has_messages.then_some(0),
            ..Counts::default()
        };
        Self {
            labels,
            phase,
            began_ns,
            at_ns: began_ns,
            counts,
            connections: None,
            start: StartSample::Due,
            is_due: false,
        }
    }

    fn first(&self) -> Sample<'_> {
        let counts = Counts {
            messages: self.counts.messages.map(|_| 0),
            ..Counts::default()
        };
        Sample {
            series: self,
            counts,
            at_ns: self.began_ns,
        }
    }

    fn current(&self) -> Sample<'_> {
        Sample {
            series: self,
            counts: self.counts.clone(),
            at_ns: self.at_ns,
        }
    }
}

impl Counts {
    fn add(&mut self, counted: IntervalCounts<'_>, now_ns: u64) {
        let IntervalCounts {
            interval,
            failures,
            times,
        } = counted;
        self.completed += interval.completed;
        self.valid += interval.valid;
        self.failures.merge(failures);
        if let Some(messages) = interval.messages {
            *self.messages.get_or_insert_default() += messages;
        }
        self.exemplars = [None; BUCKETS];
        // In ascending order, so the last time in a bucket is its longest.
        for (ns, count) in times.durations() {
            let bucket = BOUNDS_NS.partition_point(|&bound| bound < ns);
            let seconds = ns as f64 / 1e9;
            self.buckets[bucket] += count;
            *self.exponential.entry(exponential(seconds)).or_default() += count;
            self.sum_s += seconds * count as f64;
            self.exemplars[bucket] = Some(Exemplar {
                seconds,
                at_ns: now_ns,
            });
        }
    }
}

/// The index of the exponential bucket whose upper bound a time does not exceed.
fn exponential(seconds: f64) -> i32 {
    let position = seconds.max(1e-9).log2() * f64::from(1 << SCALE);
    position.ceil() as i32 - 1
}

/// Unix time, ns; 0 if the clock is before 1970.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::Histogram;

    fn counts(times_ns: &[u64]) -> Counts {
        let mut histogram = Histogram::new();
        for &ns in times_ns {
            histogram.record(ns);
        }
        let completed = times_ns.len() as u64;
        let interval = Interval {
            start_s: 0.0,
            length_s: 1.0,
            completed,
            valid: completed,
            errors: 1,
            messages: None,
            response_time_ns_p50: None,
            response_time_ns_p99: None,
        };
        let mut counts = Counts::default();
        let counted = IntervalCounts {
            interval: &interval,
            failures: &Outcomes {
                timeout: 1,
                ..Outcomes::default()
            },
            times: &CompactHistogram::of(&histogram),
        };
        counts.add(counted, 1);
        counts
    }

    #[test]
    fn a_time_is_in_the_bucket_whose_bound_it_does_not_exceed() {
        // One below the first bound, one just above it, one beyond the last.
        let counts = counts(&[9_000, 10_500, 60_000_000_000]);
        let held: Vec<usize> = (0..BUCKETS)
            .filter(|&bucket| counts.buckets[bucket] == 1)
            .collect();
        assert_eq!(held, [0, 1, BOUNDS_NS.len()]);
        assert!((counts.sum_s - 60.000_019_5).abs() < 0.1, "{}", counts.sum_s);
        assert_eq!(counts.failures.timeout, 1);
        let longest = counts.exemplars[BOUNDS_NS.len()].expect("an exemplar");
        assert!((longest.seconds - 60.0).abs() < 0.1, "{longest:?}");
    }

    #[test]
    fn exponential_buckets_are_closed_above() {
        let bound = |index: i32| 2f64.powf(f64::from(index) / f64::from(1 << SCALE));
        for seconds in [0.001, 0.25, 1.0, 1.5, 2.0] {
            let index = exponential(seconds);
            assert!(
                bound(index) < seconds && seconds <= bound(index + 1) * (1.0 + 1e-12),
                "{seconds}"
            );
        }
    }
}
