//! How a run is ended early: first after the trial, then now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Shared between whoever hears the user and the run. Clones are the same token.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// A token that asks for nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The user asked to end: the first time after the trial that runs, from the second time on now. Safe in a signal
    /// handler. Says how often it was asked.
    pub fn ask(&self) -> u8 {
        let before = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |asked| {
            Some(asked.saturating_add(1))
        });
        before.map_or(1, |before| before.saturating_add(1))
    }

    /// Asks to end now.
    pub fn ask_now(&self) {
        self.0.store(2, Ordering::SeqCst);
    }

    /// Whether no further trial may begin.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// Whether the trial that runs must end.
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
        let heard = cancel.clone();
        assert!(!heard.is_asked());
        assert_eq!(cancel.ask(), 1);
        assert!(heard.is_asked() && !heard.is_now());
        assert_eq!(cancel.ask(), 2);
        assert!(heard.is_now());
        for _ in 0..300 {
            cancel.ask();
        }
        assert!(heard.is_now());
    }
}
