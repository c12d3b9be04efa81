//! Refusals of the cluster: rights, quotas, nodes, images, namespaces.

use super::space::{SOON, Space, ended, is_own, kubectl, try_kubectl, until, words};
use super::{line, says};

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_user_without_rights_and_an_unknown_one_are_refused() {
    let space = Space::without_rights("rights", |_| ());
    let refused = space.run("one", "testbed.toml", 1);
    says(&refused.err, &["(403)", "prony testbed rbac"]);
    println!("{}", line(&refused.err, "the cluster refuses to create"));
    let looked = space.prony(&["testbed", "check", "--testbed", "testbed.toml"], 3);
    says(&looked.out, &["the right to create jobs is missing"]);
    space.log_in("expired");
    let stranger = space.run("one", "testbed.toml", 1);
    says(&stranger.err, &["(401)", "log in again"]);
    println!("{}", line(&stranger.err, "the cluster refuses to create"));
    space.nothing_is_left();
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_quota_and_nodes_that_are_too_small_are_quoted() {
    let space = Space::new("quota");
    space.kubectl(&["create", "quota", "small", "--hard=requests.cpu=1"]);
    let refused = space.run("one", "testbed.toml", 1);
    let advice = "have the quota of the namespace raised";
    says(&refused.err, &["exceeded quota: small", advice]);
    println!("{}", line(&refused.err, "is not allowed: "));
    space.prony(&["testbed", "check", "--testbed", "testbed.toml"], 3);
    space.kubectl(&["delete", "quota", "small"]);
    space.testbed("large.toml", |testbed| {
        testbed.cpus = 500;
        testbed.within = "3s";
    });
    let large = space.run("one", "large.toml", 1);
    says(&large.err, &["Insufficient cpu"]);
    println!("{}", line(&large.err, "the scheduler says: "));
    space.nothing_is_left();
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn an_image_that_is_missing_and_one_without_a_shell_are_told() {
    let image = "localhost/prony-nowhere:1";
    let space = Space::with("image", |testbed| image.clone_into(&mut testbed.image));
    let missing = space.run("one", "testbed.toml", 1);
    println!("{}", line(&missing.err, "does not start: "));
    space.prony(&["testbed", "check", "--testbed", "testbed.toml"], 3);
    if is_own() {
        space.testbed("shell.toml", |testbed| {
            "localhost/pause:1".clone_into(&mut testbed.image);
            testbed.has_prony = false;
        });
        let ended = space.run("one", "shell.toml", 1);
        println!("{}", line(&ended.err, "ended at once: "));
    }
    space.nothing_is_left();
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_service_that_exceeds_the_memory_of_its_pod_is_excluded() {
    let space = Space::new("memory");
    let ended = space.run("hungry", "testbed.toml", 3);
    space.nothing_is_left();
    let report = ended.json();
    let excluded = &report["groups"][0]["services"][0]["excluded"];
    assert!(excluded["reason"].is_string(), "{report}");
    println!("{}", excluded["reason"]);
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_namespace_that_is_missing_and_one_that_is_deleted_end_the_run() {
    let mut space = Space::new("gone");
    let config = kubectl(&words("config view --raw --minify --flatten"));
    let administrator = space.write_private("administrator", &config);
    space.testbed("nowhere.toml", |testbed| {
        testbed.config = administrator;
        "prony-test-nowhere".clone_into(&mut testbed.namespace);
    });
    let nowhere = space.run("one", "nowhere.toml", 1);
    says(&nowhere.err, &["(404)", "kubectl create namespace"]);
    println!("{}", line(&nowhere.err, "the cluster refuses to create"));

    let child = space.start_long_run();
    space.loaded();
    space.kubectl(&["delete", "namespace", &space.name, "--wait=false"]);
    let ended = ended(child, 3);
    println!("{}", line(&ended.err, super::LOST));
    until("the namespace is gone", SOON, || {
        try_kubectl(&["get", "namespace", &space.name]).code != Some(0)
    });
}

/// `prony testbed check` works with pods whose image does not contain prony.
#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn prony_is_brought_into_an_image_with_a_shell() {
    let space = Space::with("brought", |testbed| testbed.has_prony = false);
    let looked = space.prony(&["testbed", "check", "--testbed", "testbed.toml", "--json"], 0);
    says(&looked.err, &["copying prony to the host"]);
    let found = looked.json();
    let hosts = found["hosts"].as_object().expect("hosts");
    // Each pod requested one CPU.
    let shared = hosts.values().filter(|host| {
        let allowed = host["granted"]["allowed"].as_array();
        allowed.expect("CPUs").len() > 1
    });
    let findings = found["findings"].as_array().expect("findings").iter();
    let texts = findings.filter_map(|finding| finding["text"].as_str());
    let told: Vec<&str> = texts.filter(|text| text.contains("not its own")).collect();
    assert_eq!(told.len(), shared.count(), "{found}");
    space.prony(&["check", "toy/current", "--testbed", "testbed.toml"], 0);
    space.nothing_is_left();
}
