//! One run of prony with strict verdicts, and its output for each service.

use crate::checkout::Checkout;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Rust services are built without the optimisation that takes the most time: the test is whether they are valid and sustain a load.
/// The digest of a build includes these variables: no measuring run uses such a build.
const FAST_BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
];
/// Extra time after the deadline for the current trial or build, and for a run that does not end by itself.
const GRACE: Duration = Duration::from_mins(1);

/// The run to execute.
#[derive(Debug, Default, Clone)]
pub(crate) struct Job {
    pub(crate) suite: String,
    pub(crate) profile: Option<String>,
    /// Services or variants.
    pub(crate) services: Vec<String>,
    /// The CPUs that it may use; empty: all.
    pub(crate) cpus: Vec<usize>,
    /// Further arguments of `prony run`.
    pub(crate) arguments: Vec<String>,
    pub(crate) prefix: String,
    /// When it is interrupted.
    pub(crate) deadline: Option<SystemTime>,
}

/// The output of a run about a variant of a service.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ServiceOutput {
    /// Completed trials.
    pub(crate) trials: usize,
    /// Faults, for each workload.
    pub(crate) faults: Vec<String>,
    /// The failed attempts that were followed by one that passed, for each workload.
    pub(crate) flaky: Vec<String>,
    /// Why it cannot be built here, if its service file allows that.
    pub(crate) unavailable: Option<String>,
    /// Total time of its trials, s.
    pub(crate) seconds: f64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub(crate) struct RunOutput {
    /// The output about each variant, by `name/variant`.
    pub(crate) services: BTreeMap<String, ServiceOutput>,
    pub(crate) stopped_at_deadline: bool,
    /// Whether it ended with a verdict.
    pub(crate) has_verdict: bool,
}

impl Job {
    /// Runs it and forwards its output.
    pub(crate) fn run(&self, checkout: &Checkout) -> Result<RunOutput> {
        let mut command = checkout.prony_on(&self.cpus);
        command.args(["run", &self.suite, "--strict", "--keep-disturbed"]);
        if let Some(profile) = &self.profile {
            command.args(["--profile", profile]);
        }
        for service in &self.services {
            command.args(["--service", service]);
        }
        command.args(&self.arguments);
        let mut parser = OutputParser::default();
        let stopped_at_deadline = run_command(command, self.deadline, |line| {
            print_line(&format!("{}{line}", self.prefix));
            parser.parse_line(line);
        })?;
        Ok(RunOutput {
            has_verdict: parser.has_verdict,
            services: parser.services,
            stopped_at_deadline,
        })
    }
}

/// Installs the toolchains that services need. A service that needs a missing one fails or is excused later.
fn install_toolchains(checkout: &Checkout, services: &[String], deadline: Option<SystemTime>) -> Result<()> {
    let mut command = checkout.prony();
    command.args(["doctor", "--install", "--yes"]);
    for service in services {
        command.args(["--service", service]);
    }
    run_command(command, deadline, print_line)?;
    Ok(())
}

/// Builds services, after their toolchains, and forwards the output. Returns the time of each build in s; 0: it existed already.
pub(crate) fn build(
    checkout: &Checkout,
    services: &[String],
    deadline: Option<SystemTime>,
) -> Result<BTreeMap<String, f64>> {
    install_toolchains(checkout, services, deadline)?;
    let mut command = checkout.prony();
    command.arg("build").args(services);
    let mut took = BTreeMap::new();
    run_command(command, deadline, |line| {
        print_line(line);
        if let Some((service, seconds)) = parse_build_line(line) {
            took.insert(service, seconds);
        }
    })?;
    Ok(took)
}

/// `go-nethttp/current: built (12 s)`
fn parse_build_line(line: &str) -> Option<(String, f64)> {
    let (service, rest) = line.split_once(": ")?;
    let result = rest.strip_suffix(" s)")?;
    if let Some(seconds) = result.strip_prefix("built (") {
        return Some((service.to_owned(), seconds.parse().ok()?));
    }
    result
        .starts_with("was built already (")
        .then(|| (service.to_owned(), 0.0))
}

/// Prints a whole line: two runs may print at the same time.
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}

/// Runs a command, and passes each line of its standard error to `on_line`. Returns whether it was stopped at the deadline.
fn run_command(
    mut command: Command,
    deadline: Option<SystemTime>,
    mut on_line: impl FnMut(&str),
) -> Result<bool> {
    command
        .envs(
            FAST_BUILD
                .iter()
                .filter(|(name, _)| std::env::var_os(name).is_none())
                .copied(),
        )
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let errors = child
        .stderr
        .take()
        .context("invariant: standard error is a pipe")?;
    let child = Arc::new(Mutex::new(child));
    let has_ended = Arc::new(AtomicBool::new(false));
    let timer = deadline.map(|deadline| {
        let (child, has_ended) = (Arc::clone(&child), Arc::clone(&has_ended));
        thread::spawn(move || stop_at_deadline(&child, deadline, &has_ended))
    });
    let mut reader = BufReader::new(errors);
    let mut bytes = Vec::new();
    while reader
        .read_until(b'\n', &mut bytes)
        .context("cannot read the output of prony")?
        > 0
    {
        on_line(String::from_utf8_lossy(&bytes).trim_end_matches('\n'));
        bytes.clear();
    }
    has_ended.store(true, Ordering::Release);
    let stopped_at_deadline = timer.is_some_and(|timer| {
        timer.thread().unpark();
        timer.join().unwrap_or(false)
    });
    child
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .wait()
        .context("cannot wait for prony")?;
    Ok(stopped_at_deadline)
}

/// At the deadline, asks a child to stop after its current task, then to stop now, and then kills it. Returns whether the deadline was reached.
fn stop_at_deadline(child: &Mutex<Child>, deadline: SystemTime, has_ended: &AtomicBool) -> bool {
    for (step, after) in (0..).zip([Duration::ZERO, GRACE, GRACE * 2]) {
        while !has_ended.load(Ordering::Acquire) {
            let Some(left) = (deadline + after)
                .duration_since(SystemTime::now())
                .ok()
                .filter(|left| !left.is_zero())
            else {
                break;
            };
            thread::park_timeout(left);
        }
        if has_ended.load(Ordering::Acquire) {
            return step > 0;
        }
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        if step < 2 {
            let _ = Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status();
        } else {
            let _ = child.kill();
        }
    }
    true
}

/// Parses the output of a run.
struct OutputParser {
    services: BTreeMap<String, ServiceOutput>,
    has_verdict: bool,
    /// When the previous trial ended.
    previous_end: Instant,
}

impl Default for OutputParser {
    fn default() -> Self {
        Self {
            services: BTreeMap::new(),
            has_verdict: false,
            previous_end: Instant::now(),
        }
    }
}

impl OutputParser {
    fn parse_line(&mut self, line: &str) {
        let first_word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        if line.ends_with(" builds are ready") {
            self.previous_end = Instant::now();
        } else if let Some(rest) = parse_trial_line(line) {
            let took = std::mem::replace(&mut self.previous_end, Instant::now()).elapsed();
            let output = self.services.entry(first_word(rest)).or_default();
            output.trials += 1;
            output.seconds += took.as_secs_f64();
        } else if let Some(rest) = line.strip_prefix("FAILED ") {
            let service = first_word(rest);
            let fault = rest[service.len()..].trim().to_owned();
            self.services.entry(service).or_default().faults.push(fault);
        } else if let Some(rest) = line.strip_prefix("FLAKY ") {
            let service = first_word(rest);
            let failed = rest[service.len()..].trim().to_owned();
            self.services.entry(service).or_default().flaky.push(failed);
        } else if let Some((service, reason)) = line
            .strip_prefix("UNAVAILABLE ")
            .and_then(|rest| rest.split_once(": "))
        {
            let output = self.services.entry(service.to_owned()).or_default();
            output.unavailable = Some(reason.to_owned());
        } else if is_verdict(line) {
            self.has_verdict = true;
        }
    }
}

/// The text after the number of a trial: `[ 3/12] go-nethttp/current hello: …`.
fn parse_trial_line(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (number, of) = number.split_once('/')?;
    let digits = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
    (digits(number.trim()) && digits(of)).then_some(rest)
}

/// `12 passed, 1 failed`
fn is_verdict(line: &str) -> bool {
    let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    number(words.next())
        && words.next() == Some("passed")
        && number(words.next())
        && words.next() == Some("failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_run_is_parsed_by_service() {
        let mut parser = OutputParser::default();
        for line in [
            "built go-nethttp/current in 3 s",
            "3 of 4 builds are ready",
            "[ 1/12] go-nethttp/current hello: 12,345/s, p99 1.2 ms",
            "[12/12] go-nethttp/current sequence: excluded: it ended",
            "UNAVAILABLE csharp-mvc/current: .NET SDK is not installed on this machine; install it",
            "FAILED go-nethttp/current sequence/sequence: it ended",
            "    FAILED is a word of its log",
            "FLAKY go-nethttp/current hello/hello: it did not start",
            "3 passed, 1 failed, 1 cannot be built here",
        ] {
            parser.parse_line(line);
        }
        let go = &parser.services["go-nethttp/current"];
        assert_eq!(
            (go.trials, go.faults.as_slice()),
            (2, ["sequence/sequence: it ended".to_owned()].as_slice())
        );
        assert_eq!(go.flaky, ["hello/hello: it did not start"]);
        let reason = parser.services["csharp-mvc/current"].unavailable.as_deref();
        assert_eq!(
            reason,
            Some(".NET SDK is not installed on this machine; install it")
        );
        assert!(parser.has_verdict);
        assert_eq!(parser.services.len(), 2);
    }

    #[test]
    fn the_duration_of_a_build_is_parsed() {
        assert_eq!(
            parse_build_line("go-nethttp/current: built (12 s)"),
            Some(("go-nethttp/current".to_owned(), 12.0))
        );
        assert_eq!(
            parse_build_line("a/b: was built already (0 s)"),
            Some(("a/b".to_owned(), 0.0))
        );
        assert_eq!(parse_build_line("a/b: not built: `make` took 3 s"), None);
    }

    #[test]
    fn a_command_is_stopped_at_the_deadline() {
        // Background processes ignore the signal, possibly including these tests.
        let mut command = Command::new("sh");
        command.args(["-c", "echo begins >&2; exec env --default-signal=INT sleep 300"]);
        let mut lines = Vec::new();
        let deadline = SystemTime::now() + Duration::from_secs(5);
        let began = Instant::now();
        let stopped_at_deadline =
            run_command(command, Some(deadline), |line| lines.push(line.to_owned())).expect("it starts");
        assert!(stopped_at_deadline && began.elapsed() < Duration::from_secs(50));
        assert_eq!(lines, ["begins"]);
        let stopped_at_deadline =
            run_command(Command::new("true"), Some(SystemTime::now() + GRACE), |_| {}).expect("it starts");
        assert!(!stopped_at_deadline, "it ended by itself");
    }
}
