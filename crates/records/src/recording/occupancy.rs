//! How the slots of a closed load spent the measurement.

use serde::{Deserialize, Serialize};

/// How the slots of a closed load spent the measurement, in seconds summed over all slots. At any time a slot has a request in
/// flight, pauses before the next one, or waits for its connection, so the parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Slots × length of the measurement.
    pub slots_s: f64,
    /// Requests in flight, from sending to the end of the reply or the failure.
    pub requests_s: f64,
    /// Waiting for a connection.
    pub connects_s: f64,
    /// Pauses between a reply and the next request.
    pub pauses_s: f64,
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
        }
        Some(sum)
    }
}
