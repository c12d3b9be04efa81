//! `prony compare` on a store with sample runs.

use crate::common::stderr_of;
use crate::made::{keep, prony, sample};
use prony_records::{RunRecord, TrialRecord};
use prony_store::Store;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A store with the sample run as `base-run`, and as `new-run` with all throughputs multiplied by `factor`.
fn filled(folder: &Path, factor: f64, change: impl Fn(&mut RunRecord)) -> PathBuf {
    let path = folder.join("store.db");
    let store = Store::open(&path).expect("opens");
    let mut run = sample::run();
    run.id = String::from("base-run");
    keep(&store, &run, &sample::trials());
    for (year, wobble) in [(2021, 1.01), (2022, 0.99), (2023, 1.02)] {
        let mut earlier = sample::run();
        earlier.id = format!("earlier-{year}");
        earlier.started_at = earlier.started_at.replace("2026", &year.to_string());
        keep(&store, &earlier, &times(wobble));
    }
    run.id = String::from("new-run");
    run.started_at = run.started_at.replace("2026", "2027");
    change(&mut run);
    keep(&store, &run, &times(factor));
    path
}

fn times(factor: f64) -> Vec<TrialRecord> {
    let mut trials = sample::trials();
    for measurement in trials.iter_mut().filter_map(|trial| trial.result.as_mut().ok()) {
        measurement.recording.throughput_per_s *= factor;
        measurement.recording.goodput_per_s *= factor;
    }
    trials
}

#[test]
fn json_has_a_word_of_its_own_and_a_folder_takes_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |_| {});
    let long = json(&prony(
        &store,
        &["compare", "base-run", "new-run", "--format", "json"],
    ));
    let short = json(&prony(&store, &["compare", "base-run", "new-run", "--json"]));
    assert_eq!(long, short);
    let out = format!("{}/out/", folder.path().display());
    let written = prony(
        &store,
        &["compare", "base-run", "new-run", "--json", "--out", &out],
    );
    assert!(written.status.success(), "{written:?}");
    let text = std::fs::read_to_string(folder.path().join("out/comparison.json")).expect("written");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), long);
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON alone on standard output")
}

/// Text whose lines are joined, because long lines are wrapped.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each change with its verdict, and its ratio.
fn changes(found: &Value) -> Vec<(String, f64)> {
    let list = |value: &Value, key: &str| value[key].as_array().expect("a list").clone();
    let services = list(found, "groups")
        .into_iter()
        .flat_map(|group| list(&group, "services"));
    let named = services.flat_map(|service| {
        let name = service["service"].clone();
        list(&service, "changes").into_iter().map(move |change| {
            let title = format!("{name} {} {}", change["metric"], change["verdict"]);
            (title, change["ratio"]["point"].as_f64().expect("a number"))
        })
    });
    named.collect()
}

#[test]
fn two_runs_alone_gate_nothing_and_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 0.5, |_| {});
    let output = prony(&store, &["compare", "base-run", "new-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.starts_with("NOT GATED: new-run against base-run: ")
            && text.contains("the intervals do not cover how the machine varies"),
        "{text}"
    );
    let found = json(&prony(
        &store,
        &["compare", "base-run", "new-run", "--format", "json"],
    ));
    assert_eq!(
        (&found["gates"], &found["regressed"]),
        (&false.into(), &false.into())
    );
}

/// Earlier runs were within 2 % of each other: half the throughput is a regression, but a difference of 2 % is not.
#[test]
fn a_slowdown_beyond_the_history_fails_with_code_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 0.5, |_| {});
    let output = prony(
        &store,
        &["compare", "base-run", "new-run", "--history", "--format", "json"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let found = json(&output);
    assert_eq!(found["regressed"], true);
    assert_eq!(
        (&found["verdict"], &found["exit"]),
        (&"regression".into(), &3.into())
    );
    let headline = found["headline"].as_str().expect("text");
    assert!(
        headline.starts_with("REGRESSION: ") && headline.contains(" slower than in base-run (limit 0 %): "),
        "{headline}"
    );
    let change = &found["groups"][0]["services"][0]["changes"][0];
    assert!(
        change["ratio"]["low"].as_f64() < Some(0.5) && change["ratio"]["high"].as_f64() > Some(0.5),
        "{change}"
    );
    let allowed = prony(
        &store,
        &[
            "compare",
            "base-run",
            "new-run",
            "--history",
            "--max-slowdown",
            "60%",
        ],
    );
    assert_eq!(allowed.status.code(), Some(0), "{}", stderr_of(&allowed));
    let little = tempfile::tempdir().expect("a folder");
    let store = filled(little.path(), 0.98, |_| {});
    let usual = prony(
        &store,
        &["compare", "base-run", "new-run", "--history", "--tie", "0"],
    );
    assert_eq!(usual.status.code(), Some(0), "{}", stderr_of(&usual));
}

/// 2 % slower than the base, as some earlier runs were: neither a regression nor proven not to be one.
#[test]
fn an_inconclusive_comparison_fails_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 0.98, |_| {});
    let compare = ["compare", "base-run", "new-run", "--history", "--tie", "0"];
    let usual = prony(&store, &compare);
    assert_eq!(usual.status.code(), Some(0), "{}", stderr_of(&usual));
    let text = String::from_utf8(usual.stdout).expect("text");
    assert!(
        text.starts_with("INCONCLUSIVE: ")
            && one_line(&text).contains(" slower than in base-run (limit 0 %)"),
        "{text}"
    );
    assert!(!text.contains("NO REGRESSION"), "{text}");
    let strict = [compare.as_slice(), &["--fail-on", "inconclusive", "--json"]].concat();
    let strict = prony(&store, &strict);
    assert_eq!(strict.status.code(), Some(3), "{}", stderr_of(&strict));
    let found = json(&strict);
    assert_eq!(
        (&found["regressed"], &found["inconclusive"]),
        (&false.into(), &true.into())
    );
    let allowed = [
        compare.as_slice(),
        &["--max-slowdown", "60%", "--fail-on", "inconclusive"],
    ]
    .concat();
    let allowed = prony(&store, &allowed);
    assert_eq!(allowed.status.code(), Some(0), "{}", stderr_of(&allowed));
    assert!(String::from_utf8_lossy(&allowed.stdout).starts_with("NO REGRESSION: "));
}

/// If nothing is gated, two runs have not shown that nothing became slower.
#[test]
fn what_is_not_gated_is_inconclusive_for_a_strict_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |_| {});
    let strict = prony(
        &store,
        &["compare", "base-run", "new-run", "--fail-on", "inconclusive"],
    );
    assert_eq!(strict.status.code(), Some(3), "{}", stderr_of(&strict));
}

#[test]
fn the_same_run_shows_no_regression_as_markdown() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |_| {});
    let output = prony(&store, &["compare", "base-run", "new-run", "--format", "md"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.starts_with("### NOT GATED: ") && text.contains("| rust-axum/"),
        "{text}"
    );
}

#[test]
fn other_machines_are_refused_by_name_unless_forced() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |run| {
        run.environment.kernel = Some("another kernel".to_owned());
    });
    let refused = prony(&store, &["compare", "base-run", "new-run"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr_of(&refused).contains("kernel") && stderr_of(&refused).contains("another kernel"),
        "{}",
        stderr_of(&refused)
    );
    let forced = prony(
        &store,
        &["compare", "base-run", "new-run", "--force", "--format", "json"],
    );
    assert_eq!(forced.status.code(), Some(0), "{}", stderr_of(&forced));
    assert_eq!(json(&forced)["mismatches"][0]["what"], "kernel");
}

#[test]
fn an_exported_report_is_as_good_as_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 0.5, |_| {});
    let exported = prony(
        &store,
        &["report", "base-run", "--format", "json", "--out", "base.json"],
    );
    assert!(exported.status.success(), "{}", stderr_of(&exported));
    let of_file = prony(
        &store,
        &["compare", "base.json", "new-run", "--history", "--format", "json"],
    );
    let of_run = prony(
        &store,
        &["compare", "base-run", "new-run", "--history", "--format", "json"],
    );
    assert_eq!(of_file.status.code(), Some(3), "{}", stderr_of(&of_file));
    // As text, numbers keep all digits except the last.
    let (of_file, of_run) = (changes(&json(&of_file)), changes(&json(&of_run)));
    assert_eq!(of_file.len(), of_run.len());
    for ((name, ratio), (other, same)) in of_file.iter().zip(&of_run) {
        assert_eq!(name, other);
        assert!((ratio / same - 1.0).abs() < 1e-9, "{name}: {ratio}, not {same}");
    }
}

#[test]
fn what_is_no_run_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |_| {});
    std::fs::write(folder.path().join("no.json"), "{}").expect("writes");
    for wrong in ["nothing", "missing.json", "no.json"] {
        let output = prony(&store, &["compare", wrong, "new-run"]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", stderr_of(&output));
        assert!(!stderr_of(&output).contains("panicked"), "{wrong}");
    }
}
