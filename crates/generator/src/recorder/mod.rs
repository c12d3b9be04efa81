//! The counters of one thread: a [`Tally`] for each interval.

mod completed_request;
mod level;

use completed_request::since;
pub(crate) use completed_request::{CompletedRequest, Epoch, StreamEnd};

use crate::log::{Logbook, RequestLogEntry};
use level::Level;
use prony_load::Job;
use prony_load::events::{Chat, IdStep};
use prony_merge::{GRPC_STATUSES, LlmAnswer, LlmTally, STATUSES, StatusCounts, Tally, TallyLayout};
use prony_records::{Outcome, Phase};

/// The recorder of one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    tally: Box<Tally>,
    epoch: Epoch,
    /// Start of the phase: it covers the requests that are due from here on.
    begin: u64,
    /// Whether the phase is running; `false` in the drain after it.
    window_open: bool,
    /// When the drain began.
    closed: u64,
    /// Whether the drain is over: a request that ends now is cancelled by the end of the load.
    drain_over: bool,
    /// Longest time from the due time of a request to its reply.
    timeout: u64,
    /// Open connections, and slots that pause.
    pub(crate) connections: Level,
    pub(crate) pauses: Level,
    /// Set if the job has a log.
    log: Option<Box<Logbook>>,
    /// Set if replies are counted over the whole load.
    answers: Option<ReplyCounters>,
}

impl Recorder {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            tally: Box::new(Tally::new(TallyLayout::of(job))),
            epoch: Epoch::FIRST,
            begin: 0,
            window_open: false,
            closed: 0,
            drain_over: false,
            timeout: job.timeout_ns,
            connections: Level::default(),
            pauses: Level::default(),
            log: None,
            answers: ReplyCounters::new(job),
        }
    }

    /// The results of all requests, if they are counted.
    pub(crate) fn status_counts(&self) -> StatusCounts {
        self.answers.as_ref().map(ReplyCounters::sum).unwrap_or_default()
    }

    /// Logs requests from now on.
    pub(crate) fn log_to(&mut self, log: Option<Logbook>) {
        self.log = log.map(Box::new);
    }

    /// Called at the start of a phase: only the measurement is logged.
    pub(crate) fn log_in(&mut self, phase: Phase) {
        if let Some(log) = &mut self.log {
            log.is_on = phase == Phase::Measurement;
        }
    }

    /// Starts a phase: from now on, only its requests are recorded.
    pub(crate) const fn begin(&mut self, begin: u64) {
        self.begin = begin;
        self.epoch = self.epoch.next();
        self.window_open = true;
        self.connections.begin(begin);
        self.pauses.begin(begin);
    }

    /// Ends the phase. Every request that is still open belongs to the sample, whatever its due time, and is recorded
    /// when it ends.
    pub(crate) const fn close_window(&mut self, now: u64) {
        self.window_open = false;
        self.closed = now;
        self.connections.close(now);
        self.pauses.close(now);
    }

    /// Ends the drain: requests that are still open count with their age.
    pub(crate) const fn end_drain(&mut self) {
        self.drain_over = true;
    }

    /// Called when a connection opens on which `pausing` slots pause.
    pub(crate) fn connection_opened(&mut self, pausing: u32, now: u64) {
        self.connections.rise(now);
        (0..pausing).for_each(|_| self.pauses.rise(now));
    }

    /// Called when a connection closes on which `pausing` slots pause: from now on they wait for it.
    pub(crate) fn connection_closed(&mut self, pausing: u32, now: u64) {
        self.connections.fall(now);
        (0..pausing).for_each(|_| self.pauses.fall(now));
    }

    /// Whether a request belongs to the sample of the phase. A request that ends in the drain was due in the phase,
    /// or before it and still open at its end.
    fn samples(&self, epoch: Epoch) -> bool {
        epoch == self.epoch || !self.window_open
    }

    /// Whether a request that ends now without a valid reply is still open: the drain was shorter than its timeout.
    const fn is_open(&self, intended: u64, now: u64) -> bool {
        self.drain_over && now.saturating_sub(intended) < self.timeout
    }

    /// Returns the current tally, and continues with `empty`.
    pub(crate) const fn swap(&mut self, empty: Box<Tally>) -> Box<Tally> {
        std::mem::replace(&mut self.tally, empty)
    }

    const fn owns(&self, intended: u64) -> bool {
        intended >= self.begin
    }

    pub(crate) const fn sent_bytes(&mut self, count: usize) {
        if self.window_open {
            self.tally.window.bytes.sent += count as u64;
        }
    }

    pub(crate) const fn received_bytes(&mut self, count: usize) {
        if self.window_open {
            self.tally.window.bytes.received += count as u64;
        }
    }

    /// Called when an arrival becomes due.
    pub(crate) const fn record_arrival(&mut self, intended: u64) {
        if self.owns(intended) {
            self.tally.arrivals += 1;
        }
    }

    /// Called when the first request of an arrival is sent.
    pub(crate) const fn record_start(&mut self) {
        if self.window_open {
            self.tally.window.started += 1;
        }
    }

    /// Called when a request is sent; returns the phase that it belongs to.
    pub(crate) fn record_sent(&mut self, operation: u16, intended: u64) -> Epoch {
        self.tally.window.sent += u64::from(self.window_open);
        if !self.owns(intended) {
            return Epoch::default();
        }
        let requests = &mut self.tally.operations[usize::from(operation)].requests;
        requests.offered += 1;
        requests.sent += 1;
        self.epoch
    }

    /// Called when a slot of a closed load has waited until `now` because the peer allowed no request: it was occupied.
    pub(crate) fn record_hold(&mut self, since: u64, now: u64) {
        if self.window_open {
            let waited = now.saturating_sub(since.max(self.begin));
            self.tally.window.in_flight_ns += waited;
            self.tally.window.unsent_ns += waited;
        }
    }

    /// Called when a request is sent again because its connection ended while it was on its way.
    pub(crate) fn record_retry(&mut self, epoch: Epoch) {
        if self.samples(epoch) {
            self.tally.retried += 1;
        }
    }

    /// Called when a request follows a redirect.
    pub(crate) fn record_redirect(&mut self, epoch: Epoch) {
        if self.samples(epoch) {
            self.tally.redirects += 1;
        }
    }

    /// Called when a request due at `intended` is not sent, or not sent again. In the latter case, `sent` is the
    /// phase in which it was sent.
    pub(crate) fn record_loss(
        &mut self,
        (operation, intended): (u16, u64),
        sent: Option<Epoch>,
        outcome: Outcome,
        now: u64,
    ) {
        if self.window_open && now > self.begin {
            self.tally.window.errors += 1;
            self.tally.window.failures.add(outcome, 1);
        }
        let is_known = match sent {
            Some(epoch) => {
                if let Some(answers) = &mut self.answers {
                    answers.count(operation, None);
                }
                epoch == self.epoch
            }
            None => self.owns(intended),
        };
        if !is_known && self.window_open {
            return;
        }
        let is_open = self.is_open(intended, now);
        self.tally.window.carried += u64::from(!is_known);
        let tally = &mut self.tally.operations[usize::from(operation)];
        if sent.is_none() || !is_known {
            tally.requests.offered += 1;
            tally.requests.sent += u64::from(sent.is_some());
        }
        tally.outcomes.add(outcome, 1);
        if is_open {
            let age = now.saturating_sub(intended);
            tally.open.get_or_insert_default().record(age);
        }
        if let Some(log) = &mut self.log {
            log.note(RequestLogEntry::unsent(
                operation,
                since(self.begin, intended),
                outcome,
            ));
        }
    }

    /// Counts a request that was sent before the phase began and is still open when it ends.
    fn carry(&mut self, epoch: Epoch, operation: u16) {
        if epoch != self.epoch {
            self.tally.window.carried += 1;
            let requests = &mut self.tally.operations[usize::from(operation)].requests;
            requests.offered += 1;
            requests.sent += 1;
        }
    }

    /// Called when a status code arrives.
    pub(crate) fn status(&mut self, epoch: Epoch, status: u16, grpc_status: Option<u32>) {
        if self.samples(epoch) {
            self.tally.statuses[usize::from(status).min(STATUSES - 1)] += 1;
            if let Some(code) = grpc_status {
                self.tally.grpc_statuses[(code as usize).min(GRPC_STATUSES - 1)] += 1;
            }
        }
    }

    /// Called when a message of a stream arrives: `gap` ns after the previous one or, for the first one, `first` ns
    /// after the request was sent.
    pub(crate) fn message(&mut self, epoch: Epoch, (first, gap): (Option<u64>, Option<u64>), id: IdStep) {
        let Some(messages) = &mut self.tally.messages else {
            return;
        };
        if let Some(ns) = first.filter(|_| epoch == self.epoch) {
            messages.first.record(ns);
        }
        if !self.window_open {
            return;
        }
        messages.count += 1;
        if let Some(ns) = gap {
            messages.gaps.record(ns);
        }
        let ids = &mut messages.ids;
        match id {
            IdStep::Nothing => return,
            IdStep::Next => {}
            IdStep::Skipped(count) => ids.skipped = ids.skipped.saturating_add(count),
            IdStep::Again => ids.doubled += 1,
            IdStep::Late => ids.late += 1,
        }
        ids.counted += 1;
    }

    /// Called when a message is delivered to a member of a room, `ns` after it was sent.
    pub(crate) fn delivery(&mut self, epoch: Epoch, ns: u64) {
        if epoch == self.epoch
            && let Some(messages) = &mut self.tally.messages
        {
            messages.rooms.get_or_insert_default().delivery.record(ns);
        }
    }

    /// Called when the deliveries of a message are final: it reached `reached` of the `expected` members, the last
    /// one `last_ns` after it was sent if it reached all of them.
    pub(crate) fn coverage(&mut self, epoch: Epoch, (expected, reached): (u32, u32), last_ns: Option<u64>) {
        let Some(messages) = self.tally.messages.as_mut().filter(|_| epoch == self.epoch) else {
            return;
        };
        let rooms = messages.rooms.get_or_insert_default();
        rooms.expected += u64::from(expected);
        rooms.reached += u64::from(reached);
        if let Some(ns) = last_ns {
            messages.last.record(ns);
        }
    }

    /// Called when a stream of events ends. If it ended successfully, its last message arrived `last_ns` after the
    /// request was sent.
    pub(crate) fn stream(&mut self, epoch: Epoch, ending: StreamEnd, last_ns: Option<u64>) {
        let samples = self.samples(epoch);
        let Some(messages) = self.tally.messages.as_mut().filter(|_| samples) else {
            return;
        };
        let streams = &mut messages.streams;
        match ending {
            StreamEnd::ByItself => streams.completed += 1,
            StreamEnd::AtBound => {
                streams.completed += 1;
                streams.at_bound += 1;
            }
            StreamEnd::Early => streams.ended_early += 1,
            StreamEnd::Cut => streams.cut += 1,
        }
        if let (StreamEnd::ByItself | StreamEnd::AtBound, Some(ns)) = (ending, last_ns) {
            messages.last.record(ns);
        }
    }

    /// The counters for language models, where messages are recorded.
    fn llm(&mut self) -> Option<&mut LlmTally> {
        let llm: &mut LlmTally = self.tally.messages.as_mut()?.llm.get_or_insert_default();
        Some(llm)
    }

    /// Called when the first token of an answer arrives, `ns` after its request was due.
    pub(crate) fn first_token(&mut self, epoch: Epoch, ns: u64) {
        if epoch == self.epoch
            && let Some(llm) = self.llm()
        {
            llm.first_token(ns);
        }
    }

    /// Called when an answer of a language model ends successfully or is cut off.
    pub(crate) fn answer(&mut self, epoch: Epoch, answer: &LlmAnswer, chat: &Chat) {
        let place = (self.samples(epoch), self.window_open);
        if let Some(llm) = self.llm() {
            llm.end(answer, chat, place);
        }
    }

    /// Called when an answer contains an error.
    pub(crate) fn error_in_answer(&mut self, epoch: Epoch) {
        if epoch == self.epoch
            && let Some(llm) = self.llm()
        {
            llm.errors += 1;
        }
    }

    /// Called when a request that was sent has its outcome. `complete`: a whole reply was received.
    pub(crate) fn finished(&mut self, request: &CompletedRequest, complete: bool) {
        if let Some(answers) = &mut self.answers {
            answers.count(request.operation, complete.then_some(request.status));
        }
        let valid = request.outcome == Outcome::Valid;
        let window = &mut self.tally.window;
        // The slot is occupied from the time the request is handed over: `io_uring` sends hundreds of requests later
        // than that.
        let picked_up = request.ready.max(self.begin);
        let left = if self.window_open {
            request.end
        } else {
            self.closed
        };
        window.in_flight_ns += left.saturating_sub(picked_up);
        window.unsent_ns += request.intended.min(left).saturating_sub(picked_up);
        if self.window_open {
            window.completed += u64::from(complete);
            window.valid += u64::from(valid);
            window.errors += u64::from(!valid);
            if !valid {
                window.failures.add(request.outcome, 1);
            }
        }
        if !self.samples(request.epoch) {
            return;
        }
        self.carry(request.epoch, request.operation);
        let took = request.end.saturating_sub(request.intended);
        // A stream cut off by the end of the load was open as well.
        let is_open = self.is_open(request.intended, request.end) || (self.drain_over && valid);
        let operation = &mut self.tally.operations[usize::from(request.operation)];
        operation.outcomes.add(request.outcome, 1);
        operation.requests.completed += u64::from(complete);
        operation.requests.valid += u64::from(valid);
        if let Some(log) = &mut self.log {
            log.note(request.line(complete, self.begin));
        }
        if let Some(open) = &mut self.tally.open {
            open.lag.record(request.sent.saturating_sub(request.intended));
            open.own_lag.record(request.sent.saturating_sub(request.ready));
        }
        if is_open {
            return operation.open.get_or_insert_default().record(took);
        }
        if !valid {
            return;
        }
        let split = request.first_byte != request.end;
        operation.response.record(took, split);
        if let Some(open) = &mut self.tally.open {
            open.service
                .record(request.end.saturating_sub(request.sent), split);
        }
        if split {
            let first = request.first_byte.saturating_sub(request.sent);
            self.tally.first_byte_split.get_or_insert_default().record(first);
        }
    }

    /// Called when a user arrives, who may be turned away.
    pub(crate) fn record_user(&mut self, arrived: u64, is_admitted: bool) {
        if self.owns(arrived)
            && let Some(users) = &mut self.tally.users
        {
            users.arrived += 1;
            users.turned_away += u64::from(!is_admitted);
        }
    }

    /// Called with the last reply of a user, if all replies were valid.
    pub(crate) fn record_visit(&mut self, arrived: u64, now: u64) {
        if self.owns(arrived)
            && let Some(users) = &mut self.tally.users
        {
            users.visits.record(now.saturating_sub(arrived));
        }
    }

    /// Called when a whole sequence is complete and valid.
    pub(crate) fn sequence(&mut self, begin: u64, end: u64) {
        if self.window_open {
            self.tally.window.sequences += 1;
        }
        if self.owns(begin)
            && let Some(histogram) = &mut self.tally.sequence
        {
            histogram.record(end.saturating_sub(begin));
        }
    }
}

/// Counts the results of all requests of a load, including warm-up and drain: a row of counters per operation, with one counter per status. The first counter is for requests without a complete
/// reply: no reply has status 0.
#[derive(Debug)]
struct ReplyCounters {
    counts: Box<[u64]>,
}

impl ReplyCounters {
    /// The counters of a job, if it counts replies.
    fn new(job: &Job) -> Option<Self> {
        let counters = job.workload.operations.len() * STATUSES;
        job.count_replies.then(|| Self {
            counts: vec![0; counters].into_boxed_slice(),
        })
    }

    #[inline]
    fn count(&mut self, operation: u16, status: Option<u16>) {
        let status = usize::from(status.unwrap_or(0)).min(STATUSES - 1);
        self.counts[usize::from(operation) * STATUSES + status] += 1;
    }

    fn sum(&self) -> StatusCounts {
        let mut sum = StatusCounts::default();
        for (operation, row) in (0..).zip(self.counts.chunks(STATUSES)) {
            for (status, &count) in (0_u16..).zip(row) {
                sum.add(operation, (status > 0).then_some(status), count);
            }
        }
        sum
    }
}
