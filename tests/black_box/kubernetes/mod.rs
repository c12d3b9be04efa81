//! Runs of prony on a real Kubernetes cluster, including faults of the cluster.
//!
//! `cargo xtask kubernetes` starts these tests. They use the cluster of KUBECONFIG, or else one that `scripts/kubernetes` has
//! started on this machine. All objects are in namespaces of these tests (prony-test-…), which are removed. There, prony has
//! exactly the rights that `prony testbed rbac` prints. Only a local cluster has nodes taken down.

mod faults;
mod refusals;
mod runs;
mod space;

use crate::common::CommandOutput;

/// The start of the message about an infrastructure failure in a trial, which is repeated.
const VOID: &str = "infrastructure failure: ";
/// The start of the message that a run has ended early.
const LOST: &str = "stopped early because a host of the testbed was lost: ";

/// The part of a message from `part` to the end of its line.
fn line<'a>(text: &'a str, part: &str) -> &'a str {
    let found = text
        .lines()
        .find_map(|line| line.find(part).map(|begin| &line[begin..]));
    found.unwrap_or_else(|| panic!("no `{part}` in: {text}")).trim()
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

fn ends_with(ended: &CommandOutput, code: i32) {
    assert_eq!(ended.code, Some(code), "{}{}", ended.err, ended.out);
}
