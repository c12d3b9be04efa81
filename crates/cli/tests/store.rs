//! `prony store`: export and import.

use crate::made::{self, keep, sample};
use prony_store::Store;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn filled(path: &Path) {
    let store = Store::open(path).expect("opens");
    keep(&store, &sample::run(), &sample::trials());
}

fn prony(folder: &Path, store: &str, arguments: &[&str]) -> Output {
    made::prony(&folder.join(store), arguments)
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_store_is_exported_to_a_file_and_imported_into_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    filled(&folder.join("one.db"));
    let export = said(&prony(
        folder,
        "one.db",
        &["store", "export", "all.jsonl", "--json"],
    ));
    assert_eq!(export.0, Some(0), "{export:?}");
    let told: Value = serde_json::from_str(&export.1).expect("JSON");
    assert_eq!(
        (&told["runs"], &told["trials"]),
        (&1.into(), &sample::trials().len().into())
    );
    let again = said(&prony(folder, "one.db", &["store", "export", "all.jsonl"]));
    assert_eq!(again.0, Some(2), "{again:?}");
    let stream = prony(folder, "one.db", &["store", "export", "-", "latest"]);
    assert!(stream.stdout.starts_with(b"{\"format\":"), "{stream:?}");

    for (source, known) in [("all.jsonl", 0), ("all.jsonl", 1), ("one.db", 1)] {
        let import = said(&prony(folder, "two.db", &["store", "import", source, "--json"]));
        assert_eq!(import.0, Some(0), "{import:?}");
        let told: Value = serde_json::from_str(&import.1).expect("JSON");
        assert_eq!(told["known"], known, "{told}");
    }
    let report = |store| said(&prony(folder, store, &["report", "--format", "json"]));
    assert_eq!(report("one.db"), report("two.db"));

    let two = Store::open(&folder.join("two.db")).expect("opens");
    two.append_trial(&sample::run().id, &sample::trials()[0])
        .expect("appends");
    drop(two);
    let import = said(&prony(folder, "two.db", &["store", "import", "one.db"]));
    assert_eq!(import.0, Some(3), "{import:?}");
    assert!(import.1.contains("use --rename to keep both"), "{import:?}");
}

#[test]
fn what_is_no_store_and_no_export_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    filled(&folder.join("one.db"));
    std::fs::write(
        folder.join("notes.txt"),
        "these are notes, and no store ".repeat(100),
    )
    .expect("written");
    let other = rusqlite::Connection::open(folder.join("songs.db")).expect("a database");
    other
        .execute_batch("CREATE TABLE song (title TEXT)")
        .expect("a table");
    drop(other);
    for (store, arguments, wanted) in [
        (
            "one.db",
            &["store", "import", "notes.txt"][..],
            "line 1 of the export",
        ),
        (
            "one.db",
            &["store", "import", "songs.db"],
            "a database of another program",
        ),
        ("one.db", &["store", "import", "missing.jsonl"], "missing.jsonl"),
        ("one.db", &["store", "export", "no/such/folder"], "no/such/folder"),
        (
            "one.db",
            &["store", "export", "all.jsonl", "no-such-run"],
            "no-such-run",
        ),
        (
            "missing.db",
            &["store", "export", "all.jsonl"],
            "there is no store at",
        ),
        ("notes.txt", &["list", "runs"], "notes.txt is not a prony store"),
        ("songs.db", &["list", "runs"], "a database of another program"),
    ] {
        let refused = said(&prony(folder, store, arguments));
        assert_eq!(refused.0, Some(2), "{arguments:?}: {refused:?}");
        assert!(refused.2.contains(wanted), "{wanted}: {refused:?}");
    }
    assert!(!folder.join("all.jsonl").exists() && !folder.join("all.jsonl.part").exists());
}

/// A store with the sample run under another name, as one can be made by hand.
fn foreign(path: &Path, id: &str) {
    filled(path);
    let database = rusqlite::Connection::open(path).expect("opens");
    let own = sample::run().id;
    database
        .execute_batch("PRAGMA foreign_keys = OFF")
        .expect("a setting");
    for statement in [
        "UPDATE run SET id = ?1, record = json_set(record, '$.id', ?1) WHERE id = ?2",
        "UPDATE trial SET run = ?1 WHERE run = ?2",
    ] {
        assert!(database.execute(statement, [id, &own]).expect("changes") > 0);
    }
}

#[test]
fn a_run_writes_nothing_outside_of_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = &folder.path().join("a/b/c");
    for name in ["services", "contracts"] {
        std::fs::create_dir_all(folder.join(name)).expect("a project");
    }
    let absolute = folder.join("absolute");
    for id in ["../../../../escaped/x", absolute.to_str().expect("text")] {
        let store = "foreign.db";
        foreign(&folder.join(store), id);
        for format in ["html", "svg", "all"] {
            let refused = said(&prony(folder, store, &["report", "--format", format]));
            assert_eq!(refused.0, Some(2), "{refused:?}");
            assert!(refused.2.contains("Name one with --out"), "{refused:?}");
        }
        let named = said(&prony(
            folder,
            store,
            &["report", "--format", "html", "--out", "here.html"],
        ));
        assert_eq!(named.0, Some(0), "{named:?}");
        // Neither another store nor an export brings it into this one.
        let exported = said(&prony(folder, store, &["store", "export", "foreign.jsonl"]));
        assert_eq!(exported.0, Some(0), "{exported:?}");
        for source in [store, "foreign.jsonl"] {
            let refused = said(&prony(folder, "own.db", &["store", "import", source]));
            assert_eq!(refused.0, Some(2), "{refused:?}");
            assert!(refused.2.contains("cannot be the name of a run"), "{refused:?}");
        }
        for file in [store, "foreign.jsonl", "here.html"] {
            std::fs::remove_file(folder.join(file)).expect("is there");
        }
    }
    let above = folder.join("../../..");
    let mut left: Vec<_> = std::fs::read_dir(&above)
        .expect("a folder")
        .chain(std::fs::read_dir(folder.join(".prony")).into_iter().flatten())
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["a"]);
    assert!(!absolute.exists());
}

#[test]
fn an_import_only_reads_the_other_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let old = include_str!("../../store/tests/fixtures/schema-1.sql");
    let path = folder.join("other/store.db");
    std::fs::create_dir(folder.join("other")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(old).expect("statements");
    drop(database);
    let before = std::fs::read(&path).expect("a file");
    let import = said(&prony(folder, "own.db", &["store", "import", "other/store.db"]));
    assert_eq!(import.0, Some(0), "{import:?}");
    assert!(
        import.1.starts_with("2 runs with 5 trials imported"),
        "{import:?}"
    );
    assert!(std::fs::read(&path).expect("a file") == before);
    assert_eq!(
        std::fs::read_dir(folder.join("other")).expect("a folder").count(),
        1
    );
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.pragma_update(None, "user_version", 99).expect("writes");
    drop(database);
    let newer = said(&prony(folder, "own.db", &["store", "import", "other/store.db"]));
    assert!(
        newer.0 == Some(1) && newer.2.contains("Use a newer prony"),
        "{newer:?}"
    );
}

/// A histogram of few bytes that declares 4 GiB.
const HUGE_HISTOGRAM: &str = "HISTFAAAACF42pNpmSz8HwgYIIAZSjMCmW4GOxYw2H+ACDABAN/4CEk=";

#[test]
fn a_recording_does_not_decide_how_much_memory_a_report_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let mut trials = sample::trials();
    for measured in trials.iter_mut().filter_map(|trial| trial.result.as_mut().ok()) {
        HUGE_HISTOGRAM.clone_into(&mut measured.recording.histogram);
    }
    keep(&store, &sample::run(), &trials);
    drop(store);
    let report = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -v 2500000; exec \"$0\" report --json",
            env!("CARGO_BIN_EXE_prony"),
        ])
        .env("PRONY_STORE", &path)
        .current_dir(folder.path())
        .output()
        .expect("runs");
    assert_ne!(report.status.code(), None, "it was not killed: {report:?}");
    let reason = String::from_utf8_lossy(&report.stderr);
    assert!(!reason.contains("memory allocation"), "{reason}");
}
