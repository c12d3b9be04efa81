//! The store from outside: everything that was written is found again, despite other writers and killed processes.

use prony_records::{
    CheckMatrix, Environment, Exclusion, Fault, RunRecord, SCHEMA, ServiceCheck, ServiceId, TrialRecord,
    TrialStage, Warning, WarningKind,
};
use prony_store::{Progress, RunLock, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;

fn run(id: &str, started_at: &str) -> RunRecord {
    RunRecord {
        id: id.to_owned(),
        suite: "quick".to_owned(),
        started_at: started_at.to_owned(),
        ended_at: None,
        environment: Environment::default(),
        plan: serde_json::json!({ "trials": [] }),
        planned_trials: 4,
        spent_s: None,
        seed: u64::MAX,
        warnings: Vec::new(),
    }
}

fn trial(number: u32, service: &str) -> TrialRecord {
    TrialRecord {
        number,
        round: number / 2,
        build: None,
        start: None,
        provisional: false,
        service: ServiceId {
            service: service.to_owned(),
            variant: "current".to_owned(),
        },
        contract: "hello".to_owned(),
        workload: "hello".to_owned(),
        load: serde_json::json!({ "kind": "closed", "connections": 64, "in_flight": 1 }),
        rank_by: None,
        baseline: None,
        started_at: "2026-11-21T08:30:00Z".to_owned(),
        took_s: 2.5,
        result: Err(Exclusion {
            stage: TrialStage::Check,
            reason: "the body is one byte short".to_owned(),
            log_tail: vec!["<script>alert(1)</script> \u{0} ' \"".to_owned()],
            fault: Fault::Service,
        }),
    }
}

fn store_in(folder: &Path) -> Store {
    Store::open(&folder.join("deep/er/store.db")).expect("a fresh store opens")
}

#[test]
fn what_was_appended_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    let record = run("2026-11-21T08-30-00-quick", "2026-11-21T08:30:00Z");
    store.begin_run(&record).expect("begins");
    let trials = [
        trial(0, "go-gorilla"),
        trial(1, "a'b; DROP TABLE trial"),
        trial(0, "go-gorilla"),
    ];
    for trial in &trials {
        store.append_trial(&record.id, trial).expect("appends");
    }
    assert_eq!(store.run(&record.id).expect("reads"), record);
    assert_eq!(store.trials(&record.id).expect("reads"), trials);
    assert_eq!(store.latest_run().expect("reads"), Some(record));
}

/// An imported run must equal the exported one, so no number may lose its last digit.
#[test]
fn figures_come_back_to_the_last_digit() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    let figures = |count: u32| (1..=count).map(|number| f64::from(number).sqrt() / 3e7);
    let record = RunRecord {
        plan: serde_json::json!({ "figures": figures(5_000).collect::<Vec<_>>() }),
        ..run("r", "2026-11-21T08:30:00Z")
    };
    store.begin_run(&record).expect("begins");
    assert_eq!(store.run("r").expect("reads"), record);
    let trials: Vec<TrialRecord> = (0..)
        .zip(figures(200))
        .map(|(number, took_s)| TrialRecord {
            took_s,
            ..trial(number, "a")
        })
        .collect();
    for trial in &trials {
        store.append_trial("r", trial).expect("appends");
    }
    assert_eq!(store.trials("r").expect("reads"), trials);
}

#[test]
fn a_finished_run_has_an_end_and_its_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    let record = run("r", "2026-11-21T08:30:00Z");
    store.begin_run(&record).expect("begins");
    let warning = Warning::new(WarningKind::BudgetSpent, "the budget of 10 min was spent");
    for _ in 0..2 {
        store
            .finish_run("r", "2026-11-21T08:40:00Z", std::slice::from_ref(&warning))
            .expect("finishes");
    }
    let read = store.run("r").expect("reads");
    assert_eq!(read.ended_at.as_deref(), Some("2026-11-21T08:40:00Z"));
    assert_eq!(read.warnings, [warning]);
    assert_eq!(store.runs().expect("lists")[0].ended_at, read.ended_at);
}

#[test]
fn a_run_that_was_continued_to_its_end_loses_the_budget_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    store
        .begin_run(&run("r", "2026-11-21T08:30:00Z"))
        .expect("begins");
    let others = Warning::new(WarningKind::Note, "the machine is not idle");
    let spent = Warning::new(WarningKind::BudgetSpent, "the budget of 10 min was spent");
    store
        .finish_run("r", "2026-11-21T08:40:00Z", &[others.clone(), spent])
        .expect("finishes");
    store
        .finish_run("r", "2026-11-21T08:50:00Z", &[])
        .expect("finishes");
    assert_eq!(store.run("r").expect("reads").warnings, [others]);
}

#[test]
fn runs_are_listed_in_the_order_in_which_they_began_and_found_by_a_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    assert_eq!(store.latest_run().expect("reads"), None);
    store
        .begin_run(&run("2026-11-20-hello", "2026-11-20T00:00:00Z"))
        .expect("begins");
    store
        .begin_run(&run("2026-11-21-quick", "2026-11-21T00:00:00Z"))
        .expect("begins");
    store
        .begin_run(&run("2026-11-22-quick", "2026-11-22T00:00:00Z"))
        .expect("begins");
    store
        .append_trial("2026-11-21-quick", &trial(0, "a"))
        .expect("appends");
    store
        .append_trial("2026-11-21-quick", &trial(0, "a"))
        .expect("appends the repetition");
    let runs = store.runs().expect("lists");
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["2026-11-22-quick", "2026-11-21-quick", "2026-11-20-hello"]);
    assert_eq!(
        (runs[1].trials, runs[1].excluded_trials, runs[1].planned_trials),
        (1, 1, 4)
    );
    // Once a trial with this number has a measurement, a failed repetition does not remove it.
    let database = rusqlite::Connection::open(store.path()).expect("opens");
    let first = "UPDATE trial SET excluded = 0 WHERE sequence = (SELECT min(sequence) FROM trial)";
    assert_eq!(database.execute(first, []).expect("changes"), 1);
    let listed = store.runs().expect("lists");
    assert_eq!((listed[1].trials, listed[1].excluded_trials), (1, 0));
    assert_eq!(store.find_run("latest").expect("finds"), "2026-11-22-quick");
    assert_eq!(store.find_run("2026-11-20").expect("finds"), "2026-11-20-hello");
    assert_eq!(store.find_run("hello").expect("finds"), "2026-11-20-hello");
    assert!(
        matches!(store.find_run("2026"), Err(StoreError::Ambiguous { matches, .. }) if matches.len() == 3)
    );
    let unknown = store.find_run("nowhere").expect_err("no such run").to_string();
    assert!(
        unknown.contains("`nowhere`") && unknown.contains("2026-11-22-quick"),
        "{unknown}"
    );
}

#[test]
fn a_clock_that_ran_ahead_does_not_keep_a_run_the_latest() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    for (id, time) in [("ahead", "2099-01-01T00:00:00Z"), ("now", "2026-11-21T00:00:00Z")] {
        store.begin_run(&run(id, time)).expect("begins");
        assert_eq!(store.find_run("latest").expect("finds"), id);
    }
    store.remove_run("now").expect("deletes");
    store
        .begin_run(&run("next", "2026-11-20T00:00:00Z"))
        .expect("begins");
    assert_eq!(store.latest_run().expect("reads").expect("a run").id, "next");
}

#[test]
fn a_name_that_leads_out_of_its_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    for id in ["../x", "/x", "a/../../x", "..", ".x", "latest", ""] {
        let refused = store.begin_run(&run(id, "2026-11-21T00:00:00Z"));
        assert!(
            matches!(refused, Err(StoreError::RunName(_))),
            "{id}: {refused:?}"
        );
    }
    assert_eq!(store.runs().expect("lists"), []);
}

/// Views and triggers run statements of the file's author.
#[test]
fn a_store_with_statements_of_its_own_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, statement) in [
        (
            "view",
            "DROP TABLE label; CREATE VIEW label AS SELECT id AS run, suite AS text FROM run",
        ),
        (
            "trigger",
            "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM trial; END",
        ),
        ("table", "CREATE VIRTUAL TABLE t USING fts5(text)"),
    ] {
        let path = folder.path().join(name);
        drop(Store::open(&path).expect("opens"));
        let raw = rusqlite::Connection::open(&path).expect("opens");
        raw.execute_batch(statement).expect("changes");
        drop(raw);
        for opened in [
            Store::open(&path),
            Store::open_existing(&path),
            Store::open_copy(&path),
        ] {
            assert!(
                matches!(opened, Err(StoreError::Foreign(_))),
                "{name}: {opened:?}"
            );
        }
    }
}

#[test]
fn a_name_is_given_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    store
        .begin_run(&run("r", "2026-11-20T00:00:00Z"))
        .expect("begins");
    let again = store.begin_run(&run("r", "2026-11-21T00:00:00Z"));
    assert!(matches!(again, Err(StoreError::RunExists(name)) if name == "r"));
}

#[test]
fn a_trial_of_no_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    assert!(store.append_trial("nowhere", &trial(0, "a")).is_err());
}

#[test]
fn new_trials_and_history_are_read_separately() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    for id in ["one", "two"] {
        store.begin_run(&run(id, "2026-11-20T00:00:00Z")).expect("begins");
        store.append_trial(id, &trial(0, "a")).expect("appends");
        store.append_trial(id, &trial(1, "b")).expect("appends");
    }
    let (last, count) = store.trial_count("two").expect("counts");
    assert_eq!(count, 2);
    assert_eq!(store.trials_after("two", last).expect("reads"), []);
    store.append_trial("two", &trial(2, "a")).expect("appends");
    assert_eq!(
        store.trials_after("two", last).expect("reads")[0].trial,
        trial(2, "a")
    );
    let history = store.history(&trial(0, "a").service, "hello").expect("reads");
    let runs: Vec<&str> = history.iter().map(|stored| stored.run.as_str()).collect();
    assert_eq!(runs, ["one", "two", "two"]);
    assert_eq!(store.services().expect("lists").len(), 2);
}

#[test]
fn the_history_of_a_renamed_variant_includes_its_earlier_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    let info = |variant: &str, formerly: &[&str]| serde_json::json!({ "service": "a", "variant": variant, "formerly": formerly });
    for (id, variant, infos) in [
        ("old", "era", vec![info("era", &[])]),
        ("other", "tuned", vec![info("tuned", &[])]),
        (
            "new",
            "pinned",
            vec![info("tuned", &[]), info("pinned", &["era"])],
        ),
    ] {
        let mut record = run(id, "2026-11-20T00:00:00Z");
        record.plan = serde_json::json!({ "services": infos });
        store.begin_run(&record).expect("begins");
        let mut trial = trial(0, "a");
        trial.service.variant = variant.to_owned();
        store.append_trial(id, &trial).expect("appends");
    }
    // A run of an early version did not record its services.
    store
        .begin_run(&run("unknown", "2026-11-20T00:00:00Z"))
        .expect("begins");
    store.append_trial("unknown", &trial(0, "a")).expect("appends");
    for (variant, expected) in [
        ("pinned", vec!["old", "new"]),
        ("era", vec!["old", "new"]),
        ("tuned", vec!["other"]),
        ("current", vec!["unknown"]),
    ] {
        let service = ServiceId {
            service: "a".to_owned(),
            variant: variant.to_owned(),
        };
        let history = store.history(&service, "hello").expect("reads");
        let runs: Vec<&str> = history.iter().map(|stored| stored.run.as_str()).collect();
        assert_eq!(runs, expected, "{variant}");
        assert_eq!(store.history(&service, "person").expect("reads"), []);
    }
}

#[test]
fn a_reader_sees_what_another_handle_appends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let writer = Store::open(&path).expect("opens");
    let reader = Store::open_existing(&path).expect("opens");
    writer
        .begin_run(&run("r", "2026-11-20T00:00:00Z"))
        .expect("begins");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path).expect("opens next to others");
                for number in 0..25 {
                    store
                        .append_trial("r", &trial(thread * 25 + number, "a"))
                        .expect("appends next to others");
                }
            });
        }
        let mut seen = 0;
        while seen < 100 {
            let trials = reader.trials("r").expect("reads next to writers").len();
            assert!(trials >= seen, "a trial that was seen is gone");
            seen = trials;
        }
    });
    drop(writer);
    assert_eq!(reader.trials("r").expect("reads").len(), 100);
}

#[test]
fn progress_is_the_last_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    store
        .begin_run(&run("r", "2026-11-20T00:00:00Z"))
        .expect("begins");
    assert_eq!(store.progress("r").expect("reads"), None);
    let mut progress = Progress {
        at: "2026-11-20T00:00:01Z".to_owned(),
        done: 0,
        planned: 4,
        eta_s: None,
        service: Some(trial(0, "a").service),
        contract: Some("hello".to_owned()),
        workload: Some("hello".to_owned()),
        step: Some("measurement".to_owned()),
        phase: None,
        throughput_per_s: Some(12_345.5),
        response_time_ns_p99: Some(1_000_000),
        workers: Vec::new(),
        lost: None,
        spent_s: 1.5,
    };
    store.set_progress("r", &progress).expect("writes");
    progress.done = 1;
    store.set_progress("r", &progress).expect("writes");
    assert_eq!(store.progress("r").expect("reads"), Some(progress));
}

#[test]
fn check_matrices_and_calibrations_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    store
        .begin_run(&run("r", "2026-11-20T00:00:00Z"))
        .expect("begins");
    let matrix = |service: &str| CheckMatrix {
        schema: SCHEMA,
        services: vec![ServiceCheck {
            service: service.to_owned(),
            variant: "current".to_owned(),
            contract: "hello".to_owned(),
            protocol: None,
            passed: true,
            cases: vec!["hello".to_owned()],
            operations: BTreeMap::new(),
            traits: BTreeMap::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
            skipped: Vec::new(),
            unavailable: None,
            took_ms: None,
        }],
    };
    store
        .append_check_matrix(None, "2026-11-20T00:00:00Z", &matrix("alone"))
        .expect("appends");
    store
        .append_check_matrix(Some("r"), "2026-11-20T00:00:00Z", &matrix("old"))
        .expect("appends");
    store
        .append_check_matrix(Some("r"), "2026-11-20T00:00:01Z", &matrix("new"))
        .expect("appends");
    assert_eq!(store.check_matrix(Some("r")).expect("reads"), Some(matrix("new")));
    assert_eq!(store.check_matrix(None).expect("reads"), Some(matrix("alone")));
    for service in ["grown", "grown further"] {
        store
            .keep_check_matrix("r", "2026-11-20T00:00:02Z", &matrix(service))
            .expect("keeps");
        assert_eq!(
            store.check_matrix(Some("r")).expect("reads"),
            Some(matrix(service))
        );
    }
    assert_eq!(store.check_matrix(None).expect("reads"), Some(matrix("alone")));
    store
        .append_calibration("this", "2026-11-20T00:00:00Z", &[1.5])
        .expect("appends");
    store
        .append_calibration("this", "2026-11-20T00:00:01Z", &[2.5])
        .expect("appends");
    let latest = store
        .calibration::<Vec<f64>>("this")
        .expect("reads")
        .expect("is there");
    assert_eq!(latest.value, [2.5]);
    assert!(store.calibration::<Vec<f64>>("other").expect("reads").is_none());
}

#[test]
fn a_reader_does_not_create_a_missing_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let missing = Store::open_existing(&path).expect_err("is missing").to_string();
    assert!(
        missing.contains("store.db") && missing.contains("prony run"),
        "{missing}"
    );
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.txt");
    let text = "this is no database, but long enough to be read as one ".repeat(40);
    std::fs::write(&path, &text).expect("writes");
    let refused = Store::open(&path).expect_err("is no store").to_string();
    assert!(
        refused.contains("notes.txt") && refused.contains("--store"),
        "{refused}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), text);
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    drop(Store::open(&path).expect("opens"));
    let raw = rusqlite::Connection::open(&path).expect("opens");
    raw.pragma_update(None, "user_version", 99).expect("writes");
    drop(raw);
    let refused = Store::open(&path).expect_err("is newer");
    assert!(matches!(refused, StoreError::TooNew { found: 99, .. }));
}

/// Not a test of its own: the process that the next test kills.
#[test]
#[ignore = "runs until it is killed"]
fn writer_that_never_ends() {
    let path = std::env::var("PRONY_TEST_STORE").expect("set by the test that starts this one");
    let store = Store::open(Path::new(&path)).expect("opens");
    store
        .begin_run(&run("r", "2026-11-20T00:00:00Z"))
        .expect("begins");
    for number in 0.. {
        store.append_trial("r", &trial(number, "a")).expect("appends");
        println!("appended {number}");
    }
}

#[test]
fn what_was_appended_survives_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut writer = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "store::writer_that_never_ends",
            "--ignored",
            "--nocapture",
        ])
        .env("PRONY_TEST_STORE", &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(writer.stdout.take().expect("piped")).lines();
    let appended = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("appended"))
        .take(50)
        .count();
    writer.kill().expect("kills");
    writer.wait().expect("is dead");
    let store = Store::open_existing(&path).expect("opens after the kill");
    let trials = store.trials("r").expect("reads");
    assert!(
        trials.len() >= appended && appended == 50,
        "{} of {appended}",
        trials.len()
    );
    assert_eq!(store.run("r").expect("reads").ended_at, None);
    store.append_trial("r", &trial(0, "b")).expect("goes on");
}

#[test]
fn run_names_are_unique_although_the_clock_was_set_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_in(folder.path());
    let wanted = "2026-11-21T08-30-00-quick";
    for expected in [
        wanted,
        "2026-11-21T08-30-00-quick-2",
        "2026-11-21T08-30-00-quick-3",
    ] {
        // The lock is released at once, but the name stays taken.
        let (begun, _lock) = store
            .begin_new_run(run(wanted, "2026-11-21T08:30:00Z"))
            .expect("begins");
        assert_eq!(begun.id, expected);
        assert_eq!(store.run(expected).expect("it is kept").id, expected);
    }
}

#[test]
fn runs_that_begin_at_once_have_names_of_their_own() {
    const AT_ONCE: usize = 8;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let together = Barrier::new(AT_ONCE);
    drop(Store::open(&path).expect("opens"));
    let start = || {
        let store = Store::open(&path).expect("opens");
        together.wait();
        store.begin_new_run(run("r", "2026-11-21T08:30:00Z"))
    };
    // All locks are held until the last one has its own.
    let begun: Vec<(RunRecord, RunLock)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(start)).collect();
        all.into_iter()
            .map(|one| one.join().expect("no panic").expect("begins"))
            .collect()
    });
    let names: BTreeSet<String> = begun.iter().map(|(run, _)| run.id.clone()).collect();
    let expected: BTreeSet<String> = std::iter::once("r".to_owned())
        .chain((2..=AT_ONCE).map(|number| format!("r-{number}")))
        .collect();
    assert_eq!(names, expected);
    let store = Store::open(&path).expect("opens");
    for name in &names {
        assert!(
            matches!(store.lock_run(name), Err(StoreError::RunBusy { .. })),
            "{name}"
        );
    }
}

#[test]
fn a_name_that_somebody_has_taken_and_not_yet_written_is_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let open = || Store::open(&path).expect("opens");
    let (one, other) = (open(), open());
    let _taken = one.lock_run("r").expect("free");
    let (begun, _lock) = other
        .begin_new_run(run("r", "2026-11-21T08:30:00Z"))
        .expect("begins");
    assert_eq!(begun.id, "r-2");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&file).expect("a database");
    other
        .execute_batch("CREATE TABLE song (title TEXT)")
        .expect("a table");
    drop(other);
    let refused = Store::open(&file).expect_err("not ours");
    assert!(matches!(refused, StoreError::Foreign(_)), "{refused}");
    let other = rusqlite::Connection::open(&file).expect("a database");
    let tables = other.query_row("SELECT count(*) FROM sqlite_master", [], |row| {
        row.get::<_, i64>(0)
    });
    assert_eq!(tables.expect("counted"), 1);
}

#[test]
fn a_run_is_measured_by_one_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let open = || Store::open(&path).expect("opens");
    let (one, other) = (open(), open());
    let beside = || {
        let names = std::fs::read_dir(folder.path()).expect("the folder");
        let endings = names.filter_map(|entry| entry.ok()?.path().extension().map(ToOwned::to_owned));
        endings.filter(|ending| ending == "lock").count()
    };
    let lock = one.lock_run("a").expect("free");
    let refused = other.lock_run("a").expect_err("taken").to_string();
    assert!(
        refused.contains(&format!("by process {}", std::process::id())),
        "{refused}"
    );
    let another = other.lock_run("b").expect("another run is free");
    assert_eq!(beside(), 2);
    drop(lock);
    drop(other.lock_run("a").expect("free again"));
    drop(another);
    assert_eq!(beside(), 0, "nothing stays");
}

#[test]
fn a_provisional_trial_is_replaced_and_readers_see_the_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("a store");
    store
        .begin_run(&run("one", "2026-11-21T08:30:00Z"))
        .expect("begun");
    let provisional = TrialRecord {
        provisional: true,
        ..trial(0, "a")
    };
    let first = store.append_trial("one", &provisional).expect("kept");
    let second = store
        .replace_trial("one", first, &trial(0, "a"))
        .expect("replaced");
    assert!(second > first);
    assert_eq!(store.trials("one").expect("read"), [trial(0, "a")]);
    assert_eq!(store.trials_after("one", first).expect("read").len(), 1);
    store.remove_trial("one", second).expect("removed");
    assert_eq!(store.trials("one").expect("read"), []);
}
