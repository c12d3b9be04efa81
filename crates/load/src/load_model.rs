//! How requests arrive.

use crate::Arrival;
use serde::{Deserialize, Serialize};

/// How requests arrive at the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Each place on a connection sends its next request when the reply to the last one is complete.
    Closed {
        /// Connections held open all the time.
        connections: u32,
        /// Requests under way on one connection: HTTP/1.1 pipelining depth or HTTP/2 streams.
        in_flight: u32,
        /// Pause between a reply and the next request in its place, ns.
        #[serde(default, skip_serializing_if = "is_zero")]
        think_ns: u64,
        /// Where not all connections are there from the begin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth: Option<Growth>,
        /// Where connections are members of rooms: how many each room has. What one says comes to all of its room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        members: Option<u32>,
    },
    /// Requests are due at times that do not depend on replies; response time counts from the due time.
    Open {
        /// When requests are due.
        arrival: Arrival,
        /// Connections held open all the time.
        connections: u32,
        /// Requests under way on one connection.
        in_flight: u32,
        /// Requests that may wait for a free place; a request that is due beyond it is `not_sent`.
        backlog: u64,
        /// Where connections are members of rooms: how many each room has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        members: Option<u32>,
    },
    /// Users arrive; each opens a connection, sends its requests one after the other, and leaves.
    Users {
        /// When users arrive.
        arrival: Arrival,
        /// Requests of one user.
        requests_per_user: u32,
        /// Pause between a reply and the user's next request, ns.
        think_ns: u64,
        /// Users present at once, at most; a user who arrives beyond it is not let in and its requests are `not_sent`.
        max_users: u32,
    },
}

/// Connections that come one after the other, evenly, up to the number of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Connections at the begin.
    pub from: u32,
    /// After this long all are there, ns.
    pub over_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

impl Load {
    /// A closed load without pauses, all of whose connections are there from the begin.
    pub const fn closed(connections: u32, in_flight: u32) -> Self {
        Self::Closed {
            connections,
            in_flight,
            think_ns: 0,
            growth: None,
            members: None,
        }
    }

    /// The word for this kind of load, as in JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::Users { .. } => "users",
        }
    }

    /// Whether requests or users come at times of the load's own. Then it decides how many replies there are, as long as the
    /// service keeps up.
    pub const fn is_paced(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Users { .. })
    }

    /// Connections that the load may hold at once.
    pub const fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { max_users, .. } => *max_users,
        }
    }

    /// The same load with its connections in rooms of `members`; of so many `rooms`, where they are given.
    #[must_use]
    pub fn in_rooms(mut self, of: u32, rooms: Option<u32>) -> Self {
        if let Self::Closed {
            connections, members, ..
        }
        | Self::Open {
            connections, members, ..
        } = &mut self
        {
            *members = Some(of);
            if let Some(rooms) = rooms {
                *connections = rooms.saturating_mul(of);
            }
        }
        self
    }

    /// Members of a room, where the connections are divided into rooms.
    pub const fn members(&self) -> Option<u32> {
        match self {
            Self::Closed { members, .. } | Self::Open { members, .. } => *members,
            Self::Users { .. } => None,
        }
    }

    /// What threads and workers can share: connections, or rooms where there are any. One clock must see a message leave and
    /// come, so a room is held by one thread.
    pub const fn shareable(&self) -> u32 {
        match self.members() {
            Some(members) if members > 0 => self.connections() / members,
            _ => self.connections(),
        }
    }
}
