//! Ending a process tree, and waiting for what ended.

use super::tree::{lives, signal};
use super::usage::Probe;
use crate::{Ending, Why};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::time::{Duration, Instant};

/// A process that does not even end on KILL is stuck in the kernel; after this long it is left to it.
const STUCK: Duration = Duration::from_secs(10);

/// How far the ending of a tree is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopping {
    kill_at: Instant,
    give_up_at: Instant,
    /// Whether KILL was sent.
    pub(super) killed: bool,
}

impl Stopping {
    /// Sends TERM to all.
    pub(super) fn begin(probe: &Probe, grace: Duration) -> Self {
        signal(&probe.processes(), Signal::SIGTERM);
        let kill_at = Instant::now() + grace;
        Self {
            kill_at,
            give_up_at: kill_at + STUCK,
            killed: false,
        }
    }

    /// Goes on; says whether all are gone.
    pub(super) fn advance(&mut self, probe: &Probe) -> bool {
        let living = living(probe);
        let now = Instant::now();
        if living.is_empty() || now > self.give_up_at {
            return true;
        }
        if now >= self.kill_at {
            self.killed = true;
            kill_all(probe, &living);
        }
        false
    }
}

/// Kills all that live.
pub(super) fn kill_all(probe: &Probe, living: &[i32]) {
    if !probe.group.as_ref().is_some_and(crate::cgroup::Group::kill) {
        signal(living, Signal::SIGKILL);
    }
}

/// Processes of the tree that are no zombies.
pub(super) fn living(probe: &Probe) -> Vec<i32> {
    probe.processes().into_iter().filter(|&pid| lives(pid)).collect()
}

/// Waits for every process that has ended; says how `main` ended, where it is among them.
pub(super) fn reap(main: i32) -> Option<Ending> {
    let mut ending = None;
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == main => {
                ending = Some(Ending {
                    code: Some(code),
                    ..Ending::default()
                });
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == main => {
                ending = Some(Ending {
                    signal: Some(signal as i32),
                    ..Ending::default()
                });
            }
            Ok(WaitStatus::StillAlive) | Err(_) => return ending,
            Ok(_) => {}
        }
    }
}

/// Processes that the machine has killed for want of memory, since it was started.
pub(super) fn machine_oom_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The limit that the tree broke, as far as its group knows.
pub(super) fn out_of_memory(probe: &Probe, limit_bytes: Option<u64>) -> Option<Why> {
    let kills = probe.group.as_ref()?.counters().oom_kills?;
    (kills > 0).then_some(Why::OutOfMemory { limit_bytes })
}
