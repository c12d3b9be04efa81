//! Replies that are streams of messages: server-sent events, JSON Lines, messages of gRPC. Read in pieces of any size, in
//! bounded memory, and judged as they come.
//!
//! [`Events`] is what a job says of such a reply; [`CompiledEvents`] is the same made ready; an [`EventStream`] is one reply
//! under way. None of them knows whether HTTP/1.1 or HTTP/2 carried the pieces.

mod chat;
mod exact_stream;
mod expected;
mod ids;
mod judge;
mod message;
mod reader;
mod rule;
#[cfg(test)]
mod tests;

pub use chat::{Chat, Told, Usage};
pub use exact_stream::{Data, Encoded, Shape, Whole};
pub use ids::Step as IdStep;
pub(super) use judge::no_stream;
pub use judge::{CompiledEvents, EventStream};
pub use message::{EventFault, Message};
pub use reader::{Format, Reader};
pub use rule::EventRule;

use serde::{Deserialize, Serialize};

/// The longest event unless told otherwise, bytes.
pub const LONGEST_EVENT: u64 = 1 << 20;

/// What a reply must be that is a stream of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The stream has ended well when so many messages came, and is given up then. One that ends by itself before is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u32>,
    /// The stream has ended well so long after its request was sent, ns, and is given up then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ns: Option<u64>,
    /// What at least one message of each stream must be; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub some: Vec<EventRule>,
    /// Where every message is known: how many come, and what each must be. Such a stream has no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// The longest message, bytes: a longer one is wrong, and ends its stream.
    #[serde(default = "longest")]
    pub longest: u64,
    /// Where it is the answer of a language model: only events that bring text are its messages, and `[DONE]` must end it.
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
    /// Whether a stream that never ends by itself has an end.
    pub const fn is_bounded(&self) -> bool {
        self.until.is_some() || self.for_ns.is_some() || self.chat.is_some()
    }
}
