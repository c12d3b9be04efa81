//! Decides when a service is warm: when its compiler is idle, and its CPU time per request does not change any more.
//!
//! A warm-up has two phases. The *light* load sends one request after the other on two connections: a load with more connections than
//! the CPUs can serve leaves the threads that compile a service without CPU time, however long it lasts. Then the *planned* load
//! follows, until the same holds under it. Interleaved windows are rehearsed: where many connections begin and end, code runs that a
//! steady load does not need, and one load may undo what was compiled for another. [`judge`] decides from slices of each phase;
//! [`WarmUpWatch`] cuts them.

mod drift;
mod judge;
mod watch;

pub(crate) use drift::drift;
pub(crate) use judge::{WarmUpPhase, is_done_compiling, is_warming};
pub(crate) use watch::{WarmUpResult, WarmUpWatch};

use prony_load::Load;

/// Who decides how many replies there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The service: the next request waits for the reply to the last one.
    OfService,
    /// The load: requests come at times of its own.
    OfLoad,
}

impl Pace {
    /// Of this load.
    pub const fn of(load: &Load) -> Self {
        if load.is_paced() {
            Self::OfLoad
        } else {
            Self::OfService
        }
    }
}
