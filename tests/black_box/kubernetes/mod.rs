//! Runs of prony on a real Kubernetes cluster, and what becomes of them when something there fails.
//!
//! `cargo xtask kubernetes` starts these tests. The cluster is the one that KUBECONFIG names; else one that `scripts/kubernetes` has brought
//! up on this machine. Everything is made in namespaces of these tests (prony-test-…), which are removed. There prony has the rights that
//! `prony testbed rbac` prints, and no others. What would take nodes down is done to a cluster of this machine only.

mod faults;
mod refusals;
mod runs;
mod space;

use crate::common::Ended;

/// How prony begins to say that a trial is void and repeated.
const VOID: &str = "the infrastructure failed, not the service: ";
/// How it begins to say that a run has ended early.
const LOST: &str = "ended early, since a host of the testbed is lost: ";

/// The part of a message that begins with `part`, until the end of its line.
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

fn ends_with(ended: &Ended, code: i32) {
    assert_eq!(ended.code, Some(code), "{}{}", ended.err, ended.out);
}
