//! Labels and deletion of runs, from outside.

use prony_store::{Store, StoreError};
use std::path::Path;

/// Two runs with trials and checks.
const EXPORT: &str = include_str!("fixtures/export-1.jsonl");

/// A store with both, and their names, the newest first.
fn filled(folder: &Path, name: &str) -> (Store, Vec<String>) {
    let store = Store::open(&folder.join(name)).expect("opens");
    store.import(&mut EXPORT.as_bytes(), false).expect("imports");
    let names = store.runs().expect("lists").into_iter().map(|run| run.id);
    let names = names.collect();
    (store, names)
}

fn exported(store: &Store) -> String {
    let mut out = Vec::new();
    store.export(None, "0.1.0", &mut out).expect("exports");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_run_keeps_its_name_when_it_is_labelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, names) = filled(folder.path(), "store.db");
    let labels = || -> Vec<Option<String>> {
        let runs = store.runs().expect("lists").into_iter();
        runs.map(|run| run.label).collect()
    };
    assert_eq!(labels(), [None, None]);
    for label in ["before", "  after the <b>fix</b> ✓ "] {
        store.label_run(&names[1], label).expect("labels");
        assert_eq!(labels(), [None, Some(label.trim().to_owned())]);
        assert_eq!(store.label(&names[1]).expect("reads"), labels()[1]);
    }
    for refused in ["two\nlines", "\u{1b}[31m", &"long ".repeat(20)] {
        let error = store.label_run(&names[1], refused).expect_err("is refused");
        assert!(error.to_string().contains("at most 80 letters"), "{error}");
    }
    let unknown = store.label_run("nowhere", "before");
    assert!(matches!(unknown, Err(StoreError::NoSuchRun { .. })));
    store.label_run(&names[1], " ").expect("takes it away");
    assert_eq!(labels(), [None, None]);
}

#[test]
fn a_label_is_exported_with_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, names) = filled(folder.path(), "store.db");
    store.label_run(&names[0], "the good one").expect("labels");
    let text = exported(&store);
    let other = Store::open(&folder.path().join("other.db")).expect("opens");
    let first = other.import(&mut text.as_bytes(), false).expect("imports");
    assert_eq!(first.runs.len(), 2);
    assert_eq!(
        other.label(&names[0]).expect("reads").as_deref(),
        Some("the good one")
    );
    assert_eq!(other.label(&names[1]).expect("reads"), None);
    // A different label does not make a different run, and the label of this store stays.
    other.label_run(&names[0], "mine").expect("labels");
    let second = other.import(&mut text.as_bytes(), false).expect("imports");
    assert_eq!((second.known, second.different), (2, Vec::new()));
    assert_eq!(other.label(&names[0]).expect("reads").as_deref(), Some("mine"));
    let merged = Store::open(&folder.path().join("merged.db")).expect("opens");
    merged.merge(&other, false).expect("merges");
    assert_eq!(merged.label(&names[0]).expect("reads").as_deref(), Some("mine"));
}

#[test]
fn a_run_is_deleted_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, names) = filled(folder.path(), "store.db");
    let kept = |store: &Store| {
        (
            store.run(&names[1]).expect("reads"),
            store.trials(&names[1]).expect("reads"),
            store.check_matrix(Some(&names[1])).expect("reads"),
        )
    };
    let before = kept(&store);
    store.label_run(&names[0], "to be deleted").expect("labels");
    store.remove_run(&names[0]).expect("deletes");
    assert!(matches!(store.run(&names[0]), Err(StoreError::NoSuchRun { .. })));
    assert_eq!(store.trials(&names[0]).expect("reads"), []);
    assert_eq!(store.check_matrix(Some(&names[0])).expect("reads"), None);
    assert_eq!(store.label(&names[0]).expect("reads"), None);
    assert_eq!(kept(&store), before);
    let again = store.remove_run(&names[0]);
    assert!(matches!(again, Err(StoreError::NoSuchRun { .. })));
    // The name is free, and standalone checks are still there.
    assert!(store.check_matrix(None).expect("reads").is_some());
    let back = store.import(&mut EXPORT.as_bytes(), false).expect("imports");
    assert_eq!((back.runs, back.known), (vec![names[0].clone()], 1));
}

#[test]
fn a_run_that_is_measured_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, names) = filled(folder.path(), "store.db");
    let other = Store::open(store.path()).expect("opens");
    let lock = other.lock_run(&names[0]).expect("free");
    let refused = store.remove_run(&names[0]).expect_err("is measured");
    assert!(matches!(refused, StoreError::RunBusy { .. }), "{refused}");
    assert!(!store.trials(&names[0]).expect("reads").is_empty());
    drop(lock);
    store.remove_run(&names[0]).expect("deletes");
}
