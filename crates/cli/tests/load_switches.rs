//! Options of `prony load`: where connections go, how a load is stopped early, and what is judged.

use crate::common::{
    Request, assert_contains, assert_refused, forgetful, json_of, listen, prony, prony_line, reply, server,
    shown, stderr_of, talk,
};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

fn port(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

/// One in five requests is never answered. It counts as longer than any other, so no high quantile has a bound.
#[test]
fn what_is_never_answered_misses_an_objective_of_a_quantile() {
    let url = forgetful();
    let load = |objective: &str| {
        let arguments = ["load", &url, "-c", "8", "-d", "500ms", "--timeout", "400ms"];
        prony(&[&arguments[..], &["--objective", objective]].concat())
    };
    assert_eq!(load("p50<1h").status.code(), Some(0));
    for objective in ["p99<1h", "max<1h", "mean<1h"] {
        let missed = load(objective);
        assert_eq!(
            missed.status.code(),
            Some(3),
            "{objective}: {}",
            stderr_of(&missed)
        );
        assert_contains(&shown(&missed), "no bound, not below 3600 s");
    }
    let arguments = [
        "capacity",
        &url,
        "-c",
        "8",
        "-d",
        "300ms",
        "--timeout",
        "200ms",
        "--start",
        "500",
    ];
    let capacity = prony(
        &[
            &arguments[..],
            &["--limit", "500", "--json", "--objective", "p99<1h"],
        ]
        .concat(),
    );
    let curve = json_of(&capacity)["curve"].clone();
    // The last point is the highest rate; at lower ones every request may have been answered.
    let highest = curve
        .as_array()
        .and_then(|points| points.last())
        .expect("a point");
    let missed = highest["missed"][0].as_str().unwrap_or_default();
    assert!(missed.contains("p99 no bound"), "{curve}");
}

/// If the process runs out of file descriptors, the service is not to blame.
#[test]
fn files_that_the_generator_lacks_are_no_refusal_of_the_service() {
    let url = server();
    // 150 files are open already when the limit of 260 is checked, and 180 connections need 248.
    let script = "for fd in $(seq 10 159); do eval \"exec $fd</dev/null\"; done; ulimit -n 260; exec \"$@\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash", env!("CARGO_BIN_EXE_prony"), "load", &url])
        .args(["-c", "180", "-d", "300ms", "--json"])
        .output()
        .expect("bash runs");
    let recording = json_of(&output);
    assert_eq!(recording["outcomes"]["connect_error"], 0, "{recording}");
    assert!(recording["outcomes"]["dropped"].as_u64() > Some(0), "{recording}");
    assert!(
        recording["network"]["own_shortages"].as_u64() > Some(0),
        "{recording}"
    );
    assert_eq!(recording["generator"]["saturated"], true);
    let warnings = recording["warnings"].to_string();
    assert!(warnings.contains("on the generator's machine"), "{warnings}");
}

#[test]
fn an_interrupted_load_reports_results_without_a_verdict() {
    let url = server();
    let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args([
            "load",
            &url,
            "-c",
            "2",
            "-d",
            "10m",
            "--json",
            "--objective",
            "p50<1ns",
        ])
        .args(["--metrics", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("prony runs");
    let mut errors = BufReader::new(process.stderr.take().expect("an output"));
    let mut line = String::new();
    // The metrics show when the measurement has begun.
    errors.read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .rsplit("http://")
        .next()
        .expect("an address")
        .to_owned();
    let is_measured = |line: &str| {
        let is_of_measurement = line.starts_with("prony_replies_total") && line.contains("\"measurement\"");
        is_of_measurement && !line.ends_with(" 0")
    };
    while !metrics(&address).lines().any(is_measured) {
        std::thread::yield_now();
    }
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(process.id().cast_signed()),
        nix::sys::signal::Signal::SIGINT,
    )
    .expect("a signal");
    let output = process.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let recording = json_of(&output);
    assert_eq!(recording["interrupted"], true);
    assert!(
        recording["duration_s"]
            .as_f64()
            .is_some_and(|length| length < 590.0),
        "{recording}"
    );
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut errors, &mut rest).expect("text");
    assert!(!rest.contains("objective"), "{rest}");
}

/// The text at `/metrics`.
fn metrics(address: &str) -> String {
    let address = address.trim_end_matches("/metrics");
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).expect("text");
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    text
}

#[test]
fn a_name_has_the_addresses_that_are_given() {
    let url = server();
    let port = port(&url);
    let named = format!("http://api.invalid:{port}/");
    let resolve = format!("api.invalid:{port}:127.0.0.1");
    let output = prony_line(&format!("load {named} --resolve {resolve} -c 2 -d 200ms --json"));
    let recording = json_of(&output);
    assert_eq!(recording["outcomes"]["valid"], recording["requests"]["offered"]);
    assert_eq!(
        recording["network"]["addresses"][0]["address"],
        format!("127.0.0.1:{port}")
    );
    for (more, part) in [
        (
            vec!["--resolve", "other:80:127.0.0.1"],
            "does not match the target",
        ),
        (vec!["--resolve", "127.0.0.1"], "HOST:PORT:ADDR"),
        (vec!["--source", "nowhere"], "invalid"),
        (vec!["--source", "192.0.2.1"], "addresses of this machine"),
        (vec!["--source", "::1"], "address family"),
        (vec!["--connect-timeout", "0s"], "no time"),
        (vec!["--unix", "/x", "--source", "127.0.0.1"], "cannot be used"),
        (vec!["--cert", "x.pem"], "--key"),
        (vec!["--sni", "x"], "https://"),
        (vec!["--no-resumption"], "https://"),
        (vec!["--tls", "1.1"], "1.2, 1.3"),
    ] {
        let output = prony(&[&["load", url.as_str()], more.as_slice()].concat());
        assert_refused(&output, part);
    }
}

#[test]
fn a_unix_socket_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("api.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || talk(stream, |_| Some(reply("hello"))));
        }
    });
    let path = path.to_str().expect("text");
    let output = prony_line(&format!(
        "load http://localhost/ --unix {path} -c 2 -d 200ms --json"
    ));
    let recording = json_of(&output);
    assert!(recording["outcomes"]["valid"].as_u64() > Some(0), "{recording}");
    assert!(recording["network"]["retransmits"].is_null());
    let missing = prony(&["load", "http://localhost/", "--unix", "/no/such", "-d", "200ms"]);
    assert_eq!(missing.status.code(), Some(3));
    let text = String::from_utf8_lossy(&missing.stdout);
    assert!(
        text.starts_with("FAILED: 0 % success: cannot connect to ") && text.contains("unix:/no/such"),
        "{text}"
    );
}

/// The lines of a CSV log: when the request was due, when it ended, and its status if it has one.
fn logged(path: &std::path::Path) -> Vec<(i64, i64, String)> {
    let text = std::fs::read_to_string(path).expect("a log");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("operation,due_ns,sent_ns,ended_ns,outcome,status,bytes")
    );
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields[at].parse::<i64>().expect("a number");
            (number(1), number(3), fields[5].to_owned())
        })
        .collect()
}

/// An independent check of the numbers: the percentiles of all logged requests are the same.
#[test]
fn percentiles_of_the_log_are_those_that_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.csv");
    let log = path.to_str().expect("text");
    let (answering, silent) = (server(), forgetful());
    for (url, more) in [
        (&answering, vec!["-c", "8", "--warmup", "100ms"]),
        (
            &answering,
            vec!["-c", "4", "-t", "2", "--rate", "3000", "--poisson"],
        ),
        (&silent, vec!["-c", "16", "--timeout", "100ms"]),
    ] {
        let arguments = ["load", url.as_str(), "-d", "500ms", "--json", "--log", log];
        let recording = json_of(&prony(&[&arguments[..], &more].concat()));
        let lines = logged(&path);
        assert_eq!(recording["requests"]["offered"], lines.len(), "{more:?}");
        assert_eq!(recording["log"]["lines"], lines.len());
        let mut times: Vec<u64> = lines
            .iter()
            .filter(|(.., status)| !status.is_empty())
            .map(|(due, ended, _)| (ended - due) as u64)
            .collect();
        times.sort_unstable();
        assert_eq!(recording["requests"]["completed"], times.len(), "{more:?}");
        let reported = &recording["valid_time_ns"];
        for (name, quantile) in [
            ("p50", 0.5),
            ("p90", 0.9),
            ("p99", 0.99),
            ("p99_9", 0.999),
            ("max", 1.0),
        ] {
            let rank = ((quantile * times.len() as f64).ceil() as usize).max(1);
            let (own, reported) = (times[rank - 1] as f64, reported[name].as_f64().expect("a time"));
            // A histogram with three digits distinguishes times that differ by 0.1 %.
            assert!(
                (reported / own - 1.0).abs() < 0.0011,
                "{more:?} {name}: {own} {reported}"
            );
        }
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!(
            (reported["mean"].as_f64().expect("a time") / mean - 1.0).abs() < 0.0011,
            "{more:?}"
        );
    }
}

#[test]
fn a_log_takes_a_share_and_speaks_json_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.jsonl");
    let log = path.to_str().expect("text");
    let url = server();
    let output = prony_line(&format!(
        "load {url} -c 4 -d 500ms --json --log {log} --log-share 10%"
    ));
    let recording = json_of(&output);
    let text = std::fs::read_to_string(&path).expect("a log");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let share = lines.len() as f64 / recording["requests"]["offered"].as_f64().expect("a number");
    assert!((0.05..0.2).contains(&share), "{share}");
    assert!(
        lines
            .iter()
            .all(|line| line["outcome"] == "valid" && line["bytes"] == 5 && line["status"] == 200)
    );
    for (more, part) in [
        (vec!["--log", "requests.txt"], ".jsonl"),
        (vec!["--log", "/no/such/folder/a.csv"], "No such file"),
        (vec!["--log-share", "10%"], "--log"),
        (vec!["--log", log, "--log-share", "0%"], "above 0%"),
    ] {
        let output = prony(&[&["load", url.as_str()], more.as_slice()].concat());
        assert_refused(&output, part);
    }
}

/// Each connection closes when its third request arrives, as with an idle timeout that fires at this moment.
#[test]
fn a_request_that_an_idle_connection_lost_is_retried_unless_that_is_switched_off() {
    let port = listen(|mut stream| {
        let mut requests = BufReader::new(stream.try_clone().ok()?);
        for _ in 0..2 {
            Request::read(&mut requests)?;
            stream.write_all(&reply("hello")).ok()?;
        }
        Request::read(&mut requests).map(|_| ())
    });
    let url = format!("http://127.0.0.1:{port}/");
    let output = prony(&["load", &url, "-c", "1", "-n", "10"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr_of(&output);
    assert!(text.contains("4 requests (40.00 %) were retried"), "{text}");
    let recording = json_of(&prony(&["load", &url, "-c", "1", "-n", "10", "--json"]));
    assert_eq!(
        (
            &recording["connections"]["retried"],
            &recording["outcomes"]["valid"]
        ),
        (&4.into(), &10.into())
    );
    let recording = json_of(&prony_line(&format!("load {url} -c 1 -n 10 --no-retry --json")));
    assert_eq!(
        (&recording["outcomes"]["valid"], &recording["outcomes"]["reset"]),
        (&7.into(), &3.into())
    );
    assert_eq!(recording["connections"]["retried"], Value::Null);
}
