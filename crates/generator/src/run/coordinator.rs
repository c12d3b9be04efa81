//! The caller's thread while the workers run: it controls the phases, executes commands, and reports intervals.

use super::Run;
use super::part_builder::{End, PartBuilder};
use crate::clock::{now_ns, wall_offset_ns};
use crate::error::EngineError;
use crate::log::LogWriter;
use crate::worker::{Message, WorkerInterval};
use prony_load::{Job, Load, WarmUp};
use prony_merge::{MeasurementStart, Part};
use prony_records::{Command, Event};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Time from the decision for a phase to its start, ns: longer than a worker sleeps, so that all workers start
/// together.
const AHEAD: u64 = 12_000_000;
/// How often commands and clocks are checked.
const LOOK: Duration = Duration::from_millis(5);
/// A wall clock that drifts more than this against the monotonic one between two checks was set, ns.
const CLOCK_STEP: i64 = 20_000_000;

impl Run {
    /// Controls the phases until all workers are done.
    pub(super) fn carry_on(
        mut self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<Part, EngineError> {
        let result = self.coordinate(job, on_event, commands);
        if result.is_err() {
            self.control.abort.store(true, Ordering::Relaxed);
        }
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(EngineError::WorkerPanicked),
            }
        }
        // The workers have handed over everything.
        let log = self.log.take().map(LogWriter::finish).transpose();
        let (collected, end) = result?;
        Ok(collected.finish(job, &self.resolved, End { log: log?, ..end }))
    }

    fn coordinate(
        &self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<(PartBuilder, End), EngineError> {
        let mut coordinator = Coordinator {
            job,
            run: self,
            on_event,
            ready: Vec::new(),
            exhausted: Vec::new(),
            began: BTreeMap::new(),
            collected: PartBuilder::new(job),
            asked_ns: None,
            skips_warm_up: false,
            wall_offset: wall_offset_ns(),
            clock_step_ns: None,
            interrupted: false,
        };
        while coordinator.collected.ended() < self.threads.len() {
            match commands.try_recv() {
                Ok(command) => coordinator.obey(command)?,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            match self.messages.recv_timeout(LOOK) {
                Ok(message) => coordinator.take(message)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let finished = self.threads.iter().filter(|thread| thread.is_finished()).count();
                    // Process their last messages first.
                    while let Ok(message) = self.messages.try_recv() {
                        coordinator.take(message)?;
                    }
                    // A worker that ended without a final report has failed; joining its thread returns the reason.
                    if coordinator.collected.ended() < finished {
                        return Err(EngineError::WorkerPanicked);
                    }
                }
            }
            coordinator.watch_clock();
        }
        let end = End {
            transport: self.transport,
            clock_step_ns: coordinator.clock_step_ns,
            interrupted: coordinator.interrupted,
            log: None,
            begun: MeasurementStart {
                asked_ns: coordinator.asked_ns,
                at_ns: self.control.measure.load(Ordering::Relaxed),
                noticed_ns: 0,
            },
        };
        Ok((coordinator.collected, end))
    }
}

/// The state of the caller's thread while the workers run.
struct Coordinator<'a> {
    job: &'a Job,
    run: &'a Run,
    on_event: &'a mut dyn FnMut(Event),
    /// Open connections of each worker that is ready.
    ready: Vec<u32>,
    /// If requests are counted: the time at which the last request of each exhausted worker ended.
    exhausted: Vec<u64>,
    /// Workers and open connections in each phase that began.
    began: BTreeMap<u8, (usize, u64)>,
    collected: PartBuilder,
    /// The requested start of the measurement, if a command set one.
    asked_ns: Option<u64>,
    /// Whether the warm-up was ended before it began.
    skips_warm_up: bool,
    wall_offset: i64,
    clock_step_ns: Option<i64>,
    interrupted: bool,
}

impl Coordinator<'_> {
    fn take(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Ready { open, error } => self.ready(open, error),
            Message::Began { phase, open } => {
                let (workers, established) = self.began.entry(phase as u8).or_default();
                *workers += 1;
                *established += u64::from(open);
                if *workers == self.run.threads.len() {
                    let established = *established;
                    (self.on_event)(Event::Phase { phase, established });
                }
                Ok(())
            }
            Message::Interval(interval) => {
                self.interval(*interval);
                Ok(())
            }
            Message::Exhausted(last) => {
                self.exhausted.push(last);
                if self.exhausted.len() == self.run.threads.len() {
                    let control = &self.run.control;
                    let last = self.exhausted.iter().copied().max().unwrap_or_default();
                    // A measurement is at least one nanosecond long.
                    let end = last.max(control.measure.load(Ordering::Relaxed) + 1);
                    control.stop.fetch_min(end, Ordering::Relaxed);
                }
                Ok(())
            }
            Message::Done(end) => {
                self.collected.report(*end);
                Ok(())
            }
        }
    }

    fn ready(&mut self, open: u32, error: Option<String>) -> Result<(), EngineError> {
        self.ready.push(open);
        if self.ready.len() < self.run.threads.len() {
            return Ok(());
        }
        let begins_empty = match self.job.load {
            Load::Users { .. } => true,
            Load::Closed { growth, .. } => growth.is_some_and(|growth| growth.from == 0),
            Load::Open { .. } => false,
        };
        if !begins_empty && self.ready.iter().all(|&open| open == 0) {
            return Err(EngineError::Unreachable {
                address: self.run.resolved.route.peers[0].to_string(),
                reason: error.unwrap_or_else(|| "no reason given".to_owned()),
            });
        }
        let start = now_ns() + AHEAD;
        let warm_up = match self.job.phases.warm_up {
            _ if self.skips_warm_up => 0,
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        let begin = self.asked_ns.unwrap_or(start.saturating_add(warm_up));
        self.plan_measurement(begin.max(start));
        self.run.control.start.store(start, Ordering::Relaxed);
        Ok(())
    }

    fn plan_measurement(&self, begin: u64) {
        let control = &self.run.control;
        control.stop.store(
            begin.saturating_add(self.job.phases.measurement_ns),
            Ordering::Relaxed,
        );
        control.measure.store(begin, Ordering::Relaxed);
    }

    fn obey(&mut self, command: Command) -> Result<(), EngineError> {
        let control = &self.run.control;
        let soon = now_ns() + AHEAD;
        // A plan made before all workers are ready is replaced then.
        let is_on = control.start.load(Ordering::Relaxed) != u64::MAX;
        let measuring = is_on && control.measure.load(Ordering::Relaxed) <= soon;
        match command {
            Command::Measure if !is_on => self.skips_warm_up = true,
            Command::Measure if !measuring => self.plan_measurement(soon),
            Command::Measure => {}
            Command::MeasureAt { at_ns } => {
                self.asked_ns = Some(at_ns);
                if !measuring {
                    self.plan_measurement(at_ns.max(soon));
                }
            }
            Command::Stop if !measuring => return Err(EngineError::Stopped),
            Command::Stop => {
                if control.stop.load(Ordering::Relaxed) > soon {
                    control.stop.store(soon, Ordering::Relaxed);
                    self.interrupted = true;
                }
            }
        }
        Ok(())
    }

    fn interval(&mut self, mut counted: WorkerInterval) {
        if let Some(done) = self.collected.interval(&counted) {
            let phase = counted.phase;
            (self.on_event)(if self.job.share.is_some() {
                Event::IntervalPart { phase, part: done }
            } else {
                Event::Interval {
                    phase,
                    interval: done.interval(),
                    failures: done.failures,
                    times: done.times,
                }
            });
        }
        counted.tally.clear();
        // Sending fails if the worker has ended; it needs no empty tally then.
        let _ = self.run.empties[counted.thread as usize].send(counted.tally);
    }

    fn watch_clock(&mut self) {
        let offset = wall_offset_ns();
        let step = offset - self.wall_offset;
        self.wall_offset = offset;
        if step.abs() > CLOCK_STEP && self.clock_step_ns.is_none_or(|old| old.abs() < step.abs()) {
            self.clock_step_ns = Some(step);
        }
    }
}
