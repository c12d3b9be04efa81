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
