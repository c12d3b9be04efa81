//! The supervisor: this binary in another role, between prony and each process that prony starts.
//!
//! It runs until everything below it has ended. When its standard input ends, because prony closed it, crashed or was
//! killed, it ends everything. It is single-threaded.

mod attached;
mod child;
mod container;
mod fresh_folder;
mod home;
mod log;
mod private_files;
mod protocol;
mod reaper;
mod run;
mod usage;

pub(crate) use child::{TREE, pin, pin_thread};
pub(crate) use protocol::{Attach, Order, SpawnCause, Start, SupervisorCommand, SupervisorEvent};
pub(crate) use usage::{Machine, tick_ns};

use self::child::{Child, SpawnError};
use self::container::ContainerGuard;
use self::log::Log;
use self::protocol::{Orders, say};
use self::run::Supervisor;
use crate::ProcessSpec;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::setsid;
use std::io;

/// The nice value of processes with CPUs of their own. A program with the usual value gets a tenth of their CPU time.
const NICE: i32 = -10;

/// The main function of the supervisor: call it first when the binary is started in that role. It reads orders from standard
/// input and returns when everything below it has ended.
pub fn supervise() -> io::Result<()> {
    // Ctrl-C in the terminal goes to prony alone, which decides how to react.
    let _ = setsid();
    set_child_subreaper(true)?;
    let mut handled = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        handled.add(signal);
    }
    handled.thread_block()?;
    let signals = SignalFd::with_flags(&handled, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let mut orders = Orders::default();
    let start = match orders.first()? {
        None => return Ok(()),
        Some(SupervisorCommand::Start(start)) => start,
        Some(SupervisorCommand::Attach(attach)) => {
            // The default action of signals is right here: there is nothing to end first.
            handled.thread_unblock()?;
            return attached::watch(attach, &mut orders);
        }
    };
    if !start.spec.cpus.is_empty() {
        raise_priority();
    }
    let started = create_log(&start.spec).and_then(|log| Ok((log, start_process(&start)?)));
    let (log, (child, contained)) = match started {
        Ok(started) => started,
        Err(SpawnError { reason, cause }) => {
            say(&SupervisorEvent::NotStarted { reason, cause });
            return Ok(());
        }
    };
    let _ = pin(&start.spec.supervisor_cpus);
    let mut supervisor = Supervisor::new(*start, (child, contained), log);
    if let Err(error) = supervisor.watch(&signals, &mut orders) {
        // Kills everything below.
        drop(supervisor);
        let reason = error.to_string();
        say(&SupervisorEvent::Failed { reason });
    }
    Ok(())
}

/// Lets this process and its children, which are measured, run before other programs of the machine, if the user may do that: as root,
/// or with a raised `RLIMIT_NICE`. Next to busy programs, CPU time per request otherwise depends on who ran before.
fn raise_priority() {
    // SAFETY: a system call without pointers.
    let _ = unsafe { nix::libc::setpriority(nix::libc::PRIO_PROCESS, 0, NICE) };
    // Where the kernel shares CPU time between sessions first, a session has a nice value of its own.
    let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
}

/// Starts a process of this machine, or one in a container.
fn start_process(start: &Start) -> Result<(Child, Option<ContainerGuard>), SpawnError> {
    match &start.spec.container {
        None => Ok((child::start(start)?, None)),
        Some(container) => {
            container::start(start, container).map(|(child, contained)| (child, Some(contained)))
        }
    }
}

/// Creates the log first, so that nothing has to be ended if that fails.
fn create_log(spec: &ProcessSpec) -> Result<Log, SpawnError> {
    Log::create(&spec.log, spec.log_bytes).map_err(|error| SpawnError {
        reason: format!(
            "cannot write its log {}: {error}; free disk space, or make it writable for this user",
            spec.log.display()
        ),
        cause: SpawnCause::Machine,
    })
}
