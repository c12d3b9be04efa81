//! Ending a process tree, and waiting for what ended.

use super::usage::Probe;
use crate::tree::{lives, signal};
use crate::{Ending, Why};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A process that does not even end on KILL is stuck in the kernel; after this long it is left to it.
const STUCK: Duration = Duration::from_secs(10);
/// Looks at a tree that forks while it is killed, at once.
const LOOKS: u32 = 20;
/// Time between two tries to end a tree.
const PAUSE: Duration = Duration::from_millis(2);

/// How far the ending of a tree is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopping {
    kill_at: Instant,
    give_up_at: Instant,
    /// Whether KILL was sent.
    pub(super) killed: bool,
    /// Whether only the first process was told so far.
    first_alone: bool,
}

impl Stopping {
    /// Sends TERM to all.
    pub(super) fn begin(probe: &Probe, grace: Duration) -> Self {
        signal(&probe.processes(), Signal::SIGTERM);
        // What rests hears TERM when it goes on.
        wake(probe);
        Self::told(grace)
    }

    /// The same of a container, which was told in its own way.
    pub(super) fn told(grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        Self {
            kill_at,
            give_up_at: kill_at + STUCK,
            killed: false,
            first_alone: false,
        }
    }

    /// Sends a signal to the first process alone: it ends the others.
    pub(super) fn first(probe: &Probe, main: i32, with: Signal, grace: Duration) -> Self {
        signal(&[main], with);
        wake(probe);
        Self {
            first_alone: true,
            ..Self::told(grace)
        }
    }

    /// The first process has ended: what it left is told too.
    pub(super) fn first_has_ended(&mut self, probe: &Probe) {
        if std::mem::take(&mut self.first_alone) {
            signal(&probe.processes(), Signal::SIGTERM);
        }
    }

    /// Goes on until all are gone; says whether it is over.
    pub(super) fn advance(&mut self, probe: &Probe, gone: bool) -> bool {
        let now = Instant::now();
        if gone || now > self.give_up_at {
            return true;
        }
        if now >= self.kill_at {
            self.killed = true;
            kill_all(probe);
        }
        false
    }
}

/// Most looks for processes that were started while their parents were being stopped.
const MOST_LOOKS: usize = 8;

/// Stops all processes of the tree (signal(7), SIGSTOP), until a look finds none that was not stopped before: one that
/// starts another meanwhile is seen by the next look.
pub(super) fn rest(probe: &Probe) {
    let mut stopped: Vec<i32> = Vec::new();
    for _ in 0..MOST_LOOKS {
        let new: Vec<i32> = living(probe)
            .into_iter()
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if new.is_empty() {
            return;
        }
        signal(&new, Signal::SIGSTOP);
        stopped.extend(new);
    }
}

/// Lets all go on.
pub(super) fn wake(probe: &Probe) {
    signal(&probe.processes(), Signal::SIGCONT);
}

/// Kills all that live.
pub(super) fn kill_all(probe: &Probe) {
    if probe.group.as_ref().is_some_and(crate::cgroup::Group::kill) {
        return;
    }
    let mut killed = HashSet::new();
    for _ in 0..LOOKS {
        // What a process forked before it was killed shows at the next look.
        let fresh: Vec<i32> = living(probe)
            .into_iter()
            .filter(|pid| killed.insert(*pid))
            .collect();
        if fresh.is_empty() {
            return;
        }
        signal(&fresh, Signal::SIGKILL);
    }
}

/// Kills all and waits until they are gone, without anything else: the way out when something has failed.
pub(super) fn end_now(probe: &Probe, main: i32) {
    let give_up_at = Instant::now() + STUCK;
    loop {
        kill_all(probe);
        if reap(main).childless || Instant::now() > give_up_at {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Processes of the tree that are no zombies.
pub(super) fn living(probe: &Probe) -> Vec<i32> {
    probe.processes().into_iter().filter(|&pid| lives(pid)).collect()
}

/// What has ended.
#[derive(Debug, Default)]
pub(super) struct Reaped {
    /// How the process itself ended, where it is among them.
    pub(super) main: Option<Ending>,
    /// Whether nothing is left below this process, which inherits every orphan.
    pub(super) childless: bool,
}

/// Waits for every process that has ended.
pub(super) fn reap(main: i32) -> Reaped {
    let mut reaped = Reaped::default();
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == main => {
                reaped.main = Some(Ending {
                    code: Some(code),
                    ..Ending::default()
                });
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == main => {
                reaped.main = Some(Ending {
                    signal: Some(signal as i32),
                    ..Ending::default()
                });
            }
            Err(Errno::ECHILD) => {
                reaped.childless = true;
                return reaped;
            }
            Ok(WaitStatus::StillAlive) | Err(_) => return reaped,
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
