//! The requests that collectors receive, and the behaviour of an exporter when they do not answer.

#[path = "../../../tests/collector.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod collector;

use collector::{Collector, Value, gone, last, texts};
use prony_load::events::{Chat, Events};
use prony_load::{Body, Expectation, Operation, Order, Protocol, Request, Step, Template, Workload};
use prony_records::{CompactHistogram, Histogram, Interval, Outcomes, Phase};
use prony_telemetry::{Exporter, IntervalCounts, Labels, Variables};
use std::collections::BTreeMap;
use std::time::Duration;

/// The labels of a load with one operation.
fn labels(protocol: Protocol) -> Labels {
    let path = Template::literal("/shop.Cart/Add");
    labels_of(protocol, path, Body::None, None)
}

fn labels_of(protocol: Protocol, path: Template, body: Body, events: Option<Events>) -> Labels {
    let operation = Operation {
        name: "add".to_owned(),
        request: Request {
            method: "GET".to_owned(),
            path,
            headers: Vec::new(),
            body,
        },
        expect: Expectation {
            status: vec![200],
            events,
            ..Expectation::default()
        },
    };
    let workload = Workload {
        name: "add".to_owned(),
        parameters: Vec::new(),
        operations: vec![operation],
        order: Order::Mix(vec![Step {
            operation: 0,
            weight: 1,
        }]),
    };
    let mut labels = Labels::of(protocol, &workload);
    labels.set("prony.service", "one/current");
    labels.set("server.port", 8080);
    labels
}

/// Sends to this URL, with these variables.
fn exporter_with(url: &str, set: &[(&str, &str)]) -> Exporter {
    let get = |name: &str| {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let variables = Variables(&get);
    let url: prony_telemetry::Collector = url.parse().expect("the URL of a collector");
    let collector = variables.collector(Some(&url)).expect("valid");
    let settings = variables.settings("here-1").expect("valid");
    Exporter::new(collector, settings).expect("an exporter")
}

fn exporter(url: &str) -> Exporter {
    exporter_with(url, &[])
}

/// Reports an interval of `completed` replies, each of which took a millisecond.
fn tell(exporter: &Exporter, completed: u64) {
    tell_of(exporter, &labels(Protocol::Http1), completed);
}

fn tell_of(exporter: &Exporter, labels: &Labels, completed: u64) {
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
    let failures = Outcomes {
        timeout: 1,
        reset: 1,
        ..Outcomes::default()
    };
    let counted = IntervalCounts {
        interval: &interval,
        failures: &failures,
        times: &CompactHistogram::of(&times),
    };
    exporter.interval(labels, Phase::Measurement, counted);
}

/// The only value of a metric with these attributes among others.
fn value(posted: &[collector::Posted], name: &str, wanted: &[(&str, &str)]) -> Value {
    let found = last(posted);
    let has = |attributes: &BTreeMap<String, String>| {
        wanted
            .iter()
            .all(|(key, value)| attributes.get(*key).is_some_and(|own| own == value))
    };
    let mut own = found
        .iter()
        .filter(|((known, attributes), _)| known == name && has(attributes));
    let value = own
        .next()
        .unwrap_or_else(|| panic!("no {name}: {found:?}"))
        .1
        .clone();
    assert_eq!(own.next(), None, "{name} is reported twice");
    value
}

/// Requests until one has a value of the metric that is not zero.
fn until_counted(collector: &Collector, name: &str) -> Vec<collector::Posted> {
    let mut posted = Vec::new();
    loop {
        posted.push(collector.next());
        if value(&posted, name, &[]) != Value::Count(0) {
            return posted;
        }
    }
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
    // Without a sample at the start of the series, a rate would miss its first interval.
    assert_eq!(value(&[first], "prony.replies", &[]), Value::Count(0));
    let second = until_counted(&collector, "prony.replies");
    assert_eq!(value(&second, "prony.replies", &[]), Value::Count(10));
    tell(&exporter, 5);
    exporter.finish();
    let rest = collector.all();
    assert_eq!(value(&rest, "prony.replies", &[]), Value::Count(15));
    assert_eq!(value(&rest, "prony.valid_replies", &[]), Value::Count(13));
    for (kind, count) in [("timeout", 2), ("reset", 2), ("status", 0)] {
        let errors = value(&rest, "prony.errors", &[("error.type", kind)]);
        assert_eq!(errors, Value::Count(count), "{kind}");
    }
    let own = [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("network.protocol.version", "1.1"),
        ("prony.phase", "measurement"),
        ("prony.service", "one/current"),
        ("server.port", "8080"),
    ];
    let Value::Times {
        count,
        sum_s,
        buckets,
    } = value(&rest, "http.client.request.duration", &own)
    else {
        panic!("no times");
    };
    assert_eq!((count, buckets.iter().sum::<u64>()), (15, 15));
    assert!((sum_s - 0.015).abs() < 0.000_1, "{sum_s}");
    assert_eq!(exporter.warning(), None);
}

/// The conventions require an integer.
#[test]
fn a_port_is_a_number() {
    let collector = Collector::new(|_| Some("200 OK"));
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    let posted = collector.next();
    let metrics = &posted.metrics.resource_metrics[0].scope_metrics[0].metrics;
    let text = format!("{metrics:?}");
    assert!(
        text.contains("IntValue(8080)") && !text.contains("StringValue(\"8080\")"),
        "{text}"
    );
}

#[test]
fn a_protocol_names_the_time() {
    let collector = Collector::new(|_| Some("200 OK"));
    let exporter = exporter(&collector.url);
    for protocol in [Protocol::Http2, Protocol::Grpc, Protocol::WebSocket] {
        tell_of(&exporter, &labels(protocol), 1);
    }
    exporter.finish();
    let posted = collector.all();
    for (name, attributes) in [
        (
            "http.client.request.duration",
            &[("network.protocol.version", "2")][..],
        ),
        (
            "rpc.client.call.duration",
            &[("rpc.system.name", "grpc"), ("rpc.method", "shop.Cart/Add")],
        ),
        ("prony.websocket.request.duration", &[]),
    ] {
        value(&posted, name, attributes);
    }
}

/// Calls of a language model have the conventions of generative AI in addition to those of HTTP.
#[test]
fn a_language_model_is_named() {
    let collector = Collector::new(|_| Some("200 OK"));
    let exporter = exporter(&collector.url);
    let body = Body::Bytes(Template::literal(r#"{"model":"small","messages":[]}"#));
    let events = Events {
        chat: Some(Chat::default()),
        ..Events::default()
    };
    let path = Template::literal("/v1/chat/completions");
    tell_of(
        &exporter,
        &labels_of(Protocol::Http1, path, body, Some(events)),
        10,
    );
    exporter.finish();
    let posted = collector.all();
    let own = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "small"),
    ];
    value(&posted, "gen_ai.client.operation.duration", &own);
    value(
        &posted,
        "http.client.request.duration",
        &[("http.request.method", "GET")],
    );
    assert_eq!(value(&posted, "prony.messages", &[]), Value::Count(0));
}

#[test]
fn the_variables_decide_compression_resource_and_histogram() {
    let collector = Collector::new(|_| Some("200 OK"));
    let set = [
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-all=1"),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-metrics=2"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci"),
        ("OTEL_SERVICE_NAME", "nightly"),
        (
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            "base2_exponential_bucket_histogram",
        ),
    ];
    let exporter = exporter_with(&collector.url, &set);
    tell(&exporter, 10);
    exporter.finish();
    let posted = collector.all();
    let head = &posted[0].head;
    assert!(
        head.contains("content-encoding: gzip") && head.contains("x-metrics: 2"),
        "{head}"
    );
    assert!(
        !head.contains("x-all"),
        "those for metrics take precedence: {head}"
    );
    let resource = &posted[0].metrics.resource_metrics[0].resource;
    let resource = texts(&resource.as_ref().expect("a resource").attributes);
    assert_eq!(resource["service.name"], "nightly");
    assert_eq!(resource["deployment.environment.name"], "ci");
    let times = value(&posted, "http.client.request.duration", &[]);
    assert!(
        matches!(times, Value::Times { count: 10, ref buckets, .. } if buckets == &[10]),
        "{times:?}"
    );
}

#[test]
fn metrics_that_were_not_accepted_are_sent_again_when_the_collector_allows() {
    let collector = Collector::new(|number| {
        Some(if number == 0 {
            "503 Service Unavailable\r\nRetry-After: 2"
        } else {
            "200 OK"
        })
    });
    let exporter = exporter(&collector.url);
    tell(&exporter, 10);
    let first = collector.next();
    let again = until_counted(&collector, "prony.replies");
    assert_eq!(value(&again, "prony.replies", &[]), Value::Count(10));
    assert!(again[0].at.duration_since(first.at) >= Duration::from_secs(2));
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
