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

/// A store with eight runs, `r1` to `r8`: four fast ones, then four that are 28 % slower.
fn slowed_down(folder: &Path) -> PathBuf {
    let path = folder.join("store.db");
    let store = Store::open(&path).expect("opens");
    let levels = [1.0, 1.01, 0.995, 1.005, 0.72, 0.715, 0.722, 0.718];
    for (number, level) in (1..).zip(levels) {
        let mut run = sample::run();
        run.id = format!("r{number}");
        run.started_at = format!("2026-11-0{number}T08:30:00Z");
        keep(&store, &run, &times(level));
    }
    path
}

#[test]
fn a_gate_never_becomes_used_to_a_slowdown() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = slowed_down(folder.path());
    for (base, new) in [
        ("r4", "r5"),
        ("r4", "r6"),
        ("r4", "r7"),
        ("r4", "r8"),
        ("r1", "r6"),
        ("r1", "r8"),
    ] {
        let output = prony(
            &store,
            &["compare", base, new, "--history", "--max-slowdown", "5%"],
        );
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{base} {new}: {text}");
        assert!(
            text.starts_with("REGRESSION: ") && !text.contains("within the limit"),
            "{text}"
        );
    }
    let output = prony(
        &store,
        &["compare", "r7", "r8", "--history", "--max-slowdown", "10%"],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("NO REGRESSION: "), "{text}");
}

#[test]
fn a_gate_that_lost_its_history_is_inconclusive_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = slowed_down(folder.path());
    {
        let store = Store::open(&store).expect("opens");
        for number in 1..=2 {
            let mut run = sample::run();
            run.id = format!("updated-{number}");
            run.started_at = format!("2026-11-1{number}T08:30:00Z");
            run.environment.kernel = Some("6.20".to_owned());
            run.environment.prony = "0.9.0".to_owned();
            keep(&store, &run, &times(1.0));
        }
    }
    let compare = [
        "compare",
        "updated-1",
        "updated-2",
        "--history",
        "--max-slowdown",
        "10%",
    ];
    let output = prony(&store, &compare);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = one_line(&String::from_utf8_lossy(&output.stdout));
    for part in [
        "INCONCLUSIVE: ",
        "1 earlier runs in the same circumstances, 3 are needed",
        "Left out of the history: 8 earlier runs with other circumstances (kernel: 8; version of prony: 8).",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let strict = prony(
        &store,
        &[&compare[..], &["--fail-on", "inconclusive", "--json"]].concat(),
    );
    assert_eq!(strict.status.code(), Some(3), "{}", stderr_of(&strict));
    let found = json(&strict);
    assert_eq!(found["left_out_of_history"]["runs"], 8, "{found}");
    assert_eq!(
        found["left_out_of_history"]["differences"]["kernel"], 8,
        "{found}"
    );
}

/// The new run is a file, and of the runs in the store only two are older.
#[test]
fn only_runs_before_the_new_one_are_its_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = slowed_down(folder.path());
    let exported = prony(&other, &["report", "r3", "--format", "json", "--out", "new.json"]);
    assert!(exported.status.success(), "{}", stderr_of(&exported));
    let mut new: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("new.json")).expect("written"))
            .expect("JSON");
    new["run"] = "elsewhere".into();
    new["started_at"] = "2026-11-02T12:00:00Z".into();
    std::fs::write(folder.path().join("new.json"), new.to_string()).expect("writes");
    let output = prony(
        &other,
        &["compare", "r1", "new.json", "--history", "--max-slowdown", "50%"],
    );
    let text = one_line(&String::from_utf8_lossy(&output.stdout));
    assert!(
        text.starts_with("INCONCLUSIVE: ")
            && text.contains("2 earlier runs in the same circumstances, 3 are needed"),
        "{text}{}",
        stderr_of(&output)
    );
}

#[test]
fn a_comment_has_a_question_mark_where_the_allowed_change_could_not_be_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path(), 1.0, |_| {});
    let shown = |limit: &str, format: &str| {
        let compare = ["compare", "base-run", "new-run", "--history", "--max-slowdown"];
        let output = prony(&store, &[&compare[..], &[limit, "--format", format]].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    // The runs vary by 1 to 2 %.
    assert!(
        shown("1%", "github").starts_with("### ❔ "),
        "{}",
        shown("1%", "github")
    );
    assert!(
        shown("1%", "md").starts_with("### INCONCLUSIVE: "),
        "{}",
        shown("1%", "md")
    );
    assert!(
        shown("40%", "github").starts_with("### ✅ "),
        "{}",
        shown("40%", "github")
    );
}

#[test]
fn rates_have_three_significant_digits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    for (name, factor) in [("base-run", 23.3 / 72_000.0), ("new-run", 16.7 / 72_000.0)] {
        let mut run = sample::run();
        name.clone_into(&mut run.id);
        keep(&store, &run, &times(factor));
    }
    for format in ["terminal", "md", "github"] {
        let output = prony(&path, &["compare", "base-run", "new-run", "--format", format]);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("23.3") && text.contains("16.7"), "{format}: {text}");
    }
}

/// Two starts with equal counts prove no exact ratio: a rate is known to one reply.
#[test]
fn equal_counts_give_no_interval_of_width_zero() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    for (name, replies) in [("base-run", 23.0), ("new-run", 17.0)] {
        let mut run = sample::run();
        name.clone_into(&mut run.id);
        let mut trials = sample::trials();
        for measurement in trials.iter_mut().filter_map(|trial| trial.result.as_mut().ok()) {
            let recording = &mut measurement.recording;
            recording.throughput_per_s = replies / recording.duration_s;
            recording.goodput_per_s = recording.throughput_per_s;
        }
        keep(&store, &run, &trials);
    }
    let found = json(&prony(&path, &["compare", "base-run", "new-run", "--json"]));
    let change = found["groups"][0]["services"][0]["changes"]
        .as_array()
        .and_then(|changes| changes.iter().find(|change| change["metric"] == "goodput_per_s"))
        .expect("ranked by it");
    let [low, point, high] =
        ["low", "point", "high"].map(|key| change["base"][key].as_f64().expect("a number"));
    assert!(
        low <= point * (1.0 - 1.0 / 25.0) && high >= point * (1.0 + 1.0 / 23.0),
        "{change}"
    );
    let [low, high] = ["low", "high"].map(|key| change["ratio"][key].as_f64().expect("a number"));
    assert!(high / low > 1.1, "{change}");
}
