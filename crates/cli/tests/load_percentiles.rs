//! Percentiles of `prony load` cover every request that was due, and only valid replies meet an objective.

use crate::common::{prony, prony_line, recording_of, reply, serve, stderr_of};
use std::sync::atomic::{AtomicU64, Ordering};

fn every_tenth(other: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static) -> String {
    let count = AtomicU64::new(0);
    serve(move |_| match count.fetch_add(1, Ordering::SeqCst) % 10 {
        9 => other(),
        _ => Some(reply("hello")),
    })
}

fn refusing() -> Vec<u8> {
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec()
}

/// 30 of 300 requests are never answered, so p99 has no bound.
#[test]
fn what_is_never_answered_has_no_bound() {
    let url = every_tenth(|| None);
    let load = |more: &[&str]| {
        let all = [
            "load",
            &url,
            "--rate",
            "100",
            "-c",
            "64",
            "-d",
            "3s",
            "--warmup",
            "0s",
            "--timeout",
            "8s",
        ];
        prony(&[&all, more].concat())
    };
    let output = load(&["--json"]);
    let recording = recording_of(&output);
    assert_eq!(recording["outcomes"]["timeout"], 30, "{recording:#}");
    assert_eq!(recording["outcomes"]["valid"], 270);
    assert_eq!(recording["coverage"], "every_request");
    assert!(recording["offered_per_s"].is_f64() && recording["sent_per_s"].is_f64());
    let times = &recording["response_time_ns"];
    assert!(times["p90"].is_u64(), "{times}");
    for quantile in ["p95", "p99", "p99_9", "max", "mean"] {
        assert_eq!(times[quantile], "no_bound", "{times}");
    }
    assert!(recording["valid_time_ns"]["max"].is_u64());
    let shown = load(&["--objective", "p99<1h"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned() + &stderr_of(&shown);
    assert!(text.contains("p99 no bound"), "{text}");
    assert!(text.contains("p95 and above have no bound: "), "{text}");
    assert_eq!(shown.status.code(), Some(3), "{text}");
}

#[test]
fn a_fast_error_meets_no_objective_of_time() {
    let url = serve(|_| Some(refusing()));
    let output = prony_line(&format!(
        "load {url} --rate 100 -c 8 -d 500ms --warmup 0s --objective p99<1h"
    ));
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    // One error in ten is within what p90 ignores, but not within what p95 ignores.
    let url = every_tenth(|| Some(refusing()));
    let load = |objective: &str| {
        let all = [
            "load",
            &url,
            "-c",
            "1",
            "-n",
            "200",
            "--warmup",
            "0s",
            "--objective",
            objective,
        ];
        prony(&all).status.code()
    };
    assert_eq!((load("p90<1h"), load("p95<1h")), (Some(0), Some(3)));
}

/// A server that takes 200 ms and has one connection, which gets ten requests a second.
#[test]
fn a_reply_after_the_timeout_since_the_due_time_is_not_valid() {
    let url = serve(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        Some(reply("hello"))
    });
    let output = prony_line(&format!(
        "load {url} -c 1 --rate 10 -d 3s --warmup 0s --timeout 500ms --json"
    ));
    let recording = recording_of(&output);
    let valid = &recording["valid_time_ns"];
    assert!(valid["max"].as_u64() <= Some(501_000_000), "{valid}");
    assert!(
        recording["outcomes"]["timeout"].as_u64() > Some(5),
        "{recording:#}"
    );
    assert_eq!(recording["outcomes"]["dropped"], 0);
    assert_eq!(recording["requests"]["offered"], 30);
    let rate = |key: &str| recording[key].as_f64().expect("a rate");
    assert!(
        (rate("offered_per_s") - 10.0).abs() < 0.1 && rate("sent_per_s") < rate("offered_per_s"),
        "{recording:#}"
    );
}
