//! Events of a load's connections below the protocol.

use serde::{Deserialize, Serialize};

/// Events of a load's connections below the protocol, from the first connection to the last, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Addresses of the target, in the resolver's order.
    pub addresses: Vec<Address>,
    /// TCP segments that the generator's side retransmitted; `None` for connections that do not use TCP.
    pub retransmits: Option<u64>,
    /// Connections that failed because the generator's machine ran out of ports, files or memory.
    pub own_shortages: u64,
    /// TLS handshakes, if TLS is used.
    pub tls: Option<Handshakes>,
}

/// One address of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Address and port, or `unix:` and a path.
    pub address: String,
    /// Number of connections that were opened to this address.
    pub connections: u64,
    /// Why the address is not used, if it accepted no connection before the load started.
    pub left_out: Option<String>,
}

/// Counts of TLS handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshakes {
    /// Completed handshakes.
    pub completed: u64,
    /// The part of `completed` that resumed an earlier session.
    pub resumed: u64,
}
