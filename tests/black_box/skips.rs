//! A test that cannot run on this machine reports itself as skipped; its test runner counts it as passed.

use std::process::Command;

const TEST: &str = "walkthrough::the_walk_of_the_readme_ends_with_a_ranked_board";

#[test]
fn a_test_that_cannot_run_here_is_listed_with_the_reason() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("skipped");
    let run = |more: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        // Without a PATH there is no Node.js either.
        command.args(["--exact", TEST]).env("PATH", folder.path());
        command.env("PRONY_SKIPPED_FILE", &file);
        command.env_remove("NEXTEST_BINARY_ID").envs(more.iter().copied());
        let ended = command.output().expect("it runs");
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let reason = "the walk of the README needs Node.js";
    let said = run(&[]);
    assert!(said.contains(&format!("\nskipped: {TEST}: {reason}\n")), "{said}");
    run(&[
        ("NEXTEST_BINARY_ID", "prony::black-box"),
        ("NEXTEST_TEST_NAME", TEST),
    ]);
    let listed = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(
        listed,
        format!("{TEST}: {reason}\nprony::black-box {TEST}: {reason}\n")
    );
}
