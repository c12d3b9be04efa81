//! A worker without its sockets: what happened goes in, what to do comes out as [`Action`]s.

/// The sink for what a connection reads: the parts of the core that a protocol may change while it does.
macro_rules! sink {
    ($core:ident, $now:ident) => {
        Sink {
            ledger: &mut $core.ledger,
            operations: &$core.workload.operations,
            parameters: &$core.parameters,
            sample: &mut $core.totals.sample,
            memories: &mut $core.memories,
            bags: &mut $core.taken.bags,
            budget: &$core.workload.kept,
            seen: $now,
        }
    };
}

mod captures;
mod connection;
mod connection_lifecycle;
mod ending;
mod next_request;
mod output;
mod replacement;
mod settings;
mod streams;
#[cfg(test)]
mod tests;
mod traffic;

pub(super) use self::output::{Action, Output};

use self::captures::Taken;
use self::connection::{Connection, State};
use self::ending::Reason;
use self::settings::Settings;
use super::backlog::{Backlog, Share};
use super::channels::{Pool, Totals};
use super::policy::{Moment, Policy};
use super::sample::Sample;
use super::slots::{Due, Ledger, Slots};
use super::source::Source;
use super::timers::Timers;
use crate::recorder::Recorder;
use crate::workload::PreparedWorkload;
use prony_load::{Job, Load, Memory, Partition};
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_protocols::request_values::Parameters;
use prony_records::{Outcome, Phase};
use std::collections::VecDeque;
use std::sync::Arc;

/// A worker without its sockets.
pub(super) struct Core<P: Protocol, L: Layer> {
    settings: Settings,
    pub(super) policy: Policy,
    source: Source,
    connections: Vec<Connection<P, L>>,
    pub(super) ledger: Ledger,
    /// Of the places first, then of the connections.
    pub(super) timers: Timers,
    shared: P::Shared,
    layer_config: L::Config,
    workload: Arc<PreparedWorkload<P>>,
    parameters: Parameters,
    pub(super) totals: Totals,
    /// What the expectation of each operation judges with.
    memories: Vec<Memory>,
    taken: Taken,
    /// `None` until the load begins.
    pub(super) phase: Option<Phase>,
    to_connect: VecDeque<u32>,
    /// Open load: connections with a free place, the one that has rested longest first.
    idle: VecDeque<u32>,
    /// Numbers without a connection: one is taken where a connection is replaced that still has requests under way.
    spare: Vec<u32>,
    connecting: u32,
    pub(super) open: u32,
    /// Where the transport defers: the places whose request waits for its send.
    started: Vec<u32>,
    /// Requests that have to go on another connection, before others: those that the server left unprocessed, and next
    /// steps of sequences whose connection is gone.
    left_over: VecDeque<Due>,
    /// Places that pause before the next step of a sequence.
    going_on: u32,
    /// Connections in rooms whose requests have ended where others heard them: they may have a free place.
    woken: Vec<u32>,
    pub(super) output: Output,
    /// Bytes that the layer has unsealed.
    plain: Vec<u8>,
}

impl<P: Protocol, L: Layer> Core<P, L> {
    pub(super) fn new(
        job: &Job,
        partition: Partition,
        workload: Arc<PreparedWorkload<P>>,
        layer_config: L::Config,
        defers: bool,
    ) -> Self {
        let settings = Settings::new(job, partition, (defers, workload.streams));
        let own = partition.connections();
        let is_replaced = settings.members.is_none() && !matches!(job.load, Load::Users { .. });
        let connections = own + Self::spare_numbers(own, settings.depth, is_replaced);
        let slots = Slots::new(connections, settings.depth);
        let taken = Taken::new(if workload.takes { slots.len() } else { 0 });
        let sample = Sample::new(job.check.keep, job.seed, partition.thread());
        let mut core = Self {
            settings,
            policy: settings::policy(job, partition),
            source: Source::new(Arc::clone(&workload.order), job.seed, partition),
            connections: (0..connections).map(|_| Connection::new()).collect(),
            timers: Timers::new(slots.len() + connections as usize),
            ledger: Ledger::new(slots, Recorder::new(job)),
            shared: P::shared_within(&job.limits),
            layer_config,
            parameters: Parameters::new(&job.workload.parameters, job.seed),
            memories: vec![Memory::default(); workload.operations.len()],
            taken,
            workload,
            totals: Totals::new(sample),
            phase: None,
            to_connect: VecDeque::with_capacity(connections as usize),
            idle: VecDeque::with_capacity(connections as usize),
            spare: (own..connections).rev().collect(),
            connecting: 0,
            open: 0,
            started: Vec::new(),
            left_over: VecDeque::new(),
            going_on: 0,
            woken: Vec::new(),
            output: Output::new(),
            plain: Vec::new(),
        };
        (0..own)
            .filter(|&number| core.is_there_at_begin(number))
            .collect::<Vec<u32>>()
            .into_iter()
            .for_each(|number| core.want_connection(number));
        core
    }

    fn is_there_at_begin(&self, number: u32) -> bool {
        if number >= self.settings.partition.connections() {
            return false;
        }
        match &self.policy {
            Policy::Closed(closed) => closed.comes_after(self.settings.partition, number).is_none(),
            Policy::Open(_) => true,
            Policy::Users(_) => false,
        }
    }

    /// Whether every connection that is there at the begin was tried.
    pub(super) fn has_tried(&self) -> bool {
        self.connecting == 0
            && self.to_connect.is_empty()
            && (0_u32..)
                .zip(&self.connections)
                .all(|(number, one)| one.was_tried() || !self.is_there_at_begin(number))
    }

    /// Numbers of connections, spare ones too.
    pub(super) const fn connections(&self) -> u32 {
        self.connections.len() as u32
    }

    pub(super) const fn timeout(&self) -> u64 {
        self.settings.timeout
    }

    /// Whether the load is on: requests become due.
    pub(super) const fn is_loading(&self) -> bool {
        matches!(self.phase, Some(Phase::WarmUp | Phase::Measurement))
    }

    const fn moment(&self, now: u64) -> Moment {
        Moment {
            now,
            is_loading: self.is_loading(),
            is_over: matches!(self.phase, Some(Phase::Drain)),
        }
    }

    /// Shares what waits for a place with other threads.
    pub(super) fn share(&mut self, backlog: &Arc<Backlog>, thread: u32) {
        if let Policy::Open(open) = &mut self.policy {
            open.pacer.wait_without_limit();
            open.shared = Some(Share::new(Arc::clone(backlog), thread));
        }
    }

    /// Logs what is recorded from now on.
    pub(super) fn log_to(&mut self, log: Option<crate::log::Logbook>) {
        self.ledger.recorder.log_to(log);
    }

    /// What was decoded of all operations' replies.
    pub(super) fn decoded(&self) -> prony_load::Decoded {
        let mut sum = prony_load::Decoded::default();
        for memory in &self.memories {
            sum.merge(&memory.sizes());
        }
        sum
    }

    /// A phase begins at `begin`; its load ends at `until`. Where `pool` is given, its arrivals are taken from there.
    pub(super) fn begin_phase(&mut self, phase: Phase, (begin, until): (u64, u64), pool: Option<&Arc<Pool>>) {
        // What became due or ended before is none of the new phase.
        self.ledger.recorder.begin(begin);
        self.take_arrivals(begin.saturating_sub(1));
        self.expire(begin);
        if self.phase.is_none() {
            self.let_connections_come(begin);
        }
        self.phase = Some(phase);
        if let Some(shared) = self.policy.shared() {
            shared.enter(phase, begin);
        }
        self.ledger.recorder.log_in(phase);
        self.ledger.last_end = begin;
        self.totals.sample.clear();
        if self.policy.is_users() {
            self.totals.connect.clear();
            self.totals.tls.clear();
        }
        match self.policy.pacer() {
            // The first arrivals of the whole process, of which this thread has its part.
            Some(pacer) => {
                let own = pool.map_or(u64::MAX, |pool| self.settings.partition.below(pool.whole()));
                pacer.begin(begin, until, own);
            }
            None => self.source.take_from(pool.cloned()),
        }
    }

    /// Connections that are not there from the begin come at their time.
    fn let_connections_come(&mut self, begin: u64) {
        let Policy::Closed(closed) = &self.policy else {
            return;
        };
        for number in 0..self.settings.partition.connections() {
            if let Some(after) = closed.comes_after(self.settings.partition, number) {
                self.connections[number as usize].state = State::Resting;
                let timer = self.ledger.slots.len() as u32 + number;
                self.timers.set(timer, begin + after);
            }
        }
    }

    /// The load is over; what is due already may still be answered.
    pub(super) fn begin_drain(&mut self, end: u64, now: u64) {
        if let Some(pacer) = self.policy.pacer() {
            pacer.end_at(end);
        }
        (0..self.connections.len() as u32).for_each(|number| self.note_stream_limit(number));
        self.take_arrivals(end);
        self.expire(now);
        self.phase = Some(Phase::Drain);
        if let Some(shared) = self.policy.shared() {
            shared.enter(Phase::Drain, end);
        }
        self.ledger.recorder.close_window(now);
        if self.policy.is_closed() {
            // What was not sent yet is not due any more.
            self.left_over.retain(|due| due.again.is_some());
        }
        self.send_waiting(now);
        self.let_users_in(now);
    }

    /// What was started since the last time has left, on each connection at its own time.
    pub(super) fn stamp(&mut self, left_at: impl Fn(u32) -> u64) {
        let is_closed = self.policy.is_closed();
        for place in self.started.drain(..) {
            let left = left_at(self.ledger.slots.connection_of(place));
            let slot = self.ledger.slots.get(place);
            // A connection that has ended meanwhile has sent nothing.
            slot.sent = slot.sent.max(left);
            // What is sent again counts from the first time.
            if is_closed && slot.refusals == 0 && !slot.retried {
                slot.intended = slot.sent;
                if slot.step == 0 {
                    slot.sequence_begin = slot.sent;
                }
            }
        }
    }

    /// Takes note of what is due by `now`.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        while let Some(pacer) = self.policy.pacer()
            && let Some((intended, waits)) = pacer.advance(now)
        {
            self.ledger.recorder.arrived(intended);
            if !waits {
                let due = self.source.arrival(intended, 0);
                self.lost(due, Outcome::NotSent, now);
            }
        }
    }

    /// Lets in the users who have arrived.
    pub(super) fn let_users_in(&mut self, now: u64) {
        while let Policy::Users(users) = &mut self.policy {
            let requests = users.requests();
            match users.let_in() {
                None => return,
                Some((_, Some(number))) => self.want_connection(number),
                Some((arrived, None)) => self.visit_lost((requests, arrived), Outcome::NotSent, now),
            }
        }
    }

    /// Ends everything: what has no reply yet gets none.
    pub(super) fn abandon(&mut self, now: u64) {
        self.ledger.recorder.end_drain();
        if let Policy::Users(users) = &mut self.policy {
            for number in users.newcomers() {
                self.user_refused(number, Outcome::NotSent, now);
            }
        }
        self.cut_streams(now);
        for number in 0..self.connections.len() as u32 {
            self.end(number, Reason::Over, now);
        }
        self.lose_waiting(Outcome::NotSent, now);
    }

    /// Whether nothing is due or under way.
    pub(super) fn is_quiet(&self) -> bool {
        self.ledger.slots.active() == 0 && self.left_over.is_empty() && !self.policy.is_waiting()
    }

    /// Where requests are counted: when the last one ended, once all have.
    pub(super) fn exhausted(&mut self) -> Option<u64> {
        let is_dry = match &self.policy {
            Policy::Closed(_) => self.source.is_dry() && self.going_on == 0,
            Policy::Open(_) | Policy::Users(_) => self.policy.next_due() == u64::MAX,
        };
        // What another thread still has may come here.
        let is_dry = is_dry && self.policy.shared().is_none_or(Share::all_dry);
        (is_dry && self.is_quiet()).then_some(self.ledger.last_end)
    }
}
