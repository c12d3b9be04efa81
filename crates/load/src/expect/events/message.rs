//! The messages that a reader yields.

/// The standard's default for the name of an event.
pub(super) const UNNAMED: &[u8] = b"message";

/// Memory that a reader keeps between messages, bytes: one long message must not hold its memory forever.
pub(super) const KEPT: usize = 16 * 1024;

/// One message of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The name of the event; `message` where the server sends none, and always for JSON Lines.
    pub name: &'a [u8],
    /// The data; empty where the reader does not keep it.
    pub data: &'a [u8],
    /// The id sent with this event.
    pub id: Option<&'a [u8]>,
}

/// Why a stream is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFault {
    /// A message is longer than allowed.
    TooLong,
    /// A line is not JSON.
    NoJson,
    /// The stream ends in the middle of a message.
    CutOff,
}
