//! The requests that collectors receive, and the behaviour of an exporter when they do not answer.

#[path = "../../../tests/collector.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod collector;

use collector::{Collector, Value, gone, last, texts};
use prony_load::Protocol;
use prony_records::{CompactHistogram, Histogram, Interval, Phase};
use prony_telemetry::{Exporter, Labels};
use std::collections::BTreeMap;

fn labels() -> Labels {
    Labels {
        protocol: Protocol::Http1,
        attributes: vec![
            ("service", "one/current".to_owned()),
            ("workload", "hello".to_owned()),
        ],
    }
}

/// Sends to this URL.
fn exporter(url: &str) -> Exporter {
    let collector = url.parse().expect("the URL of a collector");
    Exporter::new(collector, "here-1".to_owned()).expect("an exporter")
}

/// Reports an interval of `completed` replies, each of which took a millisecond.
fn tell(exporter: &Exporter, completed: u64) {
    let mut times = Histogram::new();
    times.record_many(1_000_000, completed);
    let interval = Interval {
        start_s: 0.0,
        length_s: 1.0,
        completed,
        valid: completed - 1,
        errors: 2,
        messages: None,
        response_time_ns_p50: Some(1_000_000),
        response_time_ns_p99: Some(1_000_000),
    };
    exporter.interval(
        &labels(),
        Phase::Measurement,
        &interval,
        &CompactHistogram::of(&times),
    );
}

/// The value of a data point with these labels.
fn value(posted: &[collector::Posted], name: &str) -> Value {
    let own = labels().attributes.into_iter();
    let all = own.chain([("phase", "measurement".to_owned())]);
    let attributes: BTreeMap<String, String> = all.map(|(key, text)| (key.to_owned(), text)).collect();
    let found = last(posted);
    let value = found.get(&(name.to_owned(), attributes));
    value.unwrap_or_else(|| panic!("no {name}: {found:?}")).clone()
}

#[test]
fn sums_reach_the_collector_and_the_last_ones_too() {
    let collector = Collector::new(|_| Some("200 OK"));
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    let first = collector.next();
    for line in [
        "post /v1/metrics http/1.1",
        "content-type: application/x-protobuf",
    ] {
        assert!(first.head.lines().any(|one| one == line), "{}", first.head);
    }
    let resource = &first.metrics.resource_metrics[0].resource;
    let resource = texts(&resource.as_ref().expect("a resource").attributes);
    assert_eq!(resource["service.name"], "prony");
    assert_eq!(resource["service.instance.id"], "here-1");
    assert_eq!(value(&[first], "prony.replies"), Value::Count(10));
    tell(&exporter, 5);
    exporter.finish();
    let rest = collector.all();
    assert_eq!(value(&rest, "prony.replies"), Value::Count(15));
    assert_eq!(value(&rest, "prony.valid_replies"), Value::Count(13));
    assert_eq!(value(&rest, "prony.errors"), Value::Count(4));
    assert_eq!(value(&rest, "prony.response_time.p99"), Value::Now(0.001));
    let Value::Times {
        count,
        sum_s,
        buckets,
    } = value(&rest, "http.client.request.duration")
    else {
        panic!("no times");
    };
    assert_eq!((count, buckets.iter().sum::<u64>()), (15, 15));
    assert!((sum_s - 0.015).abs() < 0.000_1, "{sum_s}");
    assert_eq!(exporter.warning(), None);
}

#[test]
fn metrics_that_were_not_accepted_are_sent_again() {
    let collector = Collector::new(|number| {
        Some(if number == 0 {
            "503 Service Unavailable"
        } else {
            "200 OK"
        })
    });
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    collector.next();
    let again = collector.next();
    assert_eq!(value(&[again], "prony.replies"), Value::Count(10));
    let told = exporter.warning().expect("a warning");
    assert!(
        told.contains(&collector.url) && told.contains("503 Service Unavailable"),
        "{told}"
    );
    assert_eq!(exporter.warning(), None, "it is returned once");
}

#[test]
fn a_collector_that_rejects_metrics_is_not_retried() {
    let collector = Collector::new(|_| Some("404 Not Found"));
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    collector.next();
    exporter.finish();
    let told = exporter.warning().expect("a warning");
    assert!(told.contains("404 Not Found"), "{told}");
    assert!(collector.all().is_empty(), "it was asked again");
}

#[test]
fn a_stalled_collector_does_not_delay_the_load() {
    let collector = Collector::new(|_| None);
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    collector.next();
    tell(&exporter, 10);
    exporter.finish();
    assert!(exporter.warning().is_some());
}

#[test]
fn a_collector_that_is_gone_costs_one_warning() {
    let exporter = exporter(&gone());
    tell(&exporter, 10);
    exporter.finish();
    let told = exporter.warning().expect("a warning");
    assert!(told.contains("do not reach http://127.0.0.1"), "{told}");
    assert_eq!(exporter.warning(), None);
}

#[test]
fn who_tells_nothing_sends_nothing() {
    let collector = Collector::new(|_| Some("200 OK"));
    exporter(&collector.url).finish();
    assert!(collector.all().is_empty());
}
