//! What a reader gives.

/// The name of an event that has none.
pub(super) const UNNAMED: &[u8] = b"message";

/// Memory that a reader keeps from one message to the next, bytes: one long message must not cost its memory for good.
pub(super) const KEPT: usize = 16 * 1024;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The name of the event, `message` where the server gives none; of JSON Lines always that.
    pub name: &'a [u8],
    /// Its data; empty where the reader keeps none.
    pub data: &'a [u8],
    /// The id that came with this event.
    pub id: Option<&'a [u8]>,
}

/// Why a stream is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFault {
    /// A message is longer than allowed.
    TooLong,
    /// A line is no JSON.
    NoJson,
    /// The stream ends in the middle of a message.
    CutOff,
}
