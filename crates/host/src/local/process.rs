//! A process on this machine, controlled through the pipes of its supervisor.

use super::supervisor::{NotificationSink, Pipes, listen, spawn};
use super::{Local, orphans};
use crate::container::{self, Engine};
use crate::identity::Owners;
use crate::supervisor::{Attach, Order, SpawnCause, Start, SupervisorCommand, SupervisorEvent};
use crate::{AttachSpec, ExitReport, HostError, Process, ProcessSpec, Usage};
use prony_records::{Footprint, Warning, WarningKind};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Timeout for a reply of the supervisor; after it the supervisor is lost.
const ANSWER: Duration = Duration::from_secs(20);
/// Time for ending a tree, in addition to the grace time.
const ENDING: Duration = Duration::from_secs(20);
/// Additional time for a container: creating and removing it takes longer than starting and ending a process.
const ENGINE: Duration = Duration::from_mins(2);

pub(super) struct LocalProcess {
    name: String,
    tree: Owners,
    log: PathBuf,
    /// Why the log is incomplete.
    log_lost: Option<String>,
    /// The engine that runs its container, if any.
    engine: Option<Engine>,
    grace: Duration,
    pid: u32,
    started: Instant,
    address: Option<String>,
    warnings: Vec<Warning>,
    pipes: Option<(OwnedFd, OwnedFd)>,
    supervisor: Child,
    orders: Option<ChildStdin>,
    notices: Receiver<SupervisorEvent>,
    news: NotificationSink,
    ended: Option<ExitReport>,
    stopped: Option<ExitReport>,
}

impl LocalProcess {
    pub(super) fn start(host: &Local, spec: &ProcessSpec) -> Result<Self, HostError> {
        if let Some(folder) = spec.log.parent() {
            let failed = |error| HostError::File {
                what: "make",
                path: folder.to_owned(),
                error,
            };
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let pipes = Pipes::make(spec.stdio)
            .map_err(|error| lost(&spec.name, &format!("cannot be given pipes: {error}")))?;
        let first = |tree, theirs| {
            SupervisorCommand::Start(Box::new(Start {
                spec: spec.clone(),
                pipes: theirs,
                groups: host.groups,
                tree,
                machine: host.topology.cpus(),
            }))
        };
        let mut process = Self::supervised(host, &spec.name, pipes, first)?;
        process.log.clone_from(&spec.log);
        process.grace = spec.grace;
        process.engine = spec.container.as_ref().map(|container| container.engine.clone());
        process.engine.iter().for_each(container::sweep_once);
        process.await_start()?;
        Ok(process)
    }

    /// Attaches to a process that already runs.
    pub(super) fn attach(host: &Local, spec: &AttachSpec) -> Result<Self, HostError> {
        let first = |_, _| {
            SupervisorCommand::Attach(Attach {
                spec: spec.clone(),
                machine: host.topology.cpus(),
            })
        };
        let mut process = Self::supervised(host, &spec.name, Pipes::none(), first)?;
        process.await_start()?;
        Ok(process)
    }

    /// Starts a supervisor and sends it the first line.
    fn supervised(
        host: &Local,
        name: &str,
        mut pipes: Pipes,
        first: impl FnOnce(Owners, Option<(i32, i32)>) -> SupervisorCommand,
    ) -> Result<Self, HostError> {
        let mut child = orphans::supervisor(|| spawn(&host.supervisor, &pipes))?;
        let mut orders = child.stdin.take().expect("invariant: stdin is piped");
        let news = NotificationSink::default();
        let output = child.stdout.take().expect("invariant: stdout is piped");
        let notices = listen(output, Arc::clone(&news));
        let Some(tree) = Owners::of_supervisor(child.id() as i32) else {
            orphans::forget(child.id());
            let _ = child.wait();
            return Err(lost(name, "ended immediately"));
        };
        let line = serde_json::to_string(&first(tree, pipes.theirs()));
        let line = line.expect("invariant: a spec is plain data");
        let said =
            writeln!(orders, "{line}").map_err(|error| lost(name, &format!("accepts no orders: {error}")));
        pipes.close_theirs();
        let process = Self {
            name: name.to_owned(),
            tree,
            log: PathBuf::new(),
            log_lost: None,
            engine: None,
            grace: Duration::ZERO,
            pid: 0,
            started: Instant::now(),
            address: None,
            warnings: Vec::new(),
            pipes: pipes.ours.take(),
            supervisor: child,
            orders: Some(orders),
            notices,
            news,
            ended: None,
            stopped: None,
        };
        said.map(|()| process)
    }

    fn await_start(&mut self) -> Result<(), HostError> {
        match self.next(ANSWER + self.engine_time())? {
            SupervisorEvent::Started {
                pid,
                age_ns,
                address,
                warnings,
            } => {
                let now = Instant::now();
                self.started = now.checked_sub(Duration::from_nanos(age_ns)).unwrap_or(now);
                self.pid = pid as u32;
                self.address = address;
                self.warnings = warnings;
                Ok(())
            }
            SupervisorEvent::NotStarted { reason, cause } => {
                let name = self.name.clone();
                Err(match cause {
                    SpawnCause::Machine => HostError::Start { name, reason },
                    SpawnCause::Isolation => HostError::NotIsolated { name, reason },
                    SpawnCause::Program => HostError::Program { name, reason },
                })
            }
            other => Err(lost(&self.name, &format!("sent {other:?} instead of its start"))),
        }
    }

    /// Additional time for the engine.
    fn engine_time(&self) -> Duration {
        self.engine.as_ref().map_or(Duration::ZERO, |_| ENGINE)
    }

    fn say(&mut self, order: Order) -> Result<(), HostError> {
        let line = serde_json::to_string(&order).expect("invariant: an order is plain data");
        let said = self.orders.as_mut().map(|orders| writeln!(orders, "{line}"));
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(lost(&self.name, "accepts no more orders")),
        }
    }

    /// The next notice that replies to an order.
    fn next(&mut self, within: Duration) -> Result<SupervisorEvent, HostError> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.notices.recv_timeout(left) {
                Ok(SupervisorEvent::Failed { reason }) => {
                    return Err(lost(&self.name, &format!("failed ({reason})")));
                }
                Ok(notice) => {
                    if let Some(notice) = self.handle_event(notice) {
                        return Ok(notice);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(lost(&self.name, "does not reply")),
                Err(RecvTimeoutError::Disconnected) => return Err(lost(&self.name, "ended unexpectedly")),
            }
        }
    }

    /// Stores notices that were not requested, and returns all others.
    fn handle_event(&mut self, notice: SupervisorEvent) -> Option<SupervisorEvent> {
        match notice {
            SupervisorEvent::Ended(ending) => self.ended = Some(ending),
            SupervisorEvent::LogLost { reason } => {
                let text = format!("Log {} is incomplete: {reason}.", self.log.display());
                self.warnings
                    .push(Warning::new(WarningKind::Note, text).advise("Free disk space."));
                self.log_lost = Some(reason);
            }
            other => return Some(other),
        }
        None
    }

    fn await_stop(&mut self) -> Result<ExitReport, HostError> {
        let within = self.grace + ENDING + self.engine_time();
        loop {
            // The result of a window that was requested but not read may come first.
            if let SupervisorEvent::Stopped(ending) = self.next(within)? {
                return Ok(ending);
            }
        }
    }
}

impl Process for LocalProcess {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    fn age(&self) -> Duration {
        self.started.elapsed()
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)> {
        let (input, output) = self.pipes.take()?;
        Some((Box::new(File::from(input)), Box::new(File::from(output))))
    }

    fn ended(&mut self) -> Option<ExitReport> {
        while let Ok(notice) = self.notices.try_recv() {
            self.handle_event(notice);
        }
        self.ended.clone()
    }

    fn on_news(&mut self, tell: Box<dyn Fn() + Send>) -> bool {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell);
        true
    }

    fn memory_bytes(&mut self) -> Option<u64> {
        self.say(Order::Memory).ok()?;
        match self.next(ANSWER) {
            Ok(SupervisorEvent::Memory { bytes }) => bytes,
            _ => None,
        }
    }

    fn footprint(&mut self) -> Footprint {
        if self.say(Order::Footprint).is_err() {
            return Footprint::default();
        }
        match self.next(ANSWER) {
            Ok(SupervisorEvent::Footprint(used)) => used,
            _ => Footprint::default(),
        }
    }

    fn used_files(&mut self) -> Vec<PathBuf> {
        if self.say(Order::Files).is_err() {
            return Vec::new();
        }
        match self.next(ANSWER) {
            Ok(SupervisorEvent::Files { paths }) => paths,
            _ => Vec::new(),
        }
    }

    fn rest(&mut self) -> Result<(), HostError> {
        self.say(Order::Rest)?;
        match self.next(ANSWER)? {
            SupervisorEvent::Rests => Ok(()),
            other => Err(lost(
                &self.name,
                &format!("sent {other:?} in reply to the order to pause"),
            )),
        }
    }

    fn wake(&mut self) -> Result<(), HostError> {
        self.say(Order::Wake)?;
        match self.next(ANSWER)? {
            SupervisorEvent::Wakes => Ok(()),
            other => Err(lost(
                &self.name,
                &format!("sent {other:?} in reply to the order to resume"),
            )),
        }
    }

    fn begin_window(&mut self) -> Result<(), HostError> {
        self.say(Order::Begin)?;
        match self.next(ANSWER)? {
            SupervisorEvent::Began => Ok(()),
            other => Err(lost(&self.name, &format!("sent {other:?} when a window started"))),
        }
    }

    fn end_window(&mut self) -> Result<Usage, HostError> {
        self.say(Order::End)?;
        match self.next(ANSWER)? {
            SupervisorEvent::Window(usage) => Ok(*usage),
            other => Err(lost(&self.name, &format!("sent {other:?} when a window ended"))),
        }
    }

    fn stop(&mut self) -> Result<ExitReport, HostError> {
        if let Some(ending) = &self.stopped {
            return Ok(ending.clone());
        }
        // The end of its input also stops a supervisor, even one that has not received the order.
        let _ = self.say(Order::Stop);
        self.orders = None;
        let ending = self.await_stop();
        if ending.is_err() {
            let _ = self.supervisor.kill();
        }
        orphans::forget(self.supervisor.id());
        let _ = self.supervisor.wait();
        if ending.is_err() {
            crate::cgroup::clear(self.tree);
            orphans::clear();
            self.engine
                .iter()
                .for_each(|engine| container::remove(engine, &self.tree.to_string()));
        }
        let ending = ending?;
        self.stopped = Some(ending.clone());
        Ok(ending)
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut tail: VecDeque<String> = VecDeque::new();
        for line in text.lines() {
            if tail.len() == lines {
                tail.pop_front();
            }
            tail.push_back(line.chars().take(500).collect());
        }
        if let Some(reason) = &self.log_lost {
            tail.push_back(format!("[the log ends here: {reason}]"));
        }
        tail.into()
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn lost(name: &str, what: &str) -> HostError {
    HostError::SupervisorLost {
        name: name.to_owned(),
        what: what.to_owned(),
    }
}
