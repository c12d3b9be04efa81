//! `prony run --resume` from outside: a run resumes with unchanged inputs, and only if no other process measures it.

use crate::common::{Checkout, CommandOutput, signal, until};
use std::process::Command;

fn stored_trials(checkout: &Checkout) -> u64 {
    let listed = checkout.prony(&["list", "runs", "--json"]);
    if listed.code == Some(0) {
        listed.json()["runs"][0]["trials"].as_u64().unwrap_or(0)
    } else {
        0
    }
}

fn commit(checkout: &Checkout) {
    for arguments in [
        &["init", "-q"][..],
        &["add", "services"],
        &["commit", "-q", "--allow-empty", "-m", "as it is"],
    ] {
        checkout.git(arguments);
    }
}

/// A run that was interrupted with Ctrl-C after its first trial. Its trials are long, so that the machine cannot cause one
/// without any reply, which would end the run.
fn interrupted(checkout: &Checkout) {
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    checkout.write("suites/toys.toml", &suite.replace("300ms", "1500ms"));
    let child = checkout.start(&["run", "toys", "--keep-disturbed"]);
    until("a trial is stored", || stored_trials(checkout) >= 1);
    signal(&child, "INT");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

#[test]
fn a_run_that_is_being_measured_is_not_continued() {
    let checkout = Checkout::new(50, &["right"]);
    let mut first = checkout.start(&["run", "toys", "--keep-disturbed"]);
    until("a trial is stored", || stored_trials(&checkout) >= 1);
    // As if on other CPUs: the lock on those of this machine does not interfere.
    let resume = |arguments: &[&str]| {
        let mut command = checkout.command(arguments);
        command.env("PRONY_LOCKS", checkout.path("other-locks"));
        CommandOutput::of(&command.output().expect("the binary starts"))
    };
    let refused = resume(&["run", "--resume", "--keep-disturbed"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let process = format!("process {}", first.id());
    for part in ["is being measured by", &process, "before you continue"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    // However the first one ends, the run is free afterwards.
    first.kill().expect("KILL");
    first.wait().expect("it is gone");
    let free = resume(&["run", "--resume", "--dry-run"]);
    assert_eq!(free.code, Some(0), "{free:?}");
}

#[test]
fn a_run_goes_on_with_what_it_began_or_by_force() {
    let checkout = Checkout::new(4, &["right"]);
    commit(&checkout);
    interrupted(&checkout);
    let toy = "services/toy-right/toy.py";
    let text = std::fs::read_to_string(checkout.path(toy)).expect("the toy");
    checkout.write(toy, &format!("{text}# changed\n"));
    let file = "contracts/hello/contract.toml";
    let contract = std::fs::read_to_string(checkout.path(file)).expect("a contract");
    // The contracts are a link to those of the repository.
    std::fs::remove_file(checkout.path("contracts")).expect("a link");
    let changed = contract.replacen("status = 200", "status = [200, 299]", 1);
    assert_ne!(changed, contract);
    checkout.write(file, &changed);
    commit(&checkout);
    let database = rusqlite::Connection::open(checkout.path(".prony/store.db")).expect("the store");
    let renamed = "UPDATE run SET record = json_set(record, '$.environment.cpu.model', 'Abacus')";
    assert_eq!(database.execute(renamed, []).expect("the run"), 1);
    drop(database);
    let before = stored_trials(&checkout);
    let refused = checkout.prony(&["run", "--resume", "--keep-disturbed"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [
        "CPU: Abacus then, ",
        "commit: ",
        "source files of toy-right/current: ",
        "contract and load of toy-right/current: ",
        "--force",
        "begin a new run",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    assert_eq!(stored_trials(&checkout), before, "nothing was measured");
    let forced = checkout.prony(&["run", "--resume", "--force", "--json", "--keep-disturbed"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(stored_trials(&checkout), 4);
    let warnings = forced.json()["warnings"].to_string();
    assert!(
        warnings.contains("Resumed with --force") && warnings.contains("Abacus"),
        "{warnings}"
    );
}

/// A run is not continued with another command, environment or program, and says which of them differs.
#[test]
fn a_run_goes_on_only_with_the_same_command_environment_and_program() {
    let checkout = Checkout::new(4, &["right"]);
    interrupted(&checkout);
    let before = stored_trials(&checkout);
    let refused = |command: &mut Command, differs: &str| {
        let output = CommandOutput::of(&command.output().expect("the binary starts"));
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(differs), "{differs}: {}", output.err);
        assert_eq!(stored_trials(&checkout), before, "nothing was measured");
    };
    let resume = || checkout.command(&["run", "--resume", "--keep-disturbed"]);
    refused(
        resume().env("LC_ALL", "de_DE.UTF-8"),
        "variable LC_ALL: not set then, de_DE.UTF-8 now",
    );
    refused(resume().env("RUSTFLAGS", "-g"), "tools of toy-right/current: ");
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    checkout.write(file, &text.replace("exec python3", "exec python3 -O"));
    refused(
        &mut resume(),
        "start command and its settings of toy-right/current: ",
    );
    checkout.write(file, &text.replace("MODE =", "PYTHONOPTIMIZE = \"1\", MODE ="));
    refused(
        &mut resume(),
        "start command and its settings of toy-right/current: ",
    );
    checkout.write(file, &text);
    let other = checkout.path("prony");
    std::fs::copy(env!("CARGO_BIN_EXE_prony"), &other).expect("a copy of the binary");
    let mut bytes = std::fs::File::options()
        .append(true)
        .open(&other)
        .expect("the copy");
    std::io::Write::write_all(&mut bytes, b"another commit").expect("written");
    drop(bytes);
    let mut command = Command::new(&other);
    let same = resume();
    command.args(same.get_args()).current_dir(checkout.path(""));
    command.envs(same.get_envs().filter_map(|(name, value)| Some((name, value?))));
    refused(&mut command, "program of prony of toy-right/current: ");
    let continued = checkout.prony(&["run", "--resume", "--keep-disturbed"]);
    assert_eq!(continued.code, Some(0), "{continued:?}");
    assert_eq!(stored_trials(&checkout), 4);
}

#[test]
fn services_that_are_gone_cannot_go_on() {
    let checkout = Checkout::new(50, &["right"]);
    interrupted(&checkout);
    let toml = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(toml)).expect("the service");
    checkout.write(toml, &text.replace("\"current\"", "\"renamed\""));
    let refused = checkout.prony(&["run", "--resume", "--force"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("has no service toy-right/current"),
        "{}",
        refused.err
    );
}

#[test]
fn a_budget_that_was_too_small_is_raised() {
    let checkout = Checkout::new(4, &["right"]);
    interrupted(&checkout);
    let before = stored_trials(&checkout);
    let resume = |budget| {
        checkout.prony(&[
            "run",
            "--resume",
            "--budget",
            budget,
            "--json",
            "--keep-disturbed",
        ])
    };
    let spent = resume("1ms");
    assert_eq!(spent.code, Some(0), "{spent:?}");
    assert_eq!(
        stored_trials(&checkout),
        before,
        "nothing was measured: {spent:?}"
    );
    let raised = resume("1h");
    assert_eq!(raised.code, Some(0), "{raised:?}");
    assert_eq!(stored_trials(&checkout), 4, "{raised:?}");
    let spent_s = raised.json()["spent_s"].as_f64();
    assert!(
        spent_s.is_some_and(|spent_s| spent_s > 4.0),
        "all sessions together: {spent_s:?}"
    );
    assert_eq!(
        raised.json()["plan"]["budget_ns"],
        3_600_000_000_000_u64,
        "the report has the new budget"
    );
}

/// They would be ignored: the run has its plan already.
#[test]
fn a_run_is_not_resumed_with_another_plan() {
    let checkout = Checkout::new(4, &["right"]);
    interrupted(&checkout);
    let before = stored_trials(&checkout);
    for other in [
        &["toys"][..],
        &["--profile", "smoke"],
        &["--service", "toy-*"],
        &["--rounds", "9"],
        &["--duration", "9s"],
        &["--warmup", "1s"],
        &["--precision", "2%"],
        &["--confidence", "99%"],
        &["--tie", "1%"],
        &["--seed", "5"],
        &["--interleaved"],
        &["--sequence"],
        &["--cold"],
    ] {
        let refused = checkout.prony(&[&["run"], other, &["--resume"]].concat());
        assert_eq!(refused.code, Some(2), "{other:?}: {refused:?}");
        assert!(
            refused.err.contains("cannot be used with --resume"),
            "{}",
            refused.err
        );
        assert_eq!(stored_trials(&checkout), before, "nothing was measured");
    }
}
