//! The loop of a worker: it transfers the core's bytes, and passes it the time.

use super::channels::{Message, Report, WorkerChannels, WorkerUsage};
use super::core::{Action, Core};
use super::intervals::{ConnectProgress, PhaseClock};
use crate::clock::now_ns;
use crate::transport::{Event, Route, Transport};
use crate::workload::PreparedWorkload;
use prony_load::{Job, Partition};
use prony_merge::TallyLayout;
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_records::Phase;
use std::io;
use std::sync::Arc;

/// Longest sleep, ns: changes of the plan are noticed within this time.
const TICK: u64 = 5_000_000;

/// The protocol and the layer of a worker.
pub(crate) struct ProtocolStack<P: Protocol, L: Layer> {
    pub(crate) workload: Arc<PreparedWorkload<P>>,
    pub(crate) layer: L::Config,
}

/// One worker.
pub(crate) struct Worker<P: Protocol, L: Layer, T: Transport> {
    transport: T,
    pub(super) core: Core<P, L>,
    /// When the last wait ended.
    wait_end: u64,
    pub(super) lines: WorkerChannels,
    /// Its number among the threads of this process.
    pub(super) thread: u32,
    /// Its number among the threads of all workers.
    number: u32,
    pub(super) shape: TallyLayout,
    pub(super) interval_ns: u64,
    pub(super) drain_ns: u64,
    pub(super) clock: PhaseClock,
    wake: WakeLead,
    pub(super) gathering: ConnectProgress,
    pub(super) told_exhausted: bool,
    /// Time spent polling since the phase began, ns.
    pub(super) looked_ns: u64,
    pub(super) measured: WorkerUsage,
}

/// How long before a due time the worker wakes up, because the kernel wakes it late.
#[derive(Debug, Clone, Copy)]
struct WakeLead {
    /// Running mean of the delay of wake-ups, ns.
    late: u64,
    looking_since: Option<u64>,
}

/// Earliest wake-up before a due time, ns: limits the CPU time that precise sending may cost.
const MOST_EARLY: u64 = 80_000;

impl<P: Protocol, L: Layer, T: Transport> Worker<P, L, T> {
    pub(crate) fn new(
        job: &Job,
        (thread, partition): (u32, Partition),
        route: &Route,
        spoken: ProtocolStack<P, L>,
        mut lines: WorkerChannels,
    ) -> io::Result<Self> {
        let mut core = Core::new(job, partition, spoken.workload, spoken.layer, T::DEFERS);
        core.log_to(lines.log.take());
        let mut transport = T::new(route, core.connections())?;
        if let Some(backlog) = &lines.backlog {
            core.share(backlog, thread);
            transport.listen(backlog.bell(thread))?;
        }
        Ok(Self {
            transport,
            core,
            wait_end: 0,
            lines,
            thread,
            number: partition.thread(),
            shape: TallyLayout::of(job),
            interval_ns: job.interval_ns.max(1_000_000),
            drain_ns: job.phases.drain_ns,
            clock: PhaseClock::default(),
            wake: WakeLead {
                late: 30_000,
                looking_since: None,
            },
            gathering: ConnectProgress::default(),
            told_exhausted: false,
            looked_ns: 0,
            measured: WorkerUsage::default(),
        })
    }

    /// Runs the load from the first connection to the last reply.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            let now = now_ns();
            if !self.keep_phases(now) {
                break;
            }
            self.core.handle_timers(now);
            self.core.use_woken(now);
            self.core.connect_some();
            self.send_due(now);
            self.wait()?;
            self.take_events();
        }
        let report = Report {
            thread: self.number,
            network: self.transport.network(),
            decoded: self.core.decoded(),
            answered: self.core.ledger.recorder.status_counts(),
            totals: self.core.totals,
            measured: self.measured,
        };
        // The send fails if the caller has returned; the report is not needed then.
        let _ = self.lines.messages.send(Message::Done(Box::new(report)));
        Ok(())
    }

    /// Sends the requests that are due by now.
    fn send_due(&mut self, now: u64) {
        if self.core.policy.next_due() <= now || self.core.announce_free_slot() {
            self.core.take_arrivals(now);
            self.core.send_waiting(now);
            self.core.admit_users(now);
            self.core.connect_some();
        }
        if self.core.policy.thinks() && self.core.timers.next_due() <= now {
            self.core.handle_timers(now);
            self.core.connect_some();
        }
        self.act();
    }

    /// Executes the actions of the core.
    pub(super) fn act(&mut self) {
        let output = &mut self.core.output;
        if let [
            Action::Send {
                number,
                begin: 0,
                end,
            },
        ] = output.actions[..]
            && end == output.wire.len()
        {
            self.transport.send_all(number, &mut output.wire);
            return output.clear();
        }
        let mut index = 0;
        // Executing an action may add further ones.
        while let Some(&action) = self.core.output.actions.get(index) {
            index += 1;
            match action {
                Action::Send { number, begin, end } => {
                    self.transport.send(number, &self.core.output.wire[begin..end]);
                }
                Action::Close(number) => self.transport.close(number),
                Action::Connect(number) => {
                    if let Err(error) = self.transport.connect(number) {
                        self.core.connect_failed(number, &error, now_ns());
                    }
                }
            }
        }
        self.core.output.clear();
    }

    /// When something is due that requires precision.
    fn exactly(&self) -> u64 {
        let due = self.core.policy.next_due();
        if self.core.policy.thinks() {
            due.min(self.core.timers.next_due())
        } else {
            due
        }
    }

    /// When the worker has to check again, even if nothing happens.
    fn alarm(&self, now: u64) -> u64 {
        let times = self.lines.control.times();
        let (phase, interval) = match self.core.phase {
            None => (times.start, u64::MAX),
            Some(Phase::WarmUp) => (
                times.measure,
                self.clock.interval_end(self.interval_ns, times.measure),
            ),
            Some(Phase::Measurement) => (times.stop, self.clock.interval_end(self.interval_ns, times.stop)),
            Some(Phase::Drain) => (self.clock.end.saturating_add(self.drain_ns), u64::MAX),
        };
        (now + TICK)
            .min(phase)
            .min(interval)
            .min(self.core.timers.next_due())
    }

    /// Waits for events until the alarm, or until a request is due. The kernel wakes threads late, so the last bit is
    /// spent polling.
    fn wait(&mut self) -> io::Result<()> {
        let due = self.exactly();
        let now = now_ns();
        if let Some(since) = self.wake.looking_since.take() {
            self.looked_ns += now - since;
        }
        let early = (self.wake.late * 2).clamp(2_000, MOST_EARLY);
        let until = self.alarm(now).min(due.saturating_sub(early));
        if until > now && !self.core.announce_free_slot() {
            self.transport.wait(until - now)?;
            self.wait_end = now_ns();
            let late = self.wait_end.saturating_sub(until);
            if late > 0 && due != u64::MAX {
                // A weight of 1/16 for the new value: one slow wake-up does not make all later ones early.
                self.wake.late = (self.wake.late * 15 + late.min(MOST_EARLY)) / 16;
            }
        } else {
            self.transport.wait(0)?;
            self.wait_end = now_ns();
            self.wake.looking_since = (due > now).then_some(now);
        }
        let wait_end = self.wait_end;
        self.core
            .stamp(|number| self.transport.left_at(number).min(wait_end));
        Ok(())
    }

    fn take_events(&mut self) {
        loop {
            let Some(event) = self.transport.next_event() else {
                return;
            };
            // The events of a batch were seen together, when the wait ended.
            let now = if T::DEFERS { self.wait_end } else { now_ns() };
            let core = &mut self.core;
            if let Some(since) = self.wake.looking_since.take() {
                self.looked_ns += now.saturating_sub(since);
            }
            match event {
                Event::Received(number, bytes) => core.received(number, bytes, now),
                Event::Connected(number) => core.connected(number, now),
                Event::ConnectFailed(number, error) => core.connect_failed(number, &error, now),
                Event::Ended(number, error) => core.ended(number, error.as_ref(), now),
            }
            core.use_woken(now);
            core.connect_some();
            self.act();
            if !self.core.policy.is_closed() || self.core.policy.thinks() {
                self.send_due(now_ns());
            }
        }
    }
}
