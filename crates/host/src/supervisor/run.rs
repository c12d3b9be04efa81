//! The loop of the supervisor.

use super::attached;
use super::child::Child;

use super::container::{self, ContainerGuard};
use super::fresh_folder::FreshFolder;
use super::home::EmptyHome;
use super::log::Log;
use super::private_files::PrivateFiles;
use super::protocol::{Order, Orders, Start, SupervisorEvent, say};
use super::reaper::{
    StopProgress, end_now, kill_all, living, machine_oom_kills, out_of_memory, reap, rest, wake,
    wake_workers_first,
};
use super::usage::Probe;
use super::usage::Sampler;
use crate::{Cpus, ExitReport, KillReason, ProcessSpec};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::read;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// Interval of slow measurements and of disk limit checks.
const SLOW: Duration = Duration::from_secs(1);
/// Longest sleep of the loop while a tree ends: the end of a process that is not our child sends us no signal.
const ENDING: Duration = Duration::from_millis(5);
/// The end of the log is written after this time without output.
const QUIET: Duration = Duration::from_millis(200);

/// The exit code of a shell whose command was killed by KILL.
const KILLED_BELOW: i32 = 128 + Signal::SIGKILL as i32;

/// The running process, and its state.
pub(super) struct Supervisor {
    spec: ProcessSpec,
    /// The child: the process itself, or the engine's client that started its container.
    pid: i32,
    contained: Option<ContainerGuard>,
    output: Option<OwnedFd>,
    probe: Probe,
    log: Option<Log>,
    sampler: Sampler,
    ending: Option<ExitReport>,
    why: Option<KillReason>,
    stopping: Option<StopProgress>,
    /// Whether there are no descendants left, according to the kernel.
    childless: bool,
    next_sample: Option<Instant>,
    next_slow: Instant,
    flush_at: Option<Instant>,
    written: HashMap<i32, u64>,
    machine_oom_kills: u64,
    home: Option<EmptyHome>,
    files: Option<PrivateFiles>,
    folder: Option<FreshFolder>,
}

impl Supervisor {
    pub(super) fn new(start: Start, (child, contained): (Child, Option<ContainerGuard>), log: Log) -> Self {
        let spec = start.spec;
        let now = Instant::now();
        let measured = if spec.cpu_speed_probe {
            spec.cpus.clone()
        } else {
            Cpus::default()
        };
        let first = contained.as_ref().and_then(|contained| contained.first);
        say(&SupervisorEvent::Started {
            pid: first.unwrap_or(child.pid),
            age_ns: child.started.elapsed().as_nanos() as u64,
            address: child.address,
            warnings: child.warnings,
        });
        Self {
            next_sample: spec.sample_every.map(|every| now + every),
            next_slow: now + SLOW,
            flush_at: None,
            pid: child.pid,
            output: Some(child.output),
            probe: match &contained {
                None => Probe::new(child.group),
                Some(contained) => contained.probe(child.group),
            },
            contained,
            log: Some(log),
            sampler: Sampler::of(start.machine, measured, &spec.compiler_threads),
            ending: None,
            why: None,
            stopping: None,
            childless: false,
            written: HashMap::new(),
            machine_oom_kills: machine_oom_kills(),
            home: child.home,
            files: child.files,
            folder: child.folder,
            spec,
        }
    }

    /// Runs until everything has ended.
    pub(super) fn watch(&mut self, signals: &SignalFd, orders: &mut Orders) -> io::Result<()> {
        loop {
            let ready = self.wait(signals, orders.open)?;
            if ready.end {
                self.notice_end_of_container();
            }
            if ready.output {
                self.read_output()?;
            }
            while let Ok(Some(signal)) = signals.read_signal() {
                if signal.ssi_signo != Signal::SIGCHLD as u32 {
                    self.stop();
                }
            }
            self.notice_ending();
            if ready.input {
                orders.read();
            }
            while let Some(order) = orders.next() {
                self.obey(order);
            }
            if !orders.open {
                self.stop();
            }
            self.keep_time();
            if self.stopping.is_some() && self.has_stopped() {
                self.finish();
                return Ok(());
            }
        }
    }

    /// Continues to end the tree. It has ended when the kernel reports that this process has no descendants: a scan of processes
    /// misses those that fork meanwhile. The engine's own processes below us are not part of the container.
    fn has_stopped(&mut self) -> bool {
        let gone = match &self.contained {
            None => self.childless && (self.probe.group.is_none() || living(&self.probe).is_empty()),
            Some(_) => self.ending.is_some() && living(&self.probe).is_empty(),
        };
        let Some(stopping) = &mut self.stopping else {
            return false;
        };
        if self.ending.is_some() {
            stopping.first_has_ended(&self.probe);
        }
        let over = stopping.advance(&self.probe, gone);
        if let Some(contained) = self.contained.as_mut().filter(|_| stopping.killed && !over) {
            contained.kill();
        }
        over
    }

    /// Sleeps until something is to be done.
    fn wait(&self, signals: &SignalFd, input: bool) -> io::Result<PollEvents> {
        let stdin = io::stdin();
        let now = Instant::now();
        let mut until = self.next_slow;
        until = self.next_sample.map_or(until, |at| at.min(until));
        until = self.flush_at.map_or(until, |at| at.min(until));
        if self.stopping.is_some() {
            until = until.min(now + ENDING);
        }
        let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if input {
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        if let Some(output) = &self.output {
            fds.push(PollFd::new(output.as_fd(), PollFlags::POLLIN));
        }
        let end = self
            .contained
            .as_ref()
            .and_then(|contained| contained.end.as_ref());
        if let Some(end) = end {
            fds.push(PollFd::new(end.as_fd(), PollFlags::POLLIN));
        }
        // Rounded up, so that the loop does not spin through the last millisecond.
        let sleep = until.saturating_duration_since(now) + Duration::from_micros(999);
        match poll(&mut fds, PollTimeout::try_from(sleep).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let any = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        Ok(PollEvents {
            input: input && any(&fds[1]),
            output: self.output.is_some() && any(&fds[1 + usize::from(input)]),
            end: end.is_some() && fds.last().is_some_and(any),
        })
    }

    fn read_output(&mut self) -> io::Result<()> {
        let Some(output) = &self.output else {
            return Ok(());
        };
        let mut buffer = [0; 16_384];
        match read(output, &mut buffer) {
            Ok(0) => self.output = None,
            Ok(length) => {
                self.write_log(|log| log.take(&buffer[..length]));
                self.flush_at = Some(Instant::now() + QUIET);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Reads the counters now: the group of a container disappears soon after its first process.
    fn notice_end_of_container(&mut self) {
        if let Some(contained) = &mut self.contained {
            contained.end = None;
        }
        if self.stopping.is_none() && self.why.is_none() {
            self.why = self.out_of_memory();
        }
    }

    /// Reaps ended processes, and informs the caller if the process itself is among them.
    fn notice_ending(&mut self) {
        let reaped = reap(self.pid);
        self.childless = reaped.childless;
        let Some(mut ending) = reaped.main else {
            return;
        };
        if self.contained.is_some() {
            ending = container::as_ending(ending);
        }
        if self.why.is_none() {
            self.why = self.reason(&ending);
        }
        ending.why = self.why;
        ending.left = living(&self.probe).len() as u32;
        if self.stopping.is_none() {
            say(&SupervisorEvent::Ended(ending.clone()));
        }
        self.ending = Some(ending);
    }

    fn reason(&self, ending: &ExitReport) -> Option<KillReason> {
        let limit_bytes = self.spec.limits.memory_bytes;
        let container_ran_out =
            self.stopping.is_none() && self.contained.as_ref().is_some_and(ContainerGuard::out_of_memory);
        let own = self
            .out_of_memory()
            .or(container_ran_out.then_some(KillReason::OutOfMemory { limit_bytes }));
        let killed = ending.signal == Some(Signal::SIGKILL as i32) && self.stopping.is_none();
        let machine = killed && machine_oom_kills() > self.machine_oom_kills;
        let disk = self
            .spec
            .limits
            .disk_bytes
            .filter(|_| ending.signal == Some(Signal::SIGXFSZ as i32));
        own.or_else(|| machine.then_some(KillReason::OutOfMemory { limit_bytes: None }))
            .or_else(|| disk.map(|limit_bytes| KillReason::DiskFull { limit_bytes }))
            .or_else(|| self.is_killed_from_outside(ending).then_some(KillReason::Outside))
    }

    /// Why processes were killed for lack of memory, if some were. The limit of a container may belong to a group around that of its
    /// processes, which does not count that it was reached.
    fn out_of_memory(&self) -> Option<KillReason> {
        let mut counters = self.probe.group.as_ref()?.counters();
        if self.contained.is_some() {
            counters.at_limit = None;
        }
        out_of_memory(&counters, self.spec.limits.memory_bytes)
    }

    /// Whether the process received KILL from others. A shell ends with [`KILLED_BELOW`] if its command did. A process that was killed
    /// just before it was to stop counts, but not in a container, whose first process is stopped by KILL if it handles no other signal.
    fn is_killed_from_outside(&self, ending: &ExitReport) -> bool {
        match &self.stopping {
            None => ending.signal == Some(Signal::SIGKILL as i32) || ending.code == Some(KILLED_BELOW),
            Some(stopping) => {
                ending.signal == Some(Signal::SIGKILL as i32) && !stopping.killed && self.contained.is_none()
            }
        }
    }

    /// Failure to write the log, as on a full disk, does not end the process: the rest of its output is read and discarded.
    fn write_log(&mut self, write: impl FnOnce(&mut Log) -> io::Result<()>) {
        if let Some(log) = &mut self.log
            && let Err(error) = write(log)
        {
            self.log = None;
            let reason = error.to_string();
            say(&SupervisorEvent::LogLost { reason });
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Begin => attached::begin(&mut self.sampler, &self.probe),
            Order::End => attached::end(&mut self.sampler, &self.probe),
            Order::Rest => {
                rest(&self.probe);
                // Frozen processes use nothing, and reading it would take time from the one that is measured.
                self.next_sample = None;
                self.contained
                    .iter()
                    .for_each(|contained| contained.stand_still(true));
                say(&SupervisorEvent::Rests);
            }
            Order::Wake => {
                self.contained
                    .iter()
                    .for_each(|contained| contained.stand_still(false));
                wake_workers_first(&self.probe);
                self.next_sample = self.spec.sample_every.map(|every| Instant::now() + every);
                say(&SupervisorEvent::Wakes);
            }
            Order::Memory => attached::tell_memory(&self.probe),
            Order::Footprint => attached::tell_footprint(&self.probe),
            // The files of a container are those of its image, which have no path here.
            Order::Files if self.contained.is_some() => say(&SupervisorEvent::Files { paths: Vec::new() }),
            Order::Files => attached::tell_files(&self.probe),
            Order::Stop => self.stop(),
        }
    }

    fn stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        let own = self.spec.stop_signal.filter(|_| self.ending.is_none());
        let own = own.and_then(|number| Signal::try_from(number).ok());
        self.stopping = Some(match (&self.contained, own) {
            (None, Some(signal)) => StopProgress::first(&self.probe, self.pid, signal, self.spec.grace),
            (None, None) => StopProgress::begin(&self.probe, self.spec.grace),
            (Some(contained), _) => {
                contained.stand_still(false);
                contained.tell_to_stop(self.spec.grace);
                wake(&self.probe);
                StopProgress::after_stop_signal(self.spec.grace)
            }
        });
    }

    /// Does everything that is due.
    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            self.write_log(Log::flush);
        }
        if let (Some(at), Some(every)) = (self.next_sample, self.spec.sample_every)
            && at <= now
        {
            self.sampler.sample(&self.probe);
            // A late sample does not make the next one early.
            self.next_sample = Some((at + every).max(now + every / 2));
        }
        if self.next_slow <= now {
            self.next_slow = now + SLOW;
            if self.next_sample.is_some() {
                self.sampler.sample_slowly(&self.probe);
            }
            self.watch_disk();
        }
    }

    fn watch_disk(&mut self) {
        let Some(limit_bytes) = self.spec.limits.disk_bytes else {
            return;
        };
        self.written.extend(self.probe.written());
        if self.written.values().sum::<u64>() > limit_bytes && self.why.is_none() {
            self.why = Some(KillReason::DiskFull { limit_bytes });
            kill_all(&self.probe);
        }
    }

    /// Everything has ended: reads the remaining output, and informs the caller.
    fn finish(&mut self) {
        self.notice_ending();
        while let Some(output) = &self.output {
            let mut fds = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::ZERO) != Ok(1) {
                break;
            }
            if self.read_output().is_err() {
                break;
            }
        }
        self.write_log(Log::flush);
        let mut ending = self.ending.clone().unwrap_or_default();
        ending.ignored_term = self.stopping.is_some_and(|stopping| stopping.killed);
        ending.why = self.why.or_else(|| self.out_of_memory());
        // Before the caller continues, so that it finds nothing left.
        self.probe.group = None;
        if let Some(contained) = self.contained.take() {
            let pid = self.pid;
            contained.remove(|| reap(pid).childless);
        }
        self.home = None;
        self.files = None;
        ending.changed = self.folder.take().and_then(FreshFolder::end);
        // Processes stuck in the kernel are abandoned.
        self.childless = true;
        say(&SupervisorEvent::Stopped(ending));
    }
}

impl Drop for Supervisor {
    /// Whatever the reason, also an error or a panic: kills everything below.
    fn drop(&mut self) {
        if !self.childless {
            end_now(&self.probe, self.pid);
        }
    }
}

struct PollEvents {
    input: bool,
    output: bool,
    /// Whether the first process of its container has ended.
    end: bool,
}
