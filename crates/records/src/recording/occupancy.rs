//! What the slots of a closed load did while they were measured.

use serde::{Deserialize, Serialize};

/// What took up the time of the slots of a closed load within the measurement, in seconds over all slots. A slot has a request
/// in flight, pauses before the next one, or waits for its connection, so the parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Slots × length of the measurement.
    pub slots_s: f64,
    /// Requests, from their send to the end of their reply or their failure.
    pub requests_s: f64,
    /// Connections that were not open.
    pub connects_s: f64,
    /// Pauses between a reply and the next request.
    pub pauses_s: f64,
}

impl Occupancy {
    /// The time that is accounted for.
    pub fn accounted_s(&self) -> f64 {
        self.requests_s + self.connects_s + self.pauses_s
    }

    /// That of several loads, one after the other; `None` where one is not known.
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
