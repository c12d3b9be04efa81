//! gRPC messages: the protocol marks where each of them ends.

use crate::expect::events::message::{EventFault, KEPT, Message, UNNAMED};

/// The message being received.
#[derive(Debug)]
pub struct LengthPrefixedReader {
    longest: u64,
    keeps: bool,
    length: u64,
    allocated: Vec<u8>,
}

impl LengthPrefixedReader {
    pub(super) const fn new(longest: u64, keeps: bool) -> Self {
        Self {
            longest,
            keeps,
            length: 0,
            allocated: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, longest: u64, keeps: bool) {
        (self.longest, self.keeps) = (longest, keeps);
        self.clear();
    }

    pub(super) const fn allocated(&self) -> usize {
        self.allocated.capacity()
    }

    /// Takes the next piece of the message.
    pub(super) fn read(&mut self, piece: &[u8]) -> Result<(), EventFault> {
        self.length += piece.len() as u64;
        if self.length > self.longest {
            return Err(EventFault::TooLong);
        }
        if self.keeps {
            self.allocated.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Completes the message and passes it to `each`.
    pub(super) fn complete(&mut self, each: impl FnOnce(&Message<'_>)) {
        each(&Message {
            name: UNNAMED,
            data: &self.allocated,
            id: None,
        });
        self.clear();
    }

    fn clear(&mut self) {
        self.length = 0;
        self.allocated.clear();
        self.allocated.shrink_to(KEPT);
    }
}
