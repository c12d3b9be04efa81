//! The states of a connection.

/// One connection of a worker.
pub(super) struct Connection<P, L> {
    pub(super) state: State,
    pub(super) session: Option<ConnectionProtocol<P, L>>,
    /// When the current state began.
    pub(super) since: u64,
    /// Whether it is in the queue of connections with a free slot.
    pub(super) queued: bool,
    /// Consecutive failed attempts to connect.
    pub(super) failures: u8,
    /// Whether it has been established before.
    pub(super) used: bool,
    /// Whether a reply was received since it was established.
    pub(super) answered: bool,
    /// Whether it had replied before and was idle when the first of the requests in flight was sent, and no byte has
    /// arrived since.
    pub(super) silent_since_idle: bool,
    /// The connection that it replaces, while requests are in flight there.
    pub(super) replaces: Option<u32>,
    /// The connection that replaces it.
    pub(super) replaced_by: Option<u32>,
    /// Requests that may still be started on it; at 0, we close it after the last reply.
    pub(super) may_start: u32,
    /// Since when the peer allows no request at all, although the connection is open.
    pub(super) held_since: Option<u64>,
}

/// The protocol state of an established TCP connection.
pub(super) struct ConnectionProtocol<P, L> {
    pub(super) protocol: P,
    pub(super) layer: L,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not in use.
    Closed,
    /// Waits for its timer before it connects.
    Resting,
    /// Waits for its turn to connect.
    Queued,
    Connecting,
    /// TCP is established, the layer's handshake is in progress.
    Shaking,
    /// The protocol waits for the first bytes of the peer.
    Greeting,
    Open,
    /// The peer accepts no further requests but still replies to those in flight; another connection replaces this
    /// one.
    Draining,
}

/// Longest pause between attempts to connect, ns.
const LONGEST_REST: u64 = 100_000_000;

impl<P, L> Connection<P, L> {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Closed,
            session: None,
            since: 0,
            queued: false,
            failures: 0,
            used: false,
            answered: false,
            silent_since_idle: false,
            replaces: None,
            replaced_by: None,
            may_start: 0,
            held_since: None,
        }
    }

    /// Whether it has been established, or an attempt has failed.
    pub(super) const fn was_tried(&self) -> bool {
        self.used || self.failures > 0
    }

    /// Records a failed attempt; returns the pause before the next one, ns.
    pub(super) fn rest(&mut self) -> u64 {
        self.failures = self.failures.saturating_add(1);
        (1_000_000_u64 << self.failures.min(10)).min(LONGEST_REST)
    }
}
