//! A worker without its sockets: events go in, and [`Action`]s come out.

/// Creates the sink for received bytes from the parts of the core that a protocol may change while it parses them.
macro_rules! sink {
    ($core:ident, $now:ident) => {
        Sink {
            ledger: &mut $core.ledger,
            operations: &$core.workload.operations,
            parameters: &$core.parameters,
            sample: &mut $core.totals.sample,
            memories: &mut $core.memories,
            captured: &mut $core.captures.values,
            jars: &mut $core.captures.jars,
            budget: &$core.workload.budget,
            now: $now,
        }
    };
}

mod connection;
mod connection_lifecycle;
mod ending;
mod hold;
mod next_request;
mod output;
mod replacement;
mod settings;
mod streams;
#[cfg(test)]
mod tests;
mod traffic;

pub(super) use self::output::{Action, Output};

use self::connection::{Connection, State};
use self::ending::Reason;
use self::settings::Settings;
use super::backlog::{Backlog, Share};
use super::channels::{Pool, Sample, Totals};
use super::load_models::{DecisionTime, Policy};
use super::slots::{DueRequest, Ledger, Slots};
use super::source::Source;
use super::timers::Timers;
use crate::cookies::CookieJar;
use crate::recorder::Recorder;
use crate::redirect::RedirectMethod;
use crate::workload::{PreparedOperation, PreparedWorkload};
use prony_load::{CapturedValues, Job, Load, Memory, Partition};
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_protocols::request_values::{Parameters, Values};
use prony_records::{Outcome, Phase};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

/// A worker without its sockets.
pub(super) struct Core<P: Protocol, L: Layer> {
    settings: Settings,
    pub(super) policy: Policy,
    source: Source,
    connections: Vec<Connection<P, L>>,
    pub(super) ledger: Ledger,
    /// Timers of the slots first, then those of the connections.
    pub(super) timers: Timers,
    shared: P::WorkerState,
    layer_config: L::Config,
    workload: Arc<PreparedWorkload<P>>,
    parameters: Parameters,
    pub(super) totals: Totals,
    /// The judging memory of each operation's expectation.
    memories: Vec<Memory>,
    captures: SequenceCaptures,
    /// `None` until the load starts.
    pub(super) phase: Option<Phase>,
    to_connect: VecDeque<u32>,
    /// Open load: connections with a free slot, the one idle for longest first.
    idle: VecDeque<u32>,
    /// Unused connection numbers, for replacing a connection that still has requests in flight.
    spare: Vec<u32>,
    connecting: u32,
    pub(super) open: u32,
    /// If the transport defers: the slots whose request waits to be sent.
    started: Vec<u32>,
    /// Requests that must be sent on another connection, before others: those that the server left unprocessed, and
    /// next steps of sequences whose connection has ended.
    left_over: VecDeque<DueRequest>,
    /// Slots that pause before the next step of a sequence.
    paused_sequences: u32,
    /// Connections in rooms whose requests have ended by deliveries on other connections: they may have a free slot.
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
        let jars = if job.limits.cookies { slots.len() } else { 0 };
        let captures = SequenceCaptures {
            jars: vec![CookieJar::default(); jars],
            ..SequenceCaptures::new(if workload.takes { slots.len() } else { 0 })
        };
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
            captures,
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
            paused_sequences: 0,
            woken: Vec::new(),
            output: Output::new(),
            plain: Vec::new(),
        };
        (0..own)
            .filter(|&number| core.is_initial(number))
            .collect::<Vec<u32>>()
            .into_iter()
            .for_each(|number| core.request_connection(number));
        core
    }

    fn is_initial(&self, number: u32) -> bool {
        if number >= self.settings.partition.connections() {
            return false;
        }
        match &self.policy {
            Policy::Closed(closed) => closed.delay_of(self.settings.partition, number).is_none(),
            Policy::Open(_) => true,
            Policy::Users(_) => false,
        }
    }

    /// Whether every connection of the start of the load was tried.
    pub(super) fn has_tried(&self) -> bool {
        self.connecting == 0
            && self.to_connect.is_empty()
            && (0_u32..)
                .zip(&self.connections)
                .all(|(number, one)| one.was_tried() || !self.is_initial(number))
    }

    /// Number of connections, including spare ones.
    pub(super) const fn connections(&self) -> u32 {
        self.connections.len() as u32
    }

    pub(super) const fn timeout(&self) -> u64 {
        self.settings.timeout
    }

    /// Whether the load is running: requests become due.
    pub(super) const fn is_loading(&self) -> bool {
        matches!(self.phase, Some(Phase::WarmUp | Phase::Measurement))
    }

    const fn decision_time(&self, now: u64) -> DecisionTime {
        DecisionTime {
            now,
            is_loading: self.is_loading(),
            is_over: matches!(self.phase, Some(Phase::Drain)),
        }
    }

    /// Shares the queue of waiting arrivals with other threads.
    pub(super) fn share(&mut self, backlog: &Arc<Backlog>, thread: u32) {
        if let Policy::Open(open) = &mut self.policy {
            open.pacer.wait_without_limit();
            open.shared = Some(Share::new(Arc::clone(backlog), thread));
        }
    }

    pub(super) fn log_to(&mut self, log: Option<crate::log::Logbook>) {
        self.ledger.recorder.log_to(log);
    }

    /// Body sizes of the decoded replies of all operations.
    pub(super) fn decoded(&self) -> prony_load::DecodedSize {
        let mut sum = prony_load::DecodedSize::default();
        for memory in &self.memories {
            sum.merge(&memory.sizes());
        }
        sum
    }

    /// Starts a phase at `begin` whose load ends at `until`. If `pool` is given, the phase takes its arrivals from
    /// there.
    pub(super) fn begin_phase(&mut self, phase: Phase, (begin, until): (u64, u64), pool: Option<&Arc<Pool>>) {
        // Arrivals and requests from before do not belong to the new phase.
        self.ledger.recorder.begin(begin);
        self.take_arrivals(begin.saturating_sub(1));
        self.expire(begin);
        if self.phase.is_none() {
            self.schedule_connections(begin);
            self.spread_first_requests(begin);
            self.hold_from(begin);
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
            // The first arrivals of the whole process, divided among its threads.
            Some(pacer) => {
                let own = pool.map_or(u64::MAX, |pool| self.settings.partition.below(pool.whole()));
                pacer.begin(begin, until, own);
            }
            None => self.source.take_from(pool.cloned()),
        }
    }

    /// Schedules the connections that are added during the load.
    fn schedule_connections(&mut self, begin: u64) {
        let Policy::Closed(closed) = &self.policy else {
            return;
        };
        for number in 0..self.settings.partition.connections() {
            if let Some(after) = closed.delay_of(self.settings.partition, number) {
                self.connections[number as usize].state = State::Resting;
                let timer = self.ledger.slots.len() as u32 + number;
                self.timers.set(timer, begin + after);
            }
        }
    }

    /// Slots that pause between requests begin with a part of their pause.
    fn spread_first_requests(&mut self, begin: u64) {
        if !self.policy.thinks() {
            return;
        }
        let (partition, in_flight) = (self.settings.partition, self.settings.depth);
        for slot in 0..partition.connections() * in_flight {
            let number = slot / in_flight;
            let Policy::Closed(closed) = &self.policy else {
                return;
            };
            let pause = closed.first_pause(partition, slot, in_flight);
            if pause > 0
                && self.connections[number as usize].state == State::Open
                && let Some(place) = self.ledger.slots.take(number)
            {
                self.pause(place, (begin, begin + pause));
            }
        }
    }

    /// The load is over; requests that are already due may still get a reply.
    pub(super) fn begin_drain(&mut self, end: u64, now: u64) {
        if let Some(pacer) = self.policy.pacer() {
            pacer.end_at(end);
        }
        (0..self.connections.len() as u32).for_each(|number| self.note_stream_limit(number));
        self.take_arrivals(end);
        self.expire(now);
        self.give_up_held(end, now);
        self.phase = Some(Phase::Drain);
        if let Some(shared) = self.policy.shared() {
            shared.enter(Phase::Drain, end);
        }
        self.ledger.recorder.close_window(now);
        if self.policy.is_closed() {
            // Requests that were not sent yet are no longer due.
            self.left_over.retain(|due| due.resend_state.is_some());
        }
        self.send_waiting(now);
        self.admit_users(now);
    }

    /// Stamps the requests started since the last call with the send time of their connection.
    pub(super) fn stamp(&mut self, left_at: impl Fn(u32) -> u64) {
        let is_closed = self.policy.is_closed();
        for place in self.started.drain(..) {
            let left = left_at(self.ledger.slots.connection_of(place));
            let slot = self.ledger.slots.get(place);
            // A connection that has ended meanwhile has sent nothing.
            slot.sent = slot.sent.max(left);
            // A request that is sent again counts from the first time.
            // So does one that the peer did not allow earlier.
            if is_closed && slot.refusals == 0 && !slot.retried && slot.intended >= slot.ready {
                slot.intended = slot.sent;
                if slot.step == 0 {
                    slot.sequence_begin = slot.sent;
                }
            }
        }
    }

    /// Records the arrivals that are due by `now`.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        while let Some(pacer) = self.policy.pacer()
            && let Some((intended, waits)) = pacer.advance(now)
        {
            self.ledger.recorder.record_arrival(intended);
            if !waits {
                let due = self.source.arrival(intended, 0);
                self.record_loss(due, Outcome::Dropped, now);
            }
        }
    }

    /// Admits the users who have arrived.
    pub(super) fn admit_users(&mut self, now: u64) {
        while let Policy::Users(users) = &mut self.policy {
            let requests = users.requests();
            let admitted = users.admit();
            if let Some((arrived, connection)) = admitted {
                self.ledger.recorder.record_user(arrived, connection.is_some());
            }
            match admitted {
                None => return,
                Some((_, Some(number))) => self.request_connection(number),
                Some((arrived, None)) => self.record_lost_visit((requests, arrived), Outcome::Dropped, now),
            }
        }
    }

    /// Ends everything: open requests get no reply.
    pub(super) fn abandon(&mut self, now: u64) {
        self.ledger.recorder.end_drain();
        if let Policy::Users(users) = &mut self.policy {
            for number in users.newcomers() {
                self.user_refused(number, Outcome::Dropped, now);
            }
        }
        self.cut_streams(now);
        for number in 0..self.connections.len() as u32 {
            self.end(number, Reason::Over, now);
        }
        self.lose_waiting(Outcome::Dropped, now);
    }

    /// Whether nothing is due or in flight.
    pub(super) fn is_quiet(&self) -> bool {
        self.ledger.slots.active() == 0 && self.left_over.is_empty() && !self.policy.is_waiting()
    }

    /// If requests are counted: when the last one ended, once all have.
    pub(super) fn exhausted(&mut self) -> Option<u64> {
        let is_dry = match &self.policy {
            Policy::Closed(_) => self.source.is_dry() && self.paused_sequences == 0,
            Policy::Open(_) | Policy::Users(_) => self.policy.next_due() == u64::MAX,
        };
        // Arrivals of another thread may still be passed to this one.
        let is_dry = is_dry && self.policy.shared().is_none_or(Share::all_dry);
        (is_dry && self.is_quiet()).then_some(self.ledger.last_end)
    }
}

/// The values of each slot's sequence. Empty if no sequence captures anything.
#[derive(Debug, Default)]
struct SequenceCaptures {
    values: Vec<CapturedValues>,
    /// The values of sequences without a slot, by their number.
    waiting: HashMap<u64, CapturedValues>,
    /// The cookies of each slot; empty if none are kept.
    jars: Vec<CookieJar>,
}

impl SequenceCaptures {
    fn new(slots: usize) -> Self {
        Self {
            values: vec![CapturedValues::default(); slots],
            waiting: HashMap::new(),
            jars: Vec::new(),
        }
    }

    /// A sequence starts in a slot.
    fn begin(&mut self, slot: u32) {
        if let Some(captured) = self.values.get_mut(slot as usize) {
            captured.clear();
        }
    }

    /// The next request of a slot, where it follows a redirect or may have cookies. `is_new`: the first request of a user, who has
    /// none yet. Its cookies are put where its template finds them.
    #[cold]
    fn choose<'a, P: Protocol>(
        &mut self,
        slot: u32,
        operation: &'a PreparedOperation<P>,
        (values, redirected): (Values<'_>, Option<RedirectMethod>),
        is_new: bool,
    ) -> &'a P::Request {
        let (Some(cookies), Some(jar)) = (&operation.cookies, self.jars.get_mut(slot as usize)) else {
            return operation.variant(redirected, false);
        };
        if is_new {
            jar.clear();
        }
        let captured = &mut self.values[slot as usize];
        let mut path = Vec::new();
        match &operation.redirects {
            Some(redirects) if redirected.is_some() => path.extend_from_slice(captured.get(redirects.slot)),
            _ => {
                let values = values.with_captured(Some(captured));
                cookies
                    .path
                    .render(&mut path, |index, out| values.append(index, out));
            }
        }
        let mut text = Vec::new();
        jar.write(&path, SystemTime::now(), &mut text);
        captured.replace(cookies.slot, &text);
        operation.variant(redirected, !text.is_empty())
    }

    /// Swaps the sequences of two slots.
    fn swap(&mut self, one: u32, other: u32) {
        if !self.values.is_empty() {
            self.values.swap(one as usize, other as usize);
        }
    }

    /// Stores the values of a slot's sequence until another slot continues it.
    fn leave(&mut self, slot: u32, number: u64) {
        if let Some(captured) = self.values.get_mut(slot as usize) {
            self.waiting.insert(number, std::mem::take(captured));
        }
    }

    /// Moves the stored values of a sequence into the slot that continues it.
    fn fetch(&mut self, slot: u32, number: u64) {
        if let Some(captured) = self.waiting.remove(&number) {
            self.values[slot as usize] = captured;
        }
    }
}
