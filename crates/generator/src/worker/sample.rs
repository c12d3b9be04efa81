//! A sample of wrong replies, to show the user what came instead.

use prony_load::Mismatch;
use prony_merge::{SampleEntry, WrongSample};
use prony_protocols::request_values::mix;

/// Draws the keys of a thread's sample.
#[derive(Debug)]
pub(crate) struct Sample {
    key: u64,
    pub(crate) kept: WrongSample,
}

impl Sample {
    /// `thread` is the number among those of all workers: no two threads draw the same keys.
    pub(crate) const fn new(room: u32, seed: u64, thread: u32) -> Self {
        Self {
            key: mix(seed ^ (thread as u64).rotate_left(32)),
            kept: WrongSample::new(room),
        }
    }

    /// The key of the next wrong reply, where it would be kept: then it is worth describing.
    pub(crate) fn draw(&mut self) -> Option<u64> {
        self.key = mix(self.key);
        self.kept.wants(self.key).then_some(self.key)
    }

    /// Keeps a wrong reply under the key that [`Sample::draw`] gave.
    pub(crate) fn keep(&mut self, key: u64, operation: u16, mismatch: Mismatch) {
        let Mismatch { what, expected, got } = mismatch;
        self.kept.keep(SampleEntry {
            key,
            operation,
            what,
            expected,
            got,
        });
    }

    /// Forgets what was kept.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}
