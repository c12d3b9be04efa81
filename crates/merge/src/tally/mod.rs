//! What threads count. A [`Tally`] is a monoid: those of threads and of intervals are merged in any order.

mod llm;
mod messages;
mod times;

pub use llm::{Answer, LlmTally, LlmWindow};
pub use messages::{IdCounts, MessageTally, RoomTally};
pub use times::ReplyTimes;
use times::merge_option;

use prony_load::{Job, Load, Order};
use prony_records::{BytesMoved, Histogram, Outcomes, Requests, Responses};
use serde::{Deserialize, Serialize};

/// HTTP status codes that are counted apart; what lies above goes into the last place.
pub const STATUSES: usize = 1000;
/// `grpc-status` codes that are counted apart; what lies above goes into the last place.
pub const GRPC_STATUSES: usize = 18;

/// One operation's share of a [`Tally`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationTally {
    /// How many requests.
    pub requests: Requests,
    /// What became of them.
    pub outcomes: Outcomes,
    /// From when a request was due to the end of its valid reply.
    pub response: ReplyTimes,
    /// Ages of the requests that were still open when the load ended, once there is one.
    pub open: Option<Box<Histogram>>,
}

impl OperationTally {
    /// The response times of all its requests.
    pub fn responses(&self) -> Responses {
        let mut valid = Histogram::new();
        self.response.add_to(&mut valid);
        Responses::new(valid, self.open.as_deref().cloned(), &self.outcomes)
    }
}

/// What happened while a phase was on, whatever phase the requests belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Complete replies.
    pub completed: u64,
    /// Valid replies.
    pub valid: u64,
    /// Requests that failed, whatever the outcome.
    pub errors: u64,
    /// Whole sequences.
    pub sequences: u64,
    /// Arrivals whose first request was sent.
    pub started: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were due before, and still open at the end.
    pub carried: u64,
    /// Time for which requests were in flight, over all of them, ns.
    pub in_flight_ns: u64,
    /// Bytes on the connections.
    pub bytes: BytesMoved,
}

impl Window {
    /// Adds what happened elsewhere or at another time.
    pub const fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.valid += other.valid;
        self.errors += other.errors;
        self.sequences += other.sequences;
        self.started += other.started;
        self.sent += other.sent;
        self.carried += other.carried;
        self.in_flight_ns += other.in_flight_ns;
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
    }
}

/// What one thread counted in one interval, or many did in many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The same per operation, in the workload's order.
    pub operations: Vec<OperationTally>,
    /// Where response time and service time differ: the service times and the lags.
    pub open: Option<Box<OpenTimes>>,
    /// Times to the first byte of valid replies whose last byte was seen later.
    pub first_byte_split: Option<Box<Histogram>>,
    /// Times of whole sequences, where the workload is one.
    pub sequence: Option<Box<Histogram>>,
    /// Where replies are streams.
    pub messages: Option<Box<MessageTally>>,
    /// Replies by status code.
    pub statuses: Vec<u64>,
    /// Replies by `grpc-status`.
    pub grpc_statuses: Vec<u64>,
    /// What happened meanwhile.
    pub window: Window,
    /// Arrivals that became due (a sequence is one).
    pub arrivals: u64,
    /// Requests that were sent again because their connection, which had been idle, ended as they came.
    pub retried: u64,
}

/// Times that only a load with intended times has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenTimes {
    /// From the actual send to the end of a valid reply.
    pub service: ReplyTimes,
    /// From the intended to the actual send.
    pub lag: Histogram,
    /// The part of the lag that is the generator's own: what it noticed late, and what it did not send at once although there
    /// was a place for it.
    pub own_lag: Histogram,
}

/// What kind of tally a job needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many operations there are.
    pub operations: usize,
    /// Whether requests have intended times of their own.
    pub paced: bool,
    /// Whether the workload is a sequence.
    pub sequence: bool,
    /// Whether replies are streams of messages, or messages are said in rooms.
    pub streams: bool,
}

impl Shape {
    /// That of a job.
    pub fn of(job: &Job) -> Self {
        Self {
            operations: job.workload.operations.len(),
            paced: !matches!(job.load, Load::Closed { .. }),
            sequence: matches!(job.workload.order, Order::Sequence(_)),
            streams: job.load.members().is_some()
                || job
                    .workload
                    .operations
                    .iter()
                    .any(|operation| operation.expect.is_stream()),
        }
    }
}

impl Tally {
    /// An empty tally.
    pub fn new(shape: Shape) -> Self {
        Self {
            operations: vec![OperationTally::default(); shape.operations],
            open: shape.paced.then(Box::default),
            first_byte_split: None,
            sequence: shape.sequence.then(Box::default),
            messages: shape.streams.then(Box::default),
            statuses: vec![0; STATUSES],
            grpc_statuses: vec![0; GRPC_STATUSES],
            window: Window::default(),
            arrivals: 0,
            retried: 0,
        }
    }

    /// The kind that it is.
    pub const fn shape(&self) -> Shape {
        Shape {
            operations: self.operations.len(),
            paced: self.open.is_some(),
            sequence: self.sequence.is_some(),
            streams: self.messages.is_some(),
        }
    }

    /// Adds another tally of the same shape.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.operations.iter_mut().zip(&other.operations) {
            ours.requests.offered += theirs.requests.offered;
            ours.requests.sent += theirs.requests.sent;
            ours.requests.completed += theirs.requests.completed;
            ours.requests.valid += theirs.requests.valid;
            ours.outcomes.merge(&theirs.outcomes);
            ours.response.merge(&theirs.response);
            merge_option(&mut ours.open, theirs.open.as_deref());
        }
        if let (Some(ours), Some(theirs)) = (&mut self.open, &other.open) {
            ours.service.merge(&theirs.service);
            ours.lag.merge(&theirs.lag);
            ours.own_lag.merge(&theirs.own_lag);
        }
        merge_option(&mut self.first_byte_split, other.first_byte_split.as_deref());
        merge_option(&mut self.sequence, other.sequence.as_deref());
        if let (Some(ours), Some(theirs)) = (&mut self.messages, &other.messages) {
            ours.merge(theirs);
        }
        let statuses = self.statuses.iter_mut().chain(&mut self.grpc_statuses);
        for (ours, theirs) in statuses.zip(other.statuses.iter().chain(&other.grpc_statuses)) {
            *ours += theirs;
        }
        self.window.merge(&other.window);
        self.arrivals += other.arrivals;
        self.retried += other.retried;
    }

    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        for operation in &mut self.operations {
            operation.requests = Requests::default();
            operation.outcomes = Outcomes::default();
            operation.response.clear();
            if let Some(open) = &mut operation.open {
                open.clear();
            }
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
            messages.clear();
        }
        self.statuses.fill(0);
        self.grpc_statuses.fill(0);
        self.window = Window::default();
        self.arrivals = 0;
        self.retried = 0;
    }
}
