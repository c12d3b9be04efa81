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
const UNOPTIMISED: [(&str, &str); 3] = [
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
    /// Further arguments.
    pub(crate) more: Vec<String>,
    /// The prefix of each of its output lines.
    pub(crate) mark: String,
    /// The deadline, when it is asked to stop.
    pub(crate) until: Option<SystemTime>,
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
    /// By variant, as `name/variant`.
    pub(crate) told: BTreeMap<String, ServiceOutput>,
    /// Whether it was stopped at the deadline.
    pub(crate) cut: bool,
    /// Whether it ended with a verdict.
    pub(crate) judged: bool,
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
        command.args(&self.more);
        let mut listener = Listener::default();
        let cut = told_by(command, self.until, |line| {
            say(&format!("{}{line}", self.mark));
            listener.hear(line);
        })?;
        Ok(RunOutput {
            judged: listener.judged,
            told: listener.told,
            cut,
        })
    }
}

/// Installs the toolchains that services need. A service that needs a missing one fails or is excused later.
fn install_toolchains(checkout: &Checkout, services: &[String], until: Option<SystemTime>) -> Result<()> {
    let mut command = checkout.prony();
    command.args(["doctor", "--install", "--yes"]);
    for service in services {
        command.args(["--service", service]);
    }
    told_by(command, until, say)?;
    Ok(())
}

/// Builds services, after their toolchains, and forwards the output. Returns the time of each build in s; 0: it existed already.
pub(crate) fn build(
    checkout: &Checkout,
    services: &[String],
    until: Option<SystemTime>,
) -> Result<BTreeMap<String, f64>> {
    install_toolchains(checkout, services, until)?;
    let mut command = checkout.prony();
    command.arg("build").args(services);
    let mut took = BTreeMap::new();
    told_by(command, until, |line| {
        say(line);
        if let Some((service, seconds)) = built(line) {
            took.insert(service, seconds);
        }
    })?;
    Ok(took)
}

/// `go-nethttp/current: built (12 s)`
fn built(line: &str) -> Option<(String, f64)> {
    let (service, rest) = line.split_once(": ")?;
    let how = rest.strip_suffix(" s)")?;
    if let Some(seconds) = how.strip_prefix("built (") {
        return Some((service.to_owned(), seconds.parse().ok()?));
    }
    how.starts_with("was built already (")
        .then(|| (service.to_owned(), 0.0))
}

/// Prints a whole line: two runs may print at the same time.
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Runs a command and passes on each line of its standard error. Returns whether it was stopped at the deadline.
fn told_by(mut command: Command, until: Option<SystemTime>, mut hear: impl FnMut(&str)) -> Result<bool> {
    command
        .envs(
            UNOPTIMISED
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
    let ended = Arc::new(AtomicBool::new(false));
    let timer = until.map(|until| {
        let (child, ended) = (Arc::clone(&child), Arc::clone(&ended));
        thread::spawn(move || end_in_time(&child, until, &ended))
    });
    let mut reader = BufReader::new(errors);
    let mut bytes = Vec::new();
    while reader
        .read_until(b'\n', &mut bytes)
        .context("cannot read what prony says")?
        > 0
    {
        hear(String::from_utf8_lossy(&bytes).trim_end_matches('\n'));
        bytes.clear();
    }
    ended.store(true, Ordering::Release);
    let cut = timer.is_some_and(|timer| {
        timer.thread().unpark();
        timer.join().unwrap_or(false)
    });
    child
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .wait()
        .context("cannot wait for prony")?;
    Ok(cut)
}

/// At the deadline, asks a child to stop after its current task, then to stop now, and then kills it. Returns whether the deadline was reached.
fn end_in_time(child: &Mutex<Child>, until: SystemTime, ended: &AtomicBool) -> bool {
    for (step, after) in (0..).zip([Duration::ZERO, GRACE, GRACE * 2]) {
        while !ended.load(Ordering::Acquire) {
            let Some(left) = (until + after)
                .duration_since(SystemTime::now())
                .ok()
                .filter(|left| !left.is_zero())
            else {
                break;
            };
            thread::park_timeout(left);
        }
        if ended.load(Ordering::Acquire) {
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
struct Listener {
    told: BTreeMap<String, ServiceOutput>,
    judged: bool,
    /// When the last trial ended.
    since: Instant,
}

impl Default for Listener {
    fn default() -> Self {
        Self {
            told: BTreeMap::new(),
            judged: false,
            since: Instant::now(),
        }
    }
}

impl Listener {
    fn hear(&mut self, line: &str) {
        let word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        if line.ends_with(" builds are ready") {
            self.since = Instant::now();
        } else if let Some(rest) = trial(line) {
            let took = std::mem::replace(&mut self.since, Instant::now()).elapsed();
            let told = self.told.entry(word(rest)).or_default();
            told.trials += 1;
            told.seconds += took.as_secs_f64();
        } else if let Some(rest) = line.strip_prefix("FAILED ") {
            let service = word(rest);
            let fault = rest[service.len()..].trim().to_owned();
            self.told.entry(service).or_default().faults.push(fault);
        } else if let Some(rest) = line.strip_prefix("FLAKY ") {
            let service = word(rest);
            let failed = rest[service.len()..].trim().to_owned();
            self.told.entry(service).or_default().flaky.push(failed);
        } else if let Some((service, reason)) = line
            .strip_prefix("UNAVAILABLE ")
            .and_then(|rest| rest.split_once(": "))
        {
            let told = self.told.entry(service.to_owned()).or_default();
            told.unavailable = Some(reason.to_owned());
        } else if is_verdict(line) {
            self.judged = true;
        }
    }
}

/// The text after the number of a trial: `[ 3/12] go-nethttp/current hello: …`.
fn trial(line: &str) -> Option<&str> {
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
    fn what_a_run_says_of_each_service_is_heard() {
        let mut listener = Listener::default();
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
            listener.hear(line);
        }
        let go = &listener.told["go-nethttp/current"];
        assert_eq!(
            (go.trials, go.faults.as_slice()),
            (2, ["sequence/sequence: it ended".to_owned()].as_slice())
        );
        assert_eq!(go.flaky, ["hello/hello: it did not start"]);
        let reason = listener.told["csharp-mvc/current"].unavailable.as_deref();
        assert_eq!(
            reason,
            Some(".NET SDK is not installed on this machine; install it")
        );
        assert!(listener.judged);
        assert_eq!(listener.told.len(), 2);
    }

    #[test]
    fn builds_tell_how_long_they_took() {
        assert_eq!(
            built("go-nethttp/current: built (12 s)"),
            Some(("go-nethttp/current".to_owned(), 12.0))
        );
        assert_eq!(
            built("a/b: was built already (0 s)"),
            Some(("a/b".to_owned(), 0.0))
        );
        assert_eq!(built("a/b: not built: `make` took 3 s"), None);
    }

    #[test]
    fn a_command_ends_when_the_time_is_over() {
        // Background processes ignore the signal, possibly including these tests.
        let mut command = Command::new("sh");
        command.args(["-c", "echo begins >&2; exec env --default-signal=INT sleep 300"]);
        let mut lines = Vec::new();
        let until = SystemTime::now() + Duration::from_secs(5);
        let began = Instant::now();
        let cut = told_by(command, Some(until), |line| lines.push(line.to_owned())).expect("it starts");
        assert!(cut && began.elapsed() < Duration::from_secs(50));
        assert_eq!(lines, ["begins"]);
        let cut = told_by(Command::new("true"), Some(SystemTime::now() + GRACE), |_| {}).expect("it starts");
        assert!(!cut, "it ended by itself");
    }
}
