//! State that the WebSocket connections of one worker share.

use super::rooms::Rooms;
use crate::request_values::mix;

/// State that the WebSocket connections of one worker share.
#[derive(Debug)]
pub struct WebSocketSettings {
    /// Maximum length of a received message, bytes.
    pub(super) longest: u64,
    /// State of the random number generator for masking keys.
    random: u64,
    /// Number of messages that the service sends on its own on a new connection, once that is known.
    pub(super) greetings: Option<u32>,
    /// Present if connections are members of rooms.
    pub(super) rooms: Option<Rooms>,
}

impl WebSocketSettings {
    pub(super) fn new(longest: u64) -> Self {
        Self {
            longest,
            random: rand::random(),
            greetings: None,
            rooms: None,
        }
    }

    /// 64 random bits. Masks keep proxies from mistaking what a script in a browser has written for HTTP. A load has no
    /// such content, so a fast generator with a random seed is enough.
    pub(super) const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    pub(super) const fn key(&mut self) -> [u8; 4] {
        (self.random() as u32).to_ne_bytes()
    }
}
