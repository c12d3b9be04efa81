//! The keys of a gRPC call that sends a stream.

use super::TextOrNumber;

/// `{ count = "{count}", each = { value = "{= i}" }, unanswered = 1 }`
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesToml {
    pub(crate) count: TextOrNumber,
    pub(crate) each: toml::Value,
    /// The largest number of messages that may wait for their replies.
    pub(crate) unanswered: Option<TextOrNumber>,
}
