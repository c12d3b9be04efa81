//! One thread: it owns its connections, its histograms and its counters, and runs the phases of the load.
//!
//! [`core`] decides and knows no socket; the loop here moves its bytes and tells it the time.

mod again;
mod connection;
mod core;
mod phases;
mod sample;
mod send;
mod sink;
mod slots;
mod users;

pub(crate) use self::core::{Place, Totals};
pub(crate) use self::sample::Sample;

use self::core::{Action, Core, Mode};
use self::phases::PhaseClock;
use crate::clock::{ThreadTime, now_ns};
use crate::layer::Layer;
use crate::protocol::Protocol;
use crate::recorder::{Part, Shape};
use crate::transport::{Event, Transport};
use crate::workload::PreparedWorkload;
use prony_load::Job;
use prony_measurement::{Outcome, Phase};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// When the phases begin, ns of the common clock; `u64::MAX`: not yet known. Written by the caller, read by the workers.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) start: AtomicU64,
    pub(crate) measure: AtomicU64,
    pub(crate) stop: AtomicU64,
    /// End at once.
    pub(crate) abort: AtomicBool,
}

impl Control {
    pub(crate) const fn new() -> Self {
        Self {
            start: AtomicU64::new(u64::MAX),
            measure: AtomicU64::new(u64::MAX),
            stop: AtomicU64::new(u64::MAX),
            abort: AtomicBool::new(false),
        }
    }
}

/// What a worker tells.
#[derive(Debug)]
pub(crate) enum Message {
    /// Every connection was tried; how many were open at once, and why the first that failed did.
    Ready { open: u32, error: Option<String> },
    /// A phase began.
    Began { phase: Phase, open: u32 },
    /// An interval ended: what was recorded in it. The box comes back to be used again.
    Interval(Box<IntervalPart>),
    /// The worker is done.
    Done(Box<End>),
}

/// One interval of one worker.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    pub(crate) thread: u32,
    pub(crate) phase: Phase,
    /// Number of the interval in its phase.
    pub(crate) index: u64,
    /// Begin and end from the begin of the phase, ns.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) part: Box<Part>,
}

/// What a worker knows at its end.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) totals: Totals,
    pub(crate) measured: Measured,
}

/// What a worker notes about itself in the measurement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// Connections open when it began.
    pub(crate) open_at_begin: u32,
    /// What the thread used.
    pub(crate) used: ThreadTime,
    /// Of that, time spent looking for something to do, ns.
    pub(crate) looked_ns: u64,
    /// Length, ns.
    pub(crate) length_ns: u64,
}

/// The worker's ends of the channels.
pub(crate) struct Lines {
    pub(crate) control: Arc<Control>,
    pub(crate) messages: Sender<Message>,
    pub(crate) empties: Receiver<Box<Part>>,
}

/// Longest sleep, ns: a change of plan is seen after this.
const TICK: u64 = 5_000_000;

/// What a worker speaks, and through what.
pub(crate) struct Spoken<P: Protocol, L: Layer> {
    pub(crate) workload: PreparedWorkload<P>,
    pub(crate) layer: L::Config,
}

/// One worker.
pub(crate) struct Worker<P: Protocol, L: Layer, T: Transport> {
    transport: T,
    core: Core<P, L>,
    /// When the last wait ended.
    seen: u64,
    lines: Lines,
    place: Place,
    shape: Shape,
    interval_ns: u64,
    drain_ns: u64,
    sweep_ns: u64,
    next_sweep: u64,
    clock: PhaseClock,
    wake: Wake,
    told_ready: bool,
    gathering: Gathering,
    /// Time spent looking for something to do, ns, since the phase began.
    looked_ns: u64,
    measured: Measured,
}

/// How connections come before the load begins.
#[derive(Debug, Clone, Copy, Default)]
struct Gathering {
    /// Open at once so far.
    open: u32,
    /// When the last of them opened; at first when it was looked for the first time. 0: not yet.
    since: u64,
}

/// How long before a due time the worker wakes up, since the kernel wakes it late.
#[derive(Debug, Clone, Copy)]
struct Wake {
    /// Running mean of how late it was, ns.
    late: u64,
    looking_since: Option<u64>,
}

/// Earliest wake before a due time, ns: the CPU time that exact sending may cost.
const MOST_EARLY: u64 = 80_000;

impl<P: Protocol, L: Layer, T: Transport> Worker<P, L, T> {
    pub(crate) fn new(job: &Job, place: Place, transport: T, spoken: Spoken<P, L>, lines: Lines) -> Self {
        let mut core = Core::new(job, place, spoken.workload, spoken.layer);
        core.defers = T::DEFERS;
        Self {
            transport,
            core,
            seen: 0,
            lines,
            place,
            shape: Shape::of(job),
            interval_ns: job.interval_ns.max(1_000_000),
            drain_ns: job.phases.drain_ns,
            sweep_ns: (job.timeout_ns / 20).clamp(1_000_000, 100_000_000),
            next_sweep: 0,
            clock: PhaseClock::default(),
            wake: Wake {
                late: 30_000,
                looking_since: None,
            },
            told_ready: false,
            gathering: Gathering::default(),
            looked_ns: 0,
            measured: Measured::default(),
        }
    }

    /// Runs the load from the first connection to the last reply.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            let now = now_ns();
            if !self.keep_phases(now) {
                break;
            }
            self.housekeeping(now);
            let alarm = self.alarm(now);
            self.wait_until(alarm)?;
            self.take_events();
        }
        let end = End {
            totals: self.core.totals,
            measured: self.measured,
        };
        // The caller may be gone already; then nobody wants to know.
        let _ = self.lines.messages.send(Message::Done(Box::new(end)));
        Ok(())
    }

    /// What is due at this moment, beside events.
    fn housekeeping(&mut self, now: u64) {
        if now >= self.next_sweep {
            self.next_sweep = now + self.sweep_ns;
            self.core.sweep_timeouts(now);
        }
        self.core.wake_resting(now);
        self.core.connect_some();
        self.send_due(now);
    }

    /// Sends what is due by now.
    fn send_due(&mut self, now: u64) {
        match &self.core.mode {
            Mode::Closed => {}
            Mode::Open(pacer) => {
                if pacer.next_due() <= now {
                    self.core.take_arrivals(now);
                    self.core.send_waiting(now);
                }
            }
            Mode::Users(users) => {
                if users.pacer.next_due() <= now || users.next_thought() <= now {
                    self.core.take_arrivals(now);
                    self.core.let_users_in();
                    self.core.end_thinking(now);
                    self.core.connect_some();
                }
            }
        }
        self.act();
    }

    /// Does what the core has decided.
    fn act(&mut self) {
        let mut index = 0;
        // Carrying out an action may bring more of them.
        while let Some(&action) = self.core.actions.get(index) {
            index += 1;
            match action {
                Action::Send { number, begin, end } => {
                    self.transport.send(number, &self.core.out[begin..end]);
                }
                Action::Close(number) => self.transport.close(number),
                Action::Connect(number) => {
                    if let Err(error) = self.transport.connect(number) {
                        self.core
                            .connect_failed(number, Outcome::Refused, &error, now_ns());
                    }
                }
            }
        }
        self.core.actions.clear();
        self.core.out.clear();
        self.core.out_done = 0;
    }

    /// When the worker has to look again, even if nothing happens.
    fn alarm(&self, now: u64) -> u64 {
        let mut alarm = (now + TICK).min(self.next_sweep);
        let control = &self.lines.control;
        match self.core.phase {
            None => alarm = alarm.min(control.start.load(Ordering::Relaxed)),
            Some(Phase::WarmUp) => alarm = alarm.min(control.measure.load(Ordering::Relaxed)),
            Some(Phase::Measurement) => alarm = alarm.min(control.stop.load(Ordering::Relaxed)),
            Some(Phase::Drain) => alarm = alarm.min(self.clock.end + self.drain_ns),
        }
        if self.core.is_loading() {
            alarm = alarm.min(self.clock.begin + (self.clock.interval + 1) * self.interval_ns);
        }
        if self.core.resting > 0 {
            alarm = alarm.min(now + 1_000_000);
        }
        alarm
    }

    /// Waits for events until the alarm, or until something is due to be sent. The kernel wakes late, so the last bit is
    /// spent looking.
    fn wait_until(&mut self, alarm: u64) -> io::Result<()> {
        let due = match &self.core.mode {
            Mode::Closed => u64::MAX,
            Mode::Open(pacer) => pacer.next_due(),
            Mode::Users(users) => users.pacer.next_due().min(users.next_thought()),
        };
        let now = now_ns();
        if let Some(since) = self.wake.looking_since.take() {
            self.looked_ns += now - since;
        }
        self.core.stamp(now);
        let early = (self.wake.late * 2).clamp(2_000, MOST_EARLY);
        let until = alarm.min(due.saturating_sub(early));
        if until > now {
            self.transport.wait(until - now)?;
            self.seen = now_ns();
            let late = self.seen.saturating_sub(until);
            if late > 0 && due != u64::MAX {
                // One in sixteen of the new value: one slow wake does not make all the next ones early.
                self.wake.late = (self.wake.late * 15 + late.min(MOST_EARLY)) / 16;
            }
        } else {
            self.transport.wait(0)?;
            self.seen = now_ns();
            self.wake.looking_since = (due > now).then_some(now);
        }
        Ok(())
    }

    fn take_events(&mut self) {
        loop {
            let Some(event) = self.transport.next_event() else {
                return;
            };
            // Those of a batch were seen together, when the wait ended.
            let now = if T::DEFERS { self.seen } else { now_ns() };
            let core = &mut self.core;
            if let Some(since) = self.wake.looking_since.take() {
                self.looked_ns += now.saturating_sub(since);
            }
            match event {
                Event::Received(number, bytes) => core.received(number, bytes, now),
                Event::Connected(number) => core.connected(number, now),
                Event::ConnectFailed(number, error) => {
                    core.connect_failed(number, Outcome::Refused, &error, now);
                }
                Event::Ended(number, error) => core.ended(number, error.as_ref(), now),
            }
            core.connect_some();
            self.act();
            if !matches!(self.core.mode, Mode::Closed) {
                self.send_due(now_ns());
            }
        }
    }
}
