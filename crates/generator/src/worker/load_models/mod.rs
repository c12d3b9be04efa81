//! How requests arrive: the next action of a free slot, the effect of a lost connection, and when to check again.
//! Pure: times and numbers in, decisions out.

mod closed;
mod open;
mod users;

pub(super) use self::closed::ClosedLoad;
pub(super) use self::open::Open;
pub(super) use self::users::Users;

use super::backlog::Share;
use super::slots::DueRequest;
use super::source::Source;

/// The kinds of load.
pub(super) enum Policy {
    Closed(ClosedLoad),
    Open(Open),
    Users(Users),
}

/// The next action of a free slot.
#[derive(Debug, Clone, Copy)]
pub(super) enum SlotAction {
    /// Send this request.
    Send(DueRequest),
    /// Wait until there is something to send.
    Idle,
    /// Its connection is no longer needed.
    Leave,
}

/// The time of a decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecisionTime {
    pub(super) now: u64,
    /// Whether the load is running.
    pub(super) is_loading: bool,
    /// Whether the load is over.
    pub(super) is_over: bool,
}

/// The use of a slot after its request.
pub(super) struct NextUse {
    /// When it is free again.
    pub(super) until: u64,
    /// The request that it has to send then.
    pub(super) follow: Option<DueRequest>,
    /// When the user arrived whose visit this request completed.
    pub(super) visit: Option<u64>,
}

impl Policy {
    /// Decides about a free slot on a connection. `late`: how much later than it became free this was noticed.
    pub(super) fn next_action(
        &mut self,
        connection: u32,
        late: u64,
        at: DecisionTime,
        source: &mut Source,
    ) -> SlotAction {
        match self {
            Self::Closed(_) => ClosedLoad::next_action(at, source),
            Self::Open(open) => open.next_action(source),
            Self::Users(users) => users.next_action(connection, late, at, source),
        }
    }

    /// Handles the outcome of a request, which may be a valid reply; `follow` is the next step of its sequence, if that continues.
    pub(super) fn request_ended(
        &mut self,
        connection: u32,
        (follow, valid): (Option<DueRequest>, bool),
        now: u64,
    ) -> NextUse {
        let (until, follow, visit) = match self {
            Self::Closed(closed) => (now + closed.think, follow, None),
            Self::Open(_) => (now, follow, None),
            Self::Users(users) => {
                let (until, visit) = users.request_ended(connection, (follow, valid), now);
                (until, None, visit)
            }
        };
        NextUse { until, follow, visit }
    }

    /// Handles a request that was left unprocessed. Returns it if any connection may send it again.
    pub(super) fn request_again(&mut self, connection: u32, due: DueRequest) -> Option<DueRequest> {
        match self {
            Self::Closed(_) | Self::Open(_) => Some(due),
            Self::Users(users) => {
                users.request_again(connection, due);
                None
            }
        }
    }

    /// Handles a lost connection: returns whether to reconnect.
    pub(super) fn connection_lost(&mut self, connection: u32, at: DecisionTime) -> bool {
        match self {
            Self::Closed(_) => !at.is_over,
            Self::Open(_) => true,
            Self::Users(users) => users.connection_lost(connection, at),
        }
    }

    /// Takes the oldest arrival that waits for a slot.
    pub(super) fn take_waiting(&mut self, source: &mut Source) -> Option<DueRequest> {
        match self {
            Self::Closed(_) | Self::Users(_) => None,
            Self::Open(open) => open.take_waiting(source),
        }
    }

    /// The queue shared with other threads, if there is one.
    pub(super) const fn shared(&mut self) -> Option<&mut Share> {
        match self {
            Self::Open(open) => open.shared.as_mut(),
            Self::Closed(_) | Self::Users(_) => None,
        }
    }

    /// The pacer, if requests become due at times of their own.
    pub(super) const fn pacer(&mut self) -> Option<&mut crate::pacer::Pacer> {
        match self {
            Self::Closed(_) => None,
            Self::Open(open) => Some(&mut open.pacer),
            Self::Users(users) => Some(&mut users.pacer),
        }
    }

    /// When the next arrival is due; `u64::MAX`: none is.
    pub(super) const fn next_due(&self) -> u64 {
        match self {
            Self::Closed(_) => u64::MAX,
            Self::Open(open) => open.pacer.next_due(),
            Self::Users(users) => users.pacer.next_due(),
        }
    }

    /// Whether slots pause between requests, so that timers must be precise.
    pub(super) const fn thinks(&self) -> bool {
        match self {
            Self::Closed(closed) => closed.think > 0,
            Self::Open(_) => false,
            Self::Users(users) => users.think > 0,
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    pub(super) const fn is_users(&self) -> bool {
        matches!(self, Self::Users(_))
    }

    /// Whether a started sequence continues. In an open load, it is due as a whole.
    pub(super) const fn may_continue(&self, is_loading: bool) -> bool {
        is_loading || matches!(self, Self::Open(_))
    }

    /// Whether anything waits for a slot.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Closed(_) => false,
            Self::Open(open) => open.is_waiting(),
            Self::Users(users) => users.any_new(),
        }
    }
}
