//! Replies that are streams of messages: server-sent events, JSON Lines, gRPC messages. They are read in pieces of
//! any size, in bounded memory, and judged as they arrive.
//!
//! [`Events`] is the part of a job that describes such a reply; [`CompiledEvents`] is its compiled form; an
//! [`EventStream`] is one reply in flight. None of them knows whether HTTP/1.1 or HTTP/2 carried the pieces.

mod chat;
mod exact_stream;
mod expected;
mod ids;
mod judge;
mod reader;
mod rule;
#[cfg(test)]
mod tests;

pub use chat::{AnswerProgress, Chat, Usage};
pub use exact_stream::{Data, EncodedMessages, ExactStream, MessageRule};
pub use ids::Step as IdStep;
pub(super) use judge::no_stream;
pub use judge::{CompiledEvents, EventStream};
pub use reader::{EventFault, Format, Message, Reader};
pub use rule::EventRule;

use serde::{Deserialize, Serialize};

/// The default limit for the length of an event, bytes.
pub const LONGEST_EVENT: u64 = 1 << 20;

/// Rules for a reply that is a stream of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The stream has ended successfully after this number of messages, and is cancelled then. One that ends earlier
    /// by itself is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u32>,
    /// The stream has ended successfully this long after its request was sent, ns, and is cancelled then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ns: Option<u64>,
    /// Rules that each must be met by at least one message of the stream; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub some: Vec<EventRule>,
    /// The expected messages, where all of them are known. Such a stream has no end condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<ExactStream>,
    /// The longest message, bytes: a longer one is an error and ends its stream.
    #[serde(default = "longest")]
    pub longest: u64,
    /// Set where the stream is the answer of a language model: only events with text count as messages, and `[DONE]`
    /// must end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<Chat>,
}

const fn longest() -> u64 {
    LONGEST_EVENT
}

impl Default for Events {
    fn default() -> Self {
        Self {
            until: None,
            for_ns: None,
            some: Vec::new(),
            whole: None,
            longest: LONGEST_EVENT,
            chat: None,
        }
    }
}

impl Events {
    /// Whether the rules end a stream that never ends by itself.
    pub const fn is_bounded(&self) -> bool {
        self.until.is_some() || self.for_ns.is_some() || self.chat.is_some()
    }
}
