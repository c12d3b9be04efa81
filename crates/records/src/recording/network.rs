//! What a load's connections went through below the protocol.

use serde::{Deserialize, Serialize};

/// What a load's connections went through below the protocol, from the first of them to the last, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The addresses of the target, in the resolver's order.
    pub addresses: Vec<Address>,
    /// TCP segments that the generator's side sent again; absent where the connections are none of TCP.
    pub retransmits: Option<u64>,
    /// Connections that were not made because the generator's machine had no port, file or memory for them.
    pub own_shortages: u64,
    /// TLS handshakes, where TLS is spoken.
    pub tls: Option<Handshakes>,
}

/// One address of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Address and port, or `unix:` and a path.
    pub address: String,
    /// Connections that were begun to it.
    pub connections: u64,
    /// Why it was left out, where it took no connection before the load began.
    pub left_out: Option<String>,
}

/// TLS handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshakes {
    /// Completed.
    pub completed: u64,
    /// Of them, those that resumed an earlier session.
    pub resumed: u64,
}
