//! Faults during a run: processes, pods, nodes, the network, prony itself.

use super::space::{SOON, Space, ended, is_own, kubectl, run, script, until, words};
use super::{LOST, VOID, line, says};
use crate::skip::skipped;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longer than a lease, after which a disconnected worker stops.
const LEASE: Duration = Duration::from_secs(8);
/// A deadline of pods; a minute later the cluster removes their jobs.
const DEADLINE: &str = "40s";
const REMOVED: Duration = Duration::from_mins(3);

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_trial_whose_generator_is_killed_is_repeated() {
    let mut space = Space::new("generator");
    let child = space.start_run();
    let pods = space.loaded();
    space.kill_generator(&pods["load-1"]);
    let ended = ended(child, 0);
    space.nothing_is_left();
    println!("{}", line(&ended.err, VOID));
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_worker_whose_agent_is_killed_is_reached_again() {
    let mut space = Space::new("agent");
    let child = space.start_run();
    let pods = space.loaded();
    space.kill_agent(&pods["load-1"]);
    let ended = ended(child, 0);
    space.nothing_is_left();
    let lost = format!("{VOID}lost the connection to load-1");
    println!("{}", line(&ended.err, &lost));
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_run_whose_pod_is_deleted_goes_on_with_new_pods() {
    // Only the first node of the local cluster gives pods exclusive CPUs: on another node the service would have a different machine.
    let mut space = Space::with("pod", |testbed| testbed.node = is_own().then_some("node1"));
    let child = space.start_long_run();
    let pods = space.loaded();
    // The status of the jobs from now on.
    let columns = "jsonpath={.metadata.name} {.status.failedIndexes} {.status.active}{\"\\n\"}";
    let watch = space
        .kubectl_command(&["get", "jobs", "--watch", "--output", columns])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl");
    let mut watch = BackgroundCommand(Some(watch));
    space.kubectl(&["delete", "pod", &pods["load-1"].name, "--wait=false"]);
    let ended = ended(child, 3);
    let said = watch.end();
    // The other worker's pod continued.
    says(&said, &["-load 1 1\n"]);
    println!("{}", line(&ended.err, &format!("{LOST}cannot reach load-")));
    space.nothing_is_left();
    let resume = "run --resume --testbed testbed.toml --json --keep-disturbed";
    let report = space.prony(&words(resume), 0).json();
    assert_eq!(report["groups"][0]["services"][0]["trials"], 1, "{report}");
    space.nothing_is_left();
}

/// A command that runs until the test stops it.
struct BackgroundCommand(Option<Child>);

impl BackgroundCommand {
    /// Stops it and returns its output.
    fn end(&mut self) -> String {
        let child = self.0.take().expect("it runs");
        crate::common::signal(&child, "TERM");
        let output = child.wait_with_output().expect("its output");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for BackgroundCommand {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.end();
        }
    }
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_node_without_power_ends_the_run_and_its_jobs() {
    if !is_own() {
        return skipped("it takes down a node, which is only allowed on a local cluster");
    }
    let mut space = Space::new("power");
    let child = space.start_long_run();
    let pod = space.loaded()["load-1"].clone();
    let number = pod.node.trim_start_matches("node");
    run(&mut script(&["kill-node", number]));
    let ended = {
        let _stopped = StoppedNode(number);
        let ended = ended(child, 3);
        until("the jobs are gone", SOON, || space.jobs_left() == 0);
        ended
    };
    space.nothing_is_left();
    let node = format!("node/{}", pod.node);
    kubectl(&["wait", "--for=condition=Ready", &node, "--timeout=60s"]);
    println!("{}", line(&ended.err, &format!("{LOST}cannot reach load-1")));
}

/// A node that is started again on drop.
struct StoppedNode<'a>(&'a str);

impl Drop for StoppedNode<'_> {
    fn drop(&mut self) {
        run(&mut script(&["start-node", self.0]));
    }
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn a_worker_that_was_cut_off_is_reached_again() {
    if !is_own() {
        return skipped("it cuts a network, which is only allowed on a local cluster");
    }
    let mut space = Space::new("network");
    let child = space.start_run();
    let pod = space.loaded()["load-1"].clone();
    {
        let _joined = Joined::cut(pod.node.trim_start_matches("node"));
        // The outage itself: there is no condition to wait for.
        std::thread::sleep(LEASE);
    }
    let ended = ended(child, 0);
    space.nothing_is_left();
    let lost = format!("{VOID}lost the connection to load-1");
    println!("{}", line(&ended.err, &lost));
}

/// A node without a network until this is dropped.
struct Joined<'a>(&'a str);

impl<'a> Joined<'a> {
    fn cut(number: &'a str) -> Self {
        run(&mut script(&["cut-node", number]));
        Self(number)
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        run(&mut script(&["join-node", self.0]));
    }
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn pods_of_a_killed_prony_become_quiet_and_are_cleaned() {
    let mut space = Space::new("controller");
    let mut child = space.start_long_run();
    let pods = space.loaded();
    kill(&mut child);
    let began = Instant::now();
    for pod in pods.values() {
        space.until_quiet(pod);
    }
    println!("agents and generators are gone after {:?}", began.elapsed());
    let shown = space.prony(&words("testbed clean --testbed testbed.toml"), 0).out;
    says(&shown, &["-app", "-load", "prony run"]);
    assert_eq!(
        space.jobs_left(),
        2,
        "`testbed clean` without --yes only lists them"
    );
    space.prony(&words("testbed clean --testbed testbed.toml --yes"), 0);
    space.nothing_is_left();
}

#[test]
#[ignore = "needs a cluster: `cargo xtask kubernetes`"]
fn the_cluster_removes_what_a_killed_prony_left() {
    let mut space = Space::with("alone", |testbed| testbed.deadline = DEADLINE);
    let mut child = space.start_long_run();
    space.loaded();
    kill(&mut child);
    let began = Instant::now();
    until("the cluster removes it", REMOVED, || space.left().is_empty());
    println!(
        "nothing is left after {:?}, with a deadline of {DEADLINE}",
        began.elapsed()
    );
}

fn kill(child: &mut Child) {
    child.kill().expect("KILL");
    child.wait().expect("it ends");
}
