//! What one worker counts. A [`Part`] is a monoid: parts of threads and of intervals are merged in any order.

mod finished;
mod times;

pub(crate) use finished::{Epoch, Finished};
pub(crate) use times::ReplyTimes;
use times::merge_option;

use crate::log::{Line, Logbook};
use prony_load::{Job, Load, Order};
use prony_measurement::{BytesMoved, Histogram, Outcome, Outcomes, Phase, Requests};

/// HTTP status codes that are counted apart; what lies above goes into the last place.
const STATUSES: usize = 1000;
/// `grpc-status` codes that are counted apart; what lies above goes into the last place.
const GRPC_STATUSES: usize = 18;

/// One operation's share of a [`Part`].
#[derive(Debug, Clone, Default)]
pub(crate) struct OperationPart {
    pub(crate) requests: Requests,
    pub(crate) outcomes: Outcomes,
    pub(crate) response: ReplyTimes,
}

/// What happened while a phase was on, whatever phase the requests belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) completed: u64,
    pub(crate) valid: u64,
    pub(crate) errors: u64,
    pub(crate) sequences: u64,
    /// Arrivals whose first request was sent.
    pub(crate) started: u64,
    pub(crate) bytes: BytesMoved,
}

impl Window {
    pub(crate) const fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.valid += other.valid;
        self.errors += other.errors;
        self.sequences += other.sequences;
        self.started += other.started;
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
    }
}

/// What one worker recorded in one interval.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) operations: Vec<OperationPart>,
    /// Where response time and service time differ: the service times and the lags.
    pub(crate) open: Option<Box<OpenTimes>>,
    /// Times to the first byte of replies whose last byte was seen later.
    pub(crate) first_byte_split: Option<Box<Histogram>>,
    /// Times of whole sequences, where the workload is one.
    pub(crate) sequence: Option<Box<Histogram>>,
    /// Where calls stream.
    pub(crate) messages: Option<Box<MessageTimes>>,
    pub(crate) statuses: Vec<u64>,
    pub(crate) grpc_statuses: Vec<u64>,
    pub(crate) window: Window,
    /// Arrivals that became due (a sequence is one).
    pub(crate) arrivals: u64,
}

/// The messages of streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageTimes {
    pub(crate) count: u64,
    /// From the actual send to the end of the first message.
    pub(crate) first: Histogram,
    /// From the actual send to the end of the last message.
    pub(crate) last: Histogram,
}

/// Times that only a load with intended times has.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenTimes {
    pub(crate) service: ReplyTimes,
    pub(crate) lag: Histogram,
    /// The part of the lag that is the generator's own: what it noticed late, and what it did not send at once although there
    /// was a place for it.
    pub(crate) own_lag: Histogram,
}

/// What kind of part a job needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) operations: usize,
    /// Whether requests have intended times of their own.
    pub(crate) paced: bool,
    pub(crate) sequence: bool,
}

impl Shape {
    pub(crate) fn of(job: &Job) -> Self {
        Self {
            operations: job.workload.operations.len(),
            paced: !matches!(job.load, Load::Closed { .. }),
            sequence: matches!(job.workload.order, Order::Sequence(_)),
        }
    }
}

impl Part {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            operations: vec![OperationPart::default(); shape.operations],
            open: shape.paced.then(Box::default),
            first_byte_split: None,
            sequence: shape.sequence.then(Box::default),
            messages: None,
            statuses: vec![0; STATUSES],
            grpc_statuses: vec![0; GRPC_STATUSES],
            window: Window::default(),
            arrivals: 0,
        }
    }

    /// Adds another part of the same shape.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.operations.iter_mut().zip(&other.operations) {
            ours.requests.offered += theirs.requests.offered;
            ours.requests.sent += theirs.requests.sent;
            ours.requests.completed += theirs.requests.completed;
            ours.requests.valid += theirs.requests.valid;
            ours.outcomes.merge(&theirs.outcomes);
            ours.response.merge(&theirs.response);
        }
        if let (Some(ours), Some(theirs)) = (&mut self.open, &other.open) {
            ours.service.merge(&theirs.service);
            ours.lag.merge(&theirs.lag);
            ours.own_lag.merge(&theirs.own_lag);
        }
        merge_option(&mut self.first_byte_split, other.first_byte_split.as_deref());
        merge_option(&mut self.sequence, other.sequence.as_deref());
        if let Some(theirs) = &other.messages {
            let ours = self.messages.get_or_insert_default();
            ours.count += theirs.count;
            ours.first.merge(&theirs.first);
            ours.last.merge(&theirs.last);
        }
        let statuses = self.statuses.iter_mut().chain(&mut self.grpc_statuses);
        for (ours, theirs) in statuses.zip(other.statuses.iter().chain(&other.grpc_statuses)) {
            *ours += theirs;
        }
        self.window.merge(&other.window);
        self.arrivals += other.arrivals;
    }

    /// Forgets all, keeps the memory.
    pub(crate) fn clear(&mut self) {
        for operation in &mut self.operations {
            operation.requests = Requests::default();
            operation.outcomes = Outcomes::default();
            operation.response.clear();
        }
        if let Some(open) = &mut self.open {
            open.service.clear();
            open.lag.clear();
            open.own_lag.clear();
        }
        for histogram in [&mut self.first_byte_split, &mut self.sequence]
            .into_iter()
            .flatten()
        {
            histogram.clear();
        }
        if let Some(messages) = &mut self.messages {
            messages.count = 0;
            messages.first.clear();
            messages.last.clear();
        }
        self.statuses.fill(0);
        self.grpc_statuses.fill(0);
        self.window = Window::default();
        self.arrivals = 0;
    }
}

/// Counts for one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    part: Box<Part>,
    epoch: Epoch,
    /// Begin of the phase: a request belongs to it when it was due from here on.
    begin: u64,
    /// Whether what happens now is inside the phase, not in the drain after it.
    window_open: bool,
    /// Where a log is wanted.
    log: Option<Box<Logbook>>,
}

impl Recorder {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            part: Box::new(Part::new(shape)),
            epoch: Epoch::FIRST,
            begin: 0,
            window_open: false,
            log: None,
        }
    }

    /// Logs what is recorded from now on.
    pub(crate) fn log_to(&mut self, log: Option<Logbook>) {
        self.log = log.map(Box::new);
    }

    /// A phase begins: what is measured is logged.
    pub(crate) fn log_in(&mut self, phase: Phase) {
        if let Some(log) = &mut self.log {
            log.is_on = phase == Phase::Measurement;
        }
    }

    /// A phase begins: from now on its requests are recorded, and no others.
    pub(crate) const fn begin(&mut self, begin: u64) {
        self.begin = begin;
        self.epoch = self.epoch.next();
        self.window_open = true;
    }

    /// The phase is over; replies that are still due go on being recorded.
    pub(crate) const fn close_window(&mut self) {
        self.window_open = false;
    }

    /// Hands out what was recorded, and goes on with `empty`.
    pub(crate) const fn swap(&mut self, empty: Box<Part>) -> Box<Part> {
        std::mem::replace(&mut self.part, empty)
    }

    const fn owns(&self, intended: u64) -> bool {
        intended >= self.begin
    }

    pub(crate) const fn sent_bytes(&mut self, count: usize) {
        if self.window_open {
            self.part.window.bytes.sent += count as u64;
        }
    }

    pub(crate) const fn received_bytes(&mut self, count: usize) {
        if self.window_open {
            self.part.window.bytes.received += count as u64;
        }
    }

    /// An arrival became due.
    pub(crate) const fn arrived(&mut self, intended: u64) {
        if self.owns(intended) {
            self.part.arrivals += 1;
        }
    }

    /// The first request of an arrival was sent.
    pub(crate) const fn started(&mut self) {
        if self.window_open {
            self.part.window.started += 1;
        }
    }

    /// A request was sent; gives the phase that it belongs to.
    pub(crate) fn sent(&mut self, operation: u16, intended: u64) -> Epoch {
        if !self.owns(intended) {
            return Epoch::default();
        }
        let requests = &mut self.part.operations[usize::from(operation)].requests;
        requests.offered += 1;
        requests.sent += 1;
        self.epoch
    }

    /// A request was due, and could not be sent.
    pub(crate) fn unsent(&mut self, operation: u16, intended: u64, outcome: Outcome) {
        if self.window_open {
            self.part.window.errors += 1;
        }
        if self.owns(intended) {
            let part = &mut self.part.operations[usize::from(operation)];
            part.requests.offered += 1;
            part.outcomes.add(outcome, 1);
            if let Some(log) = &mut self.log {
                log.note(Line::unsent(operation, intended - self.begin, outcome));
            }
        }
    }

    /// A status code came.
    pub(crate) fn status(&mut self, epoch: Epoch, status: u16, grpc_status: Option<u32>) {
        if epoch == self.epoch {
            self.part.statuses[usize::from(status).min(STATUSES - 1)] += 1;
            if let Some(code) = grpc_status {
                self.part.grpc_statuses[(code as usize).min(GRPC_STATUSES - 1)] += 1;
            }
        }
    }

    /// A stream of so many messages is complete; the first and the last came so many ns after the request was sent.
    pub(crate) fn messages(&mut self, epoch: Epoch, count: u32, first_ns: u64, last_ns: u64) {
        if epoch == self.epoch {
            let messages = self.part.messages.get_or_insert_default();
            messages.count += u64::from(count);
            messages.first.record(first_ns);
            messages.last.record(last_ns);
        }
    }

    /// A request that was sent has its outcome. `complete`: a whole reply came.
    pub(crate) fn finished(&mut self, request: &Finished, complete: bool) {
        let valid = request.outcome == Outcome::Valid;
        if self.window_open {
            let window = &mut self.part.window;
            window.completed += u64::from(complete);
            window.valid += u64::from(valid);
            window.errors += u64::from(!valid);
        }
        if request.epoch != self.epoch {
            return;
        }
        let operation = &mut self.part.operations[usize::from(request.operation)];
        operation.outcomes.add(request.outcome, 1);
        if let Some(log) = &mut self.log {
            log.note(request.line(complete, self.begin));
        }
        if !complete {
            return;
        }
        operation.requests.completed += 1;
        operation.requests.valid += u64::from(valid);
        let split = request.first_byte != request.end;
        operation
            .response
            .record(request.end.saturating_sub(request.intended), split);
        if let Some(open) = &mut self.part.open {
            open.service
                .record(request.end.saturating_sub(request.sent), split);
            open.lag.record(request.sent.saturating_sub(request.intended));
            open.own_lag.record(request.sent.saturating_sub(request.ready));
        }
        if split {
            let first = request.first_byte.saturating_sub(request.sent);
            self.part.first_byte_split.get_or_insert_default().record(first);
        }
    }

    /// A whole sequence is complete, all of it valid.
    pub(crate) fn sequence(&mut self, begin: u64, end: u64) {
        if self.window_open {
            self.part.window.sequences += 1;
        }
        if self.owns(begin)
            && let Some(histogram) = &mut self.part.sequence
        {
            histogram.record(end.saturating_sub(begin));
        }
    }
}
