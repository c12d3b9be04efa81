//! Runs without faults.

use super::line;
use super::space::{Space, is_own, near, run, script, try_kubectl, words};
use crate::common::root;
use crate::skip::skipped;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PIPES: &str = r#"[host.app]
pipe = true
cpus = "0"
[host.load-0]
pipe = true
[host.load-1]
pipe = true
[roles]
service = "app"
load = ["load-0", "load-1"]
"#;

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn the_instructions_of_docs_testbeds_work_word_for_word() {
    if !is_own() {
        return skipped("it needs a local cluster");
    }
    // The service of the page is written in Go.
    if Command::new("go").arg("version").output().is_err() {
        return skipped("it needs Go on this machine");
    }
    // As if the nodes had pulled it.
    let image =
        std::env::var("PRONY_TEST_IMAGE_ROOT").expect("PRONY_TEST_IMAGE_ROOT: cargo xtask kubernetes");
    run(&mut script(&["image", "docker.io/library/debian:12", &image]));
    let page = fs::read_to_string(root().join("docs/TESTBEDS.md")).expect("docs/TESTBEDS.md");
    let folder = tempfile::TempDir::new().expect("a folder");
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    symlink(Path::new(&image).join("usr/bin/prony"), bin.join("prony")).expect("a link");
    let kubectl_script = root().join("scripts/kubernetes");
    let kubectl_script = format!("#!/bin/sh\nexec {} kubectl \"$@\"\n", kubectl_script.display());
    fs::write(bin.join("kubectl"), kubectl_script).expect("a file");
    fs::set_permissions(bin.join("kubectl"), fs::Permissions::from_mode(0o755)).expect("its mode");
    let _removed = Removed("prony");
    let path = std::env::var("PATH").expect("PATH");
    let walked = run(near(Path::new("bash"))
        .args(["-c", &instructions(&page)])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("KUBECONFIG", run(&mut script(&["config"])).trim())
        .env("PRONY_LOCKS", folder.path().join("locks"))
        .env("NO_COLOR", "1"));
    let end = "prony has nothing in the namespace prony";
    super::says(&walked, &["go-mine", "goodput", end]);
    println!("{}", line(&walked, "app: "));
}

/// A namespace that is deleted on drop.
struct Removed(&'static str);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "namespace", self.0, "--ignore-not-found"]);
    }
}

/// A script with the code blocks of the walkthrough in the page.
fn instructions(page: &str) -> String {
    let (_, walk) = page
        .split_once("\n### From nothing to a report\n")
        .expect("the section");
    let walk = walk.split("\n### ").next().expect("its text");
    let mut script = String::from("set -euo pipefail\n");
    for block in walk.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a block");
        let (before, after) = match language {
            "sh" => ("", "\n"),
            _ => ("cat >testbed.toml <<'END'\n", "\nEND\n"),
        };
        script.extend([before, text, after]);
    }
    script
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn pods_give_the_records_that_one_machine_gives() {
    let space = Space::new("same");
    let there = space.run("two", "testbed.toml", 0).json();
    space.nothing_is_left();
    space.checkout.write("project/pipes.toml", PIPES);
    let here = space.run("two", "pipes.toml", 0).json();
    assert_eq!(records(&there), records(&here));
    let hosts = there["environment"]["hosts"].as_object().expect("hosts");
    let nodes: BTreeSet<&str> = hosts
        .values()
        .filter_map(|host| host["environment"]["runtimes"]["kubernetes node"].as_str())
        .collect();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    for point in rows(&there).flat_map(points) {
        // The spread of the start times of the workers.
        assert!(point["workers_start"]["bound_ns"].is_number(), "{point}");
    }
}

/// The content of a report about a service: trials, the fields of their points, and the workers of each.
#[derive(Debug, PartialEq)]
struct Record {
    trials: Value,
    fields: BTreeSet<String>,
    workers: Vec<Vec<Value>>,
}

fn records(report: &Value) -> BTreeMap<String, Record> {
    rows(report)
        .map(|row| {
            assert!(row["excluded"].is_null(), "{row}");
            let goodput = row["goodput_per_s"]["point"].as_f64();
            assert!(goodput.is_some_and(|goodput| goodput > 0.0), "{row}");
            let workers = points(row)
                .iter()
                .map(|point| {
                    let workers = point["workers"].as_array().expect("workers");
                    workers.iter().map(|worker| worker["name"].clone()).collect()
                })
                .collect();
            let record = Record {
                trials: row["trials"].clone(),
                fields: fields(&row["details"]["points"]),
                workers,
            };
            (format!("{}/{}", row["service"], row["variant"]), record)
        })
        .collect()
}

fn rows(report: &Value) -> impl Iterator<Item = &Value> {
    let groups = report["groups"].as_array().expect("groups").iter();
    groups.flat_map(|group| group["services"].as_array().expect("services"))
}

fn points(row: &Value) -> &[Value] {
    row["details"]["points"].as_array().expect("points")
}

/// The paths of all members of a record, regardless of their values.
fn fields(value: &Value) -> BTreeSet<String> {
    let below = |prefix: &str, inner: &Value| -> Vec<String> {
        let inner = fields(inner).into_iter();
        inner.map(|field| format!("{prefix}{field}")).collect()
    };
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, inner)| below(&format!(".{name}"), inner))
            .collect(),
        Value::Array(items) => {
            let all: BTreeSet<_> = items.iter().flat_map(|inner| below("[]", inner)).collect();
            if all.is_empty() {
                ["[]".to_owned()].into()
            } else {
                all
            }
        }
        _ => [String::new()].into(),
    }
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn ten_runs_leave_no_object() {
    let space = Space::new("ten");
    for _ in 0..10 {
        space.run("two", "testbed.toml", 0);
    }
    space.nothing_is_left();
    let kinds = space.kubectl(&words("api-resources --namespaced --verbs=list --output=name"));
    let kinds: Vec<&str> = kinds.split_whitespace().collect();
    assert!(
        kinds.contains(&"pods") && kinds.contains(&"jobs.batch"),
        "{kinds:?}"
    );
    // kubectl fails on a kind that cannot be listed, but lists the others first.
    let listed = try_kubectl(&[
        "--namespace",
        &space.name,
        "get",
        &kinds.join(","),
        "--output=name",
    ]);
    // The objects of every namespace, the objects of this test, and the cluster's events.
    let known = [
        "event",
        "serviceaccount/",
        "configmap/kube-root-ca.crt",
        "role.rbac",
        "rolebinding.rbac",
    ];
    let listed: Vec<&str> = listed.out.split_whitespace().collect();
    assert!(
        listed.iter().any(|name| name.starts_with("serviceaccount/")),
        "{listed:?}"
    );
    let strange = listed
        .iter()
        .filter(|name| !known.iter().any(|known| name.starts_with(known)));
    let strange: Vec<_> = strange.collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn what_two_workers_did_is_added_up_to_the_last_request() {
    if !is_own() {
        return skipped("pods of another cluster may be unable to connect to this machine");
    }
    let toy = Toy::start();
    let space = Space::new("merge");
    let load = "--testbed testbed.toml --requests 1001 --connections 6 --json";
    let load = [&["load", toy.url.as_str()], &words(load)[..]].concat();
    let load = space.prony(&load, 0).json();
    assert_eq!(load["requests"]["completed"], 1001, "{load}");
    assert_eq!(load["outcomes"]["valid"], 1001, "{load}");
    let workers = load["workers"].as_array().expect("workers");
    assert_eq!(workers.len(), 2, "{load}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {load}"));
    let parts: f64 = workers
        .iter()
        .map(|worker| number(&worker["throughput_per_s"]))
        .sum();
    let whole = number(&load["throughput_per_s"]);
    assert!((parts / whole - 1.0).abs() < 1e-9, "{load}");
}

/// `prony toy` in the network of the cluster.
struct Toy {
    process: Child,
    url: String,
}

impl Toy {
    fn start() -> Self {
        let mut process = near(Path::new(env!("CARGO_BIN_EXE_prony")))
            .args(["toy", "--host", "10.77.0.1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the toy starts");
        let mut address = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut address)
            .expect("its address");
        let url = format!("{}/api/test", address.trim());
        Self { process, url }
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
