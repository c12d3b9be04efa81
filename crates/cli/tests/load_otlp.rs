//! `prony load --otlp` and `prony capacity --otlp`: what collectors receive during a load, and that none of them can disturb it.

use crate::collector::{Collector, Posted, Value, gone, last};
use crate::common::{assert_refused, json_of, prony, serve, server, stderr_of};
use crate::tls;
use crate::tls::Front;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::{Command, Output};

/// The last value of the one data point of this name in this phase, and its attributes.
fn point(posted: &[Posted], name: &str, phase: &str) -> (BTreeMap<String, String>, Value) {
    let all = last(posted);
    let mut found = all
        .iter()
        .filter(|((metric, attributes), _)| metric == name && attributes["prony.phase"] == phase);
    let ((_, attributes), value) = found
        .next()
        .unwrap_or_else(|| panic!("no {name} in {phase}: {all:?}"));
    assert_eq!(found.next(), None, "{name} is reported twice");
    (attributes.clone(), value.clone())
}

/// A sum over the intervals of a recording.
fn sum(recording: &Json, key: &str) -> u64 {
    let intervals = recording["intervals"].as_array().expect("intervals");
    intervals
        .iter()
        .filter_map(|interval| interval[key].as_u64())
        .sum()
}

/// Loads a server for three intervals, the first of which is warm-up, and sends the metrics to `otlp`.
fn load(otlp: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args([
            "load",
            &server(),
            "-c",
            "2",
            "--warmup",
            "1s",
            "-d",
            "2s",
            "--json",
        ])
        .args(["--otlp", otlp])
        .envs(variables.iter().copied())
        .output()
        .expect("prony runs")
}

#[test]
fn what_arrives_is_what_is_recorded() {
    let collector = Collector::new(|_| Some("200 OK"));
    let output = load(&collector.url, &[]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert!(!stderr_of(&output).contains("metrics"), "{}", stderr_of(&output));
    let recording = json_of(&output);
    let posted = collector.all();
    assert!(posted.len() >= 2, "metrics arrived during the load");
    let measured = |name: &str| point(&posted, name, "measurement").1;
    for (name, key) in [("prony.replies", "completed"), ("prony.valid_replies", "valid")] {
        assert_eq!(measured(name), Value::Count(sum(&recording, key)), "{name}");
    }
    assert_eq!(measured("prony.connections"), Value::Now(2.0));
    let (attributes, times) = point(&posted, "http.client.request.duration", "measurement");
    let Value::Times {
        count,
        sum_s,
        buckets,
    } = times
    else {
        panic!("{times:?}");
    };
    // A reply to a request from before the measurement counts as completed in it, but has no response time there.
    let completed = sum(&recording, "completed");
    assert!(
        (completed - 2..=completed).contains(&count),
        "{count} of {completed}"
    );
    assert_eq!(buckets.iter().sum::<u64>(), count);
    assert!(sum_s > 0.0);
    let port = recording["target"]
        .as_str()
        .and_then(|url| url.rsplit(':').next());
    assert_eq!(attributes.get("server.port").map(String::as_str), port);
    assert_eq!(attributes["prony.load"], "closed loop on 2 connections");
    for key in ["prony.service", "prony.workload", "server.address"] {
        assert!(!attributes[key].is_empty(), "{attributes:?}");
    }
    assert_eq!(attributes["http.request.method"], "GET");
    assert_eq!(attributes["network.protocol.version"], "1.1");
    let errors = last(&posted).into_iter().filter(|((name, attributes), _)| {
        name == "prony.errors" && attributes["prony.phase"] == "measurement"
    });
    let errors: BTreeMap<String, Value> = errors
        .map(|((_, attributes), value)| (attributes["error.type"].clone(), value))
        .collect();
    assert_eq!(errors.len(), 6, "{errors:?}");
    assert_eq!(errors["timeout"], Value::Count(0));
    let Value::Count(warm_up) = point(&posted, "prony.replies", "warm_up").1 else {
        panic!("no count");
    };
    assert!(warm_up > 0);
}

#[test]
fn a_collector_that_refuses_or_stalls_costs_one_line() {
    let stalls = Collector::new(|_| None);
    let refuses = Collector::new(|_| Some("401 Unauthorized"));
    for url in [gone(), stalls.url.clone(), refuses.url.clone()] {
        let output = load(&url, &[]);
        assert!(output.status.success(), "{}", stderr_of(&output));
        assert!(sum(&json_of(&output), "valid") > 0);
        let said = stderr_of(&output);
        let about = said.lines().filter(|line| line.contains("live metrics")).count();
        assert_eq!(about, 1, "{said}");
    }
    assert_eq!(refuses.all().len(), 1, "it refused the first time");
}

#[test]
fn headers_come_from_the_environment_and_are_never_printed() {
    let collector = Collector::new(|_| Some("403 Forbidden"));
    let headers = "authorization=Basic%20c2VjcmV0";
    let output = load(&collector.url, &[("OTEL_EXPORTER_OTLP_HEADERS", headers)]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let head = &collector.next().head;
    assert!(head.contains("authorization: basic c2vjcmv0"), "{head}");
    assert!(stderr_of(&output).contains("403 Forbidden") && !stderr_of(&output).contains("c2VjcmV0"));
    let output = load(&collector.url, &[("OTEL_EXPORTER_OTLP_HEADERS", "secret")]);
    assert_refused(&output, "OTEL_EXPORTER_OTLP_HEADERS: header 1");
}

/// A server that answers with 500: its errors have a type.
#[test]
fn errors_have_a_type() {
    let collector = Collector::new(|_| Some("200 OK"));
    let broken = serve(|_| Some(b"HTTP/1.1 500 -\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let output = prony(&["load", &broken, "-c", "1", "-d", "1s", "--otlp", &collector.url]);
    assert!(
        !stderr_of(&output).contains("live metrics"),
        "{}",
        stderr_of(&output)
    );
    let all = last(&collector.all());
    let count = |kind: &str| {
        let mut own = all.iter().filter(|((name, attributes), _)| {
            name == "prony.errors"
                && attributes["error.type"] == kind
                && attributes["prony.phase"] == "measurement"
        });
        own.next().expect("a series").1.clone()
    };
    assert!(matches!(count("status"), Value::Count(errors) if errors > 0));
    assert_eq!(count("timeout"), Value::Count(0));
}

/// The standard variables name the collector if `--otlp` has no URL.
#[test]
fn the_variables_name_the_collector() {
    let run = |variables: &[(&str, &str)]| {
        Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["load", &server(), "-c", "1", "-d", "1s", "--otlp"])
            .envs(variables.iter().copied())
            .output()
            .expect("prony runs")
    };
    let (all, own) = (
        Collector::new(|_| Some("200 OK")),
        Collector::new(|_| Some("200 OK")),
    );
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", all.url.as_str());
    assert!(run(&[endpoint]).status.success());
    assert!(all.next().head.starts_with("post /v1/metrics "));
    // That for metrics is used as it is.
    let exact = format!("{}/push", own.url);
    let variables = [endpoint, ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", exact.as_str())];
    assert!(run(&variables).status.success());
    assert!(own.next().head.starts_with("post /push "));
    assert_refused(
        &run(&[]),
        "neither OTEL_EXPORTER_OTLP_METRICS_ENDPOINT nor OTEL_EXPORTER_OTLP_ENDPOINT is set",
    );
}

#[test]
fn a_collector_may_speak_tls() {
    let collector = Collector::new(|_| Some("200 OK"));
    let port = collector
        .url
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok());
    let front = Front::before(port.expect("a port"), &["http/1.1"]);
    let trusted = front.cacert();
    let output = load(&front.url(), &[("SSL_CERT_FILE", tls::typed(&trusted))]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let completed = sum(&json_of(&output), "completed");
    let (_, replies) = point(&collector.all(), "prony.replies", "measurement");
    assert_eq!(replies, Value::Count(completed));
}

#[test]
fn what_is_no_collector_is_refused_before_the_load() {
    for url in ["localhost:4318", "grpc://localhost:4317"] {
        let output = prony(&["load", "http://127.0.0.1:1", "--otlp", url]);
        assert_refused(&output, "is not the URL of a collector");
    }
}

#[test]
fn a_search_tells_each_rate_by_its_name() {
    let collector = Collector::new(|_| Some("200 OK"));
    let output = prony(&[
        "capacity",
        &server(),
        "--objective",
        "errors<1%",
        "--start",
        "100",
        "--limit",
        "200",
        "-d",
        "1s",
        "--confirm",
        "1s",
        "-c",
        "2",
        "--otlp",
        &collector.url,
    ]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let loads: Vec<String> = last(&collector.all())
        .into_keys()
        .filter(|(name, _)| name == "prony.replies")
        .map(|(_, attributes)| attributes["prony.load"].clone())
        .collect();
    for rate in ["100", "200"] {
        let named = format!("open loop: {rate} requests per second on 2 connections");
        assert!(loads.contains(&named), "{named}: {loads:?}");
    }
}
