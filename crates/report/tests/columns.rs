//! What the tables show beyond the metrics of a load: the cost over a baseline and of TLS, the memory of connections, and starts.

use crate::sample;
use prony_records::{CheckMatrix, Footprint, Measurement, ServiceCheck, StartFiles, SteadyRate, TrialRecord};
use prony_report::{Format, Input, Report, TerminalStyle, page_data, render};
use prony_statistics::{Options, summarise};
use serde_json::{Value, json};

/// The sample's trials under its closed load, with this contract and load.
fn trials(contract: &str, load: &Value, change: impl Fn(&TrialRecord, &mut Measurement)) -> Vec<TrialRecord> {
    let mut all = sample::trials();
    all.retain(|trial| trial.load["kind"] == "closed");
    for trial in &mut all {
        contract.clone_into(&mut trial.contract);
        contract.clone_into(&mut trial.workload);
        trial.load.clone_from(load);
        let before = trial.clone();
        if let Ok(measured) = &mut trial.result {
            measured.recording.load = load.clone();
            change(&before, measured);
        }
    }
    all
}

fn closed(connections: u64) -> Value {
    json!({ "kind": "closed", "connections": connections, "in_flight": 1 })
}

/// Calls of servers with a package, and of one without: that is the baseline of the others, one of which has a compiler.
fn over_baseline(connections: u64) -> Vec<TrialRecord> {
    let mut all = trials("mcp", &closed(connections), |trial, measured| {
        let bytes = 9_000_000 + 41_000 * connections + 1_000 * u64::from(trial.round) * connections / 100;
        measured.service.memory_bytes_mean = Some(bytes);
        if trial.service.service == "go-gorilla" {
            measured.service.compiler_cpu_ns = measured.service.cpu_ns.map(|cpu_ns| cpu_ns / 5);
        }
    });
    for trial in &mut all {
        let is_baseline = trial.service.service == "rust-axum";
        trial.baseline = (!is_baseline).then(|| "rust-axum/current".to_owned());
    }
    all
}

/// A connection for each request, in clear or over TLS, which costs a half more.
fn over(channel: &str) -> Vec<TrialRecord> {
    let mut load = closed(16);
    load["over"] = channel.into();
    load["requests_per_connection"] = 1.into();
    trials("hello", &load, |trial, measured| {
        if channel == "https1" {
            let cost = 1.5 + 0.01 * f64::from(trial.round);
            measured.service.cpu_ns = measured.service.cpu_ns.map(|ns| (ns as f64 * cost) as u64);
            measured.recording.goodput_per_s /= cost;
        }
    })
}

fn start(measures: &str) -> Vec<TrialRecord> {
    let mut load = json!({ "kind": "start", "measures": measures });
    if matches!(measures, "memory" | "steady_rate") {
        load["load"] = closed(16);
        load["duration_ns"] = 10_000_000_000u64.into();
        load["rest_ns"] = 2_000_000_000u64.into();
    }
    let rank_by = match measures {
        "memory" => "memory_bytes_idle",
        "steady_rate" => "steady_rate_s",
        _ => "start_ms",
    };
    let mut all = trials("hello", &load, |trial, measured| {
        let round = u64::from(trial.round);
        let place = 1 + trial.service.service.len() as u64 % 5;
        let used = |bytes: u64| Footprint {
            cpu_ns: Some(3_000_000 + 10_000 * round),
            memory_bytes: Some(place * bytes + 4096 * round),
            anonymous_bytes: Some(bytes / 2 + 4096 * round),
            file_bytes: Some(bytes / 4 + 4096 * round),
        };
        let start_up = &mut measured.start_up;
        start_up.first_reply = Some(used(5_000_000));
        match measures {
            "memory" => {
                start_up.idle = Some(used(5_500_000));
                start_up.after_load = Some(used(8_000_000));
            }
            "steady_rate" => {
                start_up.steady_rate = Some(SteadyRate {
                    after_s: Some(place as f64 + 0.1 * round as f64),
                    limit_s: 20.0,
                });
            }
            _ => {
                measured.files = Some(StartFiles {
                    artefact_used_bytes: Some(4_000_000 + round),
                    artefact_bytes: Some(9_000_000 + round),
                    resident_share: None,
                    dropped_all: false,
                    ..StartFiles::default()
                });
            }
        }
    });
    for trial in &mut all {
        trial.rank_by = Some(rank_by.to_owned());
    }
    all
}

/// One service has all traits, another lacks one, and the third was not checked.
fn checks() -> CheckMatrix {
    let check = |service: &str, traits: Option<&[(&str, bool)]>| ServiceCheck {
        service: service.to_owned(),
        variant: "current".to_owned(),
        contract: "mcp".to_owned(),
        protocol: None,
        passed: traits.is_some(),
        cases: vec!["ids of every kind".to_owned()],
        operations: std::collections::BTreeMap::new(),
        failures: Vec::new(),
        warnings: Vec::new(),
        traits: traits
            .into_iter()
            .flatten()
            .map(|&(name, has)| (name.to_owned(), has))
            .collect(),
        skipped: Vec::new(),
        unavailable: traits.is_none().then(|| "no Python here".to_owned()),
        took_ms: None,
    };
    CheckMatrix {
        schema: prony_records::SCHEMA,
        services: vec![
            check(
                "rust-axum",
                Some(&[("errors are JSON", true), ("ids stay numbers", true)]),
            ),
            check(
                "go-nethttp",
                Some(&[("errors are JSON", false), ("ids stay numbers", true)]),
            ),
            check("python-flask", None),
        ],
    }
}

fn report() -> Report {
    let groups = [
        over_baseline(16),
        over_baseline(512),
        over("http1"),
        over("https1"),
        start("warm"),
        start("cold"),
        start("memory"),
        start("steady_rate"),
    ];
    let mut all: Vec<TrialRecord> = groups.into_iter().flatten().collect();
    for (number, trial) in all.iter_mut().enumerate() {
        trial.number = number as u32;
    }
    let summary = summarise(&all, &Options::default()).expect("sound trials");
    let mut services = sample::services();
    "gorilla/mux".clone_into(&mut services[2].title);
    Report::new(&Input {
        run: &sample::run(),
        trials: &all,
        summary: &summary,
        services: &services,
        references: &[],
        checks: Some(&checks()),
        running: false,
    })
    .expect("sound records")
}

/// The headings of the ranking of each group, without rank, service, version and class.
fn heads(markdown: &str) -> Vec<Vec<String>> {
    let lines = markdown.lines().filter(|line| line.starts_with("| rank |"));
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|').map(str::trim);
        let own = cells.filter(|head| !["rank", "service", "version", "class"].contains(head));
        own.map(str::to_owned).collect()
    };
    lines.map(cells).collect()
}

#[test]
fn tables_show_what_is_derived_of_a_group() {
    let report = report();
    let markdown = render(&report, Format::Markdown, TerminalStyle::default()).expect("renders");
    let heads = heads(&markdown);
    assert_eq!(heads.len(), report.groups.len());
    for (part, count) in [
        ("CPU over baseline, ", 2),
        ("memory per connection, ", 1),
        ("compiler, %", 2),
        ("CPU, TLS ÷ clear", 1),
        ("goodput, TLS ÷ clear", 1),
        ("CPU/handshake, ", 1),
        ("start-up, CPU", 3),
        ("artefact", 2),
        ("after load", 1),
        ("steady rate", 1),
    ] {
        let found = heads.iter().flatten().filter(|head| head.contains(part)).count();
        assert_eq!(found, count, "{part}: {heads:#?}");
    }
}

/// The tests of the page read its data, with the headings of the tables, none of which the page may lack.
#[test]
fn the_page_tests_read_the_headings_of_tables() {
    let report = report();
    let markdown = render(&report, Format::Markdown, TerminalStyle::default()).expect("renders");
    let mut data = page_data(&report).expect("plain data");
    // Charts are tested with other data.
    let groups = data["groups"].as_array_mut().into_iter().flatten();
    let rows = groups.flat_map(|group| group["services"].as_array_mut().into_iter().flatten());
    for row in rows.filter(|row| row["details"].is_object()) {
        row["details"]["series"] = Value::Null;
        row["details"]["response_time_curve"] = json!([]);
        row["details"]["response_time_density"] = json!([]);
    }
    let written = json!({ "heads": heads(&markdown), "report": data }).to_string() + "\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/columns.json");
    if std::env::var_os("PRONY_WRITE_SAMPLE").is_some() {
        std::fs::write(&file, &written).expect("writes");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == written,
        "web/tests/columns.json is stale: run this test with PRONY_WRITE_SAMPLE=1"
    );
}
