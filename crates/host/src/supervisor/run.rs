//! The loop of the supervisor.

use super::child::{self, Child, Refusal};
use super::log::Log;
use super::orders::Orders;
use super::protocol::{Notice, Order};
use super::reaper::{Stopping, kill_all, living, machine_oom_kills, out_of_memory, reap};
use super::usage::Probe;
use super::usage::Sampler;
use crate::{Ending, ProcessSpec, Why};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{read, setsid};
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// Time between two looks at what takes longer to read, and at what was written to disk.
const SLOW: Duration = Duration::from_secs(1);
/// Longest sleep of the loop while a tree ends: a process that is no child of ours ends without a signal to us.
const ENDING: Duration = Duration::from_millis(5);
/// The end of the log is written when nothing was printed for this long.
const QUIET: Duration = Duration::from_millis(200);

/// The main function of the supervisor: call it first thing when the binary is started in that role. It reads its
/// orders from the standard input and returns when everything below it is gone.
pub fn supervise() -> io::Result<()> {
    // Ctrl-C in the terminal is meant for prony, which decides what it means.
    let _ = setsid();
    set_child_subreaper(true)?;
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let mut orders = Orders::default();
    let Some(start) = orders.first()? else {
        return Ok(());
    };
    let child = match child::start(&start) {
        Ok(child) => child,
        Err(Refusal { reason, isolation }) => {
            say(&Notice::NotStarted { reason, isolation });
            return Ok(());
        }
    };
    let _ = child::pin(&start.spec.supervisor_cpus);
    let mut supervisor = Supervisor::new(start.spec, child)?;
    supervisor.watch(&signals, &mut orders)
}

/// Tells the caller. One that is gone is noticed at the input.
fn say(notice: &Notice) {
    let mut line = serde_json::to_string(notice).expect("invariant: notices are plain data");
    line.push('\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

struct Supervisor {
    spec: ProcessSpec,
    pid: i32,
    output: Option<OwnedFd>,
    probe: Probe,
    log: Log,
    sampler: Sampler,
    ending: Option<Ending>,
    why: Option<Why>,
    stopping: Option<Stopping>,
    next_sample: Option<Instant>,
    next_slow: Instant,
    flush_at: Option<Instant>,
    written: HashMap<i32, u64>,
    machine_oom_kills: u64,
}

impl Supervisor {
    fn new(spec: ProcessSpec, child: Child) -> io::Result<Self> {
        let log = Log::create(&spec.log, spec.log_bytes)?;
        let now = Instant::now();
        say(&Notice::Started {
            pid: child.pid,
            age_ns: child.started.elapsed().as_nanos() as u64,
            address: child.address,
            warnings: child.warnings,
        });
        Ok(Self {
            next_sample: spec.sample_every.map(|every| now + every),
            next_slow: now + SLOW,
            flush_at: None,
            pid: child.pid,
            output: Some(child.output),
            probe: Probe::new(child.group),
            log,
            sampler: Sampler::default(),
            ending: None,
            why: None,
            stopping: None,
            written: HashMap::new(),
            machine_oom_kills: machine_oom_kills(),
            spec,
        })
    }

    /// Until all is gone.
    fn watch(&mut self, signals: &SignalFd, orders: &mut Orders) -> io::Result<()> {
        loop {
            let ready = self.wait(signals, orders.open)?;
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
            self.keep_time()?;
            if let Some(stopping) = &mut self.stopping
                && stopping.advance(&self.probe)
            {
                return self.finish();
            }
        }
    }

    /// Sleeps until something is to be done.
    fn wait(&self, signals: &SignalFd, input: bool) -> io::Result<Ready> {
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
        // Rounded up, so that the loop does not spin through the last millisecond.
        let sleep = until.saturating_duration_since(now) + Duration::from_micros(999);
        match poll(&mut fds, PollTimeout::try_from(sleep).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let any = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        Ok(Ready {
            input: input && any(&fds[1]),
            output: self.output.is_some() && fds.last().is_some_and(any),
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
                self.log.take(&buffer[..length])?;
                self.flush_at = Some(Instant::now() + QUIET);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Waits for what has ended and tells the caller when it is the process itself.
    fn notice_ending(&mut self) {
        let Some(mut ending) = reap(self.pid) else {
            return;
        };
        if self.why.is_none() {
            self.why = self.reason(&ending);
        }
        ending.why = self.why;
        ending.left = living(&self.probe).len() as u32;
        if self.stopping.is_none() {
            say(&Notice::Ended(ending.clone()));
        }
        self.ending = Some(ending);
    }

    fn reason(&self, ending: &Ending) -> Option<Why> {
        let own = out_of_memory(&self.probe, self.spec.limits.memory_bytes);
        let killed = ending.signal == Some(Signal::SIGKILL as i32) && self.stopping.is_none();
        let machine = killed && machine_oom_kills() > self.machine_oom_kills;
        let disk = self
            .spec
            .limits
            .disk_bytes
            .filter(|_| ending.signal == Some(Signal::SIGXFSZ as i32));
        own.or_else(|| machine.then_some(Why::OutOfMemory { limit_bytes: None }))
            .or_else(|| disk.map(|limit_bytes| Why::DiskFull { limit_bytes }))
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Begin => {
                self.sampler.begin(&self.probe);
                say(&Notice::Began);
            }
            Order::End => {
                let usage = self.sampler.end(&self.probe);
                say(&Notice::Window(Box::new(usage)));
            }
            Order::Memory => say(&Notice::Memory {
                bytes: self.probe.held().memory,
            }),
            Order::Stop => self.stop(),
        }
    }

    fn stop(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(Stopping::begin(&self.probe, self.spec.grace));
        }
    }

    /// Does what is due by now.
    fn keep_time(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            self.log.flush()?;
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
            if self.spec.sample_every.is_some() {
                self.sampler.sample_slowly(&self.probe);
            }
            self.watch_disk();
        }
        Ok(())
    }

    fn watch_disk(&mut self) {
        let Some(limit_bytes) = self.spec.limits.disk_bytes else {
            return;
        };
        self.written.extend(self.probe.written());
        if self.written.values().sum::<u64>() > limit_bytes && self.why.is_none() {
            self.why = Some(Why::DiskFull { limit_bytes });
            kill_all(&self.probe, &living(&self.probe));
        }
    }

    /// All is gone: reads what is left of the output, and tells the caller.
    fn finish(&mut self) -> io::Result<()> {
        self.notice_ending();
        while let Some(output) = &self.output {
            let mut fds = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::ZERO) != Ok(1) {
                break;
            }
            self.read_output()?;
        }
        self.log.flush()?;
        let mut ending = self.ending.clone().unwrap_or_default();
        ending.ignored_term = self.stopping.is_some_and(|stopping| stopping.killed);
        ending.why = self
            .why
            .or_else(|| out_of_memory(&self.probe, self.spec.limits.memory_bytes));
        // Before the caller goes on, so that it finds nothing left.
        self.probe.group = None;
        say(&Notice::Stopped(ending));
        Ok(())
    }
}

struct Ready {
    input: bool,
    output: bool,
}
