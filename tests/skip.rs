//! Test runners know no test that cannot run on this machine: to them it has passed. So such a test reports itself.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Reports that the test of this thread does not run here: on a line of its own, which no test runner captures, and as a line
/// `BINARY TEST: REASON` at the end of the file that `PRONY_SKIPPED_FILE` names, if it is set. BINARY is nextest's name of the test
/// binary, and is left out under `cargo test`.
pub(crate) fn skipped(reason: &str) {
    let line = format!("{}: {}\n", name(), reason.trim().replace('\n', "; "));
    // If standard error is closed, there is no one to read it.
    let _ = std::io::stderr().write_all(format!("\nskipped: {line}").as_bytes());
    if let Some(file) = std::env::var_os("PRONY_SKIPPED_FILE").filter(|file| !file.is_empty()) {
        // One write: lines of tests that run at the same time do not mix.
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .unwrap_or_else(|error| panic!("PRONY_SKIPPED_FILE={}: {error}", file.display()));
        file.write_all(line.as_bytes()).expect("the file takes a line");
    }
}

/// The name of this test.
fn name() -> String {
    if let (Ok(binary), Ok(test)) = (
        std::env::var("NEXTEST_BINARY_ID"),
        std::env::var("NEXTEST_TEST_NAME"),
    ) {
        return format!("{binary} {test}");
    }
    let thread = std::thread::current();
    thread.name().unwrap_or("a test").to_owned()
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
