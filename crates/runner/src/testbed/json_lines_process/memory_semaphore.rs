//! Whose long line is read next.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Lets only so many of those who tell a long line have it in memory at a time. At the end of a long load every worker tells
/// some MiB at the same moment; the others keep theirs until it is their turn.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Mutex<usize>,
    given_back: Condvar,
}

/// The right to have a long line in memory, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Turns>);

impl Turns {
    /// So many at a time.
    pub(crate) fn new(at_a_time: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(at_a_time),
            given_back: Condvar::new(),
        })
    }

    /// Waits for a turn.
    pub(super) fn take(self: &Arc<Self>) -> Turn {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given_back.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Turn(Arc::clone(self))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.given_back.notify_one();
    }
}
