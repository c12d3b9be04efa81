//! Old stores, exports and merges, from outside.

use prony_records::{Coverage, Measurement, Responses, RunRecord, TrialRecord};
use prony_store::{Store, StoreError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Stores as earlier versions wrote them. Schema 1 has trials as JSON, 2 and 3 have trials of format 2. The last store has the
/// current schema and format: what is packed today must always be readable.
const KEPT: [(&str, &str); 6] = [
    ("1", include_str!("fixtures/schema-1.sql")),
    ("2", include_str!("fixtures/schema-2.sql")),
    ("3", include_str!("fixtures/schema-3.sql")),
    ("3, format 3", include_str!("fixtures/schema-3-format-3.sql")),
    ("4, format 3", include_str!("fixtures/schema-4-format-3.sql")),
    ("5, format 3", include_str!("fixtures/schema-5-format-3.sql")),
];
/// The same runs as an export.
const EXPORT: &str = include_str!("fixtures/export-1.jsonl");

fn made(folder: &Path, name: &str, statements: &str) -> PathBuf {
    let path = folder.join(name);
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(statements).expect("statements");
    path
}

fn all(store: &Store) -> Vec<(RunRecord, Vec<TrialRecord>)> {
    let runs = store.runs().expect("lists").into_iter();
    runs.map(|entry| {
        let trials = store.trials(&entry.id).expect("reads");
        assert!(!trials.is_empty());
        (store.run(&entry.id).expect("reads"), trials)
    })
    .collect()
}

fn exported(store: &Store) -> String {
    let mut out = Vec::new();
    store.export(None, "0.1.0", &mut out).expect("exports");
    String::from_utf8(out).expect("text")
}

/// Whether two exports are equal, except for the order of keys.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    };
    read(one) == read(other)
}

#[test]
fn stores_of_every_schema_have_the_same_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    for (schema, statements) in KEPT {
        // The first stores had no application ID.
        for mark in [0x5052_4F4E, 0] {
            let text = format!("{statements}\nPRAGMA application_id = {mark};");
            let path = made(folder.path(), &format!("{schema}-{mark}.db"), &text);
            let store = Store::open_existing(&path).expect("an old store opens");
            assert!(is_same(&exported(&store), EXPORT), "schema {schema}");
            assert_eq!(all(&store).len(), 2);
            let calibration = store
                .calibration::<Vec<f64>>("this")
                .expect("reads")
                .expect("is there");
            assert_eq!(calibration.value, [1.5]);
            let run = all(&store)[0].0.id.clone();
            let (last, count) = store.trial_count(&run).expect("counts");
            assert!(last > 0 && count > 0);
            // It continues as a current store.
            let trial = all(&store)[0].1[0].clone();
            assert!(store.append_trial(&run, &trial).expect("appends") > last);
            drop(store);
            let again = Store::open(&path).expect("opens again");
            let trials = again.trials(&run).expect("reads");
            assert_eq!(
                trials.last().map(|last| (last.number, &last.service)),
                Some((trial.number, &trial.service))
            );
        }
    }
}

#[test]
fn a_store_of_format_2_gets_trials_of_format_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = made(folder.path(), "store.db", KEPT[2].1);
    let formats = |order: &str| -> Vec<(String, String)> {
        let database = rusqlite::Connection::open(&path).expect("opens");
        let query = format!(
            "SELECT hex(substr(head, 1, 1)), hex(substr(series, 1, 1)) FROM trial WHERE length(series) > 0 ORDER BY {order}"
        );
        let mut statement = database.prepare(&query).expect("a query");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    };
    let both = |format: &str| (format.to_owned(), format.to_owned());
    assert!(formats("sequence").iter().all(|format| *format == both("02")));

    let store = Store::open(&path).expect("an old store opens");
    let before = all(&store);
    let measured = |trials: &[TrialRecord]| trials.iter().position(|trial| trial.result.is_ok());
    let mut runs = before.iter().enumerate();
    let (place, trial) = runs
        .find_map(|(place, (_, trials))| Some((place, trials[measured(trials)?].clone())))
        .expect("a measured trial");
    let run = before[place].0.id.clone();
    store.append_trial(&run, &trial).expect("appends");
    drop(store);

    assert_eq!(formats("sequence DESC")[0], both("03"));
    assert_eq!(formats("sequence")[0], both("02"), "old trials are not rewritten");
    let store = Store::open(&path).expect("opens again");
    let mut expected = before.clone();
    expected[place].1.push(trial);
    assert_eq!(all(&store), expected);
    assert_eq!(store.heads(&run).expect("reads").len(), expected[place].1.len());
}

/// Older versions left out requests without a reply: their records are read unchanged, and are known to cover survivors
/// only.
#[test]
fn old_records_are_known_to_cover_survivors_only() {
    let folder = tempfile::tempdir().expect("a folder");
    for (schema, statements) in KEPT {
        let path = made(folder.path(), &format!("{schema}.db"), statements);
        let store = Store::open_existing(&path).expect("an old store opens");
        let trials = all(&store).into_iter().flat_map(|(_, trials)| trials);
        let measured: Vec<Measurement> = trials.filter_map(|trial| trial.result.ok()).collect();
        assert!(!measured.is_empty(), "schema {schema}");
        for Measurement { recording, .. } in measured {
            assert_eq!(recording.coverage, Coverage::SurvivorsOnly);
            assert_eq!((recording.valid_time_ns, recording.offered_per_s), (None, None));
            let times = recording.response_time_ns.expect("replies");
            assert!(times.p99.exact().is_some() && times.mean.exact().is_some());
            let responses = Responses::of(&recording).expect("an old histogram");
            assert_eq!(responses.valid.len(), recording.requests.completed);
            assert!(recording.replies() > 0);
        }
    }
}

#[test]
fn a_store_of_today_is_not_written_by_opening_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = made(folder.path(), "store.db", KEPT[5].1);
    let version = || {
        let database = rusqlite::Connection::open(&path).expect("opens");
        let number = |what: &str| {
            database
                .query_row(what, [], |row| row.get::<_, i64>(0))
                .expect("a number")
        };
        (number("PRAGMA user_version"), number("PRAGMA schema_version"))
    };
    let before = version();
    drop(Store::open_existing(&path).expect("opens"));
    assert_eq!(version(), before);
}

/// Most readers do not need the expensive parts.
#[test]
fn heads_are_trials_without_their_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    store.import(&mut EXPORT.as_bytes(), false).expect("imports");
    let mut measured = 0;
    for (run, trials) in all(&store) {
        let heads = store.heads(&run.id).expect("reads");
        assert_eq!(heads.len(), trials.len());
        for (head, trial) in heads.iter().zip(&trials) {
            assert_eq!((head.number, &head.service), (trial.number, &trial.service));
            let (Ok(head), Ok(whole)) = (&head.result, &trial.result) else {
                assert_eq!(head, trial, "nothing was measured");
                continue;
            };
            measured += 1;
            assert_eq!(head.recording.response_time_ns, whole.recording.response_time_ns);
            assert!(head.recording.intervals.is_empty() && head.recording.histogram.is_empty());
            assert!(!whole.recording.intervals.is_empty() && !whole.recording.histogram.is_empty());
        }
    }
    assert!(measured > 0);
}

#[test]
fn an_export_can_be_imported_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    let first = store.import(&mut EXPORT.as_bytes(), false).expect("imports");
    assert_eq!((first.runs.len(), first.known, first.trials), (2, 0, 5));
    assert!(is_same(&exported(&store), EXPORT));
    let second = store.import(&mut EXPORT.as_bytes(), true).expect("imports");
    assert_eq!((second.runs.len(), second.known, second.trials), (0, 2, 0));
    assert!(is_same(&exported(&store), EXPORT), "nothing came twice");
    let other = Store::open(&folder.path().join("other.db")).expect("opens");
    other.merge(&store, false).expect("merges");
    other.merge(&store, false).expect("merges again");
    assert!(is_same(&exported(&other), EXPORT));
    // A single run, without the checks and calibrations that belong to none.
    let one = first.runs[0].clone();
    let mut out = Vec::new();
    let told = store
        .export(Some(std::slice::from_ref(&one)), "0.1.0", &mut out)
        .expect("exports");
    assert_eq!(told.runs, 1);
    assert!(!String::from_utf8(out).expect("text").contains("calibration"));
}

/// Results are grouped by load: the history of a step load must not end where its kind was renamed.
#[test]
fn a_stored_load_is_read_under_its_current_name() {
    let closed = r#""load":{"connections":16,"in_flight":1,"kind":"closed"}"#;
    let old = r#""load":{"kind":"open","arrival":{"profile":{"kind":"staircase","from":20.0,"step":5.0,"every_ns":1000}}}"#;
    let export = EXPORT.replace(closed, old);
    assert_ne!(export, EXPORT);
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    store.import(&mut export.as_bytes(), false).expect("imports");
    assert!(
        exported(&store).contains("staircase"),
        "stored trials are not rewritten"
    );
    let is_step_load = |trial: &TrialRecord| trial.load["arrival"]["profile"]["kind"] == "step_load";
    let runs = all(&store);
    let trials: Vec<&TrialRecord> = runs
        .iter()
        .flat_map(|(_, trials)| trials)
        .filter(|trial| is_step_load(trial))
        .collect();
    assert!(!trials.is_empty());
    for trial in trials {
        let history = store.history(&trial.service, &trial.contract).expect("reads");
        assert!(history.iter().any(|stored| is_step_load(&stored.trial)));
    }
    let again = store.import(&mut export.as_bytes(), false).expect("imports");
    assert_eq!((again.known, again.different.len()), (2, 0));
}

#[test]
fn another_run_of_the_same_name_is_reported_or_renamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    let runs = store.import(&mut EXPORT.as_bytes(), false).expect("imports").runs;
    let trial = store.trials(&runs[0]).expect("reads")[0].clone();
    store.append_trial(&runs[0], &trial).expect("appends");
    let told = store.import(&mut EXPORT.as_bytes(), false).expect("imports");
    assert_eq!((told.different, told.known), (vec![runs[0].clone()], 1));
    assert_eq!(store.runs().expect("lists").len(), 2);
    let renamed = format!("{}-2", runs[0]);
    for (wanted, count) in [(vec![(runs[0].clone(), renamed.clone())], 1), (Vec::new(), 2)] {
        let told = store.import(&mut EXPORT.as_bytes(), true).expect("imports");
        assert_eq!((told.renamed, told.known), (wanted, count));
    }
    assert_eq!(store.runs().expect("lists").len(), 3);
    let (old, new) = (
        store.trials(&runs[0]).expect("reads"),
        store.trials(&renamed).expect("reads"),
    );
    assert_eq!(
        (old.len(), new[0].service.clone()),
        (new.len() + 1, old[0].service.clone())
    );
}

#[test]
fn unknown_keys_of_a_later_version_are_preserved() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    let later = EXPORT.replace("{\"trial\":{", "{\"trial\":{\"a_later_key\":[1,2,3,4],");
    store.import(&mut later.as_bytes(), false).expect("imports");
    assert!(is_same(&exported(&store), &later));
}

#[test]
fn an_incomplete_export_is_reported_and_its_complete_runs_are_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: Vec<&str> = EXPORT.lines().collect();
    let cut = lines[..lines.len() - 1].join("\n");
    let newer = EXPORT.replacen("\"version\":1", "\"version\":99", 1);
    let within = EXPORT.replacen("\"took_s\":", "\"took_no_s\":", 1);
    let headless = lines[1..].join("\n");
    for (text, wanted, runs) in [
        (cut.as_str(), "ends early", 1),
        (&newer, "version 99", 0),
        (&within, "took_s", 0),
        (&headless, "is this an export", 0),
        ("no export at all\n", "line 1", 0),
        ("", "ends early", 0),
    ] {
        let store = Store::open(&folder.path().join(format!("{wanted}-{}.db", text.len()))).expect("opens");
        let error = store.import(&mut text.as_bytes(), false).expect_err("is refused");
        assert!(matches!(error, StoreError::Import { .. }), "{error}");
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
        assert_eq!(all(&store).len(), runs, "{wanted}");
    }
}

/// The bytes of every file in a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
        .collect()
}

#[test]
fn a_store_is_copied_without_writing_anything_beside_it() {
    for (schema, statements) in KEPT {
        let folder = tempfile::tempdir().expect("a folder");
        let path = made(folder.path(), "a store?.db", statements);
        let database = rusqlite::Connection::open(&path).expect("opens");
        let mode = "PRAGMA journal_mode = WAL";
        database.query_row(mode, [], |_| Ok(())).expect("has a log");
        drop(database);
        let before = files(folder.path());
        assert_eq!(before.len(), 1);
        let copy = Store::open_copy(&path).expect("is copied");
        assert!(is_same(&exported(&copy), EXPORT), "schema {schema}");
        drop(copy);
        assert!(files(folder.path()) == before, "schema {schema}");
    }
}

#[test]
fn a_store_is_copied_with_what_only_its_log_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let writer = Store::open(&path).expect("opens");
    let run = writer
        .import(&mut EXPORT.as_bytes(), false)
        .expect("imports")
        .runs;
    let trial = writer.trials(&run[0]).expect("reads")[0].clone();
    writer.append_trial(&run[0], &trial).expect("appends");
    let main = std::fs::read(&path).expect("a file");
    let copy = Store::open_copy(&path).expect("is copied");
    assert_eq!(exported(&copy), exported(&writer));
    assert!(std::fs::read(&path).expect("a file") == main);
    writer.append_trial(&run[0], &trial).expect("goes on");
    assert_ne!(exported(&copy), exported(&writer), "it is a copy");
}

#[test]
fn a_store_of_a_newer_prony_is_not_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let newer = format!("{}\nPRAGMA user_version = 99;", KEPT[0].1);
    let path = made(folder.path(), "store.db", &newer);
    let before = files(folder.path());
    let refused = Store::open_copy(&path).expect_err("is newer").to_string();
    assert!(
        refused.contains("schema 99") && refused.contains("Use a newer prony"),
        "{refused}"
    );
    assert!(files(folder.path()) == before);
}

#[test]
fn imported_runs_are_older_than_those_of_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    let own = store.import(&mut EXPORT.as_bytes(), false).expect("imports").runs;
    let ahead = EXPORT
        .replace(&format!("\"{}\"", own[0]), "\"ahead\"")
        .replace("\"started_at\":\"20", "\"started_at\":\"2099-");
    let latest = || store.find_run("latest").expect("finds");
    // Without others, the time decides.
    assert_eq!(latest(), own[1]);
    let imported = store.import(&mut ahead.as_bytes(), true).expect("imports").runs;
    assert_eq!((imported.len(), imported[0].as_str()), (2, "ahead"));
    let mut local = store.run(&own[0]).expect("reads");
    (local.id, local.started_at) = ("local".to_owned(), "2001-01-01T00:00:00Z".to_owned());
    store.begin_run(&local).expect("begins");
    assert_eq!(latest(), "local");
    store
        .import(&mut EXPORT.replace(&own[0], "other").as_bytes(), true)
        .expect("imports");
    assert_eq!(latest(), "local");
    let imported: Vec<bool> = store
        .runs()
        .expect("lists")
        .iter()
        .map(|run| run.imported)
        .collect();
    assert_eq!(
        (imported[0], imported[1..].iter().all(|&imported| imported)),
        (false, true)
    );
}

#[test]
fn an_import_with_a_name_that_leads_out_of_its_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    let own = store.import(&mut EXPORT.as_bytes(), false).expect("imports").runs;
    for id in ["../../../escaped/x", "/tmp/x", "..", "latest", "a\\u0000b"] {
        let export = EXPORT.replace(&format!("\"{}\"", own[0]), &format!("\"{id}\""));
        assert_ne!(export, EXPORT);
        let refused = store
            .import(&mut export.as_bytes(), true)
            .expect_err("is refused")
            .to_string();
        assert!(
            refused.contains("line 2 of the export") && refused.contains("cannot be the name of a run"),
            "{refused}"
        );
    }
    // The same from a store that was made with such a name.
    let path = folder.path().join("other.db");
    drop(
        Store::open(&path)
            .and_then(|other| other.import(&mut EXPORT.as_bytes(), false))
            .expect("imports"),
    );
    let database = rusqlite::Connection::open(&path).expect("opens");
    let rename = "UPDATE run SET record = json_set(record, '$.id', '../x') WHERE id = ?1";
    assert_eq!(database.execute(rename, [&own[0]]).expect("changes"), 1);
    drop(database);
    let other = Store::open_copy(&path).expect("is copied");
    let refused = store.merge(&other, true).expect_err("is refused");
    assert!(matches!(refused, StoreError::RunName(_)), "{refused}");
    assert_eq!(store.runs().expect("lists").len(), 2);
}

#[test]
fn lines_and_records_of_an_import_have_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("opens");
    // A line that never ends.
    let first = EXPORT.lines().next().expect("a line").to_owned() + "\n";
    let endless = first.as_bytes().chain(std::io::repeat(b' '));
    let refused = store
        .import(&mut BufReader::new(endless), false)
        .expect_err("is refused")
        .to_string();
    assert!(
        refused.contains("line 2") && refused.contains("256 MiB"),
        "{refused}"
    );
    // A few bytes that would take much memory.
    let many = format!("{first}{{\"run\":[{}0]}}\n", "{},".repeat(4 << 20));
    let refused = store
        .import(&mut many.as_bytes(), false)
        .expect_err("is refused")
        .to_string();
    assert!(
        refused.contains("line 2") && refused.contains("2 GiB of memory"),
        "{refused}"
    );
}
