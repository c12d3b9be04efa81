//! How requests arrive: what a free place does next, what a lost connection means, and when to look again. Pure: times and
//! numbers in, decisions out.

mod closed;
mod open;
mod users;

pub(super) use self::closed::Closed;
pub(super) use self::open::Open;
pub(super) use self::users::Users;

use super::backlog::Share;
use super::slots::Due;
use super::source::Source;

/// The kinds of load.
pub(super) enum Policy {
    Closed(Closed),
    Open(Open),
    Users(Users),
}

/// What a free place does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    /// It sends this.
    Send(Due),
    /// It waits until there is something to send.
    Idle,
    /// Its connection is needed no more.
    Leave,
}

/// The moment of a decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: u64,
    /// Whether the load is on.
    pub(super) is_loading: bool,
    /// Whether it is over.
    pub(super) is_over: bool,
}

impl Policy {
    /// A place on a connection is free. `late`: how much later than it should have been this was noticed.
    pub(super) fn place_free(&mut self, connection: u32, late: u64, at: Moment, source: &mut Source) -> Next {
        match self {
            Self::Closed(_) => Closed::place_free(at, source),
            Self::Open(open) => open.place_free(source),
            Self::Users(users) => users.place_free(connection, late, at, source),
        }
    }

    /// A request on a connection has its outcome; `follow` is the next step of its sequence, where that goes on. Gives when
    /// its place is free again, and what of `follow` the place has to send then.
    pub(super) fn request_ended(
        &mut self,
        connection: u32,
        follow: Option<Due>,
        now: u64,
    ) -> (u64, Option<Due>) {
        match self {
            Self::Closed(closed) => (now + closed.think, follow),
            Self::Open(_) => (now, follow),
            Self::Users(users) => (users.request_ended(connection, follow, now), None),
        }
    }

    /// A request was left unprocessed. Gives it back where any connection may send it again.
    pub(super) fn request_again(&mut self, connection: u32, due: Due) -> Option<Due> {
        match self {
            Self::Closed(_) | Self::Open(_) => Some(due),
            Self::Users(users) => {
                users.request_again(connection, due);
                None
            }
        }
    }

    /// A connection was lost: whether it is made again.
    pub(super) fn connection_lost(&mut self, connection: u32, at: Moment) -> bool {
        match self {
            Self::Closed(_) => !at.is_over,
            Self::Open(_) => true,
            Self::Users(users) => users.connection_lost(connection, at),
        }
    }

    /// Takes the arrival that has waited longest for a place.
    pub(super) fn take_waiting(&mut self, source: &mut Source) -> Option<Due> {
        match self {
            Self::Closed(_) | Self::Users(_) => None,
            Self::Open(open) => open.take_waiting(source),
        }
    }

    /// What waits on all threads, where several share it.
    pub(super) const fn shared(&mut self) -> Option<&mut Share> {
        match self {
            Self::Open(open) => open.shared.as_mut(),
            Self::Closed(_) | Self::Users(_) => None,
        }
    }

    /// Whether requests become due at times of their own.
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

    /// Whether places pause between requests, so that timers have to be met exactly.
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

    /// Whether a sequence that has begun goes on. In an open load it is due as a whole.
    pub(super) const fn may_continue(&self, is_loading: bool) -> bool {
        is_loading || matches!(self, Self::Open(_))
    }

    /// Whether something waits for a place.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Closed(_) => false,
            Self::Open(open) => open.is_waiting(),
            Self::Users(users) => users.any_new(),
        }
    }
}
