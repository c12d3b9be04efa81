//! Reports of unusual runs: limited by the generator or by a backend, loaded by users, at the confidence of JMH, with
//! services that break their contract.

use crate::sample;
use prony_records::{CheckMatrix, RunRecord, ServiceCheck, TrialRecord, Warning, WarningKind};
use prony_report::{Format, Input, Report, TerminalStyle, charts, render};
use prony_statistics::{Options, summarise};
use serde_json::{Value, json};

fn report_of(
    run: &RunRecord,
    trials: &[TrialRecord],
    confidence: f64,
    checks: Option<&CheckMatrix>,
) -> Report {
    let options = Options {
        confidence,
        ..Options::default()
    };
    let summary = summarise(trials, &options).expect("sound trials");
    Report::new(&Input {
        run,
        trials,
        summary: &summary,
        services: &sample::services(),
        references: &[],
        checks,
        running: false,
    })
    .expect("sound records")
}

fn shown(report: &Report, format: Format) -> String {
    let text = render(report, format, TerminalStyle::default()).expect("renders");
    if format == Format::Terminal {
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "wider than 100 columns:\n{text}");
    }
    text
}

/// The sample's trials under its closed load.
fn closed() -> Vec<TrialRecord> {
    let mut trials = sample::trials();
    trials.retain(|trial| trial.load["kind"] == "closed");
    trials
}

/// The line of a service, without the spaces between its cells.
fn line_of<'a>(text: &'a str, service: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.contains(service));
    line.unwrap_or_else(|| panic!("no {service}:\n{text}"))
        .split_whitespace()
        .collect()
}

#[test]
fn a_run_of_nothing_but_failures_is_a_report_too() {
    let mut trials = sample::trials();
    let failed = trials.iter().find_map(|trial| trial.result.clone().err());
    let failed = failed.expect("one of the sample fails");
    for trial in &mut trials {
        trial.result = Err(failed.clone());
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    for format in [
        Format::Csv,
        Format::Html,
        Format::Json,
        Format::OpenTelemetry,
        Format::Prometheus,
        Format::Svg,
    ] {
        shown(&report, format);
    }
    for format in [Format::Terminal, Format::Markdown] {
        let text = shown(&report, format);
        assert!(
            text.contains("No service has a number that can be ranked."),
            "{text}"
        );
        assert!(text.contains("the body is one byte"), "{text}");
    }
    let text = shown(&report, Format::Terminal);
    assert!(!text.contains("longest"), "a heading without rows:\n{text}");
}

#[test]
fn a_lower_bound_is_ranked_and_marked_in_every_format() {
    let mut trials = closed();
    for trial in &mut trials {
        if let (Ok(measured), "rust-axum") = (&mut trial.result, trial.service.service.as_str()) {
            measured.recording.generator.saturated = true;
        }
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    let terminal = shown(&report, Format::Terminal);
    let line = line_of(&terminal, "1  axum");
    assert_eq!(line[..5], ["1", "axum", "micro", "–", "≥"], "{terminal}");
    assert!(terminal.contains("Compare CPU per"), "{terminal}");
    let markdown = shown(&report, Format::Markdown);
    assert!(
        markdown.contains("| 1 | axum | 1.2.3 | micro | ≥ 7")
            && markdown.contains("**axum leads: at least 72,125 valid replies per second (± 0.6 %; the generator was the limit).**"),
        "{markdown}"
    );
    assert!(charts(&report)[0].1.contains(">≥ 7"));
    let csv = shown(&report, Format::Csv);
    assert!(
        csv.lines()
            .any(|line| line.contains("rust-axum") && line.ends_with(",true,1,1"))
    );
    let json: Value = serde_json::from_str(&shown(&report, Format::Json)).expect("JSON");
    let row = &json["groups"][0]["services"][0];
    assert_eq!((&row["generator_bound"], &row["rank"]), (&json!(true), &json!(1)));
}

/// A lower bound below other rates may be the first.
#[test]
fn a_lower_bound_is_tied_with_services_that_it_is_not_proven_worse_than() {
    let mut trials = closed();
    for trial in &mut trials {
        if let (Ok(measured), "go-nethttp") = (&mut trial.result, trial.service.service.as_str()) {
            measured.recording.generator.saturated = true;
        }
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    let markdown = shown(&report, Format::Markdown);
    assert!(
        markdown.contains("**2 services are statistically tied for first. Highest measured: axum, 72,125"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| 1–3 | Go net/http | 1.2.3 | micro | ≥ 5"),
        "{markdown}"
    );
    let data = prony_report::page_data(&report).expect("plain data");
    let tied: Vec<&Value> = data["groups"][0]["services"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["tied_with"])
        .collect();
    assert_eq!(
        tied[2],
        &json!(["rust-axum/current", "go-gorilla/current"]),
        "of the lower bound"
    );
    assert!(
        tied[..2].iter().all(|tied| tied.is_null()),
        "pairs say the same: {tied:?}"
    );
}

/// A warning on more than half of the rows stands above the ranking, with its count; other rows mark their own.
#[test]
fn a_warning_of_most_services_is_said_once_with_its_count() {
    let mut trials = closed();
    for trial in &mut trials {
        let Ok(measured) = &mut trial.result else { continue };
        let share = match trial.service.service.as_str() {
            "rust-axum" => "9",
            "go-nethttp" => "4",
            _ => continue,
        };
        let text = format!("Other programs used {share} % of the machine.");
        measured.warnings.push(Warning::new(WarningKind::Noise, text));
        if share == "9" {
            measured
                .warnings
                .push(Warning::new(WarningKind::ProtocolError, "A head was malformed."));
        }
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    let said: Vec<&str> = report.groups[0]
        .warnings
        .iter()
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(
        said,
        ["2 of 3 services: Other programs used 9 % of the machine (in 4 of 4 trials). (example: axum)"]
    );
    let markdown = shown(&report, Format::Markdown);
    assert_eq!(markdown.matches("% of the machine").count(), 1, "{markdown}");
    assert!(
        markdown.contains("| axum ⚠ |") && markdown.contains("| Go net/http |"),
        "{markdown}"
    );
}

/// A response time without a bound is no gap in a table, in a chart or in an export.
#[test]
fn what_has_no_bound_says_so_everywhere() {
    let mut trials = sample::trials();
    trials.retain(|trial| trial.load["kind"] == "open");
    for trial in &mut trials {
        if let (Ok(measured), "go-nethttp") = (&mut trial.result, trial.service.service.as_str()) {
            let recording = &mut measured.recording;
            let lost = recording.requests.valid / 20;
            recording.outcomes.timeout = lost;
            recording.requests.offered += lost;
            recording.requests.sent += lost;
            recording.response_time_ns = prony_records::Responses::of(recording)
                .expect("own histogram")
                .times();
        }
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    for format in [Format::Terminal, Format::Markdown, Format::Csv] {
        let text = shown(&report, format);
        assert!(text.contains("no bound"), "{text}");
    }
    let markdown = shown(&report, Format::Markdown);
    let is_bar = |line: &str| line.starts_with("Go net/http ") && line.ends_with("  no bound");
    assert!(markdown.lines().any(is_bar), "the bars:\n{markdown}");
    assert!(markdown.contains("**axum leads: "), "{markdown}");
    let p99 = charts(&report)
        .into_iter()
        .find(|(name, _)| name.ends_with("p99"))
        .expect("a chart");
    assert!(p99.1.contains(">no bound</text>"), "{}", p99.1);
    let data = prony_report::page_data(&report).expect("plain data");
    let rows = data["groups"][0]["services"].as_array().expect("rows");
    let lossy = rows
        .iter()
        .find(|row| row["service"] == "go-nethttp")
        .expect("it was measured");
    assert_eq!(lossy["details"]["points"][0]["response_time_ns_p99"], "no_bound");
    assert_eq!(lossy["response_time_ns_p99"]["without_bound"], 4);
}

#[test]
fn several_numbers_of_connections_are_one_table() {
    let mut trials = closed();
    for trial in &mut trials {
        trial.load["connections"] = 1_024.into();
    }
    let one = "by number of connections";
    let alone = report_of(&sample::run(), &trials, 0.95, None);
    trials.extend(closed().into_iter().map(|trial| TrialRecord {
        number: trial.number + 100,
        ..trial
    }));
    let several = report_of(&sample::run(), &trials, 0.95, None);
    let title = "hello · goodput, /s, by number of connections";
    for format in [Format::Terminal, Format::Markdown] {
        assert!(!shown(&alone, format).contains(one));
        let text = shown(&several, format);
        assert_eq!(text.matches(title).count(), 1, "{text}");
    }
    let terminal = shown(&several, Format::Terminal);
    let (_, table) = terminal.split_once(title).expect("the table");
    assert_eq!(line_of(table, "service"), ["service", "64", "1,024"]);
    assert_eq!(line_of(table, "Flask"), ["Flask", "excluded", "excluded"]);
    let markdown = shown(&several, Format::Markdown);
    assert!(
        markdown.contains("| service | 64 | 1,024 |\n|---|---:|---:|\n| axum | 72,"),
        "{markdown}"
    );
}

#[test]
fn a_start_that_serves_several_loads_is_not_called_that_of_one_trial() {
    let mut run = sample::run();
    let fresh = shown(&report_of(&run, &closed(), 0.95, None), Format::Markdown);
    assert!(fresh.contains("Every trial is a fresh start of one service."));
    run.plan = json!({ "starts": "shared" });
    let shared = shown(&report_of(&run, &closed(), 0.95, None), Format::Markdown);
    assert!(!shared.contains("Every trial is a fresh start"));
    assert!(shared.contains("a fresh start of a service serves all loads of a contract"));
}

#[test]
fn a_rank_is_a_range_only_where_the_data_cannot_tell() {
    let terminal = shown(
        &report_of(&sample::run(), &closed(), 0.95, None),
        Format::Terminal,
    );
    assert_eq!(line_of(&terminal, "axum  ")[0], "1", "{terminal}");
    assert_eq!(line_of(&terminal, "Go net/http  ")[0], "2–3", "{terminal}");
}

#[test]
fn the_ceiling_that_a_backend_sets_is_in_words_and_in_the_chart() {
    let mut run = sample::run();
    let trials = closed();
    run.plan = json!({ "groups": [{
        "contract": "hello", "workload": "hello", "load": trials[0].load, "ceiling_per_s": 80_000.0,
    }] });
    let report = report_of(&run, &trials, 0.95, None);
    for format in [Format::Terminal, Format::Markdown] {
        let text = shown(&report, format).replace('\n', " ");
        assert!(
            text.contains("more than 80,000/s here: 64 requests in flight ÷ 800 µs"),
            "{text}"
        );
    }
    assert!(charts(&report)[0].1.contains("ceiling by Little’s law: 80,000"));
    assert!(
        !charts(&report)[1].1.contains("ceiling"),
        "a response time has none"
    );
    let json: Value = serde_json::from_str(&shown(&report, Format::Json)).expect("JSON");
    assert_eq!(json["groups"][0]["ceiling_per_s"], 80_000.0);
}

#[test]
fn users_are_described_by_quantiles_and_the_cost_of_the_service() {
    let load = json!({
        "kind": "users", "requests_per_user": 100, "think_ns": 0, "max_users": 10_000,
        "arrival": { "profile": { "kind": "ramp", "from": 4.0, "to": 40.0, "over_ns": 30_000_000_000u64 }, "spacing": "even" },
    });
    let mut trials = closed();
    for trial in &mut trials {
        trial.load = load.clone();
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    let heads = ["p75, ", "p95, ", "p99, ", "longest, ", "CPU, %"];
    for (format, memory) in [(Format::Terminal, "mem, MiB"), (Format::Markdown, "memory, MiB")] {
        let text = shown(&report, format);
        for head in heads.into_iter().chain([memory]) {
            assert!(text.contains(head), "no {head}:\n{text}");
        }
    }
    let csv = shown(&report, Format::Csv);
    for metric in ["p75", "p95", "p99", "max"] {
        assert!(
            csv.contains(&format!("response_time_ns_{metric},ns,")),
            "{metric}"
        );
    }
    assert!(
        report.groups[0]
            .load_text
            .contains("users arrive, 4 rising to 40 per second over 30 s; each sends 100 requests"),
        "{}",
        report.groups[0].load_text
    );
    insta::assert_snapshot!("users", shown(&report, Format::Terminal));
}

/// At 99.9 % the report shows what JMH would: score ± error, in operations per second.
#[test]
fn a_report_at_the_confidence_of_jmh_has_its_score_and_error() {
    let report = report_of(&sample::run(), &closed(), 0.999, None);
    for format in [Format::Terminal, Format::Markdown] {
        let text = shown(&report, format);
        assert!(text.contains("score ± error at 99.9 %, op/s"), "{text}");
    }
    let jmh = &report.groups[0].services[0].summary.metrics.goodput_per_s;
    let Some(prony_statistics::Quantity::Estimated(estimated)) = jmh else {
        panic!("an estimate")
    };
    let score = estimated.jmh.expect("four trials");
    let text = shown(&report, Format::Terminal).replace(',', "");
    let thousands = format!("{:.0} ± {:.0}", score.score, score.error);
    let mut lines = text.lines().filter(|line| line.contains("1  axum"));
    assert!(
        lines.any(|line| line.contains(&thousands)),
        "{thousands} in {text}"
    );
}

#[test]
fn checks_show_failed_cases_and_warnings_separately() {
    let check = |service: &str, failed: bool, warnings: &[&str], unavailable: Option<&str>| ServiceCheck {
        service: service.to_owned(),
        variant: "current".to_owned(),
        contract: "hello".to_owned(),
        protocol: Some("http".to_owned()),
        passed: !failed && unavailable.is_none(),
        cases: if unavailable.is_some() {
            Vec::new()
        } else {
            vec!["hello".to_owned(), "unknown path".to_owned()]
        },
        operations: std::collections::BTreeMap::new(),
        traits: BTreeMap::new(),
        failures: failed
            .then(|| prony_records::CaseFailure {
                case: "unknown path".to_owned(),
                expected: "status 404".to_owned(),
                got: "status 200".to_owned(),
            })
            .into_iter()
            .collect(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        skipped: Vec::new(),
        unavailable: unavailable.map(str::to_owned),
        took_ms: None,
    };
    let matrix = CheckMatrix {
        schema: 1,
        services: vec![
            check("rust-axum", false, &["no Date header"], None),
            check("go-nethttp", true, &[], None),
            check("python-flask", false, &[], Some("no Python here")),
        ],
    };
    let markdown = shown(
        &report_of(&sample::run(), &closed(), 0.95, Some(&matrix)),
        Format::Markdown,
    );
    let (_, checks) = markdown.split_once("## Contract checks").expect("the section");
    let (checks, _) = checks.split_once("## How").expect("the next one");
    insta::assert_snapshot!("checks", checks);
}

/// Three or more workloads of one contract and load form a radar chart, which is drawn once.
#[test]
fn the_workloads_of_a_contract_are_a_radar_chart() {
    let mut all = Vec::new();
    for (index, workload) in ["listPersons", "getPerson", "createPerson"]
        .into_iter()
        .enumerate()
    {
        for mut trial in closed() {
            workload.clone_into(&mut trial.workload);
            trial.number += 100 * index as u32;
            all.push(trial);
        }
    }
    let all = charts(&report_of(&sample::run(), &all, 0.95, None));
    let radars: Vec<&(String, String)> = all.iter().filter(|(name, _)| name.ends_with("-radar")).collect();
    assert_eq!(radars.len(), 1);
    let (name, svg) = radars[0];
    assert_eq!(name, "1-hello-radar");
    assert_eq!(svg.matches("<polygon class=\"l\"").count(), 4, "rings");
    assert_eq!(
        svg.matches("fill-opacity").count(),
        3,
        "a shape for each service that gave numbers"
    );
    for workload in ["listPersons", "getPerson", "createPerson"] {
        assert!(svg.contains(&format!(">{workload}</text>")), "{workload}");
    }
}

#[test]
fn a_warning_of_every_service_is_shown_once() {
    let mut trials = closed();
    for (index, trial) in trials.iter_mut().enumerate() {
        if let Ok(measured) = &mut trial.result {
            let late = format!("1 % of the requests were sent {index} µs late");
            measured.warnings = vec![
                Warning::new(WarningKind::SharedCpus, "generator and backend share a CPU"),
                Warning::new(WarningKind::ScheduleLag, late),
            ];
        }
    }
    let report = report_of(&sample::run(), &trials, 0.95, None);
    let kinds: Vec<WarningKind> = report.groups[0].warnings.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [WarningKind::SharedCpus, WarningKind::ScheduleLag]);
    for format in [Format::Terminal, Format::Markdown] {
        let text = shown(&report, format);
        for said in ["share a CPU", " µs late"] {
            assert_eq!(text.matches(said).count(), 1, "{said}:\n{text}");
        }
        assert_eq!(
            text.matches("no Date header").count(),
            1,
            "its own stays:\n{text}"
        );
    }
}
