//! Streams whose messages are all known.

use crate::{Bytes, Template};
use serde::{Deserialize, Serialize};

/// A stream whose messages are all known and that ends by itself. The item of formulas in its templates is the number
/// of the message, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactStream {
    /// The number of messages as decimal text, not counting `last`.
    pub count: Template,
    /// The expected form of each of them.
    pub each: MessageRule,
    /// The expected form of one final message after them; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<MessageRule>,
    /// The shortest pause of the service before each message except the first, µs, as decimal text. A late message
    /// may have been delayed on its way, so only one that arrives earlier than it can have been sent is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_us: Option<Template>,
    /// Whether messages must be flushed one by one: at least half of the sum of the pauses must pass between the
    /// first and the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushed: bool,
    /// The expected forms of the first of them, which differ from `each`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<MessageRule>,
    /// The expected forms of messages after them and before `last`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closing: Vec<MessageRule>,
    /// Whether at least half of the messages must arrive half of a pause or more after the one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub separate: bool,
}

/// The expected form of a message; absent fields may have any value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageRule {
    /// The event's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Template>,
    /// The event's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Template>,
    /// The event's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// The expected data of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Equal as JSON.
    Json(Template),
    /// Exactly these bytes.
    Text(Template),
    /// Equal as Protocol Buffers messages, whatever their encoding.
    Messages(EncodedMessages),
    /// JSON that contains all of this.
    JsonContains(Template),
}

/// Protocol Buffers messages, one for each message of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncodedMessages {
    /// The schema: an encoded `FileDescriptorSet`.
    pub schema: Bytes,
    /// Full name of the message type.
    pub message: String,
    /// The encoded messages in order.
    pub equals: Vec<Bytes>,
}
