//! A worker without its sockets: what happened goes in, what to do comes out as [`Action`]s.

use super::connection::Connection;
use super::sample::Sample;
use super::send::Due;
use super::slots::Slots;
use super::users::Users;
use crate::layer::Layer;
use crate::pacer::Pacer;
use crate::parameters::{Parameters, mix};
use crate::protocol::Protocol;
use crate::recorder::{Recorder, Shape};
use crate::workload::{Chooser, PreparedWorkload};
use prony_load::{Job, Load, Memory};
use prony_measurement::{Histogram, Outcome, Phase};
use std::collections::VecDeque;

/// What the worker is to do with its transport, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Connect(u32),
    /// Send these bytes of the core's output.
    Send {
        number: u32,
        begin: usize,
        end: usize,
    },
    Close(u32),
}

/// How the requests of this worker arrive.
pub(super) enum Mode {
    Closed,
    Open(Pacer),
    Users(Users),
}

impl Mode {
    pub(super) const fn is_users(&self) -> bool {
        matches!(self, Self::Users(_))
    }

    pub(super) const fn pacer(&mut self) -> Option<&mut Pacer> {
        match self {
            Self::Closed => None,
            Self::Open(pacer) => Some(pacer),
            Self::Users(users) => Some(&mut users.pacer),
        }
    }
}

/// What is counted over the whole life of a worker.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) connect: Histogram,
    pub(crate) tls: Histogram,
    pub(crate) reconnects: u64,
    /// Connections that the server closed after a reply.
    pub(crate) closed_by_server: u64,
    pub(crate) connects_failed: u64,
    pub(crate) connect_error: Option<String>,
    /// How often requests were sent again that the server had left unprocessed.
    pub(crate) sent_again: u64,
    /// How the server broke the protocol, the first time.
    pub(crate) violation: Option<&'static str>,
    /// Connections that were open at once, at most.
    pub(crate) most_open: u32,
    /// Requests that the server lets be under way on one connection, where they are fewer than asked for.
    pub(crate) stream_limit: Option<u32>,
    pub(crate) sample: Sample,
}

/// Which of the threads a worker is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) thread: u32,
    pub(crate) threads: u32,
}

impl Place {
    /// This thread's share of `whole` equal things.
    pub(crate) const fn share(self, whole: u32) -> u32 {
        whole / self.threads + (self.thread < whole % self.threads) as u32
    }
}

/// A worker without its sockets.
pub(super) struct Core<P: Protocol, L: Layer> {
    pub(super) mode: Mode,
    pub(super) connections: Vec<Connection<P, L>>,
    pub(super) slots: Slots,
    pub(super) shared: P::Shared,
    pub(super) layer_config: L::Config,
    pub(super) workload: PreparedWorkload<P>,
    pub(super) chooser: Chooser,
    pub(super) parameters: Parameters,
    pub(super) recorder: Recorder,
    pub(super) totals: Totals,
    /// What the expectation of each operation judges with.
    pub(super) memories: Vec<Memory>,
    /// Requests under way on one connection, at most.
    pub(super) depth: u32,
    pub(super) timeout: u64,
    /// Number of the next arrival in this thread.
    pub(super) next_number: u64,
    pub(super) check_all: bool,
    pub(super) check_key: u64,
    pub(super) check_below: u64,
    /// `None` until the load begins.
    pub(super) phase: Option<Phase>,
    pub(super) to_connect: VecDeque<u32>,
    /// Open load: connections with a free place, the one that has rested longest first.
    pub(super) idle: VecDeque<u32>,
    pub(super) connecting: u32,
    pub(super) open: u32,
    pub(super) resting: u32,
    /// Places whose request has its outcome.
    pub(super) finished: Vec<u32>,
    /// Whether the transport sends later than it is told to; then `started` are the places whose request waits for it.
    pub(super) defers: bool,
    pub(super) started: Vec<u32>,
    /// Requests that the server left unprocessed, to be sent again before others.
    pub(super) again: VecDeque<Due>,
    pub(super) actions: Vec<Action>,
    /// Bytes for the wire; those from `out_done` on belong to no action yet.
    pub(super) out: Vec<u8>,
    pub(super) out_done: usize,
    /// Bytes for the layer to seal.
    pub(super) unsealed: Vec<u8>,
    /// Bytes that the layer has unsealed.
    pub(super) plain: Vec<u8>,
}

impl<P: Protocol, L: Layer> Core<P, L> {
    pub(super) fn new(
        job: &Job,
        place: Place,
        workload: PreparedWorkload<P>,
        layer_config: L::Config,
    ) -> Self {
        let connections = place.share(job.load.connections());
        let depth = match &job.load {
            Load::Closed { in_flight, .. } | Load::Open { in_flight, .. } => *in_flight,
            Load::Users { .. } => 1,
        };
        let chooser = Chooser::new(&workload.order, job.seed, place.thread);
        let shape = Shape::of(job);
        let mut core = Self {
            mode: mode(job, place, connections),
            connections: (0..connections).map(|_| Connection::new()).collect(),
            slots: Slots::new(connections, depth),
            shared: P::shared(),
            layer_config,
            chooser,
            parameters: Parameters::new(&job.workload.parameters, job.seed, place.thread, place.threads),
            recorder: Recorder::new(shape),
            memories: vec![Memory::default(); workload.operations.len()],
            workload,
            totals: Totals {
                connect: Histogram::new(),
                tls: Histogram::new(),
                reconnects: 0,
                closed_by_server: 0,
                connects_failed: 0,
                connect_error: None,
                sent_again: 0,
                violation: None,
                most_open: 0,
                stream_limit: None,
                sample: Sample::new(job.check.keep, job.seed, place.thread),
            },
            depth,
            timeout: job.timeout_ns,
            next_number: 0,
            check_all: job.check.share >= 1.0,
            check_key: mix(job.seed ^ mix(u64::from(place.thread) ^ 0x636b)),
            check_below: (job.check.share.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            phase: None,
            to_connect: VecDeque::with_capacity(connections as usize),
            idle: VecDeque::with_capacity(connections as usize),
            connecting: 0,
            open: 0,
            resting: 0,
            finished: Vec::with_capacity(depth as usize),
            defers: false,
            started: Vec::new(),
            again: VecDeque::new(),
            actions: Vec::with_capacity(64),
            out: Vec::with_capacity(16 * 1024),
            out_done: 0,
            unsealed: Vec::new(),
            plain: Vec::new(),
        };
        if !core.mode.is_users() {
            (0..connections).for_each(|number| core.want_connection(number));
        }
        core
    }

    /// Whether the load is on: requests become due.
    pub(super) const fn is_loading(&self) -> bool {
        matches!(self.phase, Some(Phase::WarmUp | Phase::Measurement))
    }

    /// Whether requests that became due before the end may still go.
    pub(super) fn may_send_backlog(&self) -> bool {
        self.phase.is_some() && matches!(self.mode, Mode::Open(_))
    }

    /// Whether a sequence that has begun goes on. In an open load it is due as a whole.
    pub(super) fn may_continue(&self) -> bool {
        self.is_loading() || self.may_send_backlog()
    }

    /// A phase begins at `begin`; its load ends at `until`.
    pub(super) fn begin_phase(&mut self, phase: Phase, begin: u64, until: u64) {
        self.take_arrivals(begin.saturating_sub(1));
        self.phase = Some(phase);
        self.recorder.begin(begin);
        self.totals.sample.clear();
        if self.mode.is_users() {
            self.totals.connect.clear();
            self.totals.tls.clear();
        }
        if let Some(pacer) = self.mode.pacer() {
            pacer.begin(begin, until);
        }
    }

    /// The load is over; what is due already may still be answered.
    pub(super) fn begin_drain(&mut self, end: u64, now: u64) {
        if let Some(pacer) = self.mode.pacer() {
            pacer.end_at(end);
        }
        (0..self.connections.len() as u32).for_each(|number| self.note_stream_limit(number));
        self.take_arrivals(end);
        self.phase = Some(Phase::Drain);
        self.recorder.close_window();
        self.send_waiting(now);
        if self.mode.is_users() {
            self.let_users_in();
        }
    }

    /// What was started since the last time leaves now.
    pub(super) fn stamp(&mut self, now: u64) {
        let is_closed = matches!(self.mode, Mode::Closed);
        for place in self.started.drain(..) {
            let slot = self.slots.get(place);
            slot.sent = now;
            if is_closed {
                slot.intended = now;
                if slot.step == 0 {
                    slot.sequence_begin = now;
                }
            }
        }
    }

    /// Takes note of what is due by `now`.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        let Some(pacer) = self.mode.pacer() else { return };
        let (recorder, chooser) = (&mut self.recorder, &mut self.chooser);
        pacer.advance(now, |intended, waits| {
            recorder.arrived(intended);
            if !waits {
                lose(recorder, chooser, intended);
            }
        });
    }

    /// Ends everything: what has no reply yet gets none.
    pub(super) fn abandon(&mut self, now: u64) {
        for number in 0..self.connections.len() as u32 {
            self.close(number, Outcome::Timeout, now);
            if self.connections[number as usize].user.is_new {
                self.user_failed(number, Outcome::NotSent);
            }
        }
        while let Some(due) = self.again.pop_front() {
            self.drop_unprocessed(due, now);
        }
        let Some(pacer) = self.mode.pacer() else { return };
        while let Some(intended) = pacer.take() {
            lose(&mut self.recorder, &mut self.chooser, intended);
        }
    }

    /// Whether nothing is due or under way.
    pub(super) fn is_quiet(&mut self) -> bool {
        let waiting = match &mut self.mode {
            Mode::Closed => false,
            Mode::Open(pacer) => pacer.is_waiting(),
            Mode::Users(_) => self.slots.active() == 0 && self.connections.iter().any(|one| one.user.is_new),
        };
        self.slots.active() == 0 && !waiting && self.again.is_empty()
    }
}

/// An arrival that is never sent, with all requests that it would have been.
fn lose(recorder: &mut Recorder, chooser: &mut Chooser, intended: u64) {
    for step in 0..chooser.length() {
        let operation = chooser.step(step as u16).unwrap_or_else(|| chooser.first());
        recorder.unsent(operation, intended, Outcome::NotSent);
    }
}

fn mode(job: &Job, place: Place, connections: u32) -> Mode {
    let Place { thread, threads } = place;
    match &job.load {
        Load::Closed { .. } => Mode::Closed,
        Load::Open { arrival, backlog, .. } => {
            let share = (*backlog).div_ceil(u64::from(threads));
            Mode::Open(Pacer::new(arrival, job.seed, thread, threads, share))
        }
        Load::Users {
            arrival,
            requests_per_user,
            think_ns,
            ..
        } => {
            let pacer = Pacer::new(arrival, job.seed, thread, threads, u64::MAX);
            Mode::Users(Users::new(pacer, *requests_per_user, *think_ns, connections))
        }
    }
}

impl Shape {
    pub(crate) fn of(job: &Job) -> Self {
        Self {
            operations: job.workload.operations.len(),
            paced: !matches!(job.load, Load::Closed { .. }),
            sequence: matches!(job.workload.order, prony_load::Order::Sequence(_)),
        }
    }
}
