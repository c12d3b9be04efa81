//! One run in every format: the same numbers everywhere, and no text of a service becomes markup.

use crate::sample::{self, HOSTILE, report};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_records::{AfterLoad, Histogram, Messages, Resources};
use prony_report::{
    CheckRun, Format, Input, Report, TerminalStyle, charts, interval_log, junit, page, page_data,
    percentile_tables, render,
};
use prony_schema::Schema;
use prony_statistics::{Options, Summary, summarise};
use serde_json::Value;

fn text(format: Format) -> String {
    render(&report(), format, TerminalStyle::default()).expect("renders")
}

fn fits(shown: &str, columns: usize) {
    let wide = shown.lines().find(|line| line.chars().count() > columns);
    assert_eq!(wide, None, "wider than {columns} columns:\n{shown}");
}

#[test]
fn terminals_of_usual_widths() {
    let shown = [60, 80, 120].map(|columns| {
        let look = TerminalStyle {
            columns,
            ..TerminalStyle::default()
        };
        let shown = render(&report(), Format::Terminal, look).expect("renders");
        fits(&shown, columns);
        assert!(shown.contains("class") && shown.contains(" micro "), "{shown}");
        format!("{columns} columns:\n{shown}")
    });
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn terminal() {
    let shown = text(Format::Terminal);
    fits(&shown, 100);
    assert!(
        !shown.contains('\u{1b}'),
        "an escape sequence although colour is off"
    );
    insta::assert_snapshot!(shown);
}

#[test]
fn terminal_with_colour_and_room() {
    let look = TerminalStyle {
        colour: true,
        columns: 140,
    };
    insta::assert_snapshot!(render(&report(), Format::Terminal, look).expect("renders"));
}

#[test]
fn markdown() {
    let shown = text(Format::Markdown);
    // Inside a fence everything is text; outside of it a tag would be markup.
    let outside: String = shown.split("```").step_by(2).collect();
    assert!(!outside.contains("<script"), "a tag:\n{outside}");
    let bars: String = shown.split("```").skip(1).step_by(2).collect();
    fits(&bars, 80);
    assert!(
        shown.contains("| version | class |") && shown.contains("| 1.2.3 | micro |"),
        "{shown}"
    );
    insta::assert_snapshot!(shown);
}

/// A comment has room for the first services, and tables are never cut inside a row.
#[test]
fn short_markdown() {
    let mut many = report();
    let shown = render(&many, Format::GithubMarkdown(2), TerminalStyle::default()).expect("renders");
    assert!(shown.contains("2 services more in the whole report."), "{shown}");
    let rows = shown
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| rank"));
    assert_eq!(rows.count(), 2 * many.groups.len(), "{shown}");
    let group = many.groups[0].clone();
    many.groups = vec![group; 500];
    let shown = render(&many, Format::GithubMarkdown(100), TerminalStyle::default()).expect("renders");
    assert!(shown.chars().count() < 61_000, "{}", shown.chars().count());
    assert!(
        shown.ends_with("left out: this is as much as fits into a comment.\n"),
        "{shown}"
    );
}

#[test]
fn csv() {
    let shown = text(Format::Csv);
    let mut reader = csv::Reader::from_reader(shown.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("well formed")).collect();
    let of = |service: &str| rows.iter().filter(|row| &row[4] == service).count();
    assert!(of("rust-axum") > 20 && of("python-flask") == 2);
    assert!(rows.iter().any(|row| &row[6] == HOSTILE));
    insta::assert_snapshot!(shown.lines().take(12).collect::<Vec<_>>().join("\n"));
}

#[test]
fn json() {
    let mut shown: Value = serde_json::from_str(&text(Format::Json)).expect("JSON");
    assert_eq!(shown["schema"], 2);
    let row = &shown["groups"][0]["services"][0];
    assert_eq!(
        (row["service"].as_str(), row["rank"].as_u64()),
        (Some("rust-axum"), Some(1))
    );
    for key in [
        "throughput_per_s",
        "response_time_ns_p99",
        "cpu_ns_per_request",
        "memory_bytes_peak",
        "start_ms",
    ] {
        for part in ["point", "low", "high", "confidence"] {
            assert!(row[key][part].is_number(), "{key}.{part} is missing: {row}");
        }
    }
    for key in ["variant", "tied_with", "bytes_per_reply", "trials", "warnings"] {
        assert!(!row[key].is_null(), "{key} is missing");
    }
    let excluded = &shown["groups"][0]["services"][3];
    assert_eq!(excluded["excluded"]["stage"], "check");
    shown["groups"] = Value::Null;
    insta::assert_json_snapshot!("json_report", shown);
}

/// A report and its schema must fit; a report without a promised key must not.
#[test]
fn json_fits_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../docs/schema/report.json")).expect("JSON");
    let schema = Schema::compile(&schema).expect("a schema");
    let mut shown: Value = serde_json::from_str(&text(Format::Json)).expect("JSON");
    assert_eq!(schema.judge(&shown), Ok(()));
    let row = shown["groups"][0]["services"][0].as_object_mut().expect("a row");
    row.remove("throughput_per_s");
    assert!(schema.judge(&shown).is_err(), "the schema misses nothing");
}

/// A backing service is named where its CPU time is shown, and checks in it after the load are reported.
#[test]
fn backing_services() {
    let mut trials = sample::trials();
    for trial in &mut trials {
        let Ok(measured) = &mut trial.result else { continue };
        let cpu_ns = 40_000 * measured.recording.requests.completed;
        let beside = |title: &str| {
            serde_json::from_value(serde_json::json!({
                "name": title.to_lowercase(), "uses": "db", "title": title, "version": null,
                "resources": Resources { cpu_ns: Some(cpu_ns), ..Resources::default() },
            }))
            .expect("a backing service")
        };
        measured.backing_services = vec![beside("PostgreSQL"), beside("Redis")];
        measured.after = vec![AfterLoad {
            name: "none is lost".to_owned(),
            backing_service: "postgresql".to_owned(),
            equals: "before + make.201".to_owned(),
            before: 10,
            low: 30,
            high: 32,
            found: 31,
            uncertain: 2,
        }];
    }
    let report = sample::report_of(&trials);
    let wide = TerminalStyle {
        columns: 140,
        ..TerminalStyle::default()
    };
    for (format, head) in [
        (Format::Terminal, "PostgreSQL + Redis CPU/req, µs"),
        (Format::Markdown, "PostgreSQL + Redis CPU/request, µs"),
    ] {
        let shown = render(&report, format, wide).expect("renders");
        assert!(shown.contains(head), "{shown}");
        assert!(shown.contains("80.0"), "{shown}");
    }
    let of_columns = |columns| {
        let look = TerminalStyle {
            columns,
            ..TerminalStyle::default()
        };
        render(&report, Format::Terminal, look).expect("renders")
    };
    fits(&of_columns(80), 80);
    // If even the heading does not fit, the short one is used.
    let shown = of_columns(64);
    assert!(shown.contains("backing CPU/req, µs"), "{shown}");
    let shown: Value =
        serde_json::from_str(&render(&report, Format::Json, wide).expect("renders")).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../../../docs/schema/report.json")).expect("JSON");
    assert_eq!(Schema::compile(&schema).expect("a schema").judge(&shown), Ok(()));
    assert_eq!(
        shown["groups"][0]["backing_services"],
        serde_json::json!(["PostgreSQL", "Redis"])
    );
    let row = &shown["groups"][0]["services"][0];
    assert_eq!(
        row["backing_service_cpu_ns_per_request"]["point"]
            .as_f64()
            .map(f64::round),
        Some(80_000.0)
    );
    assert_eq!(row["details"]["points"][0]["after"][0]["found"], 31);
}

/// For streams, messages per second and the time to the first message follow the rate.
#[test]
fn messages_of_streams() {
    let mut trials = sample::trials();
    for trial in &mut trials {
        let Ok(measured) = &mut trial.result else { continue };
        let recording = &mut measured.recording;
        let warm_up = measured.steadiness.iter_mut().flat_map(|one| &mut one.intervals);
        for interval in recording.intervals.iter_mut().chain(warm_up) {
            interval.messages = Some(100 * interval.completed);
        }
        recording.messages = Some(Messages {
            received: 100 * recording.requests.completed,
            per_s: 100.0 * recording.goodput_per_s,
            first_ns: recording.valid_time_ns,
            last_ns: None,
            gap_ns: recording.valid_time_ns,
            ids: None,
            streams: None,
            llm: None,
            rooms: None,
        });
    }
    let report = sample::report_of(&trials);
    let wide = TerminalStyle {
        columns: 200,
        ..TerminalStyle::default()
    };
    for (format, messages) in [
        (Format::Terminal, "messages/s"),
        (Format::Markdown, "messages, /s"),
    ] {
        let shown = render(&report, format, wide).expect("renders");
        for head in [messages, "first message, p50", "first message, p99"] {
            assert!(shown.contains(head), "{head}: {shown}");
        }
    }
    let shown: Value =
        serde_json::from_str(&render(&report, Format::Json, wide).expect("renders")).expect("JSON");
    let row = &shown["groups"][0]["services"][0];
    let point = |key: &str| row[key]["point"].as_f64().expect("an estimate");
    let ratio = point("messages_per_s") / point("goodput_per_s");
    assert!((99.0..101.0).contains(&ratio), "{ratio}");
    assert!(point("first_message_ns_p50") > 0.0);
    let schema: Value = serde_json::from_str(include_str!("../../../docs/schema/report.json")).expect("JSON");
    assert_eq!(Schema::compile(&schema).expect("a schema").judge(&shown), Ok(()));
    // The page draws the messages of each trial, and their number over time.
    let data = page_data(&report).expect("plain data");
    let details = &data["groups"][0]["services"][0]["details"];
    assert!(
        details["points"][0]["messages"]["gap_ns"]["p99"].is_u64(),
        "{details}"
    );
    let series = details["series"]["intervals"].as_array().expect("intervals");
    assert!(series[0]["at_s"].as_f64() < Some(0.0), "{details}");
    for interval in series {
        let of = |key: &str| interval[key].as_f64().expect("a rate");
        let ratio = of("messages_per_s") / of("throughput_per_s");
        assert!((99.0..101.0).contains(&ratio), "{interval}");
    }
}

#[test]
fn page_data_of_a_row() {
    let mut data = page_data(&report()).expect("plain data");
    let row = &mut data["groups"][0]["services"][0];
    for list in ["response_time_curve", "response_time_density"] {
        assert!(
            row["details"][list]
                .as_array()
                .is_some_and(|points| points.len() > 5),
            "{list}"
        );
        row["details"][list] = "points".into();
    }
    insta::assert_json_snapshot!(row);
}

#[test]
fn html() {
    let shown = page(&report()).expect("renders");
    let data = shown
        .split_once("id=\"prony-data\" type=\"application/json\">")
        .and_then(|(_, rest)| rest.split_once("</script>"))
        .expect("the data")
        .0;
    let read: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(read["services"][2]["title"], HOSTILE);
    assert!(read["groups"][0]["services"][0]["histogram"].is_null());
    assert_eq!(
        shown.matches("harmed").count(),
        data.matches("harmed").count(),
        "text outside the data"
    );
}

#[test]
fn svg() {
    let all = charts(&report());
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..3],
        [
            "1-hello-hello-throughput",
            "1-hello-hello-p99",
            "1-hello-hello-percentiles"
        ]
    );
    assert!(
        all.iter()
            .all(|(_, svg)| !svg.contains("<script") && !svg.contains('\u{1b}'))
    );
    insta::assert_snapshot!(all[0].1);
    insta::assert_snapshot!("percentiles", all[2].1);
}

#[test]
fn prometheus() {
    let shown = text(Format::Prometheus);
    for line in shown.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(value.parse::<f64>().is_ok(), "no number: {line}");
    }
    for sample in [
        "prony_response_time_p99_seconds{",
        "prony_response_time_p99_low_seconds{",
        "prony_memory_peak_high_bytes{",
        "prony_goodput_per_second{",
        "prony_start_seconds{",
        "prony_cpus_busy{",
        "prony_generator_bound{",
        "prony_last_run_timestamp_seconds{suite=",
    ] {
        assert!(shown.contains(&format!("\n{sample}")), "{sample}");
    }
    let run = report().run;
    let with_run: Vec<&str> = shown.lines().filter(|line| line.contains(&run)).collect();
    assert_eq!(with_run.len(), 1, "a run starts no new series: {with_run:?}");
    insta::assert_snapshot!(shown.lines().take(24).collect::<Vec<_>>().join("\n"));
}

#[test]
fn opentelemetry() {
    let shown: Value = serde_json::from_str(&text(Format::OpenTelemetry)).expect("JSON");
    let metrics = &shown["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let point = &metrics[0]["gauge"]["dataPoints"][0];
    assert_eq!(point["timeUnixNano"], "1795250160000000000");
    let metrics: std::collections::BTreeMap<&str, &Value> = metrics
        .as_array()
        .expect("metrics")
        .iter()
        .map(|metric| (metric["name"].as_str().expect("a name"), metric))
        .collect();
    for (name, unit) in [
        ("prony.throughput", "{reply}/s"),
        ("prony.offered", "{request}/s"),
        ("prony.response_time_p99", "s"),
        ("prony.response_time_p99.low", "s"),
        ("prony.memory_peak", "By"),
        ("prony.start", "s"),
        ("prony.rank", ""),
        ("prony.excluded", ""),
        ("prony.generator_bound", ""),
    ] {
        assert_eq!(metrics[name]["unit"], unit, "{name}");
    }
    for name in metrics.keys() {
        let has_unit = name
            .split(['.', '_'])
            .any(|word| matches!(word, "ns" | "ms" | "s" | "bytes"));
        assert!(!has_unit, "the unit has a field of its own: {name}");
    }
    let excluded = metrics["prony.excluded"]["gauge"]["dataPoints"]
        .as_array()
        .expect("points");
    let reason = |point: &Value| {
        let mut attributes = point["attributes"].as_array().into_iter().flatten();
        attributes.any(|attribute| attribute["key"] == "prony.excluded.reason")
    };
    assert!(
        excluded
            .iter()
            .all(|point| (point["asInt"] == "1") == reason(point))
    );
    insta::assert_json_snapshot!(metrics["prony.throughput"]);
}

#[test]
fn junit_of_checks() {
    let report = report();
    let mut checks = report.checks.clone().expect("checked");
    checks.services[0].took_ms = Some(1_500);
    let shown = junit(&checks, CheckRun::of(&report));
    for part in [
        " time=\"1.500\"",
        " timestamp=\"2026-",
        " hostname=\"localhost\"",
        "name=\"prony.run\"",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn an_incomparable_figure_is_listed_without_ours() {
    let reference = sample::REFERENCE.replace("notes = [", "incomparable = \"it had eight CPUs\"\nnotes = [");
    let report = sample::report_with(&sample::trials(), &reference);
    assert_eq!(sample::report().agreement[0].services, 3);
    assert_eq!(report.agreement[0].services, 2);
    let row = report.reference.iter().find(|row| row.name == "net/http");
    let row = row.expect("a row");
    assert!((row.figures[0].published - 140_000.0).abs() < f64::EPSILON);
    assert_eq!(row.figures[0].ours, None);
    assert_eq!(row.notes, ["it had eight CPUs", "made up"]);
}

#[test]
fn a_run_without_a_trial_is_a_report_too() {
    let run = sample::run();
    let empty = Report::new(&Input {
        run: &run,
        trials: &[],
        summary: &Summary::default(),
        services: &[],
        references: &[],
        checks: None,
        running: true,
    })
    .expect("renders");
    for format in [
        Format::Terminal,
        Format::Markdown,
        Format::Csv,
        Format::Json,
        Format::Html,
        Format::Svg,
    ] {
        render(&empty, format, TerminalStyle::default()).expect("renders");
    }
    let shown = render(&empty, Format::Terminal, TerminalStyle::default()).expect("renders");
    assert!(shown.contains("No trial has ended yet"), "{shown}");
}

#[test]
fn one_round_has_no_interval_and_is_explained() {
    let run = sample::run();
    let trials: Vec<_> = sample::trials()
        .into_iter()
        .filter(|trial| trial.round == 0)
        .collect();
    let summary = summarise(&trials, &Options::default()).expect("sound trials");
    let single = Report::new(&Input {
        run: &run,
        trials: &trials,
        summary: &summary,
        services: &sample::services(),
        references: &[],
        checks: None,
        running: false,
    })
    .expect("renders");
    let shown = render(&single, Format::Terminal, TerminalStyle::default()).expect("renders");
    assert!(shown.contains("(1 trial)") && !shown.contains('±'), "{shown}");
    for format in [
        Format::Markdown,
        Format::Csv,
        Format::Html,
        Format::Svg,
        Format::Prometheus,
        Format::OpenTelemetry,
    ] {
        render(&single, format, TerminalStyle::default()).expect("renders");
    }
}

/// The tests of the page read this file: it keeps both sides of the data in step.
#[test]
fn the_page_tests_read_what_is_written() {
    let written = page_data(&report()).expect("plain data").to_string() + "\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/sample.json");
    if std::env::var_os("PRONY_WRITE_SAMPLE").is_some() {
        std::fs::write(&file, &written).expect("writes");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == written,
        "web/tests/sample.json is stale: run this test with PRONY_WRITE_SAMPLE=1"
    );
}

#[test]
fn hdr_histogram_reads_the_log_of_the_trials() {
    let trials = sample::trials();
    let text = interval_log(&trials).expect("writes");
    let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(text.as_bytes())
        .collect::<Result<_, _>>()
        .expect("HdrHistogram reads it");
    let intervals: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        })
        .collect();
    let measured: Vec<_> = trials.iter().filter(|trial| trial.result.is_ok()).collect();
    assert_eq!(intervals.len(), measured.len());
    for interval in intervals {
        let tag = interval.tag().expect("a tag");
        assert!(
            measured.iter().any(|trial| {
                let recorded = trial.result.as_ref().expect("measured");
                tag.as_str().ends_with(&trial.service.to_string())
                    && recorded.recording.histogram == interval.encoded_histogram()
            }),
            "{}",
            tag.as_str()
        );
        let histogram = Histogram::decode(interval.encoded_histogram()).expect("decodes");
        let max = histogram.quantile(1.0).expect("not empty") as f64 / 1e6;
        assert!((interval.max() - max).abs() < 1e-6);
        assert!(interval.duration().as_secs() == 4);
    }
}

#[test]
fn percentiles_of_each_service_are_a_table() {
    let report = report();
    let tables = percentile_tables(&report).expect("writes");
    let (name, table) = &tables[0];
    assert_eq!(name, "1-rust-axum-current");
    assert!(
        table.contains("Value     Percentile TotalCount 1/(1-Percentile)"),
        "{table}"
    );
    let total: u64 = report.groups[0].services[0]
        .details
        .as_ref()
        .expect("details")
        .outcomes
        .valid;
    let last = table
        .lines()
        .rfind(|line| !line.starts_with('#'))
        .expect("a line");
    assert!(last.trim().ends_with(&total.to_string()), "{last}");
}

#[test]
fn a_page_has_the_response_times_over_time_and_the_errors() {
    let mut trials = sample::trials();
    for trial in &mut trials {
        let Ok(measured) = &mut trial.result else { continue };
        measured.recording.intervals[1].errors = 7;
    }
    let report = sample::report_of(&trials);
    let data = page_data(&report).expect("plain data");
    let series = &data["groups"][0]["services"][0]["details"]["series"];
    let failing: Vec<_> = series["intervals"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|interval| interval["errors_per_s"] == 7.0)
        .collect();
    assert_eq!(failing.len(), 1, "{series}");
    let parts = series["distributions"].as_array().expect("a list");
    assert_eq!(parts.len(), 4);
    assert!(
        parts[0]["counts"]
            .as_array()
            .is_some_and(|counts| counts.len() > 3),
        "{series}"
    );
}
