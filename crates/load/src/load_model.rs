//! When requests are sent.

use crate::Arrival;
use serde::{Deserialize, Serialize};

/// When requests are sent to the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Each slot on a connection sends its next request when the reply to its last one is complete.
    Closed {
        /// Connections kept open throughout.
        connections: u32,
        /// Requests in flight on one connection: HTTP/1.1 pipelining depth or HTTP/2 streams.
        in_flight: u32,
        /// Pause between a reply and the next request in its slot, ns.
        #[serde(default, skip_serializing_if = "is_zero")]
        think_ns: u64,
        /// Set if the number of connections grows during the load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth: Option<Growth>,
        /// Set if connections are members of rooms: the size of a room. A message of one member is delivered to the
        /// whole room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        members: Option<u32>,
    },
    /// Requests are due at times that do not depend on replies; response time counts from the due time.
    Open {
        /// When requests are due.
        arrival: Arrival,
        /// Connections kept open throughout.
        connections: u32,
        /// Requests in flight on one connection.
        in_flight: u32,
        /// Requests that may wait for a free slot; a request due beyond that is `dropped`.
        backlog: u64,
        /// Set if connections are members of rooms: the size of a room.
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
        /// Most users present at once; a user who arrives beyond that is turned away, and its requests are
        /// `dropped`.
        max_users: u32,
    },
}

/// Connections opened one after the other at an even rate, up to the number of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Connections at the start; 0: the first one is opened within the load.
    pub from: u32,
    /// Time until all connections are open, ns.
    pub over_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

impl Load {
    /// A closed load without pauses, with all connections open from the start.
    pub const fn closed(connections: u32, in_flight: u32) -> Self {
        Self::Closed {
            connections,
            in_flight,
            think_ns: 0,
            growth: None,
            members: None,
        }
    }

    /// The JSON name of this kind of load.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::Users { .. } => "users",
        }
    }

    /// Whether requests or users are due at times that the load sets. If so, the load determines the number of
    /// replies while the service keeps up.
    pub const fn is_paced(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Users { .. })
    }

    /// Most connections that the load has open at once.
    pub const fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { max_users, .. } => *max_users,
        }
    }

    /// The same load with its connections in rooms of `of` members, and `rooms` rooms if given.
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

    /// Members of a room, if the connections are divided into rooms.
    pub const fn members(&self) -> Option<u32> {
        match self {
            Self::Closed { members, .. } | Self::Open { members, .. } => *members,
            Self::Users { .. } => None,
        }
    }

    /// The number of units that can be divided among threads and workers: connections, or rooms if there are any. A
    /// room is never split, because the same clock must time the sending and the delivery of a message.
    pub const fn shareable(&self) -> u32 {
        match self.members() {
            Some(members) if members > 0 => self.connections() / members,
            _ => self.connections(),
        }
    }
}
