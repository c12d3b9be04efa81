//! Runs on pods of a fake cluster: its API is over HTTP, and its pods run on this machine.

use crate::cluster::Cluster;
use crate::common::{Checkout, until};
use crate::testbed::{prony, service, with_pipes};
use serde_json::Value;

/// A service and two workers. Their image contains prony at its path on this machine.
fn with_pods(cluster: &Cluster) -> Checkout {
    let checkout = with_pipes(1, &["right"]);
    let testbed = format!(
        "[kubernetes]\nkubeconfig = \"{}\"\nnamespace = \"bench\"\nimage = \"toy\"\nprony = \"{}\"\n\
         [host.app]\ncpus = 1\n[host.load]\nreplicas = 2\n\
         [roles]\nservice = \"app\"\nload = \"load\"\n",
        cluster.kubeconfig().display(),
        env!("CARGO_BIN_EXE_prony")
    );
    checkout.write("testbed.toml", &testbed);
    checkout
}

#[test]
fn pods_are_looked_at_and_measure_as_hosts_do() {
    let cluster = Cluster::start();
    let checkout = with_pods(&cluster);
    let looked = prony(
        &checkout,
        &["testbed", "check", "--testbed", "testbed.toml", "--json"],
    );
    let found = looked.json();
    for host in ["app", "load-0", "load-1"] {
        let granted = &found["hosts"][host]["granted"];
        assert!(
            granted["allowed"].as_array().is_some_and(|cpus| !cpus.is_empty()),
            "{found}"
        );
    }
    let ways: Vec<&Value> = found["links"]
        .as_array()
        .expect("ways")
        .iter()
        .map(|way| &way["from"])
        .collect();
    assert_eq!(ways, ["load-0", "load-1", "app"], "{found}");
    assert_eq!(cluster.state().jobs.len(), 0, "{looked:?}");

    let ended = prony(
        &checkout,
        &[
            "run",
            "toys",
            "--testbed",
            "testbed.toml",
            "--json",
            "--keep-disturbed",
        ],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let row = service(&report);
    let goodput = row["details"]["points"][0]["goodput_per_s"].as_f64();
    assert!(goodput.is_some_and(|goodput| goodput > 0.0), "{row}");
    let workers = row["details"]["points"][0]["workers"]
        .as_array()
        .expect("workers");
    let names: Vec<&Value> = workers.iter().map(|worker| &worker["name"]).collect();
    assert_eq!(names, ["load-0", "load-1"], "{row}");
    let runtimes = &report["environment"]["hosts"]["load-1"]["environment"]["runtimes"];
    assert_eq!(runtimes["kubernetes node"], "node2", "{runtimes}");
    assert_eq!(runtimes["image"], "x@sha256:11", "{runtimes}");
    assert_eq!(cluster.state().jobs.len(), 0, "nothing is left behind");
    until("no agent is left", || {
        let state = cluster.state();
        state.processes.iter().all(|process| !is_alive(*process))
    });
}

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn what_a_killed_controller_left_is_shown_and_removed() {
    let cluster = Cluster::start();
    let checkout = with_pods(&cluster);
    cluster.state().jobs.push(serde_json::json!({
        "metadata": { "name": "prony-abc-app", "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": { "prony/what": "prony run toys" }, "labels": {} },
        "spec": { "completions": 0 },
    }));
    let shown = prony(&checkout, &["testbed", "clean", "--testbed", "testbed.toml"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for part in ["prony-abc-app", "2026-01-01T00:00:00Z", "prony run toys", "--yes"] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    assert_eq!(
        cluster.state().jobs.len(),
        1,
        "`testbed clean` without --yes only lists it"
    );
    let removed = prony(
        &checkout,
        &["testbed", "clean", "--testbed", "testbed.toml", "--yes"],
    );
    assert_eq!(
        (removed.code, cluster.state().jobs.len()),
        (Some(0), 0),
        "{removed:?}"
    );
    let again = prony(&checkout, &["testbed", "clean", "--testbed", "testbed.toml"]);
    assert!(
        again.out.contains("prony has nothing in the namespace bench"),
        "{again:?}"
    );
}

#[test]
fn a_cluster_that_refuses_is_quoted() {
    let cluster = Cluster::start();
    let checkout = with_pods(&cluster);
    cluster.state().refuses = Some((403, "GET"));
    let ended = prony(&checkout, &["run", "toys", "--testbed", "testbed.toml"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in [
        "cannot create the pods of the testbed",
        "User \"ann\" cannot do that",
        "`prony testbed rbac`",
    ] {
        assert!(ended.err.contains(part), "{part}: {ended:?}");
    }
    assert_eq!(cluster.state().jobs.len(), 0, "nothing is left behind");
}

#[test]
fn pods_on_a_single_node_are_allowed_where_asked_for_and_told() {
    let cluster = Cluster::start();
    let checkout = with_pods(&cluster);
    let apart = std::fs::read_to_string(checkout.path("testbed.toml")).expect("written before");
    let shared = apart.replace("[host.app]", "share_nodes = true\n[host.app]");
    checkout.write("testbed.toml", &shared);
    cluster.state().one_node = true;
    let looked = prony(
        &checkout,
        &["testbed", "check", "--testbed", "testbed.toml", "--json"],
    );
    let told = "app and load-0 and load-1 share the node node0 and disturb each other";
    assert!(looked.err.contains(told), "{looked:?}");
    assert_eq!(
        looked.json()["hosts"].as_object().map(serde_json::Map::len),
        Some(3),
        "{looked:?}"
    );
    assert_eq!(cluster.state().jobs.len(), 0, "nothing is left behind");
}
