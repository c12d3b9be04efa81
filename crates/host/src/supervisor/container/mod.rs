//! A process in a container: an engine starts it, and the kernel accounts for it in the group that the engine made. This
//! module checks that the requested settings are in force, and that nothing of the container remains.
//!
//! The engine's client is a child of the supervisor and forwards the output; with podman the whole container is below it as
//! well. The container is created first, which is slow, and then started: its age counts from the start of its first process.

mod create;
mod environment;

use self::create::{create_line, powers, signal_of};
use self::environment::EnvironmentFile;
use super::child::{
    Child, Inherits, SpawnError, affinity, cable, in_batch_policy, judge, private_files, spawn,
};
use super::private_files::{IN_CONTAINER, PrivateFiles};
use super::protocol::{SpawnCause, Start};
use super::usage::{Probe, tick_ns};
use crate::cgroup::{Group, Problem};
use crate::container::{Engine, EngineKind, last_words, remove};
use crate::tree::{descendants, lives, stat_field};
use crate::{Container, Cpus, ExitReport, InheritedVariables, Isolation, Limits, ProcessSpec};
use nix::errno::Errno;
use nix::sched::{sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike as _;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, read};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for creating a container, which may copy its files.
const MAKING: Duration = Duration::from_mins(1);
/// Timeout from the start order until its first process exists.
const STARTING: Duration = Duration::from_secs(30);
/// Poll interval for the file with the process id.
const LOOK: Duration = Duration::from_millis(1);
/// Poll interval when the engine must be queried.
const ASK: Duration = Duration::from_millis(25);
/// Time for the engine's own processes below us to end by themselves.
const TIDYING: Duration = Duration::from_secs(3);
/// Exit code of an engine whose own command failed.
const ENGINE_FAILED: i32 = 125;

/// A container, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct ContainerGuard {
    engine: Engine,
    name: String,
    /// The file to which podman writes the id of its first process, and from which it reads it while the container runs.
    pid_file: PathBuf,
    /// Its first process, if it was seen.
    pub(super) first: Option<i32>,
    /// Readable when the first process ends.
    pub(super) end: Option<OwnedFd>,
    stop_signal: Signal,
    /// Whether the engine received the order to kill it.
    killed: bool,
}

/// The environment of the container, in a file next to its log.
fn environment_file(spec: &ProcessSpec, files: Option<&PrivateFiles>) -> Result<EnvironmentFile, SpawnError> {
    let passed = spec.inherited.values().into_iter();
    let passed =
        passed.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let paths = files
        .into_iter()
        .flat_map(|files| files.variables(Path::new(IN_CONTAINER)));
    let variables: BTreeMap<String, String> = passed.chain(spec.environment.clone()).chain(paths).collect();
    let environment = EnvironmentFile::write(&spec.log.with_extension("env"), &variables);
    environment.map_err(|error| {
        let text = format!("cannot write the environment of its container: {error}");
        refused(&text, SpawnCause::Machine)
    })
}

/// Creates and starts the container of a spec.
pub(super) fn start(start: &Start, container: &Container) -> Result<(Child, ContainerGuard), SpawnError> {
    let spec = &start.spec;
    let engine = &container.engine;
    if spec.network.is_some() && engine.kind == EngineKind::Docker {
        return Err(refused(
            "docker's daemon starts containers, and cannot put them into prony's network: use podman, or leave `[network]` out",
            SpawnCause::Isolation,
        ));
    }
    let powers = powers(engine);
    let mut made = ContainerGuard::of(container, start.tree.to_string(), spec.log.with_extension("pid"));
    let _ = fs::remove_file(&made.pid_file);
    let files = private_files(spec)?;
    let environment = environment_file(spec, files.as_ref())?;
    let line = create_line(
        spec,
        container,
        &made.name,
        (&powers, &made.pid_file),
        (&environment, files.as_ref()),
    );
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let said = engine.ask_within(&line, environment.inherited(), MAKING);
    drop(environment);
    let said = said.map_err(|reason| refused(&reason, SpawnCause::Machine))?;
    if !said.ok {
        let text = format!("{} cannot create its container: {}", engine.name(), said.words());
        return Err(refused(&text, SpawnCause::Machine));
    }
    let cable = cable(spec)?;
    let client = Start {
        spec: made.client(spec),
        ..start.clone()
    };
    let inherits = Inherits {
        network: cable.as_ref(),
        ..Inherits::default()
    };
    let spawned = spawn(&client, Vec::new(), &inherits);
    let (pid, started, output) = spawned.map_err(|error| {
        refused(
            &format!("cannot run `{}`: {error}", engine.program.display()),
            SpawnCause::Machine,
        )
    })?;
    made.first = made.wait(pid, &output)?;
    let mut child = Child {
        pid,
        started,
        output,
        group: None,
        warnings: Vec::new(),
        address: cable.map(|cable| cable.address.to_string()),
        home: None,
        files,
        folder: None,
    };
    if let Some(first) = made.first {
        made.end = end_of(first);
        child.started = began(first).unwrap_or(started);
        child.group = Group::of_container(first);
        let mut problems = Problem::in_container(first, &spec.limits, &powers.remedy(engine));
        problems.extend(on_its_cpus(first, &spec.cpus, engine));
        problems.extend(in_batch_policy(spec, first));
        child.warnings = judge(problems, spec.isolation)?;
        made.pin_others(&spec.supervisor_cpus, child.group.as_ref());
    }
    Ok((child, made))
}

fn refused(reason: &str, cause: SpawnCause) -> SpawnError {
    SpawnError {
        reason: reason.to_owned(),
        cause,
    }
}

/// What runtimes (runc, crun) and podman print if an image names a program, a folder or a user that it does not contain. Their exit
/// code is that of all failures.
const FAULTS_OF_IMAGES: [&str; 7] = [
    "exec: \"",
    "exec format error",
    "executable file",
    "open executable",
    "attempted to invoke a command that was not found",
    "chdir to cwd",
    "unable to find user",
];

/// Whether a container could not be started because of its image, judged by the words of the engine.
fn cause_of_failure(words: &str) -> SpawnCause {
    let words = words.to_lowercase();
    if FAULTS_OF_IMAGES.iter().any(|fault| words.contains(fault)) {
        SpawnCause::Program
    } else {
        SpawnCause::Machine
    }
}

/// Checks that a process and its future children run on these CPUs. If no group ensures it, sets the affinity.
fn on_its_cpus(first: i32, cpus: &Cpus, engine: &Engine) -> Option<Problem> {
    if cpus.is_empty() {
        return None;
    }
    let wanted = affinity(cpus).ok()?;
    let pid = Pid::from_raw(first);
    if sched_getaffinity(pid).is_ok_and(|has| has == wanted) || sched_setaffinity(pid, &wanted).is_ok() {
        return None;
    }
    Some(Problem {
        text: format!(
            "The CPUs {cpus} are not enforced in its container: {} did not set them. → Run as root.",
            engine.name()
        ),
    })
}

/// Derives the ending of the container from the ending of the engine's client.
pub(super) fn as_ending(client: ExitReport) -> ExitReport {
    match client.code {
        Some(code) if Signal::try_from(code - BY_SIGNAL).is_ok() => ExitReport {
            code: None,
            signal: Some(code - BY_SIGNAL),
            ..client
        },
        _ => client,
    }
}

impl ContainerGuard {
    /// Of a container that has this name, and is about to be created.
    fn of(container: &Container, name: String, pid_file: PathBuf) -> Self {
        let signal = container.image.stop_signal.as_deref();
        Self {
            engine: container.engine.clone(),
            name,
            pid_file,
            first: None,
            end: None,
            stop_signal: signal.map_or(Signal::SIGTERM, signal_of),
            killed: false,
        }
    }

    /// The engine's client, which starts the container and ends with it. The limits of the container do not apply to it.
    fn client(&self, spec: &ProcessSpec) -> ProcessSpec {
        ProcessSpec {
            command: self.engine.line(&["start", "--attach", &self.name]),
            inherited: InheritedVariables::All,
            environment: BTreeMap::new(),
            files: BTreeMap::new(),
            limits: Limits::default(),
            isolation: Isolation::WherePossible,
            ..spec.clone()
        }
    }

    /// Waits for the first process of the container; `None`: it has already ended. `client`, `output`: the engine's.
    fn wait(&self, client: i32, output: &OwnedFd) -> Result<Option<i32>, SpawnError> {
        let deadline = Instant::now() + STARTING;
        loop {
            // Checked before the process is looked for, which may have started and ended meanwhile.
            let ended = exit_code(client);
            if let Some(pid) = self.pid().filter(|pid| lives(*pid)) {
                return Ok(Some(pid));
            }
            match ended {
                Some(ENGINE_FAILED) => {
                    let words = last_words(&printed(output));
                    let text = format!("{} cannot start its container: {words}", self.engine.name());
                    return Err(refused(&text, cause_of_failure(&words)));
                }
                Some(_) => return Ok(None),
                None if Instant::now() > deadline => {
                    // Otherwise it would start later, without a supervisor.
                    let _ = kill(Pid::from_raw(client), Signal::SIGKILL);
                    let text = format!(
                        "{} did not start its container within {STARTING:?}",
                        self.engine.name()
                    );
                    return Err(refused(&text, SpawnCause::Machine));
                }
                None => {}
            }
            thread::sleep(match self.engine.kind {
                EngineKind::Podman => LOOK,
                EngineKind::Docker => ASK,
            });
        }
    }

    /// Its first process, if it exists yet.
    fn pid(&self) -> Option<i32> {
        let text = match self.engine.kind {
            EngineKind::Podman => fs::read_to_string(&self.pid_file).ok()?,
            EngineKind::Docker => self.inspect("{{.State.Pid}}")?,
        };
        text.trim().parse().ok().filter(|pid| *pid > 0)
    }

    fn inspect(&self, format: &str) -> Option<String> {
        let output = self
            .engine
            .ask(&["container", "inspect", "--format", format, &self.name]);
        output.ok().filter(|output| output.ok).map(|output| output.out)
    }

    /// Keeps processes of the engine that are not part of the container off the container's CPUs.
    fn pin_others(&self, cpus: &Cpus, group: Option<&Group>) {
        let Ok(cpus) = affinity(cpus) else { return };
        let inside = match group {
            Some(group) => group.processes(),
            None => self
                .first
                .iter()
                .flat_map(|&first| with_all_below(first))
                .collect(),
        };
        for pid in descendants(std::process::id() as i32) {
            if inside.contains(&pid) || self.first == Some(pid) {
                continue;
            }
            for thread in fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let id = thread.file_name().to_str().and_then(|name| name.parse().ok());
                let _ = id.map(|id| sched_setaffinity(Pid::from_raw(id), &cpus));
            }
        }
    }

    /// The source of its resource usage.
    pub(super) fn probe(&self, group: Option<Group>) -> Probe {
        match (group, self.first) {
            (None, Some(first)) => Probe::of_process(first),
            (group, _) => Probe::new(group),
        }
    }

    /// Requests the end. The kernel does not deliver a signal without a handler to the first process of a container (PID 1),
    /// although it would end any other process: then kills it at once.
    pub(super) fn tell_to_stop(&self, grace: Duration) {
        let Some(first) = self.first else { return };
        let signal = if handles(first, self.stop_signal) {
            self.stop_signal
        } else {
            Signal::SIGKILL
        };
        if kill(Pid::from_raw(first), signal) == Err(Errno::EPERM) {
            let seconds = grace.as_secs().to_string();
            self.order(&["stop", "-t", &seconds, &self.name]);
        }
    }

    /// Lets the engine kill a container that we may not signal.
    pub(super) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.order(&["kill", &self.name]);
        }
    }

    /// Lets the engine freeze or resume a container that we may not signal.
    pub(super) fn stand_still(&self, still: bool) {
        let Some(first) = self.first else { return };
        if kill(Pid::from_raw(first), None) == Err(Errno::EPERM) {
            let order = if still { "pause" } else { "unpause" };
            let _ = self.engine.ask(&[order, &self.name]);
        }
    }

    /// Runs a command of the engine without waiting for it. It is reaped together with all other children.
    fn order(&self, arguments: &[&str]) {
        let line = self.engine.line(arguments);
        let mut command = std::process::Command::new(&line[0]);
        command
            .args(&line[1..])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let _ = command.spawn();
    }

    /// Whether the engine reports that the container exceeded its memory limit.
    pub(super) fn out_of_memory(&self) -> bool {
        self.inspect("{{.State.OOMKilled}}")
            .is_some_and(|text| text.trim() == "true")
    }

    /// Removes it, and gives the engine's processes below us time to end. `childless` reaps, and returns whether all have ended.
    pub(super) fn remove(mut self, mut childless: impl FnMut() -> bool) {
        self.removed();
        let deadline = Instant::now() + TIDYING;
        while !childless() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
    }

    fn removed(&mut self) {
        if !self.name.is_empty() {
            remove(&self.engine, &std::mem::take(&mut self.name));
            let _ = fs::remove_file(&self.pid_file);
        }
    }
}

impl Drop for ContainerGuard {
    fn drop(&mut self) {
        self.removed();
    }
}

fn with_all_below(pid: i32) -> Vec<i32> {
    std::iter::once(pid).chain(descendants(pid)).collect()
}

/// Engines add this to the number of the signal that ended a container's first process.
const BY_SIGNAL: i32 = 128;

/// A descriptor that is readable when the process has ended (`pidfd_open(2)`); `None` if the kernel lacks it.
fn end_of(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the system call takes two numbers, and returns a new descriptor without another owner, or -1.
    let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: as above.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// When a process was started.
fn began(pid: i32) -> Option<Instant> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: u64 = stat_field(&stat, 22)?.parse().ok()?;
    let up = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?.num_nanoseconds() as u64;
    Instant::now().checked_sub(Duration::from_nanos(up.saturating_sub(ticks * tick_ns())))
}

/// Whether a process has a handler for a signal (proc(5), `SigCgt`).
fn handles(pid: i32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // If unknown, assume that it has one.
    caught.is_none_or(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

/// The exit code of a child that has ended, which remains waitable.
fn exit_code(pid: i32) -> Option<i32> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(pid)), flags) {
        Ok(WaitStatus::Exited(_, code)) => Some(code),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(BY_SIGNAL + signal as i32),
        _ => None,
    }
}

/// The output of a client that has ended.
fn printed(output: &OwnedFd) -> String {
    let mut bytes = vec![0; 65_536];
    let length = read(output, &mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_its_program_is_told_from_an_engine_that_fails() {
        for of_image in [
            "runc create failed: unable to start container process: exec: \"/nosuch\": stat /nosuch: no such file or directory: OCI \
             runtime attempted to invoke a command that was not found",
            "runc create failed: unable to start container process: exec: \"/notes\": permission denied: OCI permission denied",
            "crun: executable file `/nosuch` not found: No such file or directory: OCI runtime attempted to invoke a command that was \
             not found",
            "crun: open executable: Permission denied: OCI permission denied",
            "exec /server: Exec format error",
        ] {
            assert_eq!(cause_of_failure(of_image), SpawnCause::Program, "{of_image}");
        }
        for of_machine in [
            "runc create failed: unable to start container process: error during container init: error setting rlimits for ready \
             process: error setting rlimit type 7: operation not permitted: OCI permission denied",
            "Error: default OCI runtime \"crun\" not found: invalid argument",
            "netavark: unable to create the bridge: Operation not supported",
            "no space left on device",
        ] {
            assert_eq!(cause_of_failure(of_machine), SpawnCause::Machine, "{of_machine}");
        }
    }
}
