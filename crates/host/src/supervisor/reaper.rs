//! Ends a process tree, and reaps ended processes.

use super::usage::Probe;
use crate::cgroup::GroupCounters;
use crate::tree::{is_idle, lives, parent_of, signal};
use crate::{ExitReport, KillReason};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A process that does not end on KILL is stuck in the kernel; after this time it is abandoned.
const STUCK: Duration = Duration::from_secs(10);
/// Number of scans of a tree that forks while it is killed.
const LOOKS: u32 = 20;
/// Pause between two attempts to kill a tree, and between two looks at workers that were resumed.
const PAUSE: Duration = Duration::from_millis(2);
/// Parents stay paused until their workers are idle again, at most for this time.
const HEAD_START: Duration = Duration::from_millis(50);

/// The state of ending a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopProgress {
    kill_at: Instant,
    give_up_at: Instant,
    /// Whether KILL was sent.
    pub(super) killed: bool,
    /// Whether only the first process has received a signal so far.
    first_alone: bool,
}

impl StopProgress {
    /// Sends TERM to all processes.
    pub(super) fn begin(probe: &Probe, grace: Duration) -> Self {
        signal(&probe.processes(), Signal::SIGTERM);
        // A frozen process receives TERM when it is resumed.
        wake(probe);
        Self::after_stop_signal(grace)
    }

    /// The state after a container has received its stop signal.
    pub(super) fn after_stop_signal(grace: Duration) -> Self {
        let kill_at = Instant::now() + grace;
        Self {
            kill_at,
            give_up_at: kill_at + STUCK,
            killed: false,
            first_alone: false,
        }
    }

    /// Sends a signal to the first process only, which ends the others.
    pub(super) fn first(probe: &Probe, main: i32, with: Signal, grace: Duration) -> Self {
        signal(&[main], with);
        wake(probe);
        Self {
            first_alone: true,
            ..Self::after_stop_signal(grace)
        }
    }

    /// Call this when the first process has ended: sends TERM to the remaining ones.
    pub(super) fn first_has_ended(&mut self, probe: &Probe) {
        if std::mem::take(&mut self.first_alone) {
            signal(&probe.processes(), Signal::SIGTERM);
        }
    }

    /// Sends KILL when the grace time is over. Returns whether the tree has ended or is abandoned.
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

/// Maximum number of scans for processes that were started while their parents were being stopped.
const MOST_LOOKS: usize = 8;

/// Stops all processes of the tree (signal(7), SIGSTOP). Repeats until a scan finds no new process, since a process may have
/// forked before it was stopped.
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

/// Resumes all processes at once.
pub(super) fn wake(probe: &Probe) {
    signal(&probe.processes(), Signal::SIGCONT);
}

/// Resumes all processes, those without children first. A parent that watches over workers (gunicorn, Puma) kills those that have not
/// reported for too long: after a long pause they must report before it looks.
pub(super) fn wake_workers_first(probe: &Probe) {
    let (parents, workers) = parents_and_workers(probe.processes());
    signal(&workers, Signal::SIGCONT);
    if !parents.is_empty() {
        let give_up_at = Instant::now() + HEAD_START;
        loop {
            thread::sleep(PAUSE);
            if workers.iter().all(|&pid| is_idle(pid)) || Instant::now() >= give_up_at {
                break;
            }
        }
    }
    signal(&parents, Signal::SIGCONT);
}

/// Processes that have a child among them, and all others.
fn parents_and_workers(pids: Vec<i32>) -> (Vec<i32>, Vec<i32>) {
    let parents: HashSet<i32> = pids.iter().filter_map(|&pid| parent_of(pid)).collect();
    pids.into_iter().partition(|pid| parents.contains(pid))
}

/// Kills all live processes.
pub(super) fn kill_all(probe: &Probe) {
    if probe.group.as_ref().is_some_and(crate::cgroup::Group::kill) {
        return;
    }
    let mut killed = HashSet::new();
    for _ in 0..LOOKS {
        // Processes forked before their parent was killed show up in the next scan.
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

/// Kills all processes and waits until they have ended: the cleanup after a failure of the supervisor.
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

/// Processes of the tree that are not zombies.
pub(super) fn living(probe: &Probe) -> Vec<i32> {
    probe.processes().into_iter().filter(|&pid| lives(pid)).collect()
}

/// Result of reaping.
#[derive(Debug, Default)]
pub(super) struct ReapedProcess {
    /// How the main process ended, if it is among the reaped ones.
    pub(super) main: Option<ExitReport>,
    /// Whether this process, which inherits every orphan, has no descendants left.
    pub(super) childless: bool,
}

/// Reaps every process that has ended.
pub(super) fn reap(main: i32) -> ReapedProcess {
    let mut reaped = ReapedProcess::default();
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == main => {
                reaped.main = Some(ExitReport {
                    code: Some(code),
                    ..ExitReport::default()
                });
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == main => {
                reaped.main = Some(ExitReport {
                    signal: Some(signal as i32),
                    ..ExitReport::default()
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

/// Number of processes that the kernel has killed for lack of memory since boot.
pub(super) fn machine_oom_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Why processes of a tree were killed for lack of memory, according to the counters of its group, if some were: its own limit, or else
/// the machine, or a group around prony, had none left.
pub(super) fn out_of_memory(counters: &GroupCounters, limit_bytes: Option<u64>) -> Option<KillReason> {
    let is_own = counters.at_limit.unwrap_or(true);
    (counters.oom_kills? > 0).then_some(KillReason::OutOfMemory {
        limit_bytes: limit_bytes.filter(|_| is_own),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn only_the_own_limit_is_named_as_the_cause() {
        let reason = |oom_kills, at_limit, limit_bytes| {
            let counters = GroupCounters {
                oom_kills: Some(oom_kills),
                at_limit,
                ..GroupCounters::default()
            };
            out_of_memory(&counters, limit_bytes)
        };
        let of = |limit_bytes| Some(KillReason::OutOfMemory { limit_bytes });
        assert_eq!(reason(0, Some(true), Some(64)), None, "the kernel found memory");
        assert_eq!(reason(1, Some(true), Some(64)), of(Some(64)));
        assert_eq!(
            reason(1, Some(false), Some(64)),
            of(None),
            "the machine had none left"
        );
        assert_eq!(reason(1, Some(false), None), of(None));
        assert_eq!(
            reason(1, None, Some(64)),
            of(Some(64)),
            "an old kernel counts kills only"
        );
    }

    #[test]
    fn a_process_with_a_child_is_a_parent_and_its_child_is_a_worker() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let parent = shell.id() as i32;
        let mut line = String::new();
        let output = shell.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let worker: i32 = line.trim().parse().expect("a number");
        assert_eq!(
            parents_and_workers(vec![parent, worker]),
            (vec![parent], vec![worker])
        );
        assert_eq!(parents_and_workers(vec![worker]), (Vec::new(), vec![worker]));
        signal(&[worker, parent], Signal::SIGKILL);
        shell.wait().expect("waited for");
    }
}
