//! Loads that are saved under a name, and compared by it.

use crate::common::{assert_refused, json_of, prony, server, stderr_of};
use std::path::Path;
use std::process::Output;

fn save(store: &Path, name: &str, url: &str, switches: &[&str]) -> Output {
    let store = store.to_str().expect("text");
    prony(
        &[
            &["load", url, "-n", "400", "--save", name, "--store", store],
            switches,
        ]
        .concat(),
    )
}

fn shown(store: &Path, words: &[&str]) -> Output {
    prony(&[words, &["--json", "--store", store.to_str().expect("text")]].concat())
}

#[test]
fn loads_of_a_name_are_repetitions_and_two_names_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let (before, after) = (server(), server());
    for count in 1..=3 {
        for (name, url) in [("before", &before), ("after", &after)] {
            let output = save(&store, name, url, &[]);
            assert!(output.status.success(), "{}", stderr_of(&output));
            let kept = format!("Saved as `{name}` ({count} of 5 repetitions)");
            assert!(stderr_of(&output).contains(&kept), "{}", stderr_of(&output));
        }
    }
    let output = shown(&store, &["compare", "before", "after"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let comparison = json_of(&output);
    let row = &comparison["groups"][0]["services"][0];
    assert_eq!(comparison["groups"][0]["workload"], "GET /", "{comparison}");
    assert!(row.to_string().contains("goodput_per_s"), "{comparison}");
    let runs = json_of(&shown(&store, &["list", "runs"]));
    let trials: Vec<i64> = runs["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .filter_map(|run| run["trials"].as_i64())
        .collect();
    assert_eq!(trials, [3, 3], "{runs}");
    let report = json_of(&shown(&store, &["report", "after"]));
    assert_eq!(report["planned_trials"], 3, "{report}");
}

#[test]
fn a_name_keeps_one_kind_of_thing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let url = server();
    assert!(save(&store, "mine", &url, &[]).status.success());
    for (name, url, part) in [
        ("mine", server(), "Choose another name"),
        ("latest", url.clone(), "no name to keep a load by"),
        ("a b", url.clone(), "no name to keep a load by"),
    ] {
        let output = save(&store, name, &url, &[]);
        assert_refused(&output, part);
    }
}

#[test]
fn a_load_without_a_reply_is_not_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    drop(listener);
    let output = save(&store, "none", &url, &[]);
    assert!(!output.status.success(), "{}", stderr_of(&output));
    let runs = json_of(&shown(&store, &["list", "runs"]));
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(0), "{runs}");
}

/// A program that keeps a CPU busy until it is dropped. Its parent has ended, because the server is in this process, and what a
/// server starts counts as the server.
struct Busy(String);

impl Busy {
    fn start() -> Self {
        let script = "while :; do :; done >/dev/null 2>&1 & echo $!";
        let shell = std::process::Command::new("sh").args(["-c", script]).output();
        Self(
            String::from_utf8_lossy(&shell.expect("a shell").stdout)
                .trim()
                .to_owned(),
        )
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = std::process::Command::new("kill").arg(&self.0).status();
    }
}

#[test]
fn loads_that_differ_in_more_than_the_server_are_labelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let url = server();
    let path = store.to_str().expect("text");
    // Long enough for the resolution of the kernel's counters.
    let load = |name: &str, timeout: &str| {
        let fixed = ["load", &url, "-c", "1", "-d", "1s", "--store", path];
        let output = prony(&[fixed.as_slice(), &["--save", name, "--timeout", timeout]].concat());
        assert!(output.status.success(), "{}", stderr_of(&output));
        stderr_of(&output)
    };
    load("before", "10s");
    load("before", "10s");
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    let busy: Vec<Busy> = (0..2 * cpus).map(|_| Busy::start()).collect();
    let said = load("after", "9s");
    assert!(said.contains("warning: other programs used "), "{said}");
    load("after", "9s");
    drop(busy);
    let output = prony(&["compare", "before", "after", "--store", path]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "Not comparable",
        "timeout: 10 s in the base, 9 s now",
        "Other programs used ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = json_of(&prony(&["compare", "before", "after", "--store", path, "--json"]));
    for side in ["base", "new"] {
        let share = found["others"][side]
            .as_f64()
            .expect("the server is this process, so it is known");
        assert!((0.0..=1.0).contains(&share), "{found}");
    }
}

#[test]
fn a_name_keeps_loads_with_the_same_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let url = server();
    assert!(save(&store, "mine", &url, &[]).status.success());
    let output = save(&store, "mine", &url, &["-H", "x: y"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
    assert!(
        stderr_of(&output).contains("keeps loads with other settings (requests and expectations: "),
        "{}",
        stderr_of(&output)
    );
}

/// Runs prony in an empty folder that is in no project, as a user whose data are in `data`.
fn outside(folder: &Path, data: &Path, arguments: &[&str]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_DATA_HOME", data)
        .env_remove("PRONY_STORE")
        .output()
        .expect("prony runs")
}

#[test]
fn two_paths_are_saved_and_compared_outside_of_a_project() {
    let (folder, data) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let run = |arguments: &[&str]| outside(folder.path(), data.path(), arguments);
    let url = server();
    for (path, name) in [("/a", "a"), ("/a", "a"), ("/b", "b"), ("/b", "b")] {
        let output = run(&["load", &format!("{url}{path}"), "-n", "400", "--save", name]);
        assert!(output.status.success(), "{}", stderr_of(&output));
        let place = data.path().join("prony/store.db");
        let said = format!(" in {}. → `prony compare {name} OTHER`", place.display());
        assert!(stderr_of(&output).contains(&said), "{}", stderr_of(&output));
    }
    let output = run(&["compare", "a", "b"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "NOT GATED: b against a: ",
        "Different request: GET /a in the base, GET /b now.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = json_of(&run(&["compare", "a", "b", "--json"]));
    assert_eq!(found["differences"][0]["what"], "request", "{found}");
    assert_eq!(found["missing"].as_array().map(Vec::len), Some(0), "{found}");
    for arguments in [
        &["report", "a"][..],
        &["report", "b", "--format", "html"],
        &["list", "runs"],
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr_of(&output));
    }
    assert!(folder.path().join("prony-reports/b/report.html").is_file());
    let named = folder.path().join("own.db");
    let named = named.to_str().expect("text");
    let output = run(&["load", &url, "-n", "10", "--save", "c", "--store", named]);
    assert!(!stderr_of(&output).contains(" in "), "{}", stderr_of(&output));
}

#[test]
fn an_exported_report_is_shown_without_a_store() {
    let (folder, data) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/capacity/report.json");
    let old = old.to_str().expect("text");
    for (form, part) in [
        ("terminal", "rank"),
        ("md", "|"),
        ("csv", "service"),
        ("json", "\"groups\""),
        ("html", "prony-reports/"),
    ] {
        let output = outside(folder.path(), data.path(), &["report", old, "--format", form]);
        assert!(output.status.success(), "{form}: {}", stderr_of(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(part), "{form}: {text}");
    }
}

#[test]
fn loads_of_another_target_are_of_another_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let (one, other) = (server(), server());
    for (name, url) in [
        ("a1", &one),
        ("a2", &one),
        ("a3", &one),
        ("b1", &other),
        ("b2", &other),
    ] {
        for _ in 0..2 {
            let output = save(&store, name, url, &[]);
            assert!(output.status.success(), "{}", stderr_of(&output));
        }
    }
    let found = json_of(&shown(&store, &["compare", "a1", "b2"]));
    assert_eq!(found["differences"][0]["what"], "target", "{found}");
    assert_eq!(found["differences"][0]["base"], one.as_str(), "{found}");
    let found = json_of(&shown(&store, &["compare", "b1", "b2", "--history"]));
    assert_eq!(
        found["history"][0]["runs"],
        serde_json::json!(["b1", "b2"]),
        "{found}"
    );
    assert_eq!(found["verdict"], "inconclusive", "{found}");
}
