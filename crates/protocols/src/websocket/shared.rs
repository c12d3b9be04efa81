//! What the WebSocket connections of one worker share.

use super::rooms::Rooms;
use crate::request_values::mix;

/// What the WebSocket connections of one worker share.
#[derive(Debug)]
pub struct Shared {
    /// The longest message that may come, bytes.
    pub(super) longest: u64,
    /// State of the generator of keys.
    random: u64,
    /// Messages that the service sends by itself on a new connection, once that is known.
    pub(super) greetings: Option<u32>,
    /// Where connections are members of rooms.
    pub(super) rooms: Option<Rooms>,
}

impl Shared {
    pub(super) fn new(longest: u64) -> Self {
        Self {
            longest,
            random: rand::random(),
            greetings: None,
            rooms: None,
        }
    }

    /// 64 random bits. Masks keep proxies from taking what a script in a browser has written for HTTP; a load has none of
    /// that to hide, so a fast generator with a random begin does.
    pub(super) const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    pub(super) const fn key(&mut self) -> [u8; 4] {
        (self.random() as u32).to_ne_bytes()
    }
}
