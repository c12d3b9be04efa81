//! `prony run` from outside: the real binary, with valid, faulty and crashing toy services.

use crate::common::{Checkout, CommandOutput, signal, until};
use serde_json::Value;

fn rows(report: &Value) -> &Vec<Value> {
    report["groups"][0]["services"]
        .as_array()
        .unwrap_or_else(|| panic!("no services: {report}"))
}

fn row<'a>(report: &'a Value, service: &str) -> &'a Value {
    rows(report)
        .iter()
        .find(|row| row["service"] == service)
        .unwrap_or_else(|| panic!("no {service}: {report}"))
}

fn stored_trials(checkout: &Checkout) -> u64 {
    let listed = checkout.prony(&["list", "runs", "--json"]);
    if listed.code == Some(0) {
        listed.json()["runs"][0]["trials"].as_u64().unwrap_or(0)
    } else {
        0
    }
}

#[test]
fn a_service_one_byte_short_is_excluded_with_the_reason() {
    let checkout = Checkout::new(2, &["right", "short"]);
    let ended = checkout.prony(&["run", "toys", "--json", "--seed", "1", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let right = row(&report, "toy-right");
    // On a busy machine the generator may be the limit.
    let ranked = right["rank"] == 1 || right["generator_bound"] == true;
    assert!(right["excluded"].is_null() && ranked, "{right}");
    let short = row(&report, "toy-short");
    let reason = short["excluded"]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("Hello, World!"),
        "the reason does not show what was expected: {short}"
    );
    assert_eq!(short["excluded"]["stage"], "check");
    let shown = checkout.prony(&["report"]);
    assert!(
        shown.out.contains("excluded") || shown.out.contains("Excluded"),
        "{}",
        shown.out
    );
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
}

#[test]
fn the_report_as_json_keeps_its_promise() {
    let checkout = Checkout::new(2, &["right"]);
    assert_eq!(
        checkout
            .prony(&["run", "toys", "--seed", "1", "--keep-disturbed"])
            .code,
        Some(0)
    );
    let report = checkout.prony(&["report", "--format", "json"]).json();
    for key in [
        "schema",
        "run",
        "suite",
        "environment",
        "plan",
        "groups",
        "reference",
        "warnings",
    ] {
        assert!(report.get(key).is_some(), "no `{key}`");
    }
    let group = &report["groups"][0];
    for key in ["contract", "workload", "load", "services"] {
        assert!(group.get(key).is_some(), "no `{key}` in a group");
    }
    let service = row(&report, "toy-right");
    for key in [
        "service",
        "variant",
        "rank",
        "tied_with",
        "trials",
        "warnings",
        "excluded",
    ] {
        assert!(service.get(key).is_some(), "no `{key}` in a service");
    }
    for key in [
        "throughput_per_s",
        "response_time_ns_p99",
        "cpu_ns_per_request",
        "memory_bytes_peak",
        "start_ms",
    ] {
        for part in ["point", "low", "high", "confidence"] {
            assert!(
                service[key][part].is_number(),
                "no number in `{key}.{part}`: {service}"
            );
        }
    }
    assert_eq!(service["trials"], 2);
    let page = checkout.path(&format!(
        ".prony/reports/{}/report.html",
        report["run"].as_str().expect("a name")
    ));
    assert!(
        std::fs::read_to_string(page)
            .expect("a page")
            .contains("Toy toy-right")
    );
}

#[test]
fn what_cannot_run_is_a_row_and_the_run_goes_on() {
    let checkout = Checkout::new(1, &["right", "dies", "unbuilt"]);
    checkout.add("unbuilt", r#""echo the linker is on strike >&2; exit 3""#);
    let ended = checkout.prony(&["run", "toys", "--json", "--strict", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    assert!(row(&report, "toy-right")["excluded"].is_null());
    let dies = &row(&report, "toy-dies")["excluded"];
    assert_eq!(dies["stage"], "start");
    assert!(dies["log_tail"].to_string().contains("flux capacitor"), "{dies}");
    let unbuilt = &row(&report, "toy-unbuilt")["excluded"];
    assert_eq!(unbuilt["stage"], "build");
    assert!(
        unbuilt["log_tail"].to_string().contains("linker is on strike"),
        "{unbuilt}"
    );
    assert!(ended.err.contains("1 passed, 2 failed"), "{}", ended.err);
}

/// Every toy here passes its check before and after the load, and fails some requests of the load.
#[test]
fn strict_forgives_no_request_under_load() {
    let checkout = Checkout::new(1, &["right", "overloaded", "resets", "stalls"]);
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("a suite");
    let suite = suite.replace("duration = \"300ms\"", "duration = \"1s\"\ntimeout = \"400ms\"");
    checkout.write("suites/toys.toml", &suite);
    let ended = checkout.prony(&["run", "toys", "--json", "--strict", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("1 passed, 3 failed"), "{}", ended.err);
    for (toy, what) in [
        ("overloaded", "unexpected statuses"),
        ("resets", "resets"),
        ("stalls", "timeouts"),
    ] {
        let name = format!("toy-{toy}");
        let report = ended.json();
        assert!(row(&report, &name)["excluded"].is_null(), "{ended:?}");
        let fault = format!("FAILED {name}/current hello/");
        let line = ended.err.lines().find(|line| line.starts_with(&fault));
        assert!(line.is_some_and(|line| line.contains(what)), "{}", ended.err);
    }
    // Without --strict a load with errors is an ordinary result.
    let ended = checkout.prony(&["run", "toys", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_run_in_which_all_fail_is_no_success() {
    let checkout = Checkout::new(1, &["dies", "short"]);
    let ended = checkout.prony(&["run", "toys", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("no service has a result"), "{}", ended.err);
    assert_eq!(rows(&ended.json()).len(), 2, "the report exists nevertheless");
}

#[test]
fn checks_that_are_not_kept_end_no_run() {
    let checkout = Checkout::new(2, &["right"]);
    let planned = checkout.prony(&["run", "toys", "--dry-run", "--json"]);
    assert_eq!(planned.json()["trials"], 2, "{planned:?}");
    let database = rusqlite::Connection::open(checkout.path(".prony/store.db")).expect("the store");
    let refuse = "ALTER TABLE check_matrix ADD COLUMN room INTEGER CHECK (room IS NOT NULL)";
    database.execute_batch(refuse).expect("refuses");
    drop(database);
    let ended = checkout.prony(&["run", "toys", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("the results of the checks were not stored")
            && ended.err.contains("CHECK constraint failed"),
        "{}",
        ended.err
    );
    assert_eq!(stored_trials(&checkout), 2);
    assert!(ended.json()["checks"].is_null());
}

#[test]
fn it_works_in_another_folder() {
    let checkout = Checkout::new(1, &["right"]);
    let folder = checkout.path("services");
    let elsewhere = |arguments: &[&str]| {
        let mut command = checkout.command(arguments);
        CommandOutput::of(&command.current_dir("/").output().expect("it starts"))
    };
    let here = folder.to_str().expect("text");
    for arguments in [
        ["-C", here, "list", "suites", "--json"],
        ["list", "suites", "--json", "--directory", here],
    ] {
        let listed = elsewhere(&arguments);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let suites = listed.json()["suites"].clone();
        let mut suites = suites.as_array().expect("suites").iter();
        assert!(suites.any(|suite| suite["suite"] == "toys"), "{listed:?}");
    }
    let lost = elsewhere(&["-C", "/no/such/folder", "list", "suites"]);
    assert_eq!(lost.code, Some(2), "{lost:?}");
    assert!(lost.err.contains("/no/such/folder (-C)"), "{}", lost.err);
}

#[test]
fn what_can_be_made_again_is_cleaned() {
    let checkout = Checkout::new(1, &["right"]);
    checkout.add("right", r#""date > stamp""#);
    assert_eq!(checkout.prony(&["run", "toys", "--keep-disturbed"]).code, Some(0));
    let planned = checkout.prony(&["clean", "--dry-run", "--json"]).json();
    let kinds: Vec<&str> = planned["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter_map(|entry| entry["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"builds") && kinds.contains(&"logs"), "{planned}");
    assert!(planned["bytes"].as_u64() > Some(0), "{planned}");
    let listed = checkout.prony(&["clean", "--dry-run", "builds"]);
    assert!(listed.out.contains("build/toy-right-"), "{}", listed.out);
    let builds = || {
        let builds = std::fs::read_dir(checkout.path(".prony/build")).expect("builds");
        builds.flatten().filter(|entry| entry.path().is_dir()).count()
    };
    assert_eq!(builds(), 1, "a dry run removes nothing");
    let done = checkout.prony(&["clean", "builds", "logs"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("removed "), "{}", done.out);
    assert_eq!(builds(), 0);
    assert_eq!(checkout.prony(&["report"]).code, Some(0), "runs stay");
    let again = checkout.prony(&["run", "toys", "--keep-disturbed"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn shells_and_man_know_the_commands() {
    let checkout = Checkout::new(1, &["right"]);
    for shell in ["bash", "zsh", "fish"] {
        let script = checkout.prony(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        for word in ["prony", "capacity", "keep-disturbed"] {
            assert!(script.out.contains(word), "{shell}: no {word}");
        }
    }
    let sourced = checkout.prony(&["completions", "bash"]).out;
    checkout.write("completions", &sourced);
    let bash = std::process::Command::new("bash")
        .args(["-euc", "source \"$0\"; complete -p prony"])
        .arg(checkout.path("completions"))
        .output()
        .expect("bash");
    assert!(bash.status.success(), "{bash:?}");
    let page = checkout.prony(&["man", "run"]);
    assert!(
        page.out.starts_with(".ie") || page.out.contains(".TH"),
        "{}",
        page.out
    );
    assert!(page.out.contains("keep\\-disturbed"), "{}", page.out);
    let all = checkout.path("man");
    let written = checkout.prony(&["man", "--out", all.to_str().expect("text")]);
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(all.join("prony.1").is_file() && all.join("prony-run.1").is_file());
    assert!(
        !all.join("prony-supervise.1").exists(),
        "hidden commands have no page"
    );
}

#[test]
fn one_trial_alone_has_no_interval() {
    let checkout = Checkout::new(1, &["right"]);
    let report = checkout
        .prony(&["run", "toys", "--json", "--keep-disturbed"])
        .json();
    let service = row(&report, "toy-right");
    assert!(
        service["throughput_per_s"].get("low").is_none_or(Value::is_null),
        "an invented interval: {service}"
    );
    assert!(
        service.to_string().contains("few_trials"),
        "no note about too few trials: {service}"
    );
}

#[test]
fn bad_input_ends_with_2_and_says_what_is_allowed() {
    let checkout = Checkout::new(1, &["right"]);
    for (arguments, expected) in [
        (vec!["run", "toy"], "no suite `toy`: did you mean `toys`?"),
        (
            vec!["run", "toys", "--service", "toy-rigth"],
            "no service `toy-rigth/*`: did you mean `toy-right`?",
        ),
        (vec!["run", "toys", "--profile", "smoke"], "no profile `smoke`"),
        (
            vec!["run", "toys", "--precision", "200"],
            "use a share between 0 and 1",
        ),
        (vec!["report", "yesterday"], "prony: "),
    ] {
        let ended = checkout.prony(&arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.err.contains(expected), "{arguments:?}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }
    checkout.write("suites/toys.toml", "title = \"x\"\nround = 3\n");
    let ended = checkout.prony(&["run", "toys"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .err
            .contains("unknown key `round`\n  suites/toys.toml:2:1\n"),
        "{}",
        ended.err
    );
}

#[test]
fn what_the_checks_found_is_in_the_report() {
    let checkout = Checkout::new(1, &["right", "short", "dies"]);
    let ended = checkout.prony(&["run", "toys", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let checks = ended.json()["checks"]["services"].clone();
    let rows = checks.as_array().expect("a row for each service");
    let row = |service: &str| {
        let mut own = rows.iter().filter(|row| row["service"] == service);
        let row = own.next().unwrap_or_else(|| panic!("no {service}: {checks}"));
        assert!(own.next().is_none(), "{service} twice: {checks}");
        row.clone()
    };
    assert_eq!(row("toy-right")["passed"], true);
    let cases = row("toy-right")["cases"].as_array().map_or(0, Vec::len);
    assert!(cases > 3, "{checks}");
    let short = row("toy-short");
    assert_eq!(short["passed"], false);
    assert!(short["failures"].to_string().contains("Hello, World!"), "{short}");
    let dies = row("toy-dies");
    assert_eq!(dies["passed"], false);
    assert_eq!(dies["failures"][0]["case"], "start", "{dies}");
    let junit = checkout.prony(&["report", "--format", "junit"]);
    assert_eq!(junit.code, Some(0), "{junit:?}");
    assert!(
        junit.out.contains("toy-right/current hello") && junit.out.contains("<failure"),
        "{}",
        junit.out
    );
}

#[test]
fn rounds_are_spent_on_those_whose_rank_is_open() {
    let checkout = Checkout::new(8, &["slow", "unsteady", "restless"]);
    let ended = checkout.prony(&["run", "toys", "--json", "--precision", "20%", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let trials = |service: &str| {
        let row = row(&report, service);
        row["trials"].as_u64().unwrap_or(0) + row["failed_trials"].as_u64().unwrap_or(0)
    };
    assert_eq!((trials("toy-unsteady"), trials("toy-restless")), (8, 8));
    assert!(
        (3..8).contains(&trials("toy-slow")),
        "{} trials of the slow one: {}",
        trials("toy-slow"),
        ended.err
    );
    assert!(
        ended
            .err
            .contains("continues without the services that are settled: toy-slow/current hello"),
        "{}",
        ended.err
    );
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("toy-slow/current was measured in"),
        "{warnings}"
    );
}

#[test]
fn several_builds_are_made_anew_and_told_apart() {
    let checkout = Checkout::new(4, &["right"]);
    checkout.add("right", r#""date +%s%N > stamp""#);
    let stamps = || -> Vec<String> {
        let builds = std::fs::read_dir(checkout.path(".prony/build")).expect("builds");
        let mut stamps: Vec<String> = builds
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stamp")).ok())
            .collect();
        stamps.sort();
        stamps
    };
    let run = || checkout.prony(&["run", "toys", "--builds", "2", "--json", "--keep-disturbed"]);
    let ended = run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let variation = &row(&report, "toy-right")["variation"];
    let levels: Vec<&str> = variation["components"]
        .as_array()
        .expect("levels")
        .iter()
        .filter_map(|component| component["level"].as_str())
        .collect();
    assert_eq!(levels, ["within_start", "between_starts", "between_builds"]);
    assert!(
        ended.err.contains("% within a start") && ended.err.contains("% between builds"),
        "{}",
        ended.err
    );
    let first = stamps();
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(run().code, Some(0));
    let second = stamps();
    assert!(
        second.iter().all(|stamp| !first.contains(stamp)),
        "{first:?} {second:?}"
    );
}

#[test]
fn outside_of_a_checkout_it_says_so() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_prony"));
    let ended = CommandOutput::of(
        &command
            .args(["run"])
            .current_dir(folder.path())
            .output()
            .expect("it starts"),
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.err.contains("is not inside a prony project"),
        "{}",
        ended.err
    );
}

#[test]
fn ctrl_c_finishes_the_trial_and_resume_the_plan() {
    let checkout = Checkout::new(5, &["right"]);
    let child = checkout.start(&["run", "toys", "--seed", "3", "--keep-disturbed"]);
    until("the first trial is stored", || stored_trials(&checkout) >= 1);
    signal(&child, "INT");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.out.contains("Toy toy-right"), "no report: {}", ended.out);
    let before = stored_trials(&checkout);
    assert!((1..5).contains(&before), "{before} trials of 5: {}", ended.err);
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
    let resumed = checkout.prony(&["run", "--resume", "--json", "--keep-disturbed"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    // On a busy machine a trial may fail; it counts nevertheless.
    let report = resumed.json();
    let count = |key: &str| row(&report, "toy-right")[key].as_u64().unwrap_or(0);
    assert_eq!(count("trials") + count("failed_trials"), 5);
    assert_eq!(stored_trials(&checkout), 5);
}

#[test]
fn what_is_ended_early_is_not_judged() {
    let checkout = Checkout::new(50, &["right", "wrong"]);
    let child = checkout.start(&["run", "toys", "--strict", "--keep-disturbed"]);
    until("the first trial is stored", || stored_trials(&checkout) >= 1);
    signal(&child, "TERM");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(143), "{ended:?}");
    assert!(!ended.err.contains("passed,"), "a verdict: {}", ended.err);
    let runs = |checkout: &Checkout| {
        let listed = checkout.prony(&["list", "runs", "--json"]).json();
        listed["runs"].as_array().map_or(0, Vec::len)
    };
    let child = checkout.start(&[
        "compare",
        "toy-right",
        "toy-wrong",
        "--rounds",
        "50",
        "-d",
        "300ms",
    ]);
    until("the comparison has a trial", || {
        runs(&checkout) == 2 && stored_trials(&checkout) >= 1
    });
    signal(&child, "INT");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.out.is_empty() && ended.err.contains("nothing is compared"),
        "{ended:?}"
    );
}

#[test]
fn one_run_at_a_time_has_the_cpus() {
    let checkout = Checkout::new(50, &["right"]);
    let mut first = checkout.start(&["run", "toys", "--keep-disturbed"]);
    until("a trial is stored", || stored_trials(&checkout) >= 1);
    let refused = checkout.prony(&["run", "toys", "--rounds=1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let pid = first.id().to_string();
    for part in ["`prony run`", &pid, "--wait"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    let waits = checkout.start(&["run", "toys", "--rounds=1", "--keep-disturbed", "--wait"]);
    // However the first one ends, its lock is released.
    first.kill().expect("KILL");
    first.wait().expect("it is gone");
    let ended = CommandOutput::of(&waits.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let logs = std::fs::read_dir(checkout.path(".prony/log")).expect("logs");
    let of_runs = logs
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("generator.log").is_file());
    assert_eq!(of_runs.count(), 2, "each run has logs of its own");
}

#[test]
fn a_kill_leaves_no_process_and_a_readable_store() {
    let checkout = Checkout::new(50, &["right"]);
    let mut child = checkout.start(&["run", "toys", "--keep-disturbed"]);
    until("two trials are stored", || stored_trials(&checkout) >= 2);
    until("a service runs", || {
        checkout.processes().iter().any(|line| line.contains("toy.py"))
    });
    child.kill().expect("KILL");
    child.wait().expect("it is gone");
    until("nothing is left behind", || checkout.processes().is_empty());
    let report = checkout.prony(&["report", "--format", "json"]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(row(&report.json(), "toy-right")["trials"].as_u64() >= Some(2));
}
