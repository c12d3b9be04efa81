//! Cancels a run: after the current trial on the first request, immediately on the second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Shared between the run and the code that handles signals and keys. Clones are the same token.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests cancellation: after the current trial the first time, immediately from the second time on. Safe in a signal
    /// handler. Returns the number of requests so far.
    pub fn ask(&self) -> u8 {
        let before = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
            Some(count.saturating_add(1))
        });
        before.map_or(1, |before| before.saturating_add(1))
    }

    /// Requests immediate cancellation.
    pub fn ask_now(&self) {
        self.0.store(2, Ordering::SeqCst);
    }

    /// Whether no further trial may start.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// Whether the current trial must end.
    pub fn is_now(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_is_later_and_twice_is_now() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        assert!(!other.is_asked());
        assert_eq!(cancel.ask(), 1);
        assert!(other.is_asked() && !other.is_now());
        assert_eq!(cancel.ask(), 2);
        assert!(other.is_now());
        for _ in 0..300 {
            cancel.ask();
        }
        assert!(other.is_now());
    }
}
