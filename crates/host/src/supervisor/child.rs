//! Starts the process: its group, its CPUs, its limits, its log.

use super::fresh_folder::FreshFolder;
use super::home::EmptyHome;
use super::private_files::PrivateFiles;
use super::protocol::{SpawnCause, Start};
use crate::cgroup::{Group, Hierarchies, Problem};
use crate::identity::Owners;
use crate::virtual_network::{VirtualLink, enter};
use crate::{Cpus, Isolation, Limits, ProcessSpec};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::{Pid, getpid, getppid, pipe2, setpgid};
use prony_records::{Warning, WarningKind};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The environment variable that names the tree in which a process was started.
pub(crate) const TREE: &str = "PRONY_TREE";
/// Default soft limit of open files, if the machine allows it.
const ENOUGH_FILES: u64 = 65_536;

/// A running process.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) pid: i32,
    pub(super) started: Instant,
    /// The read end of its output.
    pub(super) output: OwnedFd,
    pub(super) group: Option<Group>,
    pub(super) warnings: Vec<Warning>,
    /// The address at which it is reachable, if it has its own network.
    pub(super) address: Option<String>,
    /// Its home folder, if it has one of its own.
    pub(super) home: Option<EmptyHome>,
    /// The files that it gets.
    pub(super) files: Option<PrivateFiles>,
    /// Its folder, if it is to see it as it was.
    pub(super) folder: Option<FreshFolder>,
}

/// Why a process could not be started.
#[derive(Debug)]
pub(super) struct SpawnError {
    pub(super) reason: String,
    pub(super) cause: SpawnCause,
}

/// Starts the process in its own group. If it cannot join the group, it runs without one, and a warning is recorded.
pub(super) fn start(start: &Start) -> Result<Child, SpawnError> {
    let spec = &start.spec;
    let pipes = start
        .pipes
        .map(|(input, output)| (inherited(input), inherited(output)));
    let mut group = start.groups.then(|| make_group(start.tree)).flatten();
    let problems = match &group {
        Some(group) => group.limit(&spec.limits, &spec.cpus),
        None => Problem::without_group(&spec.limits),
    };
    let mut warnings = judge(problems, spec.isolation)?;
    let doors = group.as_mut().map(Group::doors).unwrap_or_default();
    let cable = cable(spec)?;
    let home = spec.empty_home.then(EmptyHome::make).transpose();
    let home = home.map_err(|error| not_writable("create a home folder", &error))?;
    let files = private_files(spec)?;
    // Everything below this process sees the folder so.
    let folder = spec
        .fresh_folder
        .then(|| FreshFolder::of(&spec.folder, start.tree));
    let inherits = Inherits {
        pipes: pipes.as_ref(),
        network: cable.as_ref(),
        home: home.as_ref().map(EmptyHome::path),
        files: files.as_ref(),
    };
    let spawned = match spawn(start, doors, &inherits) {
        Err(error) if group.is_some() && is_denied(&error) => {
            group = None;
            warnings.extend(judge(Problem::without_group(&spec.limits), spec.isolation)?);
            spawn(start, Vec::new(), &inherits)
        }
        spawned => spawned,
    };
    let (pid, started, output) = spawned.map_err(|error| SpawnError {
        reason: cause(spec, &error),
        cause: SpawnCause::Machine,
    })?;
    warnings.extend(judge(
        in_batch_policy(spec, pid).into_iter().collect(),
        spec.isolation,
    )?);
    Ok(Child {
        pid,
        started,
        output,
        group,
        warnings,
        address: cable.map(|cable| cable.address.to_string()),
        home,
        files,
        folder,
    })
}

/// Writes the files that the process gets.
pub(super) fn private_files(spec: &ProcessSpec) -> Result<Option<PrivateFiles>, SpawnError> {
    PrivateFiles::write(&spec.files).map_err(|error| not_writable("write the files of a process", &error))
}

fn not_writable(what: &str, error: &io::Error) -> SpawnError {
    SpawnError {
        reason: format!(
            "cannot {what} in {}: {error}; free disk space, or set TMPDIR to a folder that is writable",
            std::env::temp_dir().display()
        ),
        cause: SpawnCause::Machine,
    }
}

/// Creates the network of the process, if it has one. The network exists while a process is in it.
pub(super) fn cable(spec: &ProcessSpec) -> Result<Option<VirtualLink>, SpawnError> {
    let cable = spec.network.map(|network| VirtualLink::lay(&network)).transpose();
    cable.map_err(|reason| SpawnError {
        reason,
        cause: SpawnCause::Isolation,
    })
}

fn make_group(tree: Owners) -> Option<Group> {
    Group::make(&Hierarchies::of_this_process(), &tree.to_string(), tree.caller())
}

/// A descriptor inherited from the caller. Set to close-on-exec, since the process receives a duplicate as stdin or stdout.
fn inherited(fd: i32) -> OwnedFd {
    // SAFETY: the caller opened it for this process alone and names it once.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let _ = fcntl(&fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    fd
}

/// The errors of a process that may not join a group.
fn is_denied(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::Unsupported
    )
}

pub(super) fn judge(problems: Vec<Problem>, isolation: Isolation) -> Result<Vec<Warning>, SpawnError> {
    match (problems.first(), isolation) {
        (Some(problem), Isolation::Required) => Err(SpawnError {
            reason: problem.text.clone(),
            cause: SpawnCause::Isolation,
        }),
        _ => Ok(problems
            .into_iter()
            .map(|problem| match problem.text.split_once(" → ") {
                Some((text, advice)) => Warning::new(WarningKind::NotIsolated, text).advise(advice),
                None => Warning::new(WarningKind::NotIsolated, problem.text),
            })
            .collect()),
    }
}

fn cause(spec: &ProcessSpec, error: &io::Error) -> String {
    let program = spec.command.first().map_or("", String::as_str);
    format!(
        "`{program}` in {}: {error}; is it installed and built?",
        spec.folder.display()
    )
}

pub(super) type ChildHandle = (i32, Instant, OwnedFd);

/// What a process gets from its supervisor.
#[derive(Default)]
pub(super) struct Inherits<'a> {
    /// Its standard input and output.
    pub(super) pipes: Option<&'a (OwnedFd, OwnedFd)>,
    pub(super) network: Option<&'a VirtualLink>,
    pub(super) home: Option<&'a Path>,
    pub(super) files: Option<&'a PrivateFiles>,
}

/// Starts the command of a spec, in a control group if given.
pub(super) fn spawn(start: &Start, doors: Vec<File>, inherits: &Inherits<'_>) -> io::Result<ChildHandle> {
    let spec = &start.spec;
    let (program, arguments) = spec
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
    let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.inherited.values())
        .envs(inherits.home.map(|home| ("HOME", home)))
        .envs(&spec.environment)
        .envs(
            inherits
                .files
                .iter()
                .flat_map(|files| files.variables(files.folder())),
        )
        .env(TREE, start.tree.to_string());
    match inherits.pipes {
        Some((input, output)) => command.stdin(input.try_clone()?).stdout(output.try_clone()?),
        None => command.stdin(Stdio::null()).stdout(write.try_clone()?),
    };
    command.stderr(write);
    let supervisor = getpid();
    let cpus = affinity(&spec.cpus)?;
    let (limits, batch_policy) = (spec.limits, spec.batch_policy);
    let network = inherits.network.map(VirtualLink::door).transpose()?;
    // SAFETY: between fork and exec it makes system calls only: no allocation, no lock.
    unsafe {
        command.pre_exec(move || {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            // Defence in depth: the supervisor kills everything, unless it is killed itself.
            set_pdeathsig(Signal::SIGKILL)?;
            if getppid() != supervisor {
                return Err(io::Error::from_raw_os_error(nix::libc::ESRCH));
            }
            for door in &doors {
                nix::unistd::write(door, b"0")?;
            }
            if let Some(door) = &network {
                enter(door)?;
            }
            sched_setaffinity(Pid::from_raw(0), &cpus)?;
            if batch_policy {
                // The parent checks whether it is in force.
                let _ = set_batch_policy(0);
            }
            limit(&limits)?;
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
            Ok(())
        });
    }
    let started = Instant::now();
    let child = command.spawn()?;
    Ok((child.id() as i32, started, read))
}

/// The given CPUs, or those of the supervisor before it pinned itself.
pub(super) fn affinity(cpus: &Cpus) -> nix::Result<CpuSet> {
    if cpus.is_empty() {
        return sched_getaffinity(Pid::from_raw(0));
    }
    let mut set = CpuSet::new();
    for &cpu in cpus.as_slice() {
        set.set(cpu)?;
    }
    Ok(set)
}

/// Sets the batch policy of the first process of a spec if it wants one; the problem if it is not in force then.
pub(super) fn in_batch_policy(spec: &ProcessSpec, first: i32) -> Option<Problem> {
    (spec.batch_policy && set_batch_policy(first).is_err()).then(Problem::without_batch_policy)
}

/// Sets the scheduling policy `SCHED_BATCH` of a process that has one thread, and of its future children; 0: the calling process.
fn set_batch_policy(pid: i32) -> nix::Result<()> {
    // SAFETY: zero is a valid value of every field.
    let parameters: nix::libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the parameters live as long as the call.
    let result = unsafe { nix::libc::sched_setscheduler(pid, nix::libc::SCHED_BATCH, &raw const parameters) };
    nix::errno::Errno::result(result).map(drop)
}

/// Per-process limits, which need no group.
fn limit(limits: &Limits) -> nix::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    match limits.files {
        Some(files) => setrlimit(Resource::RLIMIT_NOFILE, files, files)?,
        // Loads use thousands of connections, and few runtimes raise their own limit.
        None if soft < ENOUGH_FILES => {
            setrlimit(Resource::RLIMIT_NOFILE, hard.min(ENOUGH_FILES), hard)?;
        }
        None => {}
    }
    if let Some(bytes) = limits.disk_bytes {
        setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)?;
    }
    Ok(())
}

pub(crate) fn pin(cpus: &Cpus) -> nix::Result<()> {
    pin_thread(0, cpus)
}

/// Pins a thread; 0: the calling one.
pub(crate) fn pin_thread(thread: i32, cpus: &Cpus) -> nix::Result<()> {
    if cpus.is_empty() {
        Ok(())
    } else {
        sched_setaffinity(Pid::from_raw(thread), &affinity(cpus)?)
    }
}
