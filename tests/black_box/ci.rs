//! What CI counts where no time is left for a step.

use std::path::Path;
use std::process::Command;

/// The step of clusters alone, with so many minutes for all.
fn kubernetes(minutes: &str) -> (bool, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ended = Command::new(root.join("scripts/test"))
        .arg("kubernetes")
        .env("PRONY_TEST_MINUTES", minutes)
        .output()
        .expect("bash");
    let said = String::from_utf8(ended.stdout).expect("text");
    (ended.status.success(), said.lines().map(str::to_owned).collect())
}

#[test]
fn a_cluster_for_which_no_time_is_left_is_counted_as_skipped() {
    // The time is over; and it is not, and is too short for what the tests take.
    for (minutes, by_itself) in [("0", false), ("5", true)] {
        let (is_good, said) = kubernetes(minutes);
        let told = format!("{minutes} min: {said:#?}");
        assert!(is_good, "{told}");
        assert_eq!(
            said.last().map(String::as_str),
            Some("0 passed, 0 failed, 1 skipped"),
            "{told}"
        );
        let has = |line: &str| said.iter().any(|own| own == line);
        assert!(said.iter().any(|line| line.starts_with("skipped: ")), "{told}");
        assert_eq!(
            has("kubernetes: 0 passed, 0 failed, 1 skipped"),
            by_itself,
            "{told}"
        );
        assert!(!said.iter().any(|line| line == "== format"), "{told}");
    }
}
