//! `prony load` and `prony capacity`: command lines, output and exit codes.

use crate::common::{assert_refused, json_of, prony, reply, serve, server, shown, stderr_of};
use crate::ports;
use prony_schema::Schema;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[test]
fn the_json_of_every_kind_of_load_fits_its_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/load.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).expect("the schema")).expect("JSON");
    let schema = Schema::compile(&schema).expect("a schema");
    let url = server();
    let wrong = format!("{url}/wrong");
    for more in [
        vec![url.as_str(), "-c", "4"],
        vec![url.as_str(), "-c", "2", "--pipeline", "4", "--warmup", "50ms"],
        vec![url.as_str(), "--rate", "200"],
        vec![url.as_str(), "--ramp", "50:500:50ms", "--poisson"],
        vec![
            url.as_str(),
            "--step-load",
            "100:100:50ms",
            "--transport",
            "epoll",
        ],
        vec![
            url.as_str(),
            "--users",
            "50",
            "--requests-per-user",
            "3",
            "--think",
            "5ms",
        ],
        vec![wrong.as_str(), "-c", "2"],
    ] {
        let output = prony(
            &[
                &["load", "-d", "200ms", "--json", "--expect", "hello"],
                more.as_slice(),
            ]
            .concat(),
        );
        let is_wrong = more[0] == wrong;
        let code = if is_wrong { 3 } else { 0 };
        assert_eq!(
            output.status.code(),
            Some(code),
            "{more:?}: {}",
            stderr_of(&output)
        );
        let recording = json_of(&output);
        assert_eq!(schema.judge(&recording), Ok(()), "{more:?}");
        assert_eq!(
            recording["unexpected_replies"]
                .as_array()
                .is_some_and(|list| !list.is_empty()),
            is_wrong
        );
    }
    assert!(
        schema.judge(&json!({ "schema": 1 })).is_err(),
        "the schema accepts anything"
    );
}

#[test]
fn an_objective_decides_the_exit_code() {
    let url = server();
    let load = |objective: &str| prony(&["load", &url, "-c", "2", "-d", "200ms", "--objective", objective]);
    assert_eq!(load("p99<1h,errors<1%").status.code(), Some(0));
    let missed = load("p50<1ns");
    assert_eq!(missed.status.code(), Some(3));
    let text = shown(&missed);
    assert!(text.starts_with("OBJECTIVE MISSED: p50 "), "{text}");
    assert!(text.contains(", not below 1 ns; 100 % success, "), "{text}");
    assert!(text.contains("✗ p50<1ns"), "{text}");
}

#[test]
fn a_wrong_option_exits_with_code_2() {
    let url = server();
    let wrong_url = |url: &'static str| vec![url];
    for (arguments, part) in [
        (wrong_url("localhost:port"), "not a URL"),
        (wrong_url("ftp://h/"), "not ftp"),
        (wrong_url("http://h/#top"), "fragment"),
        (
            wrong_url("http://no-such-host.invalid/"),
            "cannot find the address",
        ),
        (vec![url.as_str(), "-c", "0"], "at least 1"),
        (vec![url.as_str(), "-c", "2", "-t", "3"], "3 threads"),
        (vec![url.as_str(), "--rate", "0"], "not a rate"),
        (
            vec![url.as_str(), "--rate", "10", "--ramp", "1:2"],
            "cannot be used",
        ),
        (vec![url.as_str(), "--users", "5", "-c", "3"], "cannot be used"),
        (vec![url.as_str(), "--poisson"], "required"),
        (vec![url.as_str(), "--ramp", "1"], "A:B"),
        (vec![url.as_str(), "-H", "no colon"], "not a header"),
        (
            vec![url.as_str(), "-H", "Content-Length: 3"],
            "prony writes it itself",
        ),
        (vec![url.as_str(), "-X", "GET /x"], "not an HTTP method"),
        (vec![url.as_str(), "--body", "@/no/such/file"], "cannot read"),
        (vec![url.as_str(), "--body", "{n:rang(1,2)}"], "unknown source"),
        (vec![url.as_str(), "--objective", "p99<10"], "not a duration"),
        (vec![url.as_str(), "-d", "10"], "duration"),
        (vec![], "required"),
    ] {
        let output = prony(&[&["load"], arguments.as_slice()].concat());
        assert_refused(&output, part);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_refused_connection_is_a_failure_and_not_a_recording() {
    let address = format!("127.0.0.1:{}", ports::reserved());
    let output = prony(&["load", &format!("http://{address}/"), "-d", "100ms", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let json = json_of(&output);
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"failed".into(), &3.into()),
        "{json}"
    );
    assert!(json["error"]["text"].to_string().contains(&address), "{json}");
    assert!(json.get("requests").is_none(), "{json}");
}

#[test]
fn another_process_asks_with_a_job_and_commands() {
    let url = server();
    let address = url.trim_start_matches("http://");
    let (host, port) = address.split_once(':').expect("a port");
    let job = json!({
        "target": { "url": url, "host": host, "port": port.parse::<u16>().expect("a port"), "authority": address, "tls": null },
        "protocol": "http1",
        "load": { "kind": "closed", "connections": 2, "in_flight": 1 },
        "workload": {
            "name": "w",
            "operations": [{ "name": "a", "request": { "method": "GET", "path": [{ "literal": "/" }] }, "expect": {} }],
            "order": { "kind": "mix", "steps": [{ "operation": 0, "weight": 1 }] }
        },
        "phases": { "warm_up": { "until_told": { "limit_ns": 60_000_000_000_u64 } }, "measurement_ns": 60_000_000_000_u64, "drain_ns": 1_000_000_000 },
        "timeout_ns": 1_000_000_000, "check": { "share": 1.0, "keep": 1 }, "threads": 1, "interval_ns": 50_000_000, "seed": 1
    });
    let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["load", "--job", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("prony runs");
    let mut input = process.stdin.take();
    writeln!(input.as_mut().expect("an input"), "{job}").expect("prony reads");
    let (mut phases, mut recording) = (Vec::new(), None);
    for line in BufReader::new(process.stdout.take().expect("an output")).lines() {
        let event: Value = serde_json::from_str(&line.expect("text")).expect("an event a line");
        match (event["event"].as_str(), event["phase"].as_str()) {
            (Some("phase"), Some(phase)) => phases.push(phase.to_owned()),
            (Some("interval"), Some("warm_up")) => {
                if let Some(input) = &mut input {
                    // Sent repeatedly, but only the first one matters.
                    let _ = writeln!(input, "\"measure\"");
                }
            }
            // The end of the input stops the load.
            (Some("interval"), Some("measurement")) => drop(input.take()),
            (Some("recording"), _) => recording = Some(event["recording"].clone()),
            _ => panic!("{event}"),
        }
    }
    assert!(process.wait().expect("an end").success());
    assert_eq!(phases, ["warm_up", "measurement", "drain"]);
    let recording = recording.expect("a recording");
    assert!(recording["requests"]["valid"].as_u64() > Some(0), "{recording}");
}

#[test]
fn a_job_that_is_none_is_bad_input() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["load", "--job", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("prony runs");
    process
        .stdin
        .take()
        .expect("an input")
        .write_all(b"{}\n")
        .expect("prony reads");
    let output = process.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
}

#[test]
fn a_job_from_standard_input_takes_no_other_option() {
    for switch in [
        &["-n", "5"][..],
        &["--stages", "1s:5"],
        &["--no-keepalive"],
        &["-c", "2"],
        &["--unix", "/a"],
    ] {
        let output = prony(&[&["load", "--job", "-"], switch].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{switch:?}: {}",
            stderr_of(&output)
        );
        let text = stderr_of(&output);
        assert!(
            text.contains("--job") && text.contains("cannot be used with"),
            "{text}"
        );
    }
}

#[test]
fn capacity_ends_with_a_rate_or_says_why_there_is_none() {
    let url = server();
    let search = |more: &[&str]| {
        let all = [
            "capacity",
            &url,
            "-c",
            "16",
            "-d",
            "200ms",
            "--start",
            "100",
            "--confirm",
            "1s",
            "--json",
            "--objective",
        ];
        prony(&[&all, more].concat())
    };
    let found = search(&["p50<1h", "--limit", "200"]);
    assert_eq!(found.status.code(), Some(0), "{}", stderr_of(&found));
    let found = json_of(&found);
    assert_eq!(
        (found["capacity_per_s"].as_f64(), found["limit_reached"].as_bool()),
        (Some(200.0), Some(true))
    );
    // A short look, 100, 200, and the measurement of 200: rates that even a busy machine can hold.
    assert_eq!(found["curve"].as_array().map(Vec::len), Some(4), "{found}");
    let unknown = search(&["p99<1h", "--limit", "10"]);
    assert_eq!(unknown.status.code(), Some(3));
    let unknown = json_of(&unknown);
    assert!(unknown["capacity_per_s"].is_null());
    assert_eq!(unknown["verdict"], "inconclusive", "{unknown}");
    let headline = unknown["headline"].as_str().unwrap_or_default();
    let few = "INCONCLUSIVE: at 10.0/s a minute has too few requests to judge p99<1h";
    assert!(headline.starts_with(few), "{unknown}");
}

/// A server that works on one request at a time, for a millisecond each: it cannot answer more than 1,000 per second.
fn a_thousand_per_second() -> String {
    let idle_from = Mutex::new(Instant::now());
    serve(move |_| {
        let done = {
            let mut idle_from = idle_from.lock().expect("a lock");
            *idle_from = (*idle_from).max(Instant::now()) + Duration::from_millis(1);
            *idle_from
        };
        std::thread::sleep(done.saturating_duration_since(Instant::now()));
        Some(reply("hello"))
    })
}

#[test]
fn a_capacity_is_not_above_that_of_the_server() {
    let url = a_thousand_per_second();
    let output = prony(&[
        "capacity",
        &url,
        "-c",
        "16",
        "-d",
        "500ms",
        "--start",
        "100",
        "--precision",
        "10%",
        "--confirm",
        "3s",
        "--objective",
        "p50<20ms",
        "--json",
    ]);
    let found = json_of(&output);
    assert_eq!(found["verdict"], "capacity", "{found}");
    let sustained = found["sustained_per_s"].as_f64().expect("a rate");
    assert!((50.0..=1_000.0).contains(&sustained), "{found}");
}

#[test]
fn a_load_during_a_run_names_the_run_that_it_disturbs() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = server();
    let load = || {
        let output = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["load", &url, "-n", "10"])
            .env("PRONY_LOCKS", folder.path())
            .output()
            .expect("prony runs");
        assert!(output.status.success(), "{}", stderr_of(&output));
        stderr_of(&output)
    };
    assert!(!load().contains("measures on these CPUs"));
    // A run has claimed every possible CPU.
    let claims: Vec<std::fs::File> = (0..256)
        .map(|cpu| {
            let path = folder.path().join(format!("prony-cpu-{cpu}.lock"));
            std::fs::write(&path, format!("{} prony run\n", std::process::id())).expect("a lock");
            let file = std::fs::File::open(path).expect("a lock");
            file.lock().expect("locked");
            file
        })
        .collect();
    let said = load();
    let named = format!(
        "`prony run` (process {}) measures on these CPUs",
        std::process::id()
    );
    assert!(said.contains(&named), "{said}");
    drop(claims);
}
