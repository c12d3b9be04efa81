//! A sample of unexpected replies, for display.

use prony_load::Mismatch;
use prony_merge::{SampleEntry, WrongSample};
use prony_protocols::request_values::mix;

/// Draws the keys of a thread's sample.
#[derive(Debug)]
pub(crate) struct Sample {
    key: u64,
    pub(crate) entries: WrongSample,
}

impl Sample {
    /// `thread` is the number across all workers: no two threads draw the same keys.
    pub(crate) const fn new(room: u32, seed: u64, thread: u32) -> Self {
        Self {
            key: mix(seed ^ (thread as u64).rotate_left(32)),
            entries: WrongSample::new(room),
        }
    }

    /// The key of the next unexpected reply, if it would be kept: only then is it worth describing.
    pub(crate) fn draw(&mut self) -> Option<u64> {
        self.key = mix(self.key);
        self.entries.wants(self.key).then_some(self.key)
    }

    /// Keeps an unexpected reply under the key that [`Sample::draw`] returned.
    pub(crate) fn keep(&mut self, key: u64, operation: u16, mismatch: Mismatch) {
        let Mismatch { what, expected, got } = mismatch;
        self.entries.keep(SampleEntry {
            key,
            operation,
            what,
            expected,
            got,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}
