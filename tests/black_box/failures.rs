//! Who is blamed for a failure, what is tried again, and what a continued run remembers of it.

use crate::common::{Checkout, CommandOutput, Disk, attempts, signal, two_variants, until};
use serde_json::Value;
use std::fs::{self, File};
use std::process::{Child, Command};

const RUN: [&str; 3] = ["run", "toys", "--keep-disturbed"];

/// Makes trials long enough for a test to act in one.
fn with_long_trials(checkout: &Checkout) {
    change(checkout, "suites/toys.toml", "300ms", "1500ms");
}

fn change(checkout: &Checkout, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(checkout.path(file)).expect("a file");
    assert!(text.contains(from), "{from}");
    checkout.write(file, &text.replace(from, to));
}

/// Starts prony with its messages in a file, which the test reads meanwhile.
fn start_told(checkout: &Checkout, arguments: &[&str]) -> Child {
    let messages = File::create(checkout.path("messages")).expect("a file");
    let mut command = checkout.command(arguments);
    command.stderr(messages).spawn().expect("the binary starts")
}

fn messages(checkout: &Checkout) -> String {
    fs::read_to_string(checkout.path("messages")).unwrap_or_default()
}

/// Ends with the messages in the output.
fn ended(checkout: &Checkout, child: Child) -> CommandOutput {
    let output = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    CommandOutput {
        err: messages(checkout),
        ..output
    }
}

/// Waits for a process of the checkout whose command line has these words, and kills it.
fn kill(checkout: &Checkout, words: &str) {
    kill_if(checkout, |line| line.contains(words));
}

fn kill_if(checkout: &Checkout, is_wanted: impl Fn(&str) -> bool) {
    let mut pid = None;
    until("a process to kill", || {
        let processes = checkout.processes();
        let found = processes.iter().find(|line| is_wanted(line));
        pid = found.and_then(|line| Some(line.split_once(' ')?.0.to_owned()));
        pid.is_some()
    });
    let pid = pid.expect("invariant: waited for");
    let killed = Command::new("kill").args(["-KILL", &pid]).status();
    assert!(killed.expect("kill").success());
}

fn row<'a>(report: &'a Value, service: &str) -> &'a Value {
    let rows = report["groups"][0]["services"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["service"] == service);
    row.unwrap_or_else(|| panic!("no {service}: {report}"))
}

const KILLED: &str = "infrastructure failure: the service was killed by SIGKILL from outside";

#[test]
fn a_service_that_is_killed_from_outside_is_not_blamed_and_measured_again() {
    let checkout = Checkout::new(2, &["right"]);
    with_long_trials(&checkout);
    let child = start_told(&checkout, &[&RUN[..], &["--json"]].concat());
    kill(&checkout, "toy.py");
    until("the first round is stored", || {
        attempts(&checkout, "toy-right").contains(&(0, false))
    });
    kill(&checkout, "toy.py");
    let ended = ended(&checkout, child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let right = row(&report, "toy-right");
    assert!(right["excluded"].is_null(), "{right}");
    assert_eq!(right["trials"], 2, "{right}");
    assert!(ended.err.contains(KILLED), "{}", ended.err);
    // The first attempt, and perhaps that of the second round; a kill after the load is noticed when the service is stopped.
    let failed = attempts(&checkout, "toy-right")
        .iter()
        .filter(|(_, failed)| *failed)
        .count();
    assert!(failed >= 1, "{:?}", attempts(&checkout, "toy-right"));
}

/// A shell that waits for the service reports its end by a code.
#[test]
fn a_service_below_a_shell_that_is_killed_from_outside_is_not_blamed() {
    let checkout = Checkout::new(1, &["right"]);
    let file = "services/toy-right/service.toml";
    change(&checkout, file, "exec python3 toy.py", "python3 toy.py; exit $?");
    with_long_trials(&checkout);
    let child = start_told(&checkout, &[&RUN[..], &["--json"]].concat());
    kill_if(&checkout, |line| {
        line.contains("toy.py") && !line.contains("exit $?")
    });
    let ended = ended(&checkout, child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = "infrastructure failure: the service ended with exit code 137, since SIGKILL from outside";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert_eq!(row(&ended.json(), "toy-right")["trials"], 1, "{ended:?}");
}

const PAIR: [&str; 4] = ["toy-right/current", "toy-right/slow", "--rounds=2", "-d2s"];

/// In one round a service is killed, in a later one the generator of one side.
#[test]
fn a_duet_and_a_gate_repeat_rounds_in_which_one_side_was_killed() {
    for (command, measured) in [
        (&["duet", "--warmup=200ms", "-c2"][..], 4),
        (&["compare", "--at-once", "--warmup=200ms", "-c2"], 8),
    ] {
        let checkout = two_variants();
        let child = start_told(&checkout, &[command, &PAIR, &["--json"]].concat());
        kill(&checkout, "toy.py");
        until("a round is measured", || {
            attempts(&checkout, "toy-right").contains(&(0, false))
        });
        kill(&checkout, "load --job");
        let ended = ended(&checkout, child);
        assert!(matches!(ended.code, Some(0 | 3)), "{command:?}: {ended:?}");
        assert!(
            ended
                .err
                .contains("repeated: infrastructure failure: the service was killed"),
            "{}",
            ended.err
        );
        let valid = attempts(&checkout, "toy-right")
            .iter()
            .filter(|(_, failed)| !failed)
            .count();
        assert!(
            valid >= measured,
            "{command:?}: {valid} of {measured}: {}",
            ended.err
        );
        assert!(
            ended.json()["run"].is_string() || ended.json()["verdict"].is_string(),
            "{ended:?}"
        );
        assert_eq!(checkout.processes(), Vec::<String>::new());
    }
}

/// A gate must not pass because a version worked in some rounds before it failed in others.
#[test]
fn a_version_that_fails_in_two_rounds_passes_no_gate() {
    for (good, design) in [(2, &["--at-once", "-c2", "--rounds=4"][..]), (1, &["--rounds=3"])] {
        let checkout = two_variants();
        let starts = checkout.path("starts");
        checkout.write("starts", "0");
        let fails = format!(
            "if test $MODE = slow; then n=$(cat {0}); echo $((n + 1)) > {0}; test $n -lt {good} || exit 9; fi; exec python3",
            starts.display()
        );
        change(
            &checkout,
            "services/toy-right/service.toml",
            "exec python3",
            &fails,
        );
        let arguments = ["compare", "toy-right/current", "toy-right/slow", "-d300ms"];
        let ended = checkout.prony(&[&arguments[..], design].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended
                .err
                .contains("nothing is compared, because a service failed in several rounds: toy-right/slow"),
            "{}",
            ended.err
        );
    }
}

/// A toy that cannot start as long as there is a file `broken` in the checkout.
fn broken(rounds: u32) -> Checkout {
    let checkout = Checkout::new(rounds, &["right", "heavy"]);
    checkout.write("broken", "");
    let starts = format!(
        "test ! -e {} || exit 9; exec python3",
        checkout.path("broken").display()
    );
    let file = "services/toy-heavy/service.toml";
    change(&checkout, file, "exec python3", &starts);
    checkout
}

#[test]
fn a_continued_run_remembers_who_failed_and_tries_it_again_only_on_request() {
    let checkout = broken(4);
    with_long_trials(&checkout);
    let child = checkout.start(&RUN);
    until("it has failed in two rounds", || {
        attempts(&checkout, "toy-heavy").contains(&(1, true))
            && attempts(&checkout, "toy-heavy").len() >= 4
            && !attempts(&checkout, "toy-right").is_empty()
    });
    signal(&child, "INT");
    let stopped = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    let resumed = checkout.prony(&["run", "--resume", "--keep-disturbed"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let failed = [0, 0, 1, 1, 2, 3].map(|round| (round, true));
    assert_eq!(
        attempts(&checkout, "toy-heavy"),
        failed,
        "two tries in each of two rounds, then only rows: {resumed:?}"
    );
    fs::remove_file(checkout.path("broken")).expect("a file");
    let again = checkout.prony(&["run", "--resume", "--json", "--keep-disturbed"]);
    assert_eq!(attempts(&checkout, "toy-heavy").len(), 6, "{again:?}");
    let retried = checkout.prony(&["run", "--resume", "--retry-failed", "--json", "--keep-disturbed"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    let report = retried.json();
    assert_eq!(row(&report, "toy-heavy")["trials"], 4, "{report}");
    assert_eq!(row(&report, "toy-right")["trials"], 4, "{report}");
    let alone = checkout.prony(&["run", "toys", "--retry-failed"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

#[test]
fn a_continued_run_has_what_is_left_of_its_budget() {
    let checkout = Checkout::new(60, &["right"]);
    let ended = checkout.prony(&[&RUN[..], &["--budget", "1s"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let measured = attempts(&checkout, "toy-right").len();
    assert!((1..60).contains(&measured), "{measured}");
    let resumed = checkout.prony(&["run", "--resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(attempts(&checkout, "toy-right").len(), measured, "{resumed:?}");
    let warnings = resumed.json()["warnings"].to_string();
    assert!(warnings.contains("Time budget spent"), "{warnings}");
}

/// A registry that cannot be reached, and a toolchain that is missing, say nothing about the service: when they are there, the run
/// continues with it.
#[test]
fn a_build_without_its_registry_is_tried_again_when_the_run_is_continued() {
    let checkout = Checkout::new(1, &["right"]);
    let online = checkout.path("online");
    let build = format!(
        "build = [\"test -e {} || {{ echo 'curl: (6) Could not resolve host: registry.example' >&2; exit 1; }}\"]",
        online.display()
    );
    change(&checkout, "services/toy-right/service.toml", "build = []", &build);
    let failed = checkout.prony(&[&RUN[..], &["--json"]].concat());
    assert_eq!(failed.code, Some(3), "{failed:?}");
    let excluded = row(&failed.json(), "toy-right")["excluded"].clone();
    assert_eq!(
        (&excluded["stage"], &excluded["fault"]),
        (&"build".into(), &"infrastructure".into())
    );
    fs::write(&online, "").expect("a file");
    let resumed = checkout.prony(&["run", "--resume", "--json", "--keep-disturbed"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(row(&resumed.json(), "toy-right")["trials"], 1, "{resumed:?}");
}

/// Fills a disk.
fn fill(checkout: &Checkout) {
    let mut filler = File::create(checkout.path("disk/filler")).expect("a file");
    let mut size = 1 << 20;
    while size > 0 {
        // Until not a single byte has room.
        if std::io::Write::write_all(&mut filler, &vec![0; size]).is_err() {
            size /= 2;
        }
    }
}

/// A run of three rounds whose store is on a small disk that was filled after the first trial. `None` if there is no such disk.
fn on_a_full_disk() -> Option<(Checkout, Disk, Child)> {
    let checkout = Checkout::new(3, &["right"]);
    with_long_trials(&checkout);
    let disk = Disk::mount(&checkout.path("disk"), "4m")?;
    let child = start_told(&checkout, &[&RUN[..], &["--store", "disk/store.db"]].concat());
    until("a trial is stored", || stored(&checkout) >= 1);
    fill(&checkout);
    until("it waits for room", || {
        messages(&checkout).contains("free disk space within")
    });
    Some((checkout, disk, child))
}

fn stored(checkout: &Checkout) -> u64 {
    let listed = checkout.prony(&["list", "runs", "--json", "--store", "disk/store.db"]);
    if listed.code == Some(0) {
        listed.json()["runs"][0]["trials"].as_u64().unwrap_or(0)
    } else {
        0
    }
}

#[test]
fn a_trial_that_finds_the_disk_full_waits_for_room() {
    let Some((checkout, _disk, child)) = on_a_full_disk() else {
        return;
    };
    fs::remove_file(checkout.path("disk/filler")).expect("a file");
    let ended = ended(&checkout, child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("the trial is stored; the run continues"),
        "{}",
        ended.err
    );
    assert_eq!(stored(&checkout), 3);
}

#[test]
fn a_run_that_a_full_disk_ended_says_how_to_continue_it() {
    let Some((checkout, _disk, child)) = on_a_full_disk() else {
        return;
    };
    signal(&child, "INT");
    let ended = ended(&checkout, child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .err
            .contains("free disk space, then continue the run with `--resume")
            && ended.err.contains("full"),
        "{}",
        ended.err
    );
    assert_eq!(checkout.processes(), Vec::<String>::new());
    fs::remove_file(checkout.path("disk/filler")).expect("a file");
    let resumed = checkout.prony(&["run", "--resume", "--store", "disk/store.db", "--keep-disturbed"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(stored(&checkout), 3);
}

/// A pipeline must not take a check that could not take place for a passed one.
#[test]
fn a_service_that_cannot_run_here_is_not_checked() {
    let checkout = Checkout::new(1, &["right"]);
    checkout.write(
        "services/toolchains.toml",
        "format = 1\n\n[absent]\ntitle = \"Absent\"\nprobe = \"exit 1\"\nversion = '(\\d+)'\n",
    );
    let service = "format = 1\ncontracts = [\"hello\"]\ntoolchains = [\"absent\"]\nrun = \"true\"\n";
    checkout.write("services/toy-absent/service.toml", service);
    let checked = checkout.prony(&["check", "toy-absent"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(
        checked
            .out
            .starts_with("NOT CHECKED: Absent is not installed on this machine"),
        "{checked:?}"
    );
    let json = checkout.prony(&["check", "toy-absent", "--json"]).json();
    assert_eq!(json["verdict"], "not_checked");
    assert_eq!(json["exit"], 1);
}
