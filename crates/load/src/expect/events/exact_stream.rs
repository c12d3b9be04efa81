//! Streams whose every message is known.

use crate::{Bytes, Template};
use serde::{Deserialize, Serialize};

/// A stream whose every message is known, and that ends by itself. Templates may have formulas over `i`, the number of the
/// message from 1: `{= i}`, `{= i * 2 + 1}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// How many messages come, as decimal text. That of `last` is not among them.
    pub count: Template,
    /// What each of them must be.
    pub each: Shape,
    /// What the one message must be that comes after them; absent: none comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Shape>,
    /// How long the service waits before each of them but the first at least, µs, as decimal text. What comes late may have been
    /// held up on its way: only what comes sooner after its request than it can have been sent is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_us: Option<Template>,
    /// Whether they must come one by one: from the first to the last at least half the time must pass that lies between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushed: bool,
}

/// What a message must be; what is absent is free.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Template>,
    /// The name of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Template>,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// What the data of a message must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Equal as JSON.
    Json(Template),
    /// These bytes.
    Text(Template),
    /// Equal as messages of Protocol Buffers, however they are encoded.
    Messages(Encoded),
}

/// Messages of Protocol Buffers, one for each message of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoded {
    /// The schema: an encoded `FileDescriptorSet`.
    pub schema: Bytes,
    /// Full name of the message type.
    pub message: String,
    /// The messages in their order, encoded.
    pub equals: Vec<Bytes>,
}
