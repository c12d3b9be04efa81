//! A test that this machine cannot run says so, and `scripts/test` counts it as skipped.

use std::io::Write as _;
use std::path::Path;

/// Says that the test of this thread does not run here, on a line of its own that no test runner holds back.
pub(crate) fn skipped(reason: &str) {
    let thread = std::thread::current();
    let line = format!(
        "\nskipped: {}: {}\n",
        thread.name().unwrap_or("a test"),
        reason.trim()
    );
    // Nobody reads it: nothing to do.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Why nobody can make control groups here; `None` where somebody can, so that a test must run.
pub(crate) fn without_control_groups() -> Option<&'static str> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut roots = mounts
        .lines()
        .filter_map(|line| Some((line.split(' ').nth(1)?, line.split(' ').nth(2)?)))
        .filter(|(_, kind)| kind.starts_with("cgroup"))
        .map(|(root, _)| Path::new(root))
        .peekable();
    if roots.peek().is_none() {
        return Some("no control groups are mounted");
    }
    // Its name is of this process, so that two tests make no trouble for one another.
    let name = format!(
        "prony-test-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let writable = |root: &Path| {
        let group = root.join(&name);
        std::fs::create_dir(&group).is_ok() && std::fs::remove_dir(&group).is_ok()
    };
    // The controllers of version 1 are mounted one by one; those of a delegated group are tried by prony itself.
    (!roots.any(writable)).then_some("only root can make control groups")
}
