//! gRPC messages in wire format.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes before each message: the compression flag and the length.
pub const PREFIX: usize = 5;

/// The messages of a call with a stream of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// The encoded messages without their prefix, in the order in which they are sent.
    pub each: Vec<Bytes>,
    /// Most messages that may wait for their replies, of which each has one; absent: all are sent at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u32>,
}

impl Messages {
    /// The messages in wire format.
    pub fn framed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for message in &self.each {
            frame(message.as_slice(), &mut out);
        }
        out
    }
}

/// Appends a message in wire format.
pub fn frame(message: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_stands_behind_its_length() {
        let messages = Messages {
            each: vec!["ab".into(), "".into()],
            unanswered: None,
        };
        assert_eq!(messages.framed(), b"\0\0\0\0\x02ab\0\0\0\0\0");
    }
}
