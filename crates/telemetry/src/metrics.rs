//! Converts sums to metrics in the form of OTLP.

use crate::figures::{BOUNDS_NS, Counts, SCALE, Sample};
use crate::labels::{Attribute, AttributeValue};
use crate::otlp::{
    AggregationTemporality, AnyValue, Buckets, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, Histogram, HistogramDataPoint, InstrumentationScope, KeyValue,
    Metric, NumberDataPoint, Resource, ResourceMetrics, ScopeMetrics, Sum, any_value, metric,
    number_data_point,
};
use crate::settings::HistogramKind;
use prony_records::{Outcome, Phase};

const DURATION: &str = "Response times of valid replies, from when each request was due.";
/// The duration metric of calls of a language model.
const MODEL: &str = "gen_ai.client.operation.duration";

/// A request with these metrics.
pub(crate) fn request(metrics: Vec<Metric>, resource: &[(String, String)]) -> ExportMetricsServiceRequest {
    let text = |(key, value): &(String, String)| attribute(key, &value.as_str().into());
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: resource.iter().map(text).collect(),
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(InstrumentationScope {
                    name: "prony".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                metrics,
            }],
        }],
    }
}

/// The metrics of samples.
pub(crate) fn metrics(all: &[Sample<'_>], kind: HistogramKind) -> Vec<Metric> {
    let mut names: Vec<&str> = all.iter().map(|one| one.series.labels.duration()).collect();
    names.sort_unstable();
    names.dedup();
    let mut metrics: Vec<Metric> = Vec::new();
    for name in names {
        let own = all.iter().filter(|one| one.series.labels.duration() == name);
        let points = own.map(|one| (one, attributes(one, &one.series.labels.request)));
        metrics.push(durations(name, points.collect(), kind));
    }
    let models = all.iter().filter_map(|one| {
        let model = one.series.labels.model.as_ref()?;
        Some((one, attributes(one, model)))
    });
    let models: Vec<_> = models.collect();
    if !models.is_empty() {
        metrics.push(durations(MODEL, models, kind));
    }
    metrics.extend(counters(all));
    let connections = all.iter().filter_map(|one| {
        let value = number_data_point::Value::AsInt(one.series.connections? as i64);
        Some(number(one, attributes(one, &[]), value))
    });
    let data_points: Vec<NumberDataPoint> = connections.collect();
    if !data_points.is_empty() {
        metrics.push(of(
            (
                "prony.connections",
                "Connections when the phase began.",
                "{connection}",
            ),
            metric::Data::Gauge(Gauge { data_points }),
        ));
    }
    metrics
}

/// A count that a series may have.
type CountFn = fn(&Counts) -> Option<u64>;

fn counters(all: &[Sample<'_>]) -> Vec<Metric> {
    let counts: [(&str, &str, &str, CountFn); 3] = [
        ("prony.replies", "Complete replies.", "{reply}", |counts| {
            Some(counts.completed)
        }),
        ("prony.valid_replies", "Valid replies.", "{reply}", |counts| {
            Some(counts.valid)
        }),
        ("prony.messages", "Messages of streams.", "{message}", |counts| {
            counts.messages
        }),
    ];
    let count = |one: &Sample<'_>, more: &[Attribute], count: u64| {
        let value = number_data_point::Value::AsInt(count as i64);
        number(one, attributes(one, more), value)
    };
    let mut metrics = Vec::new();
    for (name, what, unit, value) in counts {
        let points = all
            .iter()
            .filter_map(|one| Some(count(one, &[], value(&one.counts)?)));
        let points: Vec<NumberDataPoint> = points.collect();
        if !points.is_empty() {
            metrics.push(sum((name, what, unit), points));
        }
    }
    let failures = Outcome::ALL
        .into_iter()
        .filter(|&outcome| outcome != Outcome::Valid);
    let failures: Vec<Outcome> = failures.collect();
    let points = all.iter().flat_map(|one| {
        failures.iter().map(move |&outcome| {
            let kind = ("error.type", error_type(outcome).into());
            count(one, &[kind], one.counts.failures.of(outcome))
        })
    });
    let about = ("prony.errors", "Requests that failed, by outcome.", "{request}");
    metrics.push(sum(about, points.collect()));
    metrics
}

/// The value of `error.type`.
const fn error_type(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Valid => "",
        Outcome::Unexpected => "unexpected",
        Outcome::Status => "status",
        Outcome::Timeout => "timeout",
        Outcome::ConnectError => "connect_error",
        Outcome::Reset => "reset",
        Outcome::Dropped => "dropped",
    }
}

/// The name of a phase.
const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm_up",
        Phase::Measurement => "measurement",
        Phase::Drain => "drain",
    }
}

fn attributes(one: &Sample<'_>, more: &[Attribute]) -> Vec<KeyValue> {
    let phase = ("prony.phase", phase_name(one.series.phase).into());
    let own = one.series.labels.attributes.iter();
    let all = own.chain([&phase]).chain(more);
    all.map(|(key, value)| attribute(key, value)).collect()
}

fn durations(name: &str, points: Vec<(&Sample<'_>, Vec<KeyValue>)>, kind: HistogramKind) -> Metric {
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let data = match kind {
        HistogramKind::Explicit => metric::Data::Histogram(Histogram {
            data_points: points.into_iter().map(explicit).collect(),
            aggregation_temporality,
        }),
        HistogramKind::Exponential => metric::Data::ExponentialHistogram(ExponentialHistogram {
            data_points: points.into_iter().map(exponential).collect(),
            aggregation_temporality,
        }),
    };
    of((name, DURATION, "s"), data)
}

fn explicit((one, attributes): (&Sample<'_>, Vec<KeyValue>)) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: one.series.began_ns,
        time_unix_nano: one.at_ns,
        count: one.counts.buckets.iter().sum(),
        sum: Some(one.counts.sum_s),
        bucket_counts: one.counts.buckets.to_vec(),
        explicit_bounds: BOUNDS_NS.map(|ns| ns as f64 / 1e9).to_vec(),
    }
}

fn exponential((one, attributes): (&Sample<'_>, Vec<KeyValue>)) -> ExponentialHistogramDataPoint {
    let buckets = &one.counts.exponential;
    let ends = buckets.first_key_value().zip(buckets.last_key_value());
    let positive = ends.map(|((&first, _), (&last, _))| Buckets {
        offset: first,
        bucket_counts: (first..=last)
            .map(|index| buckets.get(&index).copied().unwrap_or_default())
            .collect(),
    });
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: one.series.began_ns,
        time_unix_nano: one.at_ns,
        count: one.counts.buckets.iter().sum(),
        sum: Some(one.counts.sum_s),
        scale: SCALE,
        zero_count: 0,
        positive,
    }
}

fn sum(about: (&str, &str, &str), data_points: Vec<NumberDataPoint>) -> Metric {
    let data = metric::Data::Sum(Sum {
        data_points,
        aggregation_temporality: AggregationTemporality::Cumulative.into(),
        is_monotonic: true,
    });
    of(about, data)
}

fn of((name, description, unit): (&str, &str, &str), data: metric::Data) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn number(one: &Sample<'_>, attributes: Vec<KeyValue>, value: number_data_point::Value) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: one.series.began_ns,
        time_unix_nano: one.at_ns,
        value: Some(value),
    }
}

fn attribute(key: &str, value: &AttributeValue) -> KeyValue {
    let value = match value {
        AttributeValue::Text(text) => any_value::Value::StringValue(text.clone()),
        AttributeValue::Number(number) => any_value::Value::IntValue(*number),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}
