//! The counts of threads. A [`Tally`] is a monoid: those of threads and intervals may be merged in any order.

mod llm;
mod messages;

pub use llm::{LlmAnswer, LlmTally, LlmWindow};
pub use messages::{IdCounts, MessageTally, RoomTally};

use prony_load::{Job, Load, Order};
use prony_records::{BytesMoved, Histogram, Outcomes, Requests, Responses};
use serde::{Deserialize, Serialize};

/// HTTP status codes that are counted separately; higher ones are counted in the last slot.
pub const STATUSES: usize = 1000;
/// `grpc-status` codes that are counted separately; higher ones are counted in the last slot.
pub const GRPC_STATUSES: usize = 18;

/// The counts of one operation in a [`Tally`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationTally {
    pub requests: Requests,
    pub outcomes: Outcomes,
    /// Time from when a request was due to the end of its valid reply.
    pub response: ReplyTimes,
    /// Ages of the requests that were still open when the load ended; allocated with the first one.
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

/// Events during a phase, whatever phase their requests belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    pub completed: u64,
    pub valid: u64,
    /// Failed requests, whatever the outcome.
    pub errors: u64,
    /// The same, by outcome.
    pub failures: Outcomes,
    /// Completed sequences.
    pub sequences: u64,
    /// Arrivals whose first request was sent.
    pub started: u64,
    pub sent: u64,
    /// Requests that were due before the phase and still open at its end.
    pub carried: u64,
    /// Time during which requests were in flight, summed over all of them, ns.
    pub in_flight_ns: u64,
    /// The part of it before they were sent, ns.
    pub unsent_ns: u64,
    /// Bytes transferred on the connections.
    pub bytes: BytesMoved,
}

impl WindowCounts {
    /// Adds the events of another thread or interval.
    pub fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.valid += other.valid;
        self.errors += other.errors;
        self.failures.merge(&other.failures);
        self.sequences += other.sequences;
        self.started += other.started;
        self.sent += other.sent;
        self.carried += other.carried;
        self.in_flight_ns += other.in_flight_ns;
        self.unsent_ns += other.unsent_ns;
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
    }
}

/// The counts of one thread in one interval, or the sum of any number of those.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Counts by operation, in the workload's order.
    pub operations: Vec<OperationTally>,
    /// Service times and lags, if response time and service time differ.
    pub open: Option<Box<OpenTimes>>,
    /// Times to the first byte of valid replies whose last byte arrived later.
    pub first_byte_split: Option<Box<Histogram>>,
    /// Times of whole sequences, if the workload is a sequence.
    pub sequence: Option<Box<Histogram>>,
    /// Arriving users, if the load has any.
    #[serde(default)]
    pub users: Option<Box<UserTally>>,
    /// Counts of messages, if replies are streams.
    pub messages: Option<Box<MessageTally>>,
    /// Number of replies by status code.
    pub statuses: Vec<u64>,
    /// Number of replies by `grpc-status`.
    pub grpc_statuses: Vec<u64>,
    /// Events during the phase.
    pub window: WindowCounts,
    /// Arrivals that became due (a sequence is one arrival).
    pub arrivals: u64,
    /// Requests that were sent again because their idle connection closed while they were sent.
    pub retried: u64,
    /// Redirects that were followed.
    #[serde(default)]
    pub redirects: u64,
}

/// Times that only exist in a load with intended times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenTimes {
    /// Time from the actual send to the end of a valid reply.
    pub service: ReplyTimes,
    /// Time from the intended to the actual send.
    pub lag: Histogram,
    /// The part of the lag that the generator itself caused: arrivals noticed late, and requests not sent at once although a slot
    /// was free.
    pub own_lag: Histogram,
}

/// Users who arrived.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserTally {
    pub arrived: u64,
    /// Users who arrived when the maximum number was present.
    pub turned_away: u64,
    /// Times from the arrival of a user to the last reply, if all replies were valid.
    pub visits: Histogram,
}

/// The kind of tally that a job needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyLayout {
    /// Number of operations.
    pub operations: usize,
    /// Whether requests have intended times of their own.
    pub paced: bool,
    pub sequence: bool,
    /// Whether users arrive.
    pub users: bool,
    /// Whether replies are streams of messages, or messages are sent in rooms.
    pub streams: bool,
}

impl TallyLayout {
    /// The shape that a job needs.
    pub fn of(job: &Job) -> Self {
        Self {
            operations: job.workload.operations.len(),
            paced: !matches!(job.load, Load::Closed { .. }),
            sequence: matches!(job.workload.order, Order::Sequence(_)),
            users: matches!(job.load, Load::Users { .. }),
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
    pub fn new(shape: TallyLayout) -> Self {
        Self {
            operations: vec![OperationTally::default(); shape.operations],
            open: shape.paced.then(Box::default),
            first_byte_split: None,
            sequence: shape.sequence.then(Box::default),
            users: shape.users.then(Box::default),
            messages: shape.streams.then(Box::default),
            statuses: vec![0; STATUSES],
            grpc_statuses: vec![0; GRPC_STATUSES],
            window: WindowCounts::default(),
            arrivals: 0,
            retried: 0,
            redirects: 0,
        }
    }

    pub const fn shape(&self) -> TallyLayout {
        TallyLayout {
            operations: self.operations.len(),
            paced: self.open.is_some(),
            sequence: self.sequence.is_some(),
            users: self.users.is_some(),
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
        if let (Some(ours), Some(theirs)) = (&mut self.users, &other.users) {
            ours.arrived += theirs.arrived;
            ours.turned_away += theirs.turned_away;
            ours.visits.merge(&theirs.visits);
        }
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
        self.redirects += other.redirects;
    }

    /// Resets all counts, but keeps the memory.
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
        if let Some(users) = &mut self.users {
            users.visits.clear();
            (users.arrived, users.turned_away) = (0, 0);
        }
        if let Some(messages) = &mut self.messages {
            messages.clear();
        }
        self.statuses.fill(0);
        self.grpc_statuses.fill(0);
        self.window = WindowCounts::default();
        self.arrivals = 0;
        self.retried = 0;
        self.redirects = 0;
    }
}

/// Durations of replies, split by whether the first byte arrived together with the last one. If it did, the time to the first
/// byte is the same duration and is not recorded again. A histogram is allocated when it is first needed: there may be many
/// operations, and each thread keeps several tallies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyTimes {
    /// First and last byte arrived together.
    pub whole: Option<Box<Histogram>>,
    /// The first byte arrived before the last one.
    pub split: Option<Box<Histogram>>,
}

impl ReplyTimes {
    /// Records one duration, ns.
    #[inline]
    pub fn record(&mut self, ns: u64, split: bool) {
        if split {
            self.split.get_or_insert_default().record(ns);
        } else {
            self.whole.get_or_insert_default().record(ns);
        }
    }

    fn merge(&mut self, other: &Self) {
        merge_option(&mut self.whole, other.whole.as_deref());
        merge_option(&mut self.split, other.split.as_deref());
    }

    fn clear(&mut self) {
        for histogram in [&mut self.whole, &mut self.split].into_iter().flatten() {
            histogram.clear();
        }
    }

    /// Adds all durations to `sum`.
    pub fn add_to(&self, sum: &mut Histogram) {
        for histogram in [&self.whole, &self.split].into_iter().flatten() {
            sum.merge(histogram);
        }
    }
}

fn merge_option(ours: &mut Option<Box<Histogram>>, theirs: Option<&Histogram>) {
    if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
        ours.get_or_insert_default().merge(theirs);
    }
}
