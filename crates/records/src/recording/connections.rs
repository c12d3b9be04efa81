//! The connections of a load: their events below the protocol, and how their slots spent the measurement.

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
    /// What the first TLS handshake agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<AgreedTls>,
}

/// The parameters that client and service agreed on in a TLS handshake, by the names of its registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgreedTls {
    /// The version, such as `TLSv1_3`.
    pub version: String,
    /// The cipher suite, such as `TLS13_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
    /// The group of the key exchange, such as `X25519`.
    pub key_exchange: Option<String>,
    /// The protocol (ALPN), if the service selected one.
    pub protocol: Option<String>,
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

/// How the slots of a closed load spent the measurement, in seconds summed over all slots. At any time a slot has a request in
/// flight, pauses before the next one, or waits for its connection, so the parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Slots × length of the measurement.
    pub slots_s: f64,
    /// Requests in flight, from the time that the generator picked them up to the end of the reply or the failure.
    pub requests_s: f64,
    /// Waiting for a connection.
    pub connects_s: f64,
    /// Pauses between a reply and the next request.
    pub pauses_s: f64,
    /// The part of `requests_s` before they were sent: `io_uring` sends many requests at once.
    #[serde(default)]
    pub unsent_s: f64,
}

impl Occupancy {
    /// The sum of the parts.
    pub fn accounted_s(&self) -> f64 {
        self.requests_s + self.connects_s + self.pauses_s
    }

    /// The sum over several consecutive loads; `None` if one of them is unknown.
    pub(crate) fn join(parts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let mut sum = Self::default();
        for part in parts {
            let part = part?;
            sum.slots_s += part.slots_s;
            sum.requests_s += part.requests_s;
            sum.connects_s += part.connects_s;
            sum.pauses_s += part.pauses_s;
            sum.unsent_s += part.unsent_s;
        }
        Some(sum)
    }
}
