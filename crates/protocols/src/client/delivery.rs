//! How queued bytes are cut into writes.

/// How queued bytes are cut into writes. Nagle's algorithm is off, so that each write leaves by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As few writes as the socket takes: several requests leave in one packet where they fit.
    Whole,
    /// One write for each byte, and with TLS a record for each.
    SingleBytes,
}

impl Delivery {
    /// How many of these queued bytes are sealed and written at once.
    pub(super) const fn share_of(self, queued: usize) -> usize {
        match self {
            Self::SingleBytes if queued > 1 => 1,
            Self::Whole | Self::SingleBytes => queued,
        }
    }
}
