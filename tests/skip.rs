//! Test runners have no notion of a test that cannot run on this machine: they count it as passed. So such a test reports
//! itself.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Reports that the test of this thread cannot run here: on a separate line, which test runners do not capture, and as a line
/// `BINARY TEST: REASON` at the end of the file in `PRONY_SKIPPED_FILE`, if it is set. BINARY is nextest's name of the test
/// binary, and is left out under `cargo test`.
pub(crate) fn skipped(reason: &str) {
    let line = format!("{}: {}\n", name(), reason.trim().replace('\n', "; "));
    // If standard error is closed, there is no one to read it.
    let _ = std::io::stderr().write_all(format!("\nskipped: {line}").as_bytes());
    if let Some(file) = std::env::var_os("PRONY_SKIPPED_FILE").filter(|file| !file.is_empty()) {
        // A single write: lines of concurrent tests do not mix.
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .unwrap_or_else(|error| panic!("PRONY_SKIPPED_FILE={}: {error}", file.display()));
        file.write_all(line.as_bytes()).expect("the file is writable");
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

/// Why control groups cannot be created here; `None` if they can, so that the test must run.
pub(crate) fn without_control_groups() -> Option<&'static str> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut roots = mounts
        .lines()
        .filter_map(|line| Some((line.split(' ').nth(1)?, line.split(' ').nth(2)?)))
        .filter(|(_, kind)| kind.starts_with("cgroup"))
        .map(|(root, _)| Path::new(root))
        .peekable();
    if roots.peek().is_none() {
        return Some("control groups are not mounted");
    }
    // The name contains this process and thread, so that concurrent tests do not interfere.
    let name = format!(
        "prony-test-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let writable = |root: &Path| {
        let group = root.join(&name);
        std::fs::create_dir(&group).is_ok() && std::fs::remove_dir(&group).is_ok()
    };
    // Version 1 mounts each controller separately; prony itself tries those of a delegated group.
    (!roots.any(writable)).then_some("creating control groups needs root")
}
