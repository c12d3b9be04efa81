//! Sums of all reported intervals, and their conversion to an OTLP request.

use crate::otlp::{
    AggregationTemporality, AnyValue, ExportMetricsServiceRequest, Gauge, Histogram, HistogramDataPoint,
    InstrumentationScope, KeyValue, Metric, NumberDataPoint, Resource, ResourceMetrics, ScopeMetrics, Sum,
    any_value, metric, number_data_point,
};
use prony_load::Protocol;
use prony_records::{CompactHistogram, Interval, Phase};
use std::time::{SystemTime, UNIX_EPOCH};

/// Upper bounds of the response-time buckets, ns: services answer within microseconds, and stall for seconds.
const BOUNDS_NS: [u64; 21] = [
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

/// Labels of the metrics of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Decides the name of the metric for request durations.
    pub protocol: Protocol,
    /// Attributes of each metric, such as the service and the load.
    pub attributes: Vec<(&'static str, String)>,
}

/// All sums so far. They only grow, so a collector that misses a request loses no count.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Identifies this process among the senders.
    instance: String,
    /// Start of counting, ns of Unix time.
    began_ns: u64,
    series: Vec<Series>,
}

/// The sums of one load in one phase.
#[derive(Debug)]
struct Series {
    labels: Labels,
    phase: Phase,
    completed: u64,
    valid: u64,
    errors: u64,
    /// Messages of streams, if there are any.
    messages: Option<u64>,
    /// Response times by bucket; the last bucket has no upper bound.
    buckets: [u64; BOUNDS_NS.len() + 1],
    sum_s: f64,
    /// Percentiles of the last interval, ns.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    /// When the last interval was added, ns of Unix time.
    at_ns: u64,
    /// Whether the collector does not have the current values yet.
    is_due: bool,
}

impl Figures {
    pub(crate) fn new(instance: String) -> Self {
        Self {
            instance,
            began_ns: now_ns(),
            series: Vec::new(),
        }
    }

    /// Adds an interval.
    pub(crate) fn take(
        &mut self,
        labels: &Labels,
        phase: Phase,
        interval: &Interval,
        times: &CompactHistogram,
    ) {
        let known = self
            .series
            .iter()
            .position(|series| series.phase == phase && series.labels == *labels);
        let index = known.unwrap_or_else(|| {
            self.series.push(Series::new(labels.clone(), phase));
            self.series.len() - 1
        });
        self.series[index].take(interval, times);
    }

    /// A request with everything that the collector does not have yet; `None` if it has everything.
    pub(crate) fn due(&mut self) -> Option<ExportMetricsServiceRequest> {
        let due: Vec<&Series> = self.series.iter().filter(|series| series.is_due).collect();
        if due.is_empty() {
            return None;
        }
        let metrics = metrics(&due, self.began_ns);
        self.series.iter_mut().for_each(|series| series.is_due = false);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Some(ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(Resource {
                    attributes: vec![
                        attribute("service.name", "prony"),
                        attribute("service.version", &version),
                        attribute("service.instance.id", &self.instance),
                    ],
                }),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(InstrumentationScope {
                        name: "prony".to_owned(),
                        version,
                    }),
                    metrics,
                }],
            }],
        })
    }

    /// The collector did not accept the last request.
    pub(crate) fn owe_all(&mut self) {
        self.series.iter_mut().for_each(|series| series.is_due = true);
    }
}

impl Series {
    fn new(labels: Labels, phase: Phase) -> Self {
        Self {
            labels,
            phase,
            completed: 0,
            valid: 0,
            errors: 0,
            messages: None,
            buckets: [0; BOUNDS_NS.len() + 1],
            sum_s: 0.0,
            p50_ns: None,
            p99_ns: None,
            at_ns: 0,
            is_due: true,
        }
    }

    fn take(&mut self, interval: &Interval, times: &CompactHistogram) {
        self.completed += interval.completed;
        self.valid += interval.valid;
        self.errors += interval.errors;
        if let Some(messages) = interval.messages {
            *self.messages.get_or_insert_default() += messages;
        }
        for (ns, count) in times.durations() {
            self.buckets[BOUNDS_NS.partition_point(|&bound| bound < ns)] += count;
            self.sum_s += ns as f64 / 1e9 * count as f64;
        }
        self.p50_ns = interval.response_time_ns_p50;
        self.p99_ns = interval.response_time_ns_p99;
        self.at_ns = now_ns();
        self.is_due = true;
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let phase = match self.phase {
            Phase::WarmUp => "warm_up",
            Phase::Measurement => "measurement",
            Phase::Drain => "drain",
        };
        let own = self.labels.attributes.iter();
        let own = own.map(|(key, value)| attribute(key, value));
        own.chain([attribute("phase", phase)]).collect()
    }

    /// Name of the duration metric in the semantic conventions, which have none for messages over a `WebSocket`.
    const fn duration(&self) -> &'static str {
        match self.labels.protocol {
            Protocol::Http1 | Protocol::Http2 => "http.client.request.duration",
            Protocol::Grpc => "rpc.client.call.duration",
            Protocol::WebSocket => "prony.websocket.request.duration",
        }
    }
}

/// A value that a series may have: a count, or a time in ns.
type DataPoint = fn(&Series) -> Option<u64>;

/// Counters: name, description, unit, and value.
const COUNTS: [(&str, &str, &str, DataPoint); 4] = [
    ("prony.replies", "Complete replies.", "{reply}", |series| {
        Some(series.completed)
    }),
    ("prony.valid_replies", "Valid replies.", "{reply}", |series| {
        Some(series.valid)
    }),
    (
        "prony.errors",
        "Requests that failed, whatever the outcome.",
        "{request}",
        |series| Some(series.errors),
    ),
    ("prony.messages", "Messages of streams.", "{message}", |series| {
        series.messages
    }),
];

/// Gauges for the times of the last interval.
const TIMES: [(&str, &str, DataPoint); 2] = [
    (
        "prony.response_time.p50",
        "Median of the response time in the last interval.",
        |series| series.p50_ns,
    ),
    (
        "prony.response_time.p99",
        "99th percentile of the response time in the last interval.",
        |series| series.p99_ns,
    ),
];

fn metrics(all: &[&Series], began_ns: u64) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut names: Vec<&str> = all.iter().map(|series| series.duration()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let own = all.iter().filter(|series| series.duration() == name);
        let data = metric::Data::Histogram(Histogram {
            data_points: own.map(|series| times(series, began_ns)).collect(),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
        });
        metrics.push(of(
            name,
            "Response times of complete replies, from when a request was due.",
            "s",
            data,
        ));
    }
    for (name, what, unit, count) in COUNTS {
        let points: Vec<NumberDataPoint> = all
            .iter()
            .filter_map(|series| {
                Some(number(
                    series,
                    began_ns,
                    number_data_point::Value::AsInt(count(series)? as i64),
                ))
            })
            .collect();
        if !points.is_empty() {
            let data = metric::Data::Sum(Sum {
                data_points: points,
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: true,
            });
            metrics.push(of(name, what, unit, data));
        }
    }
    for (name, what, time) in TIMES {
        let points: Vec<NumberDataPoint> = all
            .iter()
            .filter_map(|series| {
                let seconds = time(series)? as f64 / 1e9;
                Some(number(series, 0, number_data_point::Value::AsDouble(seconds)))
            })
            .collect();
        if !points.is_empty() {
            metrics.push(of(
                name,
                what,
                "s",
                metric::Data::Gauge(Gauge { data_points: points }),
            ));
        }
    }
    metrics
}

fn of(name: &str, description: &str, unit: &str, data: metric::Data) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn times(series: &Series, began_ns: u64) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: series.attributes(),
        start_time_unix_nano: began_ns,
        time_unix_nano: series.at_ns,
        count: series.buckets.iter().sum(),
        sum: Some(series.sum_s),
        bucket_counts: series.buckets.to_vec(),
        explicit_bounds: BOUNDS_NS.map(|ns| ns as f64 / 1e9).to_vec(),
    }
}

fn number(series: &Series, began_ns: u64, value: number_data_point::Value) -> NumberDataPoint {
    NumberDataPoint {
        attributes: series.attributes(),
        start_time_unix_nano: began_ns,
        time_unix_nano: series.at_ns,
        value: Some(value),
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
    }
}

/// Unix time, ns; 0 if the clock is before 1970.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::Histogram as Recorded;

    fn labels(service: &str) -> Labels {
        Labels {
            protocol: Protocol::Http1,
            attributes: vec![("service", service.to_owned())],
        }
    }

    fn interval(completed: u64) -> Interval {
        Interval {
            start_s: 0.0,
            length_s: 1.0,
            completed,
            valid: completed,
            errors: 1,
            messages: None,
            response_time_ns_p50: Some(1_000_000),
            response_time_ns_p99: Some(3_000_000),
        }
    }

    fn histogram_of(all_ns: &[u64]) -> CompactHistogram {
        let mut histogram = Recorded::new();
        for &ns in all_ns {
            histogram.record(ns);
        }
        CompactHistogram::of(&histogram)
    }

    fn metrics_of(request: ExportMetricsServiceRequest) -> Vec<Metric> {
        let resources = request.resource_metrics.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }

    #[test]
    fn a_time_lies_in_the_bucket_whose_bound_it_does_not_exceed() {
        let mut series = Series::new(labels("one"), Phase::Measurement);
        // One below the first bound, one just above it, one beyond the last.
        series.take(&interval(3), &histogram_of(&[9_000, 10_500, 60_000_000_000]));
        let held: Vec<usize> = (0..series.buckets.len())
            .filter(|&bucket| series.buckets[bucket] == 1)
            .collect();
        assert_eq!(held, [0, 1, BOUNDS_NS.len()]);
        assert!((series.sum_s - 60.000_019_5).abs() < 0.1, "{}", series.sum_s);
    }

    #[test]
    fn sums_grow_and_only_what_is_new_is_due() {
        let mut figures = Figures::new("here".to_owned());
        assert!(figures.due().is_none());
        for service in ["one", "two"] {
            figures.take(
                &labels(service),
                Phase::Measurement,
                &interval(2),
                &histogram_of(&[1_000_000, 3_000_000]),
            );
        }
        assert!(figures.due().is_some());
        assert!(figures.due().is_none(), "all is sent");
        figures.take(
            &labels("two"),
            Phase::Measurement,
            &interval(2),
            &histogram_of(&[1_000_000, 3_000_000]),
        );
        let metrics = metrics_of(figures.due().expect("something new"));
        let Some(metric::Data::Histogram(times)) = &metrics[0].data else {
            panic!("{metrics:?}");
        };
        assert_eq!(metrics[0].name, "http.client.request.duration");
        let points = &times.data_points;
        assert_eq!((points.len(), points[0].count), (1, 4));
        assert_eq!(points[0].bucket_counts.len(), points[0].explicit_bounds.len() + 1);
        figures.owe_all();
        let metrics = metrics_of(figures.due().expect("it was not taken"));
        let Some(metric::Data::Histogram(times)) = &metrics[0].data else {
            panic!("{metrics:?}");
        };
        assert_eq!(times.data_points.len(), 2);
    }

    #[test]
    fn what_is_spoken_names_the_time() {
        let name = |protocol| {
            let mut figures = Figures::new(String::new());
            let labels = Labels {
                protocol,
                attributes: Vec::new(),
            };
            figures.take(&labels, Phase::WarmUp, &interval(1), &histogram_of(&[1]));
            metrics_of(figures.due().expect("something new"))[0].name.clone()
        };
        assert_eq!(name(Protocol::Http2), "http.client.request.duration");
        assert_eq!(name(Protocol::Grpc), "rpc.client.call.duration");
        assert_eq!(name(Protocol::WebSocket), "prony.websocket.request.duration");
    }
}
