//! The parts of a job that a worker reads frequently.

use crate::pacer::Pacer;
use crate::worker::load_models::{ClosedLoad, Open, Policy, Users};
use prony_load::{Job, Load, Partition};
use prony_protocols::request_values::mix;

/// Connections of all threads that may be connecting at once: more would overflow the server's accept queue, and be
/// delayed by a second.
const CONNECTING_AT_ONCE: u32 = 128;

/// Settings that do not change during a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) partition: Partition,
    /// Most requests in flight on one connection.
    pub(super) depth: u32,
    pub(super) timeout: u64,
    pub(super) connect_timeout: u64,
    /// Connections of this thread that may be connecting at once.
    pub(super) connecting_at_once: u32,
    pub(super) requests_per_connection: u32,
    /// Age at which a connection is replaced.
    pub(super) connection_age: Option<u64>,
    pub(super) check_all: bool,
    pub(super) check_key: u64,
    pub(super) check_below: u64,
    /// Whether the transport sends later than requested.
    pub(super) defers: bool,
    /// Whether replies are streams of events.
    pub(super) streams: bool,
    /// Whether a request that was lost on an idle connection is sent once more.
    pub(super) retries: bool,
    /// Members of a room, if connections are divided into rooms.
    pub(super) members: Option<u32>,
}

impl Settings {
    pub(super) fn new(job: &Job, partition: Partition, (defers, streams): (bool, bool)) -> Self {
        Self {
            partition,
            depth: match &job.load {
                Load::Closed { in_flight, .. } | Load::Open { in_flight, .. } => *in_flight,
                Load::Users { .. } => 1,
            },
            timeout: job.timeout_ns,
            connect_timeout: job.target.connect.connect_timeout_ns.unwrap_or(job.timeout_ns),
            connecting_at_once: partition.share(u64::from(CONNECTING_AT_ONCE)).max(1) as u32,
            requests_per_connection: job.limits.requests_per_connection.unwrap_or(u32::MAX),
            connection_age: job.limits.connection_age_ns,
            check_all: job.check.share >= 1.0,
            check_key: mix(job.seed ^ 0x636b),
            check_below: (job.check.share.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            defers,
            streams,
            retries: !job.limits.no_retry,
            members: job.load.members(),
        }
    }
}

pub(super) fn policy(job: &Job, partition: Partition) -> Policy {
    match &job.load {
        Load::Closed {
            connections,
            think_ns,
            growth,
            ..
        } => Policy::Closed(ClosedLoad::new(*think_ns, *growth, *connections)),
        Load::Open { arrival, backlog, .. } => {
            let capacity = partition.share(*backlog);
            Policy::Open(Open::new(Pacer::new(arrival, job.seed, partition, capacity)))
        }
        Load::Users {
            arrival,
            requests_per_user,
            think_ns,
            ..
        } => {
            let pacer = Pacer::new(arrival, job.seed, partition, u64::MAX);
            Policy::Users(Users::new(
                pacer,
                *requests_per_user,
                *think_ns,
                partition.connections(),
            ))
        }
    }
}
