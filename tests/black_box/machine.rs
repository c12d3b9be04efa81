//! Machines in a bad state: each error is one sentence with the cause and the remedy.

use crate::common::{Checkout, CommandOutput, two_variants, until};
use crate::skip;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// An unprivileged user id on most systems.
const NOBODY: u32 = 65_534;

/// Every command that builds and measures services of a checkout.
const MEASURE: [&[&str]; 5] = [
    &["run", "toys"],
    &["check", "toy-right", "--seed=1"],
    &["duet", "toy-right", "toy-right/slow"],
    &["compare", "toy-right", "toy-right/slow"],
    &["list", "services", "--replies"],
];
/// Makes the checkout read-only.
const READ_ONLY: &str = "mount --bind \"$HERE\" \"$HERE\"; mount -o remount,bind,ro \"$HERE\"; cd \"$HERE\"";

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Runs `prony` with these arguments after these commands, in a mount namespace of its own; `None`, with a message, if that is
/// not allowed.
fn after_mounting(checkout: &Checkout, commands: &str, arguments: &[&str]) -> Option<CommandOutput> {
    let here = checkout.path("");
    let mut shell = Command::new("unshare");
    shell
        .args(["--mount", "sh", "-euc"])
        .arg(format!("{commands}\nexec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("HERE", &here)
        .env("NO_COLOR", "1")
        .env_remove("PRONY_STORE")
        .current_dir("/");
    let may = is_root()
        && Command::new("unshare")
            .args(["--mount", "true"])
            .status()
            .is_ok_and(|status| status.success());
    if !may {
        skip::skipped("only root can mount");
        return None;
    }
    Some(CommandOutput::of(&shell.output().expect("unshare starts")))
}

#[test]
fn a_read_only_checkout_is_one_sentence() {
    let checkout = two_variants();
    for arguments in MEASURE {
        let Some(ended) = after_mounting(&checkout, READ_ONLY, arguments) else {
            return;
        };
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.contains("is on a read-only file system")
                && ended.err.contains("work in a writable copy"),
            "{}",
            ended.err
        );
        assert_eq!(
            ended.err.replace("seed 1\n", "").trim().lines().count(),
            1,
            "{}",
            ended.err
        );
    }
}

#[test]
fn a_read_only_store_can_be_read() {
    let checkout = Checkout::new(2, &["right"]);
    assert_eq!(checkout.prony(&["run", "toys", "--keep-disturbed"]).code, Some(0));
    let log = checkout.path(".prony/store.db-wal");
    assert!(
        !log.exists(),
        "the last process to close the store merges its log"
    );
    let first = checkout.prony(&["list", "runs", "--json"]).json()["runs"][0]["run"].clone();
    let first = first.as_str().expect("a run");
    let read = |what: &str| {
        for arguments in [
            &["report", "--json"][..],
            &["list", "runs", "--json"],
            &["compare", first, first, "--json"],
        ] {
            let ended = after_mounting(&checkout, READ_ONLY, arguments)?;
            assert_eq!(ended.code, Some(0), "{what}: {arguments:?}: {ended:?}");
            assert!(ended.json().is_object(), "{ended:?}");
        }
        Some(())
    };
    let Some(()) = read("put down") else { return };
    // The log of a killed run is part of the store, too.
    let mut child = checkout.start(&["run", "toys", "--rounds=50", "--keep-disturbed"]);
    let listed = || checkout.prony(&["list", "runs", "--json"]).json()["runs"].clone();
    until("a trial is stored", || {
        listed()[0]["trials"].as_u64() >= Some(1) && listed()[1].is_object()
    });
    child.kill().expect("KILL");
    child.wait().expect("it is gone");
    // Closing the store normally would merge the log.
    assert!(
        std::fs::metadata(&log).is_ok_and(|data| data.len() > 0),
        "the log of a killed run"
    );
    read("left behind");
    let runs = after_mounting(&checkout, READ_ONLY, &["list", "runs", "--json"]).expect("as before");
    assert_eq!(runs.json()["runs"].as_array().map(Vec::len), Some(2), "{runs:?}");
    let elsewhere = ["calibrate", "--store", ".prony/store.db"];
    let ended = after_mounting(&checkout, READ_ONLY, &elsewhere).expect("as before");
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_store_that_may_not_be_written_says_who_reads_it() {
    let checkout = Checkout::new(1, &["right"]);
    let store = checkout.path("kept/store.db");
    let shown = store.to_str().expect("text");
    let made = checkout.prony(&["run", "toys", "--dry-run", "--store", shown]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mount =
        "mount --bind \"$HERE/kept\" \"$HERE/kept\"; mount -o remount,bind,ro \"$HERE/kept\"; cd \"$HERE\"";
    let add_to_it = MEASURE.iter().filter(|arguments| arguments[0] != "list");
    for arguments in add_to_it {
        let arguments = [*arguments, &["--store", shown]].concat();
        let Some(ended) = after_mounting(&checkout, mount, &arguments) else {
            return;
        };
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(
            ended.err.contains("store.db is not writable") && ended.err.contains("--store"),
            "{}",
            ended.err
        );
    }
}

#[test]
fn a_full_disk_is_told_before_anything_is_built() {
    let checkout = two_variants();
    std::fs::create_dir(checkout.path(".prony")).expect("a folder");
    let mount = "mount -t tmpfs -o size=3m tmpfs \"$HERE/.prony\"; cd \"$HERE\"";
    for arguments in MEASURE {
        let Some(ended) = after_mounting(&checkout, mount, arguments) else {
            return;
        };
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(
            ended.err.contains("MiB are free for")
                && ended.err.contains("1 builds and a run need about 250 MiB"),
            "{arguments:?}: {}",
            ended.err
        );
    }
}

#[test]
fn a_machine_without_proc_is_told_before_anything_is_built() {
    let checkout = two_variants();
    let mount = "mount -t tmpfs none /proc; cd \"$HERE\"";
    for arguments in MEASURE {
        let Some(ended) = after_mounting(&checkout, mount, arguments) else {
            return;
        };
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        assert!(
            ended.err.contains("/proc is not mounted") && ended.err.contains("mount -t proc proc /proc"),
            "{arguments:?}: {}",
            ended.err
        );
    }
}

#[test]
fn a_state_folder_of_another_user_is_one_sentence() {
    let checkout = Checkout::new(1, &["right"]);
    if !is_root() {
        return skip::skipped("only root can be two users");
    }
    std::fs::create_dir(checkout.path(".prony")).expect("a folder");
    std::fs::set_permissions(checkout.path(""), PermissionsExt::from_mode(0o755)).expect("readable");
    // The cache of files that ship with prony, which each user has.
    let cache = checkout.path("cache");
    std::fs::create_dir(&cache).expect("a folder");
    std::fs::set_permissions(&cache, PermissionsExt::from_mode(0o777)).expect("writable for all");
    let binary = checkout.path("prony");
    std::fs::copy(env!("CARGO_BIN_EXE_prony"), &binary).expect("a binary that other users may run");
    for arguments in MEASURE {
        let mut command = Command::new(&binary);
        command
            .args(arguments)
            .current_dir(checkout.path(""))
            .env("XDG_CACHE_HOME", &cache)
            .env_remove("PRONY_STORE");
        let ended = CommandOutput::of(&command.uid(NOBODY).output().expect("the binary starts"));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.contains(".prony belongs to root, and ") && ended.err.contains("sudo chown -R"),
            "{}",
            ended.err
        );
        assert_eq!(
            ended.err.replace("seed 1\n", "").trim().lines().count(),
            1,
            "{}",
            ended.err
        );
    }
}

#[test]
fn a_machine_with_one_cpu_measures_and_says_what_that_costs() {
    let checkout = Checkout::new(1, &["right"]);
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("allowed CPUs");
    let first: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    let mut command = Command::new("taskset");
    command
        .args(["--cpu-list", &first, env!("CARGO_BIN_EXE_prony")])
        .args(["run", "toys", "--json", "--keep-disturbed"])
        .current_dir(checkout.path(""))
        .env_remove("PRONY_STORE");
    let ended = CommandOutput::of(&command.output().expect("taskset starts"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!(
        report["groups"][0]["services"][0]["excluded"],
        serde_json::Value::Null
    );
    let findings = report["environment"]["findings"].to_string();
    assert!(findings.contains("One core: generator and service"), "{findings}");
}
