//! A made-up run, always the same: four services, one of which fails its check and one of which has a hostile name.

use prony_records::{
    BytesMoved, CaseFailure, CheckMatrix, Classification, CompactHistogram, Connections, Coverage, Cpu,
    Distribution, Environment, Exclusion, Fault, Finding, Generator, Histogram, Interval, Measurement,
    OperationRecording, Outcomes, Recording, Requests, ResourceSample, Resources, RunRecord, SCHEMA,
    ServiceCheck, ServiceId, StartUp, Steadiness, TrialRecord, TrialStage, Warning, WarningKind,
};
use prony_report::{Input, References, Report, ServiceInfo};
use prony_statistics::{Options, summarise};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A name and text that would do harm if they were taken for markup.
pub(crate) const HOSTILE: &str = "<script>document.title='harmed'</script>|\"'`*\u{1b}[31m";

const ROUNDS: u32 = 4;
const SECONDS: u64 = 4;

struct SampleService {
    name: &'static str,
    title: &'static str,
    language: &'static str,
    throughput: f64,
    memory: u64,
}

const SERVICES: [SampleService; 4] = [
    SampleService {
        name: "rust-axum",
        title: "axum",
        language: "Rust",
        throughput: 72_000.0,
        memory: 9_000_000,
    },
    SampleService {
        name: "go-nethttp",
        title: "Go net/http",
        language: "Go",
        throughput: 55_000.0,
        memory: 21_000_000,
    },
    SampleService {
        name: "go-gorilla",
        title: HOSTILE,
        language: "Go",
        throughput: 54_800.0,
        memory: 22_000_000,
    },
    SampleService {
        name: "python-flask",
        title: "Flask",
        language: "Python",
        throughput: 0.0,
        memory: 0,
    },
];

/// The report of the made-up run.
pub(crate) fn report() -> Report {
    report_of(&trials())
}

/// The report of these trials.
pub(crate) fn report_of(trials: &[TrialRecord]) -> Report {
    report_with(trials, REFERENCE)
}

/// The report of these trials next to these published figures.
pub(crate) fn report_with(trials: &[TrialRecord], reference: &str) -> Report {
    let run = run();
    let summary = summarise(trials, &Options::default()).expect("sound trials");
    let reference = References::read(Path::new("004.toml"), reference).expect("sound figures");
    Report::new(&Input {
        run: &run,
        trials,
        summary: &summary,
        services: &services(),
        references: &[reference],
        checks: Some(&checks()),
        running: false,
    })
    .expect("sound records")
}

pub(crate) const REFERENCE: &str = r#"
source = "004"
title = "Abstract Rest Service Benchmark"
date = "2018"
machine = "8 CPUs"
parameters = "wrk -t8 -c512 -d2m"
contract = "hello"
[[figure]]
service = "Go Gorilla/Mux"
ours = "go-gorilla/*"
workload = "hello"
throughput_per_s = 131499.79
[[figure]]
service = "net/http"
ours = "go-nethttp/*"
workload = "hello"
throughput_per_s = 140000.0
notes = ["made up"]
[[figure]]
service = "Axum"
ours = "rust-axum/current"
workload = "hello"
throughput_per_s = 250000.0
[[figure]]
service = "Freya"
ours = "fsharp-freya/*"
workload = "hello"
throughput_per_s = 49736.08
"#;

pub(crate) fn run() -> RunRecord {
    RunRecord {
        id: "2026-11-21T08-30-00-sample".to_owned(),
        suite: "sample".to_owned(),
        started_at: "2026-11-21T08:30:00Z".to_owned(),
        ended_at: Some("2026-11-21T08:36:00Z".to_owned()),
        environment: Environment {
            prony: "0.1.0".to_owned(),
            commit: Some("0123456789ab".to_owned()),
            repository: Some("https://git.example/prony".to_owned()),
            os: Some("Debian GNU/Linux 12".to_owned()),
            kernel: Some("6.1.0".to_owned()),
            cpu: Cpu {
                model: Some("Made-up 9000".to_owned()),
                online: 2,
                cores: Some(1),
                smt: Some(true),
                ..Cpu::default()
            },
            memory_bytes: Some(25_769_803_776),
            memory_limit_bytes: Some(2_147_483_648),
            findings: vec![Finding {
                text: "Generator and service share the two threads of one core.".to_owned(),
                remedy: "use a machine with two cores".to_owned(),
            }],
            ..Environment::default()
        },
        plan: json!({}),
        planned_trials: 32,
        spent_s: None,
        seed: u64::MAX,
        warnings: vec![Warning::new(
            WarningKind::Noise,
            "something else used 0.4 CPUs meanwhile",
        )],
    }
}

pub(crate) fn services() -> Vec<ServiceInfo> {
    let info = |made: &SampleService| ServiceInfo {
        service: made.name.to_owned(),
        variant: "current".to_owned(),
        title: made.title.to_owned(),
        language: made.language.to_owned(),
        framework: made.title.to_owned(),
        class: "micro".to_owned(),
        version: Some("1.2.3".to_owned()),
        workers: Some("a thread per CPU".to_owned()),
        note: None,
        pinned: false,
        formerly: Vec::new(),
        image: None,
        source: Some(format!("services/{}", made.name)),
        build: vec![format!("make {}", made.name)],
        start: Some(format!("./{} --port \"$PORT\"", made.name)),
    };
    SERVICES.iter().map(info).collect()
}

fn checks() -> CheckMatrix {
    let check = |made: &SampleService| {
        let broken = made.throughput == 0.0;
        ServiceCheck {
            service: made.name.to_owned(),
            variant: "current".to_owned(),
            contract: "hello".to_owned(),
            protocol: None,
            passed: !broken,
            cases: vec!["hello".to_owned(), "unknown path".to_owned()],
            operations: [("hello".to_owned(), vec!["hello".to_owned()])].into(),
            traits: BTreeMap::new(),
            failures: if broken { vec![failure()] } else { Vec::new() },
            warnings: Vec::new(),
            skipped: Vec::new(),
            unavailable: None,
            took_ms: None,
        }
    };
    CheckMatrix {
        schema: SCHEMA,
        services: SERVICES.iter().map(check).collect(),
    }
}

fn failure() -> CaseFailure {
    CaseFailure {
        case: "hello".to_owned(),
        expected: "body `Hello, World!`".to_owned(),
        got: format!("body `Hello, World` {HOSTILE}"),
    }
}

pub(crate) fn trials() -> Vec<TrialRecord> {
    let closed = json!({ "kind": "closed", "connections": 64, "in_flight": 1 });
    let open = json!({
        "kind": "open",
        "arrival": { "profile": { "kind": "constant", "rate": 20_000.0 }, "spacing": "even" },
        "connections": 64, "in_flight": 1, "backlog": 1_000_000,
    });
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        for (group, load) in [&closed, &open].into_iter().enumerate() {
            for (index, made) in SERVICES.iter().enumerate() {
                let number = round * 8 + group as u32 * 4 + index as u32;
                all.push(trial(made, load, number, round));
            }
        }
    }
    all
}

fn trial(made: &SampleService, load: &Value, number: u32, round: u32) -> TrialRecord {
    let result = if made.throughput == 0.0 {
        Err(Exclusion {
            stage: TrialStage::Check,
            reason: "case `hello`: the body is one byte short".to_owned(),
            log_tail: vec!["listening".to_owned(), HOSTILE.to_owned()],
            fault: Fault::Service,
        })
    } else {
        Ok(measurement(made, load, number, round))
    };
    TrialRecord {
        number,
        round,
        build: None,
        start: None,
        provisional: false,
        service: ServiceId {
            service: made.name.to_owned(),
            variant: "current".to_owned(),
        },
        contract: "hello".to_owned(),
        workload: "hello".to_owned(),
        load: load.clone(),
        rank_by: None,
        baseline: None,
        started_at: format!("2026-11-21T08:3{round}:00Z"),
        took_s: 8.0,
        result,
    }
}

fn measurement(made: &SampleService, load: &Value, number: u32, round: u32) -> Measurement {
    // A spread of a few per mille that depends only on the number of the trial.
    let wobble = 1.0 + (f64::from(number * 37 % 11) - 5.0) / 1000.0;
    let throughput = if load["kind"] == "open" {
        20_000.0
    } else {
        made.throughput * wobble
    };
    let recording = recording(made, load, throughput, wobble);
    let cpu_ns = (recording.requests.completed as f64 * 0.97e9 / made.throughput) as u64;
    let sample = |at: i32| ResourceSample {
        at_s: f64::from(at) / 2.0,
        cpu_ns: Some((f64::from(at + 8) * 0.48e9) as u64),
        compiler_cpu_ns: None,
        memory_bytes: Some(made.memory - 10_000 * (8 - at) as u64),
        threads: Some(4),
    };
    Measurement {
        steadiness: Some(Steadiness {
            classification: Classification::WarmedUp,
            warm_up_s: 2.0,
            light_s: None,
            settled_share: None,
            settled_after_s: None,
            worst_p99_ns: None,
            intervals: vec![interval(0, throughput * 0.6), interval(1, throughput * 0.95)],
        }),
        service: Resources {
            source: "proc".to_owned(),
            window_ns: SECONDS * 1_000_000_000,
            cpu_ns: Some(cpu_ns),
            memory_bytes_peak: Some(made.memory + u64::from(round) * 4096),
            samples: (0..8).map(sample).collect(),
            ..Resources::default()
        },
        start_up: StartUp {
            listening_ms: Some(3.0 * wobble),
            first_valid_ms: Some(4.0 * wobble),
            ..StartUp::default()
        },
        service_cpus: vec![1],
        generator_cpus: vec![0],
        warm_up_samples: (-4..0).map(sample).collect(),
        recording,
        ..Measurement::default()
    }
}

fn interval(second: u32, throughput: f64) -> Interval {
    Interval {
        start_s: f64::from(second),
        length_s: 1.0,
        completed: throughput as u64,
        valid: throughput as u64,
        errors: 0,
        messages: None,
        response_time_ns_p50: Some((32e9 / throughput) as u64),
        response_time_ns_p99: Some((128e9 / throughput) as u64),
    }
}

/// Quantiles of a roughly lognormal shape: a body, and a longer tail.
fn response_times(made: &SampleService, completed: u64, wobble: f64) -> Histogram {
    let mut histogram = Histogram::new();
    for step in 0..200u32 {
        let share = f64::from(step) / 200.0;
        let ns = 64e9 / made.throughput * (0.6 + share + 0.02 / (1.003 - share)) * wobble;
        let more = u64::from(u64::from(step) < completed % 200);
        histogram.record_many(ns as u64, completed / 200 + more);
    }
    histogram
}

fn warnings_of(made: &SampleService) -> Vec<Warning> {
    if made.name == "go-gorilla" {
        vec![Warning::new(
            WarningKind::MissingHeader,
            format!("no Date header {HOSTILE}"),
        )]
    } else {
        Vec::new()
    }
}

fn connections() -> Connections {
    Connections {
        asked: 64,
        established: 64,
        ..Connections::default()
    }
}

fn generator() -> Generator {
    Generator {
        threads: 1,
        cpu_s: 2.0,
        busiest_thread: 0.5,
        transport: "epoll".to_owned(),
        saturated: false,
    }
}

fn recording(made: &SampleService, load: &Value, throughput: f64, wobble: f64) -> Recording {
    let completed = (throughput * SECONDS as f64) as u64;
    let histogram = response_times(made, completed, wobble);
    let requests = Requests {
        offered: completed,
        sent: completed,
        completed,
        valid: completed,
    };
    let outcomes = Outcomes {
        valid: completed,
        ..Outcomes::default()
    };
    Recording {
        schema: SCHEMA,
        target: "http://127.0.0.1:43210".to_owned(),
        protocol: "http1".to_owned(),
        load: load.clone(),
        duration_s: SECONDS as f64,
        requests,
        throughput_per_s: throughput,
        goodput_per_s: throughput,
        outcomes,
        status_codes: [("200".to_owned(), completed)].into(),
        bytes: BytesMoved {
            sent: completed * 60,
            received: completed * 120,
        },
        offered_per_s: Some(throughput),
        sent_per_s: Some(throughput),
        coverage: Coverage::EveryRequest,
        response_time_ns: histogram.summary().map(Into::into),
        valid_time_ns: histogram.summary(),
        service_time_ns: histogram.summary(),
        operations: vec![OperationRecording {
            name: "hello".to_owned(),
            requests,
            outcomes,
            response_time_ns: histogram.summary().map(Into::into),
            valid_time_ns: histogram.summary(),
            histogram: histogram.encode(),
            open_histogram: String::new(),
        }],
        connections: connections(),
        generator: generator(),
        intervals: (0..SECONDS as u32)
            .map(|second| interval(second, throughput))
            .collect(),
        distributions: (0..SECONDS as u32)
            .map(|second| Distribution::of(f64::from(second), 1.0, &CompactHistogram::of(&histogram)))
            .collect(),
        histogram: histogram.encode(),
        warnings: warnings_of(made),
        ..Recording::default()
    }
}
