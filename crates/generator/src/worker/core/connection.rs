//! The states of a connection.

/// One connection of a worker.
pub(super) struct Connection<P, L> {
    pub(super) state: State,
    pub(super) speaking: Option<Speaking<P, L>>,
    /// When the state began.
    pub(super) since: u64,
    /// Whether it stands in the queue of connections with a free place.
    pub(super) queued: bool,
    /// Failed attempts to connect, one after the other.
    pub(super) failures: u8,
    /// Whether it was established before.
    pub(super) used: bool,
    /// Whether a reply came on it since it was established.
    pub(super) answered: bool,
    /// Whether it had answered and was idle when the first of the requests that are under way was sent, and no byte came since.
    pub(super) silent_since_idle: bool,
    /// The connection whose place it takes, as long as requests are under way there.
    pub(super) replaces: Option<u32>,
    /// The connection that takes its place.
    pub(super) replaced_by: Option<u32>,
    /// Requests that may still start on it; at 0 we close it when the last reply is there.
    pub(super) may_start: u32,
}

/// What is spoken on an established TCP connection.
pub(super) struct Speaking<P, L> {
    pub(super) protocol: P,
    pub(super) layer: L,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not in use.
    Closed,
    /// Connects when its timer says so.
    Resting,
    /// Waits for its turn to connect.
    Queued,
    Connecting,
    /// TCP is up, the layer's handshake is under way.
    Shaking,
    /// The protocol waits for what the peer says first.
    Greeting,
    Open,
    /// The peer takes no further request, and those under way are still answered; another connection takes its place.
    Draining,
}

/// Longest pause between attempts to connect, ns.
const LONGEST_REST: u64 = 100_000_000;

impl<P, L> Connection<P, L> {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Closed,
            speaking: None,
            since: 0,
            queued: false,
            failures: 0,
            used: false,
            answered: false,
            silent_since_idle: false,
            replaces: None,
            replaced_by: None,
            may_start: 0,
        }
    }

    /// Whether it has been established, or tried and failed.
    pub(super) const fn was_tried(&self) -> bool {
        self.used || self.failures > 0
    }

    /// One more attempt failed: how long it rests before the next one, ns.
    pub(super) fn rest(&mut self) -> u64 {
        self.failures = self.failures.saturating_add(1);
        (1_000_000_u64 << self.failures.min(10)).min(LONGEST_REST)
    }
}
