//! The loop of a supervisor that only measures processes that already run. It neither started them nor ever signals them.

use super::protocol::{Attach, Order, Orders, SpawnCause, SupervisorEvent, say};
use super::usage::{Probe, Sampler};
use crate::page_cache::used_files;
use crate::tree::lives;
use crate::{AttachTarget, Cpus, ExitReport};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// Interval of slow measurements, and of checks whether the process still runs.
const SLOW: Duration = Duration::from_secs(1);

/// Starts a window.
pub(super) fn begin(sampler: &mut Sampler, probe: &Probe) {
    sampler.begin(probe);
    say(&SupervisorEvent::Began);
}

/// Ends a window.
pub(super) fn end(sampler: &mut Sampler, probe: &Probe) {
    let usage = sampler.end(probe);
    say(&SupervisorEvent::Window(Box::new(usage)));
}

pub(super) fn tell_memory(probe: &Probe) {
    say(&SupervisorEvent::Memory {
        bytes: probe.held().memory,
    });
}

pub(super) fn tell_footprint(probe: &Probe) {
    say(&SupervisorEvent::Footprint(probe.footprint()));
}

pub(super) fn tell_files(probe: &Probe) {
    let paths = used_files(&probe.processes());
    say(&SupervisorEvent::Files { paths });
}

struct AttachedMonitor {
    attach: Attach,
    probe: Probe,
    sampler: Sampler,
    /// Whether the end was reported.
    gone: bool,
}

/// Measures until it receives the order to stop, or until its caller is gone.
pub(super) fn watch(attach: Attach, orders: &mut Orders) -> io::Result<()> {
    let (pid, probe) = match found(&attach.spec.attached) {
        Ok(found) => found,
        Err(reason) => {
            say(&SupervisorEvent::NotStarted {
                reason,
                cause: SpawnCause::Machine,
            });
            return Ok(());
        }
    };
    let _ = super::pin(&attach.spec.supervisor_cpus);
    say(&SupervisorEvent::Started {
        pid,
        age_ns: 0,
        address: None,
        warnings: Vec::new(),
    });
    let mut watch = AttachedMonitor {
        sampler: Sampler::of(
            attach.machine.clone(),
            Cpus::default(),
            &attach.spec.compiler_threads,
        ),
        attach,
        probe,
        gone: false,
    };
    watch.until_stop_order(orders)
}

/// One process of the attached tree, and the source of its resource usage.
fn found(attached: &AttachTarget) -> Result<(i32, Probe), String> {
    match attached {
        AttachTarget::Pid(pid) if lives(*pid) => Ok((*pid, Probe::of_process(*pid))),
        AttachTarget::Pid(pid) => Err(format!("there is no process {pid}: is the service running?")),
        AttachTarget::Cgroup(path) => {
            let group = crate::cgroup::Group::of_others(path).ok_or_else(|| {
                format!(
                    "{} is not a control group that counts CPU time and memory: use its path as in /proc/PID/cgroup",
                    path.display()
                )
            })?;
            let first = group.processes().first().copied();
            let pid = first.ok_or_else(|| {
                format!(
                    "the control group {} has no process: is the service running?",
                    path.display()
                )
            })?;
            Ok((pid, Probe::new(Some(group))))
        }
    }
}

impl AttachedMonitor {
    fn until_stop_order(&mut self, orders: &mut Orders) -> io::Result<()> {
        let every = self.attach.spec.sample_every;
        let (mut next, mut next_slow) = (Instant::now() + every, Instant::now() + SLOW);
        loop {
            if wait(next.min(next_slow))? {
                orders.read();
            }
            while let Some(order) = orders.next() {
                match order {
                    Order::Stop => {
                        leave();
                        return Ok(());
                    }
                    // prony did not start these processes, so it never pauses them.
                    Order::Rest => say(&SupervisorEvent::Rests),
                    Order::Wake => say(&SupervisorEvent::Wakes),
                    Order::Begin => begin(&mut self.sampler, &self.probe),
                    Order::End => end(&mut self.sampler, &self.probe),
                    Order::Memory => tell_memory(&self.probe),
                    Order::Footprint => tell_footprint(&self.probe),
                    Order::Files => tell_files(&self.probe),
                }
            }
            if !orders.open {
                leave();
                return Ok(());
            }
            let now = Instant::now();
            if next <= now {
                self.sampler.sample(&self.probe);
                next = (next + every).max(now + every / 2);
            }
            if next_slow <= now {
                next_slow = now + SLOW;
                self.sampler.sample_slowly(&self.probe);
                self.notice_end();
            }
        }
    }

    /// Reports the end without a code: only the parent of a process knows how it ended.
    fn notice_end(&mut self) {
        if !self.gone && !self.probe.processes().into_iter().any(lives) {
            self.gone = true;
            say(&SupervisorEvent::Ended(ExitReport::default()));
        }
    }
}

fn leave() {
    say(&SupervisorEvent::Stopped(ExitReport::default()));
}

/// Sleeps until the given time or until an order arrives; returns whether one did.
fn wait(until: Instant) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    // Rounded up, so that the loop does not spin through the last millisecond.
    let sleep = until.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
    match poll(&mut fds, PollTimeout::try_from(sleep).unwrap_or(PollTimeout::MAX)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
