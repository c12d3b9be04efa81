//! Limits how many long lines are in memory at the same time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A semaphore for long lines. At the end of a long load every worker sends some MiB at the same moment; workers without a
/// permit wait before their line is read.
#[derive(Debug)]
pub(crate) struct MemorySemaphore {
    free: Mutex<usize>,
    given_back: Condvar,
}

/// A permit to keep a long line in memory, released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryPermit(Arc<MemorySemaphore>);

impl MemorySemaphore {
    /// Permits `at_a_time` long lines in memory.
    pub(crate) fn new(at_a_time: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(at_a_time),
            given_back: Condvar::new(),
        })
    }

    /// Waits for a permit.
    pub(super) fn take(self: &Arc<Self>) -> MemoryPermit {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given_back.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        MemoryPermit(Arc::clone(self))
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.given_back.notify_one();
    }
}
