//! `prony report` on a store with a sample run.

use crate::made::{filled, prony, sample};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

fn said(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn the_latest_run_is_shown_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let shown = said(&prony(&filled(folder.path()), &["report"]));
    assert!(
        shown.contains("rust-axum") && shown.contains("excluded at check"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "colours without a terminal");
}

#[test]
fn json_is_printed_to_standard_output_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = prony(&filled(folder.path()), &["report", "sample", "--format", "json"]);
    let report: Value = serde_json::from_str(&said(&output)).expect("JSON");
    assert_eq!(report["run"], sample::run().id.as_str());
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_form_can_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let all = folder.path().join("all");
    said(&prony(
        &store,
        &["report", "--format", "all", "--out", all.to_str().expect("text")],
    ));
    for name in [
        "report.html",
        "report.md",
        "report.csv",
        "report.json",
        "report.prom",
        "report.otlp.json",
    ] {
        let size = std::fs::metadata(all.join(name)).expect("is there").len();
        assert!(size > 500, "{name} has {size} bytes");
    }
    assert_eq!(
        std::fs::read_dir(all.join("charts")).expect("is there").count(),
        6
    );
    for form in ["html", "md", "csv", "json", "prometheus", "otlp"] {
        let file = folder.path().join(form);
        said(&prony(
            &store,
            &["report", "--format", form, "--out", file.to_str().expect("text")],
        ));
        assert!(file.is_file(), "{form}");
    }
}

#[test]
fn json_has_a_word_of_its_own_and_a_folder_takes_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let long = said(&prony(&store, &["report", "--format", "json"]));
    assert_eq!(said(&prony(&store, &["report", "--json"])), long);
    let twice = prony(&store, &["report", "--json", "--format", "md"]);
    assert_eq!(twice.status.code(), Some(2));
    let out = folder.path().join("new");
    let into = format!("{}/", out.display());
    said(&prony(&store, &["report", "--json", "--out", &into]));
    let written = std::fs::read_to_string(out.join("report.json")).expect("written");
    assert_eq!(written.trim(), long.trim());
    for (form, name) in [
        ("html", "report.html"),
        ("csv", "report.csv"),
        ("terminal", "report.txt"),
    ] {
        said(&prony(&store, &["report", "--format", form, "--out", &into]));
        assert!(out.join(name).is_file(), "{name}");
    }
    let file = out.join("report.json");
    let refused = prony(
        &store,
        &["report", "--format", "all", "--out", file.to_str().expect("text")],
    );
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("Name a folder with --out"), "{message}");
}

/// Every file below a folder, by its relative path.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut open = vec![folder.to_owned()];
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("reads");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            let text = std::fs::read_to_string(&path).expect("text");
            files.insert(path.strip_prefix(folder).expect("below").to_owned(), text);
        }
    }
    files
}

#[test]
fn a_site_of_the_store_and_one_of_exports_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let output = prony(&store, &["report", "--site", "public"]);
    assert_eq!(said(&output).trim(), "public/index.html");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("1 run in") && message.contains(" MB, in "),
        "{message}"
    );
    let site = files_below(&folder.path().join("public"));
    let id = sample::run().id;
    for name in [
        "index.html".to_owned(),
        "services.html".to_owned(),
        "feed.xml".to_owned(),
        "services/rust-axum.html".to_owned(),
        format!("boards/{id}.html"),
    ] {
        assert!(
            site.contains_key(Path::new(&name)),
            "{name} is not among {:?}",
            site.keys()
        );
    }
    // The first page has the same finding as every other format.
    let report: Value = serde_json::from_str(&said(&prony(&store, &["report", "--json"]))).expect("JSON");
    let finding = report["groups"][0]["finding"].as_str().expect("a sentence");
    // On the page no line breaks within a number.
    let first_page = site[Path::new("index.html")].replace('\u{a0}', " ");
    assert!(first_page.contains(finding), "{finding}");
    said(&prony(&store, &["report", "--json", "--out", "results/one/"]));
    said(&prony(&store, &["report", "--json", "--out", "results/again/"]));
    let elsewhere = folder.path().join("no.db");
    let output = prony(&elsewhere, &["report", "--site", "other", "--from", "results"]);
    said(&output);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("was found twice"), "{message}");
    assert_eq!(files_below(&folder.path().join("other")), site);
    // Named runs in addition to exports, and absolute URLs on request.
    let base = ["--base-url", "https://bench.example/all"];
    let named = [
        &["report", "latest", "--site", "third", "--from", "results/one"][..],
        &base,
    ]
    .concat();
    said(&prony(&store, &named));
    let feed = std::fs::read_to_string(folder.path().join("third/feed.xml")).expect("written");
    assert!(
        feed.contains("href=\"https://bench.example/all/feed.xml\""),
        "{feed}"
    );
}

#[test]
fn what_makes_no_site_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    for name in ["empty", "broken", "strange"] {
        std::fs::create_dir(folder.path().join(name)).expect("makes");
    }
    std::fs::write(folder.path().join("file"), "").expect("writes");
    std::fs::write(folder.path().join("broken/report.json"), "{\"schema\":").expect("writes");
    std::fs::write(folder.path().join("strange/report.json"), "{\"schema\": 99}").expect("writes");
    for (arguments, wanted) in [
        (
            &["report", "--site", "out", "--from", "empty"][..],
            "no report.json",
        ),
        (
            &["report", "--site", "out", "--from", "nowhere"],
            "cannot read nowhere",
        ),
        (
            &["report", "--site", "out", "--from", "broken"],
            "broken/report.json",
        ),
        (&["report", "--site", "out", "--from", "strange"], "version 99"),
        (&["report", "--site", "out", "nowhere"], "`nowhere`"),
        (&["report", "--site", "file"], "file is a file"),
        (
            &["report", "--site", "out", "--base-url", "bench.example"],
            "https://",
        ),
        (
            &["report", "--site", "out", "--format", "md"],
            "cannot be used with",
        ),
        (&["report", "--from", "empty"], "--site"),
        (
            &["report", "latest", "latest"],
            "only one run can be shown at a time",
        ),
    ] {
        let output = prony(&store, arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
}

#[test]
fn a_run_that_does_not_exist_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let unknown = prony(&store, &["report", "nowhere"]);
    let message = String::from_utf8_lossy(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        message.contains("`nowhere`") && message.contains(&sample::run().id),
        "{message}"
    );
    let missing = prony(&folder.path().join("no.db"), &["report"]);
    assert_eq!(missing.status.code(), Some(2));
    let unchecked = prony(&store, &["report", "--format", "junit"]);
    assert_eq!(unchecked.status.code(), Some(2));
}

#[test]
fn a_file_is_shown_as_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let file = folder.path().join("exported.json");
    let file = file.to_str().expect("text");
    said(&prony(&store, &["report", "--json", "--out", file]));
    for form in ["terminal", "md", "csv", "json", "prometheus", "otlp"] {
        let of = |run: &str| said(&prony(&store, &["report", run, "--format", form]));
        assert_eq!(of(file), of("latest"), "{form}");
    }
}

#[test]
fn a_run_is_exported_for_hdr_histogram() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let log = said(&prony(&store, &["report", "--format", "hlog"]));
    assert!(log.starts_with("#[Histogram log format version 1.3]\n"), "{log}");
    assert!(
        log.lines()
            .any(|line| line.starts_with("Tag=1:rust-axum/current,")),
        "{log}"
    );
    let shown = said(&prony(
        &store,
        &["report", "--format", "hgrm", "--out", "percentiles/"],
    ));
    assert_eq!(shown.trim(), "percentiles/");
    let table =
        std::fs::read_to_string(folder.path().join("percentiles/1-rust-axum-current.hgrm")).expect("a file");
    assert!(table.contains("1/(1-Percentile)"), "{table}");
    // A report has the percentiles of all trials together, but no log.
    said(&prony(&store, &["report", "--json", "--out", "report.json"]));
    said(&prony(
        &store,
        &["report", "report.json", "--format", "hgrm", "--out", "again/"],
    ));
    assert_eq!(
        files_below(&folder.path().join("again")),
        files_below(&folder.path().join("percentiles"))
    );
    let refused = prony(&store, &["report", "report.json", "--format", "hlog"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("Name a run of the store"), "{message}");
}
