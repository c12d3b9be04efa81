//! `prony load --job -` of workers that share a load: they begin at the same time, and end with parts of one recording.

use crate::common::server;
use prony_load::{Job, Share};
use prony_merge::{LiveMerge, Merger, Part, assemble};
use prony_records::{Event, Phase, Recording};
use prony_schema::Schema;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

fn job(url: &str) -> Job {
    let port: u16 = url
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let job = json!({
        "target": { "url": url, "host": "127.0.0.1", "port": port, "authority": "a", "tls": null },
        "protocol": "http1",
        "load": {
            "kind": "open", "connections": 4, "in_flight": 1, "backlog": 1000,
            "arrival": { "profile": { "kind": "constant", "rate": 400.0 }, "spacing": "even" },
        },
        "workload": {
            "name": "w",
            "operations": [{ "name": "a", "request": { "method": "GET", "path": [{ "literal": "/" }] }, "expect": {} }],
            "order": { "kind": "mix", "steps": [{ "operation": 0, "weight": 1 }] }
        },
        "phases": {
            "warm_up": { "until_told": { "limit_ns": 60_000_000_000_u64 } },
            "measurement_ns": 500_000_000, "drain_ns": 5_000_000_000_u64
        },
        "timeout_ns": 5_000_000_000_u64, "check": { "share": 1.0, "keep": 1 }, "threads": 1,
        "interval_ns": 50_000_000, "seed": 1
    });
    serde_json::from_value(job).expect("a job")
}

/// Starts a worker; its events go to `heard`.
fn begin(number: usize, job: &Job, heard: mpsc::Sender<(usize, Event)>) -> (Child, ChildStdin) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["load", "--job", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("prony runs");
    let mut input = process.stdin.take().expect("an input");
    writeln!(input, "{}", serde_json::to_string(job).expect("plain data")).expect("prony reads");
    let output = BufReader::new(process.stdout.take().expect("an output"));
    std::thread::spawn(move || {
        for line in output.lines() {
            let line = line.expect("text");
            let event = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
            if heard.send((number, event)).is_err() {
                return;
            }
        }
    });
    (process, input)
}

/// The current time on the clock of the workers, which is the same for both here.
fn monotonic_ns() -> u64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("a clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

fn together(url: &str) -> (Recording, Vec<Event>) {
    let job = job(url);
    let (sender, heard) = mpsc::channel();
    let shares = Share::split([("one", 1), ("two", 1)]);
    let mut workers: Vec<(Child, ChildStdin)> = shares
        .into_iter()
        .enumerate()
        .map(|(number, share)| {
            let share = Some(share);
            begin(number, &Job { share, ..job.clone() }, sender.clone())
        })
        .collect();
    drop(sender);
    let (mut warm, mut told) = ([false; 2], false);
    let (mut live, mut merger, mut shown) = (LiveMerge::new(2), Merger::new(&job), Vec::new());
    for (number, event) in heard {
        match event {
            Event::Phase { .. } => {}
            Event::IntervalPart { phase, part } => {
                warm[number] = true;
                shown.extend(live.take(phase, part));
            }
            Event::Part { part } => merger
                .add(Part::decode(&part).expect("a part"))
                .expect("parts of one job"),
            other => panic!("{other:?}"),
        }
        if warm == [true; 2] && !told {
            told = true;
            let at_ns = monotonic_ns() + 200_000_000;
            for (_, input) in &mut workers {
                writeln!(input, r#"{{"measure_at":{{"at_ns":{at_ns}}}}}"#).expect("prony reads");
            }
        }
    }
    for (mut process, _) in workers {
        assert!(process.wait().expect("an end").success());
    }
    (assemble(&job, &merger.finish(), None), shown)
}

#[test]
fn two_processes_make_one_load_and_one_recording() {
    let (recording, shown) = together(&server());
    // 400 a second for half a second: as many as one process would send, half of them from each.
    assert_eq!(recording.requests.offered, 200, "{:?}", recording.requests);
    assert_eq!(recording.intervals.len(), 10);
    assert_eq!(recording.generator.threads, 2);
    let names: Vec<(&str, u32)> = recording
        .workers
        .iter()
        .map(|row| (row.name.as_str(), row.connections))
        .collect();
    assert_eq!(names, [("one", 2), ("two", 2)]);
    assert!(recording.workers.iter().all(|row| row.late_start_ns.is_some()));
    let measured: u64 = shown
        .iter()
        .filter_map(|event| match event {
            Event::Interval {
                phase: Phase::Measurement,
                interval,
                ..
            } => Some(interval.completed),
            _ => None,
        })
        .sum();
    let recorded: u64 = recording
        .intervals
        .iter()
        .map(|interval| interval.completed)
        .sum();
    assert_eq!(measured, recorded);
    let json: Value = serde_json::to_value(&recording).expect("plain data");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/load.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).expect("the schema")).expect("JSON");
    let schema = Schema::compile(&schema).expect("a schema");
    assert_eq!(schema.judge(&json), Ok(()), "{json}");
    assert!(
        json["workers"][0]["throughput_per_s"].as_f64() > Some(0.0),
        "{json}"
    );
}
